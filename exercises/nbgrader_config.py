"""The course, as nbgrader sees it: run every nbgrader command from this folder."""

import os
import sys
from pathlib import Path

COURSE = Path(__file__).absolute().parent

# nbgrader starts `alembic` by name, which sits beside the Python that runs us.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])

# The kernels that grade inherit both. A course with private checks lists its folder first
# (separated as in PATH); a course that changes the seed draws other inputs.
os.environ.setdefault("SHARDWISE_HIDDEN", str(COURSE / "hidden"))
os.environ.setdefault("SHARDWISE_SEED", "23")

c = get_config()  # type: ignore[name-defined]  # noqa: F821  (nbgrader provides it)

c.CourseDirectory.root = str(COURSE)
c.CourseDirectory.course_id = "shardwise"
c.CourseDirectory.db_url = f"sqlite:///{COURSE / 'gradebook.db'}"
c.ClearSolutions.code_stub = {"python": "# Your code here."}

# Histories stay apart, as by default, and no student's code takes the streams from the next cell.
c.Execute.extra_arguments = [
    "--HistoryManager.hist_file=:memory:",
    "--ext=shardwise_grading.kernel",
]
