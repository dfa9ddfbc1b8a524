"""Asking the widgets' JavaScript from a test of Python."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from support import ROOT


def node(program: str, data: object = None) -> Any:
    """Run a module that turns `input` into `output`, in the folder of the widgets' sources."""
    source = (
        "import { readFileSync } from 'node:fs';\n"
        "const input = JSON.parse(readFileSync(0, 'utf8'));\n"
        f"{program}\nprocess.stdout.write(JSON.stringify(output));\n"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", source],
        cwd=ROOT / "widgets" / "src",
        input=json.dumps(data),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
