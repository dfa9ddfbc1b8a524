"""All attacks by family, and the few of each that every test run tries."""

from __future__ import annotations

from importlib import import_module

import pytest

FAMILIES = (
    "bombs",
    "broken",
    "daemons",
    "damage",
    "exits",
    "files",
    "forgery",
    "grader",
    "huge",
    "kernel",
    "liars",
    "loops",
    "network",
    "output",
    "patches",
    "probing",
    "shadowing",
    "shell",
    "solutions",
    "wire",
)
ALL = {name: import_module(f"exercises.attacks.{name}").ATTACKS for name in FAMILIES}

# What these do has nothing to do with what is to be solved.
ANYWHERE = {
    "bombs",
    "daemons",
    "files",
    "kernel",
    "loops",
    "network",
    "output",
    "probing",
    "shadowing",
}

OFTEN = {
    "bombs": "eight-gigabytes-at-once memory-in-many-processes fork-bomb thread-bomb",
    "broken": """
        format-3 truncated empty-file utf-16 hundred-megabytes deeply-nested-file
        deeply-nested-metadata keys-twice not-handed-in
        """,
    "daemons": """
        double-forked-daemon daemon-that-ignores-signals child-answers-as-well
        program-in-the-background
        """,
    "damage": """
        every-cell-twice answer-deleted tests-deleted all-in-one-cell answers-renamed
        answers-retyped-as-text tests-give-all-points tags-that-skip metadata-gone ids-gone
        cells-that-are-none syntax-error-in-own-cell a-million-signs
        """,
    "exits": """
        sys-exit-in-every-call own-base-exception-in-every-call os-exit-in-a-cell
        os-exit-in-every-call segfault-in-a-cell kill-the-process-group kill-everybody
        exec-of-another-program
        """,
    "files": """
        reads-the-course-folder reads-the-hidden-checks writes-into-the-course
        writes-into-the-environment links-to-the-course
        """,
    "forgery": """
        claims-ten-points float-beyond-all-floats layout-of-a-tebibyte
        same-bytes-a-hundred-thousand-times nested-a-million-deep error-of-ten-megabytes
        """,
    "grader": """
        observer-says-all-is-well lockdown-replaced text-of-the-library-copied
        all-reduce-called-and-not-used frames-walked
        """,
    "huge": "huge-list-returned tensor-of-a-terabyte-in-one-number terabyte-through-the-all-reduce",
    "kernel": """
        searches-its-own-memory traces-its-parent descriptors-that-were-left-open
        mounts-and-namespaces programs-with-more-rights
        """,
    "liars": """
        equals-everything float-that-lies metaclass-with-another-mro
        tensors-of-a-subclass-in-a-list list-of-nan-tensors reduce-that-runs-code
        """,
    "loops": """
        loop-in-a-cell call-that-catches-everything sleep-with-signals-blocked
        loop-in-what-is-returned one-matmul-that-takes-minutes
        """,
    "network": "tcp-to-this-machine abstract-unix-socket unix-socket-by-path",
    "output": """
        gigabyte-in-one-line gigabyte-by-os-write half-characters huge-traceback
        displays-without-end stdout-is-none standard-descriptors-closed markup
        """,
    "patches": "torch-comparisons-say-yes builtins-replaced",
    "probing": "answers-only-what-is-visible other-code-on-the-second-run prints-the-environment",
    "shadowing": "modules-in-the-working-folder sitecustomize-and-pth fake-modules",
    "shell": "shell-runs-nothing asserts-stripped display-hook-forges-scores",
    "solutions": "solution-is-no-function callable-that-loops-when-asked",
    "wire": """
        head-of-four-gigabytes answers-twice
        collective-of-fifty-thousand-devices found-is-no-value cell-with-gigabytes-of-outputs
        garbage-on-every-descriptor
        """,
}


def named(family, name):
    """The attack of that name."""
    return next(attack for attack in ALL[family] if attack.name == name)


def often(*families):
    """The attacks of some families that every test run tries, each on one exercise."""
    cases = []
    for family in families:
        for turn, name in enumerate(OFTEN[family].split()):
            attack = named(family, name)
            cases.append(_case(family, attack, attack.exercises[turn % len(attack.exercises)]))
    return cases


def every():
    """Every attack on every exercise where that makes a difference, the others on two in turn."""
    cases = []
    for family, attacks in ALL.items():
        for turn, attack in enumerate(attacks):
            numbers = attack.exercises
            if family in ANYWHERE:
                numbers = {numbers[(turn + step) % len(numbers)] for step in (0, 2)}
            cases += [_case(family, attack, number) for number in sorted(numbers)]
    return cases


def _case(family, attack, number):
    return pytest.param(attack, number, id=f"{family}-{attack.name}-{number}")
