"""Open nbgrader's gradebook, and make one transaction of what nbgrader commits piece by piece."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from nbgrader.api import Gradebook
from sqlalchemy import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import scoped_session, sessionmaker

from shardwise_grading.gradebook.config import alembic_on_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbgrader.coursedir import CourseDirectory


def open_gradebook(directory: CourseDirectory) -> Gradebook:
    """Open the gradebook of a course; one that isn't there is made.

    Raises:
        ValueError: the database can't be reached.
    """
    try:
        with alembic_on_path():
            return Gradebook(directory.db_url, directory.course_id)
    except (SQLAlchemyError, ImportError) as error:
        shown = make_url(directory.db_url).render_as_string(hide_password=True)
        raise ValueError(
            f"db_url={shown} can't be opened; check that the server runs and that its driver is "
            f"installed ({' '.join(str(error).split())[:200]})"
        ) from error


@contextmanager
def transaction(gradebook: Gradebook) -> Iterator[None]:
    """Let a gradebook keep everything that is done inside, or nothing.

    nbgrader's own code commits after every cell; inside, that only sends the changes to the
    database. They become final at the end, and void when the block raises.

    Args:
        gradebook: nbgrader's; the block may call whatever it has.
    """
    outside = gradebook.db
    with gradebook.engine.begin() as connection:
        make = sessionmaker(
            bind=connection, join_transaction_mode="rollback_only", expire_on_commit=False
        )
        gradebook.db = scoped_session(make)
        try:
            yield
            gradebook.db.flush()
        finally:
            gradebook.db.remove()
            gradebook.db = outside
