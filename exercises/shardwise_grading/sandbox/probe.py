"""Try a protection in this process: ``python -m shardwise_grading.sandbox.probe NAME``."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from shardwise_grading.sandbox import bubblewrap
from shardwise_grading.sandbox.enclosure import enter
from shardwise_grading.sandbox.limits import Limits
from shardwise_grading.sandbox.protections import ProtectionError
from shardwise_grading.sandbox.readable import readable_paths


def main(protection: str) -> int:
    """Enclose a child that ends at once; return 0 when that works, else say why not."""
    if protection == "bubblewrap":
        reason = bubblewrap.missing(readable_paths(), Limits())
        sys.stderr.write(reason)
        return 1 if reason else 0
    with tempfile.TemporaryDirectory() as scratch:
        try:
            student = enter(protection, Limits(), readable_paths(), Path(scratch), keep=())
        except ProtectionError as error:
            sys.stderr.write(str(error))
            return 1
        if student == 0:
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(student, 0)[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
