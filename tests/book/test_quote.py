"""What a chapter quotes is the code of the library, without what the prose says better."""

from __future__ import annotations

import ast
import inspect

import pytest

from shardwise import collectives
from shardwise_book.quote import quote, source


def test_a_function_is_quoted_without_docstring_and_linter_comments():
    text = source("shardwise.collectives._ring_steps")
    assert text.startswith("def _ring_steps(")
    assert '"""' not in text
    assert "noqa" not in text
    whole = inspect.getsource(collectives._ring_steps)
    code = [ast.dump(node) for node in ast.parse(whole).body[0].body[1:]]
    assert [ast.dump(node) for node in ast.parse(text).body[0].body] == code


def test_a_constant_is_quoted_whole():
    text = source("shardwise.memory.budget._PARTITIONED")
    assert text.startswith("_PARTITIONED")
    assert text.count("frozenset") == 5


def test_a_method_is_quoted_as_it_stands_in_its_class_without_the_indentation():
    text = source("shardwise.ledger.Ledger.total_bytes")
    assert text.splitlines()[0] == "def total_bytes(self) -> int:"
    assert text.splitlines()[1].startswith("    return sum(")
    with pytest.raises(ValueError, match=r"shardwise.ledger.Ledger defines no 'nothing'"):
        source("shardwise.ledger.Ledger.nothing")


def test_several_become_one_block(capsys):
    quote("shardwise.memory.budget.training_memory_bytes", "shardwise.memory.budget._PARTITIONED")
    printed = capsys.readouterr().out
    assert printed.startswith("```python\ndef training_memory_bytes")
    assert printed.count("```") == 2


def test_an_unknown_name_is_an_error():
    with pytest.raises(ValueError, match=r"shardwise.memory defines no 'nothing'"):
        source("shardwise.memory.nothing")
