"""Who may import whom: the library stands alone, the other packages build on it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support import ROOT


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_packages_keep_their_directions():
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout
    assert "1 kept, 0 broken" in result.stdout


def test_importing_the_library_loads_nothing_of_the_course_or_the_book():
    code = (
        "import sys, pkgutil, importlib, shardwise\n"
        "for m in pkgutil.walk_packages(shardwise.__path__, 'shardwise.'):\n"
        "    importlib.import_module(m.name)\n"
        "print(sorted({m.split('.')[0] for m in sys.modules} &"
        " {'IPython', 'anywidget', 'nbgrader', 'matplotlib', 'shardwise_widgets',"
        " 'shardwise_book', 'shardwise_grading'}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
