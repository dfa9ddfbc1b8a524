"""Whatever a submitted folder holds, it is looked at without following, waiting or failing."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from datetime import datetime

import pytest
from exercises.gradebook.small_course import ASSIGNMENT, RIGHT, hand_in

from shardwise_grading.gradebook.folders import MOST_ENTRIES, Caps, look_into
from shardwise_grading.gradebook.safe_files import open_regular, read_regular
from shardwise_grading.submission.read import MAX_BYTES


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "ada" / "a").mkdir(parents=True)
    (tmp_path / "ada" / "a" / "1-one.ipynb").write_text("{}")
    return tmp_path / "ada" / "a"


def look(folder, student="ada", **caps):
    return look_into(student, "a", folder, Caps(**caps))


def make_socket(path, monkeypatch):
    monkeypatch.chdir(path.parent)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path.name)


class TestFiles:
    def test_are_told_apart(self, folder):
        (folder / "data.csv").write_text("1")
        (folder / "sub").mkdir()
        (folder / "sub" / "deep.txt").write_text("2")
        (folder / "sub" / "2-two.ipynb").write_text("{}")
        found = look(folder)
        assert dict(found.files) == {"1-one": folder / "1-one.ipynb"}
        assert [str(path) for path in found.others] == ["data.csv", "sub/deep.txt"]
        assert (found.problem, found.refused, found.usable) == ("", (), True)

    def test_leaves_out_what_nbgrader_leaves_out(self, folder):
        (folder / ".ipynb_checkpoints").mkdir()
        (folder / ".ipynb_checkpoints" / "1-one.ipynb").write_text("{}")
        (folder / "a.pyc").write_text("")
        found = look(folder, ignore=(".ipynb_checkpoints", "*.pyc"))
        assert (found.others, found.problem) == ((), "")

    @pytest.mark.parametrize("name", ["2-two.ipynb", "data.csv"])
    @pytest.mark.parametrize("kind", ["link", "dangling link", "pipe", "socket"])
    def test_that_are_none_are_named_and_left_alone(self, folder, name, kind, monkeypatch):
        path = folder / name
        secret = folder.parent.parent / "secret"
        secret.write_text("secret")
        if kind == "link":
            path.symlink_to(secret)
        elif kind == "dangling link":
            path.symlink_to(folder / "nothing")
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            make_socket(path, monkeypatch)
        found = look(folder)
        assert set(found.files) == {"1-one"}
        assert found.others == ()
        assert found.refused == (("2-two",) if name == "2-two.ipynb" else ())
        assert found.problem.startswith(f"{name} is ")
        with pytest.raises(OSError, match=r"."):
            open_regular(path)

    def test_a_linked_folder_is_not_entered(self, folder, tmp_path):
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside" / "x.txt").write_text("x")
        (folder / "inside").symlink_to(tmp_path / "outside")
        found = look(folder)
        assert found.others == ()
        assert "inside is a link" in found.problem

    @pytest.mark.parametrize("what", ["assignment", "student"])
    def test_a_folder_that_is_a_link_is_not_entered(self, tmp_path, what):
        hand_in(tmp_path / "other", "bob")
        real = tmp_path / "other" / "submitted" / "bob"
        link = tmp_path / "eve"
        if what == "student":
            link.symlink_to(real)
        else:
            link.mkdir()
            (link / ASSIGNMENT).symlink_to(real / ASSIGNMENT)
        found = look(link / ASSIGNMENT)
        assert (dict(found.files), found.problem) == ({}, "what was handed in is no folder")

    def test_a_file_in_place_of_the_folder(self, tmp_path):
        (tmp_path / "a").write_text("")
        assert look(tmp_path / "a").problem == "what was handed in is no folder"

    def test_that_cannot_be_read(self, folder, monkeypatch):
        monkeypatch.setattr(os, "access", lambda path, _: not path.endswith("1-one.ipynb"))
        found = look(folder)
        assert (found.refused, dict(found.files)) == (("1-one",), {})
        assert found.problem == "1-one.ipynb can't be read"


class TestMuch:
    def test_thousands_of_files_hide_no_notebook(self, folder):
        for number in range(MOST_ENTRIES + 50):
            (folder / f"0{number}").touch()
        found = look(folder)
        assert set(found.files) == {"1-one"}
        assert len(found.others) <= MOST_ENTRIES
        assert f"more than {MOST_ENTRIES} files" in found.problem

    def test_deep_folders_end(self, folder):
        deep = folder.joinpath(*("d" * 30))
        deep.mkdir(parents=True)
        (deep / "x.txt").write_text("x")
        (folder / "d" / "y.txt").write_text("y")
        found = look(folder)
        assert [str(path) for path in found.others] == ["d/y.txt"]
        assert found.problem.endswith("is more than 20 folders deep")

    def test_paths_longer_than_any_may_be_end(self, folder, monkeypatch):
        monkeypatch.chdir(folder)
        for _ in range(18):
            os.mkdir("d" * 250)  # noqa: PTH102
            os.chdir("d" * 250)
        found = look(folder)
        assert set(found.files) == {"1-one"}
        assert "can't be opened" in found.problem

    def test_large_files_stay_behind(self, folder):
        with (folder / "big.bin").open("wb") as file:
            file.truncate(10**12)
        (folder / "small.bin").write_bytes(b"x" * 60)
        (folder / "tiny.bin").write_bytes(b"x" * 60)
        found = look(folder, file_bytes=1000, total_bytes=100)
        assert [str(path) for path in found.others] == ["small.bin"]
        assert "big.bin is left out: it has 1,000,000,000,000 bytes" in found.problem
        assert "tiny.bin doesn't fit" in found.problem

    def test_a_large_notebook_is_read_in_part_and_named(self, small):
        folder = hand_in(small.root, "ada")
        with (folder / "1-twice.ipynb").open("r+b") as file:
            file.truncate(10**10)
        submission = small.submission("ada")
        assert submission.problem == "1-twice.ipynb has 10,000,000,000 bytes"
        assert len(small.course.contents(submission)["1-twice"]) == MAX_BYTES + 1

    def test_many_problems_are_one_short_sentence(self, folder):
        for number in range(50):
            (folder / f"{number:02}{'x' * 200}").symlink_to("/etc/passwd")
        assert look(folder).problem.endswith("; and 47 more")
        assert len(look(folder).problem) < 400


NAMES = ["two\nlines", "\x1b[31mred", "a\udcffb", "x" * 250, "\u202egnp.txt", "tab\t", "'quoted'"]


class TestNames:
    @pytest.mark.parametrize("name", NAMES)
    def test_of_files_are_shown_on_one_line(self, folder, name):
        os.symlink("/etc/passwd", os.path.join(folder, name))  # noqa: PTH118, PTH211
        problem = look(folder).problem
        assert problem.isprintable()
        assert len(problem) < 120

    @pytest.mark.parametrize("name", NAMES)
    def test_of_files_travel(self, small, name):
        folder = hand_in(small.root, "ada")
        with open(os.path.join(folder, name), "w") as file:  # noqa: PTH118, PTH123
            file.write("own")
        small.grade("ada")
        copies = os.listdir(small.course.autograded_folder("ada", ASSIGNMENT))  # noqa: PTH208
        assert set(copies) == {"1-twice.ipynb", "2-half.ipynb", name}

    @pytest.mark.parametrize("name", [*NAMES[:-1], " space", "ä" * 110])
    def test_of_students_that_no_gradebook_holds(self, small, name):
        hand_in(small.root, "ada")
        (small.root / "submitted" / "ada").rename(small.root / "submitted" / name)
        hand_in(small.root, "bob")
        found = small.course.submissions(ASSIGNMENT)
        (odd,) = (one for one in found if one.student != "bob")
        assert odd.student.isprintable()
        assert len(os.fsencode(odd.student)) < 200
        assert "rename the folder" in odd.problem
        assert not odd.usable
        assert set(odd.files) == set(RIGHT)
        record = small.record(odd)
        small.course.save(record, odd)
        assert small.course.record(odd.student, ASSIGNMENT) == record
        assert small.course.is_current(odd)
        assert small.standing(odd.student) is None
        assert not (small.root / "autograded").exists()

    @pytest.mark.parametrize("name", ["o'hara", "Zoë 李", "a+b", "[x]*", "100%", "{0}"])
    def test_of_students_that_are_only_unusual(self, small, name):
        hand_in(small.root, name)
        small.grade(name)
        assert small.standing(name).total == 5
        assert small.course.is_current(small.submission(name))

    def test_of_hidden_folders_and_excluded_students_are_passed_over(self, small):
        for name in ("ada", ".hidden", "bob", "test-user"):
            hand_in(small.root, name)
        small.course._settings.coursedir.student_id_exclude = "test-user,nobody"
        assert [one.student for one in small.course.submissions(ASSIGNMENT)] == ["ada", "bob"]
        assert [one.student for one in small.course.submissions(ASSIGNMENT, ["bob"])] == ["bob"]
        assert small.course.submissions("another") == []


class TestTimestamp:
    def test_is_read_as_nbgrader_reads_it(self, folder):
        (folder / "timestamp.txt").write_text("2026-03-01 08:00:00.123 UTC\n")
        assert look(folder).timestamp == datetime.fromisoformat("2026-03-01T08:00:00.123")

    def test_may_be_empty_or_missing(self, folder):
        assert look(folder).timestamp is None
        (folder / "timestamp.txt").write_text("\n")
        assert (look(folder).timestamp, look(folder).problem) == (None, "")

    @pytest.mark.parametrize(
        "content",
        [b"soon", b"\xff\xfe", b"9" * 5000, b"0001-01-01T00:00:00+23:00", b"1 2 3", b"\x00" * 10],
    )
    def test_that_holds_no_time_is_named_and_stays_behind(self, folder, content):
        (folder / "timestamp.txt").write_bytes(content)
        found = look(folder)
        assert (found.timestamp, found.others) == (None, ())
        assert found.problem == "timestamp.txt holds no time"

    def test_that_never_ends_is_not_waited_for(self, folder):
        os.mkfifo(folder / "timestamp.txt")
        assert "neither a file nor a folder" in look(folder).problem


class TestBetweenLookingAndReading:
    """What a process of the student's could still change."""

    def test_a_notebook_that_became_a_link_counts_as_missing(self, small):
        folder = hand_in(small.root, "ada")
        submission = small.submission("ada")
        (folder / "1-twice.ipynb").unlink()
        (folder / "1-twice.ipynb").symlink_to(small.root / "gradebook.db")
        assert small.course.contents(submission)["1-twice"] is None
        with pytest.raises(OSError, match=r"."):
            read_regular(folder / "1-twice.ipynb", 10)

    def test_a_file_that_became_a_link_or_vanished_is_not_copied(self, small):
        folder = hand_in(small.root, "ada", **{"a.txt": "a", "b.txt": "b"})
        submission = small.submission("ada")
        record = small.record(submission)
        (folder / "a.txt").unlink()
        (folder / "a.txt").symlink_to(small.root / "gradebook.db")
        (folder / "b.txt").unlink()
        small.course.save(record, submission)
        names = {path.name for path in small.course.autograded_folder("ada", ASSIGNMENT).iterdir()}
        assert names == {"1-twice.ipynb", "2-half.ipynb"}

    def test_a_name_too_long_in_its_new_place_is_not_copied(self, small):
        hand_in(small.root, "ada", **{"x.txt": "x"})
        submission = small.submission("ada")
        long = replace(submission, others=(submission.others[0].parent / ("y/" * 2040 + "x.txt"),))
        small.course.save(small.record(submission), long)
        assert small.standing("ada").total == 5
