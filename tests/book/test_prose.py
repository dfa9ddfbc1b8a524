"""How the text is written: what the check finds, and what it lets pass."""

from __future__ import annotations

import pytest

from shardwise_book.prose import Symbol, check, symbols
from shardwise_book.scan import scan

KNOWN = {
    "N": Symbol("N", "number of devices", ("devices",)),
    "\\alpha": Symbol("\\alpha", "latency", ("latency",)),
    "M": Symbol("M", "size", ("bytes",)),
}


@pytest.fixture
def found(tmp_path):
    """Check a text that follows a title; return lines and messages."""

    def look(text, outputs=()):
        (tmp_path / "a.qmd").write_text(f"# A page\n{text}\n")
        chapter = scan(tmp_path, "a.qmd")
        printed = [[{"output_type": "stream", "name": "stdout", "text": one}] for one in outputs]
        printed += [[]] * (len(chapter.steps()) - len(printed))
        return [(p.line, p.message) for p in check(chapter, printed, KNOWN)]

    return look


@pytest.mark.parametrize(
    "line",
    [
        "One sentence. Another one.",
        "Is it so? It is.",
        "A quotation ends here.” The text goes on.",
        "It is *so*. **Bold** begins.",
        "- An item. With two sentences.",
    ],
)
def test_a_second_sentence_on_a_line_is_found(found, line):
    ((number, message),) = found(line)
    assert number == 2
    assert "second sentence" in message


@pytest.mark.parametrize(
    "line",
    [
        "As Korthikanti et al. Say nothing of it, e.g. Here.",
        "The code `a. B` and the formula $x$ are no sentences.",
        "1. An item of a list",
        "## A heading. With a full stop.",
        "| a. B | c |",
        "It costs 1.5 GB or less.",
    ],
)
def test_what_ends_no_sentence_is_let_be(found, line):
    text = line.replace("$x$", "$N$ devices")
    assert not [m for _, m in found(text, ["1.5"]) if "sentence" in m]


def test_a_letter_is_introduced_where_it_is_first_used(found):
    assert found("There are $N$ devices.\n\nEach of the $N$ waits.") == []
    assert found("Each of\nthe $N$\ndevices waits.") == []
    equation = "$$\n\\alpha N\n$$"
    after = "with $N$ devices and a latency of $\\alpha$."
    assert found(f"It takes\n\n{equation}\n\n{after}") == []
    assert found(f"{after}\n\nIt takes\n\n{equation}") == []
    assert found(f"It takes\n\n{equation}\n\nto send.\n\n{after}") == [
        (5, "\\alpha (latency) is used before it is introduced"),
        (5, "N (number of devices) is used before it is introduced"),
    ]
    assert found("Let $N$ be large.") == [
        (2, "N (number of devices) is used before it is introduced")
    ]
    assert found("Let $q$ be large.") == [(2, "the symbol q is not the book's")]


def test_words_indices_and_tables_are_no_letters(found):
    assert found("The $N$ devices, $\\text{bytes} = N_{os} \\cdot \\frac{1}{N_q}$.") == []
    assert found("| $P$ | $q$ |") == []


def test_a_number_is_computed_counted_or_cited(found):
    cell = "\n```{python}\nsize = 7_500_000_000\nprint(0.25 * 1234.5)\n```\n"
    assert found(f"It has 7.5 billion, 308.625 and 25 %.{cell}", ["308.625"]) == []
    assert found("In 8 steps on 12 devices.") == []
    assert found("It took 27.2 ms [@k2023].") == []
    assert found("It took `{python} 27.2` ms, see page [4](a.html#x99).") == []
    assert found("Set `x = 512` and $2^{30}$ and 1024.") == [
        (2, "no cell of the page holds or prints the number 1024")
    ]
    assert found("The formula is $34 N$ for all devices, and 34 is large.") == []


def test_letters_are_read_from_their_file(tmp_path):
    file = tmp_path / "symbols.yml"
    file.write_text("- {symbol: N, meaning: devices, words: [devices]}\n")
    assert symbols(file) == {"N": Symbol("N", "devices", ("devices",))}
    file.write_text("- {symbol: N}\n")
    with pytest.raises(ValueError, match="must have symbol, meaning and words"):
        symbols(file)
