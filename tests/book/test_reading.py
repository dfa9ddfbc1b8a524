"""How long a chapter takes to read counts what a reader sees."""

import pytest

from shardwise_book.reading import (
    LINES_OF_A_QUOTE,
    LINES_PER_MINUTE,
    WORDS_PER_MINUTE,
    minutes,
)

WORDS = "word " * (10 * WORDS_PER_MINUTE) + "\n\n"
CODE = "x = 1\n" * (10 * LINES_PER_MINUTE)
QUOTES = '"shardwise.zero.f", ' * (10 * LINES_PER_MINUTE // LINES_OF_A_QUOTE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 1),
        (WORDS, 10),
        (f"```{{python}}\n{CODE}```\n", 10),
        (f"{WORDS}```{{python}}\n{CODE}```\n{WORDS}", 30),
        (f"{WORDS}```{{python}}\n#| echo: false\n{CODE}```\n", 10),
        (f"{WORDS}```{{python}}\n#| code-fold: true\n{CODE}```\n", 10),
        (f"```{{python}}\n#| echo: false\nquote({QUOTES})\n```\n", 10),
        ("[word](glossary.qmd#term-word){.term} " * (10 * WORDS_PER_MINUTE), 10),
        ("`{python} f'{some} {longer} {words}'` " * (10 * WORDS_PER_MINUTE), 1),
    ],
    ids=["empty", "words", "code", "both", "hidden", "folded", "quoted", "links", "numbers"],
)
def test_minutes_are_those_of_what_is_seen(tmp_path, text, expected):
    chapter = tmp_path / "chapter.qmd"
    chapter.write_text(text, encoding="utf-8")
    assert minutes(chapter) == expected
