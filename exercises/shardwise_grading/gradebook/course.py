"""One open course folder: the only place that writes into its folders and its gradebook."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from shardwise_grading.gradebook.assignment import AssignmentSource, read_source
from shardwise_grading.gradebook.autograded import Outcome, fill_folder, is_in_folder, outcome
from shardwise_grading.gradebook.beside import files_beside
from shardwise_grading.gradebook.config import Settings, alembic_on_path, read_settings
from shardwise_grading.gradebook.digest import assignment_digest, submission_digest
from shardwise_grading.gradebook.folders import read_notebooks
from shardwise_grading.gradebook.grades import holds_grades, save_grades
from shardwise_grading.gradebook.listing import find_submissions
from shardwise_grading.gradebook.marks import NotebookMark, read_marks
from shardwise_grading.gradebook.release import is_known, make_known
from shardwise_grading.gradebook.safe_files import write_beside
from shardwise_grading.gradebook.swap import Swap
from shardwise_grading.gradebook.transaction import open_gradebook, transaction
from shardwise_grading.records import SubmissionRecord, submission_from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from nbgrader.api import Gradebook

    from shardwise_grading.gradebook.folders import Submission
    from shardwise_grading.submission.layout import Layout


class Course:
    """An nbgrader course, open for grading; use it with ``with``.

    Args:
        settings: what the course says of itself.
        gradebook: nbgrader's, open.
        further: whatever else results depend on.
    """

    def __init__(self, settings: Settings, gradebook: Gradebook, further: str = "") -> None:
        """Take what `open` has opened."""
        self._settings, self._gradebook, self._further = settings, gradebook, further
        self._sources: dict[str, AssignmentSource] = {}
        self._digests: dict[str, str] = {}

    @classmethod
    def open(cls, folder: Path, db_url: str | None = None, *, settings: str = "") -> Self:
        """Open the course of a folder with ``nbgrader_config.py``.

        Args:
            folder: the course.
            db_url: the gradebook, in place of the one that the course names.
            settings: whatever else results depend on, such as the limits; part of each digest.

        Raises:
            FileNotFoundError: the folder holds no ``nbgrader_config.py``.
            ValueError: the gradebook can't be opened.
        """
        own = read_settings(folder, db_url)
        return cls(own, open_gradebook(own.coursedir), settings)

    def __enter__(self) -> Self:
        """Return the course itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the gradebook."""
        self._gradebook.close()

    @property
    def root(self) -> Path:
        """The folder of the course."""
        return Path(self._settings.coursedir.root)

    @property
    def hidden_folders(self) -> tuple[Path, ...]:
        """Where the hidden checks are; the first folder that has one counts."""
        return self._settings.hidden_folders

    @property
    def seed(self) -> str:
        """What decides the inputs that hidden checks draw."""
        return self._settings.seed

    def layouts(self, assignment: str) -> Mapping[str, Layout]:
        """Return the instructor's notebooks of an assignment as they are graded.

        Raises:
            FileNotFoundError: the course has no such assignment.
            ValueError: a notebook can't be graded as it stands.
        """
        return self._source(assignment).layouts

    def hidden_sources(self, assignment: str) -> Mapping[str, str]:
        """Return the hidden checks that an assignment asks for: source by exercise."""
        return self._source(assignment).hidden

    def autograded_folder(self, student: str, assignment: str) -> Path:
        """Return where graded notebooks are."""
        return self._folder(self._settings.coursedir.autograded_directory, student, assignment)

    def feedback_folder(self, student: str, assignment: str) -> Path:
        """Return where feedback is."""
        return self._folder(self._settings.coursedir.feedback_directory, student, assignment)

    def ensure_assignment(self, assignment: str) -> None:
        """Let the gradebook hold an assignment as ``nbgrader generate_assignment`` leaves it.

        Raises:
            FileNotFoundError: the course has no such assignment.
            ValueError: its source has changed in a way that nbgrader can't follow, because there
                are submissions.
        """
        templates = self._source(assignment).templates
        with transaction(self._gradebook):
            known = is_known(self._gradebook, assignment, templates)
        if not known:
            with alembic_on_path():
                make_known(self._settings, assignment)

    def submissions(
        self, assignment: str, students: Collection[str] | None = None
    ) -> list[Submission]:
        """Look at what was handed in, in the order of the students' names.

        Args:
            assignment: the assignment.
            students: whose; everybody's where it is not given.
        """
        found = find_submissions(self._settings.coursedir, assignment, students)
        for submission in found:
            Swap(self.autograded_folder(submission.student, assignment)).recover()
        return self._admitted(found)

    def contents(self, submission: Submission) -> dict[str, bytes | None]:
        """Read a submission: each notebook of the assignment by name, None where there is none."""
        return read_notebooks(submission, self.layouts(submission.assignment))

    def beside(self, submission: Submission) -> dict[str, bytes | None]:
        """Read what code finds beside its notebook; None for a file that is too much."""
        return files_beside(submission, self._source(submission.assignment))

    def digest(self, submission: Submission) -> str:
        """Name everything that the results of a submission depend on, as it lies there now."""
        contents, beside = self.contents(submission), self.beside(submission)
        return self.digest_of(submission.assignment, contents, beside)

    def digest_of(
        self,
        assignment: str,
        contents: Mapping[str, bytes | None],
        beside: Mapping[str, bytes | None],
    ) -> str:
        """Name everything that the results depend on, of a submission that has been read."""
        if assignment not in self._digests:
            source = self._source(assignment)
            self._digests[assignment] = assignment_digest(
                source.layouts, source.hidden, self.seed, self._further
            )
        return submission_digest(self._digests[assignment], contents, beside)

    def record(self, student: str, assignment: str) -> SubmissionRecord | None:
        """Read what grading knows of a submission; None where it knows nothing that fits."""
        try:
            content = json.loads(self._record_path(student, assignment).read_bytes())
            return submission_from_json(content)
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def is_current(self, submission: Submission) -> bool:
        """Whether nothing is left to do: graded as it is now, and folder and gradebook say so.

        Where this is False and the digest of `record` is still that of the submission, saving
        that record again is enough: ``nbgrader autograde`` ran in between, or the timestamp, the
        due date or an extension is new.
        """
        record = self.record(submission.student, submission.assignment)
        if record is None or record.digest != self.digest(submission):
            return False
        if not submission.usable:
            return True
        expected = self._outcome(record, submission)
        folder = self.autograded_folder(submission.student, submission.assignment)
        with transaction(self._gradebook):
            return is_in_folder(expected, folder) and holds_grades(
                self._gradebook, self._settings.config, expected, submission
            )

    def save(self, record: SubmissionRecord, submission: Submission) -> None:
        """Put results where nbgrader keeps them, all or nothing.

        That is ``autograded/<student>/<assignment>/``, the gradebook (manual scores, extra credit
        and comments stay), and last ``results/<assignment>/submissions/<student>.json``. Where that
        has the same digest already, no human is asked again who has decided.

        Args:
            record: what grading found.
            submission: what was graded.
        """
        if submission.usable:
            self._put(record, submission)
        path = self._record_path(submission.student, submission.assignment)
        write_beside(path, json.dumps(to_json(record), ensure_ascii=True).encode())

    def marks(self, student: str, assignment: str) -> dict[str, NotebookMark]:
        """Read what the gradebook says of a submission, by notebook; nothing without an entry."""
        with transaction(self._gradebook):
            return read_marks(self._gradebook, assignment, student)

    def _put(self, record: SubmissionRecord, submission: Submission) -> None:
        """Change folder and gradebook, both or neither."""
        student, assignment = submission.student, submission.assignment
        result, config = self._outcome(record, submission), self._settings.config
        last = self.record(student, assignment)
        same_work = last is not None and last.digest == record.digest != ""
        swap = Swap(self.autograded_folder(student, assignment))
        source = self._source(assignment)
        fill_folder(swap.begin(), result.notebooks, submission, source, self._settings)
        try:
            with transaction(self._gradebook):
                save_grades(self._gradebook, config, result, submission, same_work=same_work)
                swap.put()
        except BaseException:
            swap.undo()
            raise
        swap.finish()

    def _admitted(self, found: list[Submission]) -> list[Submission]:
        """Turn down students that the gradebook lacks, where the course adds none by itself."""
        if self._settings.autograde.create_student:
            return found
        with transaction(self._gradebook):
            known = {student.id for student in self._gradebook.students}
        return [_turned_down(s) if s.usable and s.student not in known else s for s in found]

    def _outcome(self, record: SubmissionRecord, submission: Submission) -> Outcome:
        return outcome(record, submission, self._source(submission.assignment), self._settings)

    def _source(self, assignment: str) -> AssignmentSource:
        if assignment not in self._sources:
            self._sources[assignment] = read_source(assignment, self._settings)
        return self._sources[assignment]

    def _folder(self, step: str, student: str, assignment: str) -> Path:
        return Path(self._settings.coursedir.format_path(step, student, assignment))

    def _record_path(self, student: str, assignment: str) -> Path:
        return self.root / "results" / assignment / "submissions" / f"{student}.json"


def _turned_down(submission: Submission) -> Submission:
    remedy = "the gradebook has no such student; use 'nbgrader db student add'"
    problem = "; ".join(filter(None, (remedy, submission.problem)))
    return replace(submission, problem=problem, usable=False)
