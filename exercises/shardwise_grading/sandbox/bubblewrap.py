"""bubblewrap: a program that puts another one into namespaces, where a process may not itself."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from shardwise_grading.sandbox import landlock, privileges, seccomp
from shardwise_grading.sandbox.mounts import SCRATCH, outermost
from shardwise_grading.sandbox.rlimits import limit_resources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardwise_grading.sandbox.limits import Limits


def bubblewrap_command(readable: Sequence[Path], limits: Limits) -> list[str]:
    """Return what to put before a command so that it runs in namespaces of its own.

    The command has to call `settle` before it runs a student's code.

    Args:
        readable: files and folders that it may read.
        limits: how large its scratch folders may be.

    Raises:
        FileNotFoundError: bubblewrap is not installed.
    """
    program = shutil.which("bwrap")
    if program is None:
        raise FileNotFoundError("bubblewrap is not installed; install the package bubblewrap")
    command = [program, "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
    command += ["--cap-drop", "ALL", "--hostname", "student", "--proc", "/proc", "--dev", "/dev"]
    for folder in SCRATCH:
        command += ["--size", str(limits.disk), "--tmpfs", folder]
    for path in outermost(readable):
        command += ["--ro-bind", str(path), str(path)]
    for path in readable:
        if path.is_symlink():
            command += ["--symlink", str(path.readlink()), str(path)]
    home = SCRATCH[0]
    for name, value in (("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", home), ("TMPDIR", home)):
        command += ["--setenv", name, value]
    return [*command, "--chdir", home, "--"]


def settle(readable: Sequence[Path], limits: Limits) -> None:
    """Limit this process, which bubblewrap started, before it runs a student's code.

    Raises:
        OSError: the kernel refuses.
    """
    privileges.forbid_new_rights()
    privileges.drop_capabilities()
    limit_resources(limits)
    # The guard is in the same namespace, so that nothing but this keeps the student's hands off it.
    seccomp.restrict(alone=True)
    if landlock.version():
        landlock.restrict([*readable, Path("/proc")], [*map(Path, SCRATCH), Path("/dev")])


def missing(readable: Sequence[Path], limits: Limits) -> str:
    """Say why bubblewrap can't be used here; an empty string when it can."""
    try:
        command = [*bubblewrap_command(readable, limits), "true"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"
