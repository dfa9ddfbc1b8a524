"""`python -m shardwise_grading.release`, for `make release`."""

from __future__ import annotations

import sys
from pathlib import Path

from shardwise_grading.release.folder import make_release

if __name__ == "__main__":
    sys.stdout.write(f"{make_release(Path('exercises'), 'distributed-training')}\n")
