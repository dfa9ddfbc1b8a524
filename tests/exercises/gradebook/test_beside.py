"""Which files a student's code finds beside its notebook."""

from __future__ import annotations

from exercises.gradebook.small_course import ASSIGNMENT, hand_in

from shardwise_grading.gradebook.beside import MOST_BYTES, MOST_FILES


def test_the_instructors_files_win_and_the_exchanges_stay_away(small):
    folder = hand_in(small.root, "ada", timestamp="2026-01-01 10:00:00 UTC")
    source = small.root / "source" / ASSIGNMENT
    (source / "data").mkdir()
    (source / "data" / "table.csv").write_text("right")
    (folder / "data").mkdir()
    (folder / "data" / "table.csv").write_text("wrong")
    (folder / "data" / "own.py").write_text("x = 3")
    (folder / "submission_secret.txt").write_text("secret")
    (folder / "link").symlink_to("/etc/passwd")
    beside = small.course.beside(small.submission("ada"))
    assert beside == {"data/table.csv": b"right", "data/own.py": b"x = 3"}


def test_what_is_too_much_is_there_without_content(small):
    folder = hand_in(small.root, "ada")
    (folder / "a-large").write_bytes(b"x" * (MOST_BYTES // 2))
    (folder / "b-larger").write_bytes(b"x" * (MOST_BYTES // 2 + 1))
    (folder / "z-small").write_bytes(b"1")
    beside = small.course.beside(small.submission("ada"))
    assert {name: content and len(content) for name, content in beside.items()} == {
        "z-small": 1,
        "a-large": MOST_BYTES // 2,
        "b-larger": None,
    }
    for number in range(MOST_FILES):
        (folder / f"{number:03}").write_bytes(b"")
    beside = small.course.beside(small.submission("ada"))
    assert sum(content is not None for content in beside.values()) == MOST_FILES
