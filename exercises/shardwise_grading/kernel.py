"""An IPython extension for the kernels that grade; nbgrader_config.py loads it.

After ``sys.stdout = None`` IPython can't start another cell, and each would wait for its time-out.
So every cell starts with the kernel's own streams.
"""

from __future__ import annotations

from typing import Any

from shardwise_grading.quiet import own_streams


def load_ipython_extension(shell: Any) -> None:  # noqa: ANN401
    """Put the streams back after every cell."""
    shell.events.register("post_run_cell", lambda _: own_streams())
