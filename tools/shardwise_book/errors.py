"""What can be wrong with a book: a place, what is wrong there, and what would be right."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that stops the build.

    Args:
        file: path relative to the project root, as the author knows it.
        line: 1-based line in that file, or None where no line can be named.
        message: what is wrong.
        remedy: what would be right.

    >>> print(Problem("chapter/a.qmd", 3, "unknown cell option 'ecco'", "use one of: echo, label"))
    chapter/a.qmd:3: unknown cell option 'ecco'
        use one of: echo, label
    """

    file: str
    line: int | None
    message: str
    remedy: str

    def __str__(self) -> str:
        """Return the two lines that an editor can jump from."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message}\n    {self.remedy}"


class BookError(Exception):
    """The book cannot be built as it stands; holds every problem that was found."""

    def __init__(self, *problems: Problem) -> None:
        """Keep the problems in the order of files and lines."""
        self.problems = sorted(problems, key=lambda p: (p.file, p.line or 0, p.message))
        super().__init__("\n".join(map(str, self.problems)))


@contextmanager
def faults_in(file: str, doing: str) -> Iterator[None]:
    """Name the file, and what was being done with it, where the builder itself fails.

    What the machine refuses (`OSError`) is no fault of the builder, and passes.
    """
    try:
        yield
    except (BookError, OSError):
        raise
    except Exception as error:
        message = f"this is a fault of the builder, {doing}: {type(error).__name__}: {error}"
        remedy = "report it with this file; what was changed last in it shows a way around"
        raise BookError(Problem(file, None, message, remedy)) from error


def raise_any(problems: Iterable[Problem]) -> None:
    """Raise one `BookError` for all the problems, if there are any."""
    found = list(problems)
    if found:
        raise BookError(*found)
