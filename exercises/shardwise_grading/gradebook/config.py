"""Read a course's ``nbgrader_config.py``, as nbgrader would from that folder."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError
from traitlets.config import Application, Config

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "nbgrader_config"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a course says of itself.

    Args:
        config: all of it, for nbgrader's own classes.
        coursedir: nbgrader's view of the folders.
        hidden_folders: where hidden checks are, the first that has one counts.
        seed: decides what hidden checks draw.
    """

    config: Config
    coursedir: CourseDirectory
    hidden_folders: tuple[Path, ...]
    seed: str

    @property
    def autograde(self) -> Autograde:
        """Nbgrader's own ``autograde`` as the course configures it, for what it would do."""
        return Autograde(coursedir=self.coursedir, config=self.config)


def read_settings(folder: Path, db_url: str | None = None) -> Settings:
    """Read the settings of a course; the user's own Jupyter settings stay out of it.

    Args:
        folder: the course.
        db_url: the gradebook, in place of the one that the course names.

    Raises:
        FileNotFoundError: the folder holds no ``nbgrader_config.py``.
        ValueError: the gradebook is no address of a database.
    """
    folder = folder.absolute()
    if not (folder / f"{NAME}.py").is_file():
        raise FileNotFoundError(f"folder={folder} holds no {NAME}.py; name the folder of a course")
    app = Application(raise_config_file_errors=True)
    with _unchanged_environment():
        app.load_config_file(NAME, [str(folder)])
        hidden = os.environ.get("SHARDWISE_HIDDEN", "")
        seed = os.environ.get("SHARDWISE_SEED", "")
    config = Config(app.config)
    if "root" not in config.CourseDirectory:
        config.CourseDirectory.root = str(folder)
    if db_url is not None:
        config.CourseDirectory.db_url = db_url
    coursedir = CourseDirectory(config=config)
    config.CourseDirectory.db_url = _absolute(coursedir.db_url, folder)
    return Settings(
        config=config,
        coursedir=CourseDirectory(config=config),
        hidden_folders=tuple(folder / part for part in hidden.split(os.pathsep) if part),
        seed=seed,
    )


@contextmanager
def alembic_on_path() -> Iterator[None]:
    """Let nbgrader find ``alembic``, which it starts by name, beside the Python that runs us."""
    with _unchanged_environment():
        here = str(Path(sys.executable).parent)
        os.environ["PATH"] = os.pathsep.join([here, os.environ.get("PATH", "")])
        yield


@contextmanager
def _unchanged_environment() -> Iterator[None]:
    """Keep what a course sets away from the next course."""
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _absolute(db_url: str, folder: Path) -> str:
    """Let the file of an SQLite gradebook count from the course's folder, as for nbgrader."""
    try:
        url = make_url(db_url)
    except ArgumentError as error:  # which may hold a password, so the text is not shown
        raise ValueError(
            "db_url names no database; write sqlite:///FILE or postgresql://USER@HOST/NAME"
        ) from error
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        return db_url
    path = folder / url.database
    return url.set(database=str(path)).render_as_string(hide_password=False)
