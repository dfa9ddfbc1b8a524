"""What students handed in: files that are looked at with care, because anything may be there."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from nbgrader.utils import parse_utc

from shardwise_grading.checking.texts import line
from shardwise_grading.gradebook.safe_files import read_regular
from shardwise_grading.submission.read import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

LONGEST_NAME = 128  # characters that the gradebook can hold
LONGEST_FILE_NAME = 200  # bytes, so that an ending still fits
MOST_ENTRIES = 1000
MOST_LEVELS = 20  # what removes a folder calls itself for each
MOST_SAID = 3
LONGEST_SHOWN = 60  # characters of a file's name
TIMESTAMP = "timestamp.txt"


@dataclass(frozen=True, slots=True)
class Submission:
    """All that one student handed in for an assignment, not yet read.

    Args:
        student: the folder in ``submitted/``; escaped and shortened where the gradebook could not
            hold it.
        assignment: the folder in that.
        folder: where the files are.
        files: the notebooks that can be read, by name without ending; also those that the
            assignment doesn't have.
        refused: names of the notebooks that are there and can't be read.
        others: the remaining files, relative to the folder.
        timestamp: when it was handed in, in UTC without a zone; None where nobody says.
        problem: why a human has to look, whatever the grader finds; empty when nobody has to.
        usable: whether the gradebook can hold the student.
    """

    student: str
    assignment: str
    folder: Path
    files: Mapping[str, Path] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    others: tuple[Path, ...] = ()
    timestamp: datetime | None = None
    problem: str = ""
    usable: bool = True


@dataclass(frozen=True, slots=True)
class Caps:
    """What is looked at in one submission.

    Args:
        ignore: patterns of the names that nbgrader leaves out.
        file_bytes: how large one file may be.
        total_bytes: how large all other files than notebooks may be.
    """

    ignore: Sequence[str] = ()
    file_bytes: int = 100_000_000
    total_bytes: int = 100_000_000


def read_notebooks(submission: Submission, names: Iterable[str]) -> dict[str, bytes | None]:
    """Read notebooks by name; None for one that is not there or can't be read.

    One that is too large is cut one byte behind what can be graded.
    """
    contents: dict[str, bytes | None] = {}
    for name in names:
        try:
            contents[name] = read_regular(submission.files[name], MAX_BYTES + 1)
        except (KeyError, OSError):
            contents[name] = None
    return contents


def look_into(student: str, assignment: str, folder: Path, caps: Caps) -> Submission:
    """Find out what is in a submitted folder, without reading or following anything.

    Args:
        student: the name of the student's folder.
        assignment: the assignment.
        folder: where the submission should be.
        caps: what is looked at.
    """
    label = _label(student)
    found = _Found(folder)
    if label != student:
        found.problems.append("the gradebook can't hold this student's name; rename the folder")
    if folder.is_symlink() or folder.parent.is_symlink() or not folder.is_dir():
        found.problems.append("what was handed in is no folder")
    else:
        room = caps.total_bytes
        for path, fault in _entries(folder, caps):
            if not fault and path.suffix != ".ipynb":
                room -= path.lstat().st_size
            found.add(path, fault or ("" if room >= 0 else "doesn't fit: too much was handed in"))
    timestamp = found.take_timestamp()
    return Submission(
        student=label,
        assignment=assignment,
        folder=folder,
        files=dict(sorted(found.files.items())),
        refused=tuple(sorted(found.refused)),
        others=tuple(sorted(found.others)),
        timestamp=timestamp,
        problem=_sentence(found.problems),
        usable=label == student,
    )


@dataclass(slots=True)
class _Found:
    """What was found so far in a folder."""

    folder: Path
    files: dict[str, Path] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    others: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add(self, path: Path, fault: str) -> None:
        inside = path.relative_to(self.folder)
        notebook = path.suffix == ".ipynb"
        if fault:
            self.problems.append(f"{line(str(inside), LONGEST_SHOWN)} {fault}")
            if notebook and path.parent == self.folder:
                self.refused.append(path.stem)
        elif not notebook:
            self.others.append(inside)
        elif path.parent == self.folder:
            self.files[path.stem] = path
            size = path.lstat().st_size
            if size > MAX_BYTES:
                self.problems.append(f"{line(path.name, LONGEST_SHOWN)} has {size:,} bytes")

    def take_timestamp(self) -> datetime | None:
        """Read when it was handed in; a file that does not say stays behind.

        nbgrader would stop at it ever after.
        """
        if Path(TIMESTAMP) not in self.others:
            return None
        try:
            return _read_timestamp(self.folder / TIMESTAMP)
        except (OSError, ValueError, OverflowError, TypeError):
            self.others.remove(Path(TIMESTAMP))
            self.problems.append(f"{TIMESTAMP} holds no time")
            return None


def _entries(folder: Path, caps: Caps) -> Iterator[tuple[Path, str]]:
    """Give each file below a folder and what speaks against reading it."""
    left = MOST_ENTRIES
    waiting = [(str(folder), 1)]
    while waiting:
        here, level = waiting.pop()
        try:
            with os.scandir(here) as found:
                entries = _first(found, left + 1)
        except OSError:
            yield Path(here), "can't be opened"
            continue
        left -= len(entries)
        for entry in sorted(entries, key=lambda entry: entry.name):
            if any(fnmatch.fnmatch(entry.name, pattern) for pattern in caps.ignore):
                continue
            if entry.is_dir(follow_symlinks=False) and level <= MOST_LEVELS:
                waiting.append((entry.path, level + 1))
            elif entry.is_dir(follow_symlinks=False):
                yield Path(entry.path), f"is more than {MOST_LEVELS} folders deep"
            else:
                yield Path(entry.path), _fault(entry, caps)
        if left < 0:
            yield Path(here), f"is only read in part: there are more than {MOST_ENTRIES} files"
            return


def _first(found: Iterable[os.DirEntry[str]], most: int) -> list[os.DirEntry[str]]:
    """Take entries up to a number; a notebook is found behind any number of other files."""
    entries: list[os.DirEntry[str]] = []
    for entry in found:
        if len(entries) < most or (entry.name.endswith(".ipynb") and len(entries) < 2 * most):
            entries.append(entry)
    return entries


def _fault(entry: os.DirEntry[str], caps: Caps) -> str:
    """Say why a file is left out, or nothing."""
    if entry.is_symlink():
        return "is a link, which is not followed"
    if not entry.is_file(follow_symlinks=False):
        return "is neither a file nor a folder"
    if not os.access(entry.path, os.R_OK):
        return "can't be read"
    size = entry.stat(follow_symlinks=False).st_size
    if size > caps.file_bytes and not entry.name.endswith(".ipynb"):
        return f"is left out: it has {size:,} bytes of at most {caps.file_bytes:,}"
    return ""


def _label(student: str) -> str:
    """Return a name that gradebook, files and terminals can hold; the same where it can be."""
    short = len(student) <= LONGEST_NAME and len(os.fsencode(student)) <= LONGEST_FILE_NAME
    if short and student.isprintable() and student == student.strip():
        return student
    return f"{line(student, LONGEST_SHOWN)} {hashlib.sha256(os.fsencode(student)).hexdigest()[:8]}"


def _read_timestamp(path: Path) -> datetime | None:
    """Read a timestamp as nbgrader does: an empty file says nothing."""
    text = read_regular(path, 1000).decode().strip()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a zone that nobody knows counts as UTC, as in nbgrader
        time: datetime | None = parse_utc(text) if text else None
    return time


def _sentence(problems: list[str]) -> str:
    """Write the first problems and how many more there are."""
    more = [f"and {len(problems) - MOST_SAID} more"] if len(problems) > MOST_SAID else []
    return "; ".join(problems[:MOST_SAID] + more)
