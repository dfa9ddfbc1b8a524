"""Load a hidden check, run it on a solution, and report."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

from shardwise_grading.data import as_data
from shardwise_grading.quiet import drop_stderr, own_streams
from shardwise_grading.results import Report, Result, fault
from shardwise_grading.world import SECONDS, LocalWorld, World

Check = Callable[[object, World], Iterator[Result]]


def grade(exercise: str, part: str, solution: object, *, points: int) -> Report:
    """Run the hidden checks of one part of an exercise, and print what they found.

    This is what the hidden cell of a notebook calls, in the student's own process. The folder of
    the checks and the seed come from the environment, where ``nbgrader_config.py`` puts them.

    Args:
        exercise: the module with the checks, such as ``"stage_2_memory"``.
        part: the check in it, such as ``"stage2_bytes"``.
        solution: what the student wrote: a function, or a table.
        points: what the cell is worth.

    Returns:
        The report, whose score the cell shows last.

    Raises:
        FileNotFoundError: no folder in ``SHARDWISE_HIDDEN`` holds the exercise.
        ValueError: the exercise has no such part.
    """
    module = load(exercise)
    own_streams()
    drop_stderr()
    report = run(module, part, solution, points=points)
    sys.stdout.write(f"{report}\n")
    return report


def load(exercise: str) -> ModuleType:
    """Load the hidden checks of an exercise from the first folder that has them.

    Nothing is left in ``sys.modules``, and no bytecode is written beside the source.
    """
    folders = [Path(f) for f in os.environ.get("SHARDWISE_HIDDEN", "").split(os.pathsep) if f]
    for folder in folders:
        path = folder / f"{exercise}.py"
        if path.is_file():
            return load_source(exercise, path.read_text(encoding="utf-8"))
    raise FileNotFoundError(
        f"exercise={exercise!r} has no hidden checks in SHARDWISE_HIDDEN "
        f"({len(folders)} folders); run nbgrader from the folder with nbgrader_config.py"
    )


def load_source(exercise: str, source: str) -> ModuleType:
    """Load hidden checks from their text, as they travel to a worker."""
    module = ModuleType(f"hidden_{exercise}")
    exec(compile(source, f"{exercise}.py", "exec"), vars(module))  # noqa: S102
    return module


def run(
    module: ModuleType, part: str, solution: object, *, points: int, seed: str | None = None
) -> Report:
    """Run one part of loaded checks in a local world.

    Args:
        module: what `load` returned: ``CHECKS`` names its parts, ``LOCKED`` what the library must
            not answer, ``SECONDS`` how long a call may take.
        part: the check to run.
        solution: what the student wrote.
        points: what the cell is worth.
        seed: decides the drawn inputs; ``SHARDWISE_SEED`` where it is not given.
    """
    with LocalWorld(
        seed if seed is not None else os.environ.get("SHARDWISE_SEED", ""),
        locked=module.LOCKED,
        collectives=getattr(module, "COLLECTIVES", ()),
        seconds=getattr(module, "SECONDS", SECONDS),
    ) as world:
        handed_in = solution if callable(solution) else as_data(solution)
        return examine(module, part, handed_in, world, points=points)


def examine(
    module: ModuleType, part: str, solution: object, world: World, *, points: int
) -> Report:
    """Run one part of loaded checks in a world of any kind.

    A check that raises fails with all the points that it had still to give.

    Raises:
        ValueError: the checks have no such part.
    """
    checks: dict[str, Check] = module.CHECKS
    if part not in checks:
        raise ValueError(f"part={part!r} is not one of {sorted(checks)}")
    results: list[Result] = []
    try:
        results.extend(checks[part](solution, world))
    except Exception as error:  # noqa: BLE001
        left = max(points - sum(result.points for result in results), 0)
        results.append(Result("every property could be checked", False, left, fault(error)))
    return Report(tuple(results), points)
