"""The root folder of a student's own, made of what it may read."""

from __future__ import annotations

# The source of the functions below is sent into the cage; `tried` and the modules are known there.
# ruff: noqa: F821


def look(folder):
    return [
        sorted(os.listdir(f"{folder}/link")),
        sorted(os.listdir(f"{folder}/real")),
        Path(folder, "one.txt").read_text(),
        Path("/usr/lib").is_dir(),
    ]


def change(folder):
    return [
        tried(Path(folder, "link", "inner").write_text, "2"),
        tried(Path(folder, "real", "new").write_text, "2"),
        tried(Path(folder, "one.txt").write_text, "2"),
        tried(os.unlink, f"{folder}/one.txt"),
        tried(os.rename, f"{folder}/real", f"{folder}/moved"),
        tried(Path(folder, "other.txt").read_text),
        tried(os.mkdir, "/new"),
        tried(os.mkdir, "/usr/new"),
    ]


class TestRoot:
    def test_shows_links_folders_and_files_also_under_tmp(self, room, open_folder):
        readable = make(open_folder)
        listed, same, text, _ = room.value(look, str(open_folder), only=readable)
        assert (listed, same, text) == (["inner"], ["inner"], "1")

    def test_can_not_be_changed(self, room, open_folder):
        readable = make(open_folder)
        outcomes = room.value(change, str(open_folder), only=readable)
        assert not [outcome for outcome in outcomes if outcome.startswith("did")]
        assert (open_folder / "one.txt").read_text(encoding="utf-8") == "1"


def make(folder):
    """A link to a folder and a file beside a private one; everybody may write to all of them."""
    (folder / "real").mkdir()
    (folder / "real").chmod(0o777)
    (folder / "link").symlink_to("real")
    for name in ("one.txt", "other.txt", "real/inner"):
        (folder / name).write_text("1", encoding="utf-8")
        (folder / name).chmod(0o666)
    return ["/usr", "/lib", folder / "link", folder / "one.txt", folder / "missing"]
