"""Files that are no notebooks, or of another format, or enormous."""
# ruff: noqa: ARG005  (a damage may well ignore what was there)

from __future__ import annotations

import gzip
import json

from exercises.attacks.attack import Attack
from exercises.attacks.damage import NOTHING, raw, written


def old_format(notebook, exercise):
    """The same in version 3, with worksheets."""
    cells = []
    for cell in notebook["cells"]:
        old = {"cell_type": cell["cell_type"], "metadata": cell["metadata"]}
        old |= {"input" if cell["cell_type"] == "code" else "source": cell["source"]}
        cells.append(
            old
            | (
                {"language": "python", "outputs": [], "collapsed": False}
                if cell["cell_type"] == "code"
                else {}
            )
        )
    return {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": ""},
        "worksheets": [{"cells": cells, "metadata": {}}],
    }


def version(**numbers):
    return written(lambda notebook, exercise: notebook | numbers)


def deep(depth):
    return b'{"a":' * depth + b"1" + b"}" * depth


def nested_metadata(content):
    return content.replace(b'"metadata": {}', b'"metadata": {"deep": ' + deep(60_000) + b"}", 1)


ATTACKS = [
    Attack("format-3", damage=written(old_format), human=None),
    Attack("format-4-point-99", damage=version(nbformat_minor=99)),
    Attack("format-2", damage=version(nbformat=2), says=("format",)),
    Attack("format-5", damage=version(nbformat=5), says=("format",)),
    Attack("format-as-text", damage=version(nbformat="4"), outcome="at most half", human=None),
    Attack(
        "format-none",
        damage=version(nbformat=None, nbformat_minor=None),
        outcome="at most half",
        human=None,
    ),
    Attack(
        "format-endless",
        damage=raw(lambda b: b.replace(b'"nbformat": 4', b'"nbformat": 1e400')),
        outcome="at most half",
        human=None,
    ),
    Attack(
        "format-of-a-million-digits",
        damage=raw(lambda b: b.replace(b'"nbformat": 4', b'"nbformat": ' + b"4" * 1_000_000)),
        outcome="at most half",
        human=None,
    ),
    Attack("truncated", damage=raw(lambda b: b[: len(b) // 2]), **NOTHING),
    Attack("last-byte-missing", damage=raw(lambda b: b[:-1]), outcome="at most half", human=None),
    Attack(
        "trailing-garbage",
        damage=raw(lambda b: b + b"\n}}]] garbage"),
        outcome="at most half",
        human=None,
    ),
    Attack(
        "merge-conflict",
        damage=raw(lambda b: b"<<<<<<< HEAD\n" + b + b"=======\n" + b + b">>>>>>> theirs\n"),
        **NOTHING,
    ),
    Attack("empty-file", damage=raw(lambda b: b""), **NOTHING),
    Attack("white-space-only", damage=raw(lambda b: b" \n" * 1000), **NOTHING),
    Attack("zero-bytes", damage=raw(lambda b: bytes(100_000)), **NOTHING),
    Attack("not-handed-in", damage=lambda notebook, exercise: None, **NOTHING),
    Attack("null", damage=raw(lambda b: b"null"), **NOTHING),
    Attack("a-list", damage=raw(lambda b: b"[" + b + b"]"), **NOTHING),
    Attack("a-text", damage=raw(lambda b: json.dumps(b.decode()).encode()), **NOTHING),
    Attack("an-empty-object", damage=raw(lambda b: b"{}"), **NOTHING),
    Attack("compressed", damage=raw(gzip.compress), **NOTHING),
    Attack("utf-16", damage=raw(lambda b: b.decode().encode("utf-16")), says=("UTF-16",)),
    Attack(
        "latin-1",
        damage=raw(lambda b: b.replace(b"Return", b"R\xe9turn")),
        outcome="at most half",
        human=None,
    ),
    Attack(
        "byte-order-mark",
        damage=raw(lambda b: b"\xef\xbb\xbf" + b),
        outcome="at most half",
        human=None,
    ),
    Attack(
        "invalid-bytes",
        damage=raw(lambda b: b.replace(b"# Exercise", b"# \xff\xfe\xc0\x80 Exercise", 1)),
        outcome="at most half",
        human=None,
    ),
    Attack(
        "cells-no-list", damage=written(lambda n, e: n.update(cells={"0": n["cells"]})), **NOTHING
    ),
    Attack("cells-missing", damage=written(lambda n, e: n.pop("cells") and None), **NOTHING),
    Attack("hundred-megabytes", damage=raw(lambda b: b + b" " * (100 << 20)), **NOTHING),
    Attack(
        "deeply-nested-metadata", damage=raw(nested_metadata), outcome="at most half", human=None
    ),
    Attack("deeply-nested-file", damage=raw(lambda b: b"[" * 1_000_000), **NOTHING),
    Attack("deeply-nested-objects", damage=raw(lambda b: deep(200_000)), **NOTHING),
    Attack(
        "keys-twice",
        damage=raw(lambda b: b.rstrip()[:-1] + b', "cells": []}'),
        outcome="at most half",
        human=None,
    ),
    Attack(
        "numbers-that-are-none",
        damage=raw(
            lambda b: b.replace(
                b'"metadata": {}', b'"metadata": {"x": NaN, "y": -Infinity, "z": 1e999}'
            )
        ),
        outcome="at most half",
        human=None,
    ),
    Attack(
        "number-of-a-million-digits",
        damage=raw(
            lambda b: b.replace(
                b'"metadata": {}', b'"metadata": {"x": ' + b"9" * 1_000_000 + b"}", 1
            )
        ),
        outcome="at most half",
        human=None,
    ),
    Attack(
        "key-of-a-megabyte",
        damage=raw(
            lambda b: b.replace(
                b'"metadata": {}', b'"metadata": {"' + b"k" * 1_000_000 + b'": 1}', 1
            )
        ),
        human=None,
    ),
    Attack(
        "a-program-in-place-of-a-notebook",
        damage=raw(lambda b: b"#!/bin/sh\ntouch {CANARY}/run\n"),
        **NOTHING,
    ),
    Attack(
        "a-pickle-in-place-of-a-notebook",
        damage=raw(lambda b: b"cposix\nsystem\n(S'touch {CANARY}/unpickled'\ntR."),
        **NOTHING,
    ),
]
