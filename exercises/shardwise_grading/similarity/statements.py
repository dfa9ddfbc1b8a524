"""Student's code cut into statements, without running, compiling or trusting any of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Python's own tokenizer gives up on wrong code, and differently in each version. Here each branch
# matches in one way or not at all, so that no text takes more than linear time.
_TOKEN = re.compile(
    r"""
    (?P<comment>\#[^\n]*)
    |(?P<string>(?:[rbuft]|[rbft]{2})?(?:
        \"{3}(?:[^\"\\]++|\\.|\"(?!\"\"))*+(?:\"{3})?
        |'{3}(?:[^'\\]++|\\.|'(?!''))*+(?:'{3})?
        |\"(?:[^\"\\\n]++|\\.)*+\"?
        |'(?:[^'\\\n]++|\\.)*+'?))
    |(?P<name>[^\W\d]\w*)
    |(?P<number>0x[\da-f_]++|\.?\d(?:e[+-]?\d|[\w.])*+)
    |(?P<newline>\n)
    |(?P<space>(?:[^\S\n]|\\\r?\n)++)
    |(?P<mark>\*\*=?|//=?|<<=?|>>=?|->|:=|\.{3}|[-+*/%@&|^=!<>]=|.)
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_BLOCKS = re.compile("if|elif|else|for|while|def|class|with|try|except|finally|async|match|case")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of code: what kind it is, its text, and its line, from 1."""

    kind: str
    text: str
    line: int


@dataclass(slots=True)
class Statement:
    """What stands between two ends of a statement, wherever the lines break."""

    tokens: list[Token] = field(default_factory=list)

    @property
    def lines(self) -> range:
        """The lines that it covers, from 1."""
        return range(self.tokens[0].line, self.tokens[-1].line + 1)


def tokens(code: str) -> Iterator[Token]:
    """Cut code into tokens; text that is no Python makes odd tokens and no error.

    Example:
        >>> [token.text for token in tokens("a = [b]  # why") if token.kind != "space"]
        ['a', '=', '[', 'b', ']', '# why']
    """
    line = 1
    for match in _TOKEN.finditer(code):
        yield Token(match.lastgroup or "mark", match[0], line)
        line += match[0].count("\n")


def statements(found: list[Token]) -> Iterator[Statement]:
    r"""Put tokens together into statements, without comments and space.

    Args:
        found: what `tokens` gave.

    Example:
        >>> cut = statements(list(tokens("if a: b = (1,\n  2); c()")))
        >>> [" ".join(token.text for token in part.tokens) for part in cut]
        ['if a', 'b = ( 1 , 2 )', 'c ( )']
    """
    current, depth = Statement(), 0
    for token in found:
        if token.kind in ("comment", "space"):
            continue
        if depth == 0 and (token.kind == "newline" or token.text == ";" or _opens(token, current)):
            if current.tokens:
                yield current
            current = Statement()
        elif token.kind != "newline":
            if token.text in (")", "]", "}"):
                depth = max(0, depth - 1)
                if current.tokens and current.tokens[-1].text == ",":
                    current.tokens.pop()
            depth += token.text in ("(", "[", "{")
            current.tokens.append(token)
    if current.tokens:
        yield current


def _opens(token: Token, current: Statement) -> bool:
    """Whether a colon ends the head of a block, on whichever line the block goes on."""
    first = current.tokens[0].text if current.tokens else ""
    return token.text == ":" and bool(_BLOCKS.fullmatch(first))
