"""One open course folder: the only place that writes into its folders and its gradebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from shardwise_grading.gradebook.folders import Submission
    from shardwise_grading.records import SubmissionRecord
    from shardwise_grading.submission.layout import Layout


class Course:
    """An nbgrader course, open for grading; use it with ``with``.

    Attributes:
        root: the folder of the course.
        hidden_folders: where the hidden checks are, the first that has one counts.
        seed: decides what the hidden checks draw.
    """

    root: Path
    hidden_folders: tuple[Path, ...]
    seed: str

    @classmethod
    def open(cls, folder: Path, db_url: str | None = None, *, settings: str = "") -> Self:
        """Open the course of a folder with ``nbgrader_config.py``.

        Args:
            folder: the course.
            db_url: the gradebook, in place of the one that the course names.
            settings: whatever else results depend on, such as the limits; part of each digest.

        Raises:
            FileNotFoundError: the folder holds no ``nbgrader_config.py``.
        """
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Return the course itself."""
        raise NotImplementedError

    def __exit__(self, *_: object) -> None:
        """Close the gradebook."""
        raise NotImplementedError

    def layouts(self, assignment: str) -> dict[str, Layout]:
        """Read the instructor's notebooks of an assignment, once."""
        raise NotImplementedError

    def hidden_sources(self, assignment: str) -> dict[str, str]:
        """Read the hidden checks that an assignment asks for: source by exercise, once."""
        raise NotImplementedError

    def ensure_assignment(self, assignment: str) -> None:
        """Let the gradebook hold an assignment as ``nbgrader generate_assignment`` leaves it.

        Raises:
            FileNotFoundError: the course has no such assignment.
            ValueError: its source has changed in a way that nbgrader can't follow, because there
                are submissions.
        """
        raise NotImplementedError

    def submissions(
        self, assignment: str, students: Collection[str] | None = None
    ) -> list[Submission]:
        """Look at what was handed in, in the order of the students' names.

        Args:
            assignment: the assignment.
            students: whose; everybody's where it is not given.
        """
        raise NotImplementedError

    def contents(self, submission: Submission) -> dict[str, bytes | None]:
        """Read a submission: each notebook of the assignment by name, None where there is none.

        A notebook that is too large is cut one byte behind what can be graded.
        """
        raise NotImplementedError

    def digest(self, submission: Submission) -> str:
        """Name everything that the results of a submission depend on."""
        raise NotImplementedError

    def record(self, student: str, assignment: str) -> SubmissionRecord | None:
        """Read what grading knows of a submission; None where it knows nothing that fits."""
        raise NotImplementedError

    def is_current(self, submission: Submission) -> bool:
        """Whether nothing is left to do: graded as it is now, and folder and gradebook say so.

        Where this is False and the digest of `record` is still that of the submission, saving
        that record again is enough (``nbgrader autograde`` ran in between, or only the timestamp
        is new).
        """
        raise NotImplementedError

    def save(self, record: SubmissionRecord, submission: Submission) -> None:
        """Put results where nbgrader keeps them, all or nothing.

        That is ``autograded/<student>/<assignment>/``, the gradebook (manual scores, extra credit
        and comments stay), and last ``results/<assignment>/<student>.json``.
        """
        raise NotImplementedError
