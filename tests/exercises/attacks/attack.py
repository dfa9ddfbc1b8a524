"""What an attack is, and what must come of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import dedent
from typing import TYPE_CHECKING

from exercises.attacks import course

if TYPE_CHECKING:
    from collections.abc import Callable

    from exercises.attacks.course import Exercise

EVERY = (1, 2, 3, 4, 5)
TENSORS = (1, 3, 4)  # exercises whose functions take and return tensors
COLLECTIVE = (1, 4)  # exercises that hand a collective to the solution

# What an attack may earn, from `least` to `most` points.
OUTCOMES = {
    # All that was solved honestly, and nothing else.
    "half": lambda e: (e.half_points, e.half_points),
    # The function cannot answer any more; data that needs no call still counts.
    "data": lambda e: (e.data_points, e.data_points),
    "nothing": lambda _: (0, 0),
    # Copying the library, or asking a copy of it, can't be prevented, and the guide says so.
    "full": lambda _: (course.POINTS, course.POINTS),
    "at most full": lambda _: (0, course.POINTS),
    # The student hurts nobody but himself, and how much depends on when.
    "at most half": lambda e: (0, e.half_points),
    # What is seen in the student's process alone can be forged, so it is worth little.
    "forged": lambda e: (0, e.forgeable),
    "half and forged": lambda e: (e.half_points, e.half_points + e.forgeable),
}


@dataclass(frozen=True)
class Attack:
    """One hostile submission.

    Args:
        name: what it tries, in a few words with hyphens.
        before: a cell in front of the half-solved solution.
        inside: statements at the start of each call of the student's function.
        after: a cell right behind the solution.
        instead: what defines FUNCTION instead; the half-solved one is `honest` there.
        damage: makes the bytes of the notebook; the cells above are in it.
        outcome: what it earns, a key of `OUTCOMES` or points by exercise.
        exercises: the exercises on which it makes sense, by number.
        human: whether an instructor has to look: True, False, or None where both are right.
        says: words that the record must contain.
        unseen: words that no output may contain, beside the secrets.
        seconds: how long grading may take, in seconds.
    """

    name: str
    before: str = ""
    inside: str = ""
    after: str = ""
    instead: str = ""
    damage: Callable[[dict, Exercise], bytes | None] | None = None
    outcome: str | dict[int, int] = "half"
    exercises: tuple[int, ...] = EVERY
    human: bool | None = False
    says: tuple[str, ...] = ()
    unseen: tuple[str, ...] = field(default=())
    seconds: float = 60.0

    def notebook(self, number: int) -> bytes | None:
        """The file that is handed in for an exercise; places outside are still placeholders."""
        exercise = course.BY_NUMBER[number]
        parts = {
            part: dedent(getattr(self, part)) for part in ("before", "inside", "after", "instead")
        }
        notebook = course.half_solved(exercise, **parts)
        return self.damage(notebook, exercise) if self.damage else course.as_bytes(notebook)

    def points(self, number: int) -> tuple[int, int]:
        """The least and the most that it may earn."""
        if isinstance(self.outcome, dict):
            return self.outcome[number], self.outcome[number]
        least, most = OUTCOMES[self.outcome](course.BY_NUMBER[number])
        return least, most
