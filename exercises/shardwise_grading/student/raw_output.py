"""What is written to the descriptors of stdout and stderr themselves.

C code, child processes and forks of a student's process know no stream of Python's, and a kernel
shows what they write as well.
"""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

from shardwise_grading.student.shown import STREAMS

if TYPE_CHECKING:
    from shardwise_grading.student.shown import Shown

BYTES_OF_CHARACTER = 4


class RawOutput:
    """Has the descriptors 1 and 2 lead to files without a name, and reads these.

    A file takes whatever is written at once; a pipe would let the writer wait for its reader.
    """

    def __init__(self) -> None:
        """Take both descriptors over."""
        for descriptor in range(1, 1 + len(STREAMS)):
            file, path = tempfile.mkstemp()
            os.close(file)
            # Whoever writes there does so at the end, also after the file was emptied.
            file = os.open(path, os.O_RDWR | os.O_APPEND)
            os.unlink(path)  # noqa: PTH108 - imports nothing in a student's folder
            os.dup2(file, descriptor)
            os.close(file)

    def move_to(self, shown: Shown, most: int) -> None:
        """Show what came since the last time, and forget it.

        Args:
            shown: where it goes.
            most: characters of each that are looked at.
        """
        for descriptor, kind in enumerate(STREAMS, start=1):
            if not os.fstat(descriptor).st_size:
                continue
            content = os.pread(descriptor, BYTES_OF_CHARACTER * (most + 1), 0)
            os.ftruncate(descriptor, 0)
            shown.add(kind, content.decode("utf-8", "replace").replace("\r\n", "\n"))
