"""A class in which most students attack: one notebook of each, the other four solved."""

from __future__ import annotations

import os
from pathlib import Path

from exercises.attacks import course, families

ASSIGNMENT = "distributed-training"
ATTACKERS = (
    ("exits", "os-exit-in-every-call", 4),
    ("exits", "kill-the-process-group", 5),
    ("loops", "call-that-catches-everything", 1),
    ("bombs", "fork-bomb", 3),
    ("bombs", "memory-in-many-processes", 2),
    ("output", "half-characters", 5),
    ("output", "markup", 1),
    ("output", "terminal-codes", 4),
    ("solutions", "error-named-in-half-characters", 3),
    ("shell", "display-hook-forges-scores", 2),
    ("forgery", "error-of-ten-megabytes", 1),
    ("wire", "found-is-no-value", 2),
    ("wire", "cell-with-gigabytes-of-outputs", 3),
    ("daemons", "daemon-that-ignores-signals", 4),
    ("broken", "truncated", 5),
    ("broken", "deeply-nested-file", 1),
    ("damage", "half-characters-in-a-cell", 2),
    ("broken", "not-handed-in", 3),
    ("damage", "markup-in-a-cell", 4),
    ("damage", "markup-in-a-text", 5),
)
HONEST = ("ada", "zuse")
SHADOWS = ("torch.py", "json.py", "sitecustomize.py", "nbgrader_config.py", "shardwise_grading.py")


def attackers():
    """Name, attack and exercise of each hostile student."""
    for family, name, number in ATTACKERS:
        yield f"{family}-{name}", families.named(family, name), number


def hand_in(folder: Path) -> None:
    """Fill a course's ``submitted/``."""
    for student in HONEST:
        _write(folder, student, {})
    for student, attack, number in attackers():
        _write(folder, student, {course.BY_NUMBER[number].name: attack.notebook(number)})
    _write_odd_files(folder)


def _write(folder: Path, student: str, instead: dict[str, bytes | None]) -> Path:
    place = folder / "submitted" / student / ASSIGNMENT
    place.mkdir(parents=True)
    for exercise in course.ALL:
        right = course.as_bytes(course.all_right(exercise))
        content = instead.get(exercise.name, right)
        if content is not None:
            (place / f"{exercise.name}.ipynb").write_bytes(content)
    return place


def _write_odd_files(folder: Path) -> None:
    """Students whose files are no notebooks, or more than notebooks."""
    first = f"{course.ALL[0].name}.ipynb"
    links = _write(folder, "links-to-ada", {course.ALL[0].name: None})
    (links / first).symlink_to(folder / "submitted" / HONEST[0] / ASSIGNMENT / first)
    (links / "hidden").symlink_to(folder / "hidden")
    pipes = _write(folder, "pipe-for-a-notebook", {course.ALL[0].name: None})
    os.mkfifo(pipes / first)
    folders = _write(folder, "folder-for-a-notebook", {course.ALL[0].name: None})
    (folders / first).mkdir()
    shadows = _write(folder, "shadows-modules", {})
    for name in SHADOWS:
        (shadows / name).write_text("raise SystemExit('shadowed')\n", encoding="utf-8")
