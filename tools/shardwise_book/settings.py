"""Reads YAML by a schema and remembers lines, so that each complaint names one."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Union

import yaml

from shardwise_book.errors import Problem, raise_any

Rule = Callable[[object], object]
Schema = dict[str, Union[Rule, "Schema"]]


def text(value: object) -> str:
    """Accept a scalar as text."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return _storable(str(value))
    raise ValueError("text")


def texts(value: object) -> list[str]:
    """Accept one text or a list of them."""
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str) for item in values):
        raise ValueError("a name or a list of names")
    return [_storable(str(item)) for item in values]


def paths(value: object) -> list[str]:
    """Accept one path or a list of them, and write each in the one way there is to write it."""
    return [posixpath.normpath(item) for item in texts(value)]


def name(value: object) -> str:
    """Accept what may be a part of file names and anchors."""
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z][\w-]*", value):
        return value
    raise ValueError("a letter, then letters, digits, - and _")


def _storable(value: str) -> str:
    """Refuse what no file can hold: half a character, or the end of a text in the midst of it."""
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("text without \\0 and lone surrogates")
    return value


def flag(value: object) -> bool:
    """Accept true or false."""
    if isinstance(value, bool):
        return value
    raise ValueError("true or false")


def one_of(*choices: bool | int | str) -> Rule:
    """Accept one of the choices and nothing else."""

    def rule(value: object) -> object:
        # True == 1 in Python, and not in YAML.
        if not any(value == choice and type(value) is type(choice) for choice in choices):
            raise ValueError(" or ".join(str(choice).lower() for choice in choices))
        return value

    return rule


@dataclass(frozen=True)
class Settings:
    """Values and the lines that they stand on, both by dotted path such as "book.title"."""

    values: dict[str, Any]
    lines: dict[str, int]


def read(source: str, schema: Schema, file: str, first_line: int = 1) -> Settings:
    """Read a YAML mapping.

    Args:
        source: YAML text.
        schema: what may stand in it; an unknown key is a problem.
        file: name for the messages.
        first_line: the line of `file` on which `source` starts.

    Returns:
        Values and lines by dotted path.

    Raises:
        BookError: broken YAML, unknown or repeated keys, values of the wrong kind.

    >>> read("book: {title: Rings}", {"book": {"title": text}}, "a.yml").values["book.title"]
    'Rings'
    """
    settings = Settings({}, {})
    try:
        loader = yaml.SafeLoader(source)
        node = loader.get_single_node()
        problems = [] if node is None else list(_walk(loader, node, schema, file, "", settings))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        problems = [
            _problem(file, line, f"broken YAML: {error.problem}", "'key: value' on each line")
        ]
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        what = " ".join(str(error).split())
        problems = [_problem(file, 0, f"YAML that cannot be read: {what}", "plain text as values")]
    raise_any(Problem(p.file, (p.line or 0) + first_line, p.message, p.remedy) for p in problems)
    return Settings(
        settings.values, {key: line + first_line for key, line in settings.lines.items()}
    )


def _problem(file: str, line: int, message: str, expected: str) -> Problem:
    return Problem(file, line, message, f"expected {expected}")


def _walk(
    loader: yaml.SafeLoader,
    node: yaml.Node,
    schema: Schema,
    file: str,
    path: str,
    found: Settings,
) -> Iterator[Problem]:
    if not isinstance(node, yaml.MappingNode):
        where = path.rstrip(".") or "the settings"
        yield _problem(file, node.start_mark.line, f"{where}: not a mapping", _names(schema))
        return
    for key_node, value_node in node.value:
        key, line = str(key_node.value), key_node.start_mark.line
        full, rule = path + key, schema.get(key)
        if full in found.lines:
            yield _problem(file, line, f"'{full}' is set twice", "each key once")
        elif rule is None:
            yield _problem(file, line, f"unknown setting '{full}'", f"one of {_names(schema)}")
        found.lines[full] = line
        if isinstance(rule, dict):
            yield from _walk(loader, value_node, rule, file, full + ".", found)
        elif rule is not None:
            value = loader.construct_object(value_node, deep=True)
            try:
                found.values[full] = rule(value)
            except ValueError as error:
                yield _problem(file, line, f"'{full}' is {value!r}", str(error))


def _names(schema: Schema) -> str:
    return ", ".join(sorted(schema))
