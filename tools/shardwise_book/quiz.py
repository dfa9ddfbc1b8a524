"""Self-check questions, from `chapter/quizzes/` to Markdown that reads on paper and in a page.

A page without scripts, an EPUB and a print show the question, its options and a folded answer; the
reader's script turns the same Markdown into controls.
"""

from __future__ import annotations

import hashlib
import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path("chapter/quizzes")
KINDS = ("choice", "order", "number")
ALLOWED = {
    "choice": {"options", "key", "from"},
    "order": {"items", "why"},
    "number": {"key", "from", "unit", "tolerance", "why", "wrong"},
}


@dataclass(frozen=True)
class Question:
    """One question with its answer worked out.

    Attributes:
        id: unique in the book, as "ring-bytes".
        kind: "choice", "order" or "number".
        text: the question, in Markdown.
        answers: what can be chosen, put in order or typed (the right number and known wrong ones).
        whys: an explanation for each answer; for an order, one in all.
        right: place of the right option in `answers`; of numbers, the first is the right one.
        unit: what a number counts.
        tolerance: by how much a number may be off, as a share of it.
    """

    id: str
    kind: str
    text: str
    answers: list[str]
    whys: list[str]
    right: int = 0
    unit: str = ""
    tolerance: float = 0.005


def load(page: str, folder: Path = FOLDER) -> list[Question]:
    """Read the questions of a page, and work out their answers from the library.

    Args:
        page: name of the page, and of its file of questions.
        folder: where the files are.

    Raises:
        ValueError: a question is not whole; names the file, the question and what is missing.
        FileNotFoundError: the page has no file of questions.
    """
    file = folder / f"{page}.yml"
    entries = yaml.safe_load(file.read_text(encoding="utf-8"))
    if not isinstance(entries, list):
        kind = type(entries).__name__
        raise ValueError(f"{file} must be a list of questions, not {kind}")  # noqa: TRY004
    questions = []
    for place, entry in enumerate(entries, start=1):
        name = entry.get("id", f"question {place}") if isinstance(entry, dict) else place
        try:
            questions.append(_question(entry))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{file}, {name}: {type(error).__name__} {error}") from error
        except ValueError as error:
            raise ValueError(f"{file}, {name}: {error}") from error
    ids = [question.id for question in questions]
    if len(set(ids)) < len(ids):
        raise ValueError(f"{file}: the ids {ids} must differ")
    return questions


def quiz(page: str, *ids: str, folder: Path = FOLDER) -> None:
    """Print the questions of a page as Markdown, for a cell with `output: asis`.

    Args:
        page: name of the file of questions without its ending.
        ids: which of them, in this order; all of them when none is named.
        folder: where the files are.

    Raises:
        ValueError: there is no such question, or one is not whole.
    """
    questions = {question.id: question for question in load(page, folder)}
    missing = [name for name in ids if name not in questions]
    if missing:
        known = ", ".join(questions)
        raise ValueError(f"ids={missing}: {folder / page}.yml has {known}")
    for name in ids or questions:
        print(markdown(page, questions[name]))  # noqa: T201 - a cell with `output: asis`


def markdown(page: str, question: Question) -> str:
    """Return a question as a div that is whole without scripts."""
    data = {
        "quiz": f"{page}/{question.id}",
        "kind": question.kind,
        "right": str(question.right),
    }
    if question.kind == "number":
        data |= {"answers": " ".join(question.answers), "tolerance": f"{question.tolerance:g}"}
        data |= {"unit": question.unit} if question.unit else {}
    attributes = " ".join(f'data-{key}="{value}"' for key, value in data.items())
    blocks = [question.text.strip()]
    if question.kind == "choice":
        blocks.append(_numbered(question.answers))
    elif question.kind == "order":
        blocks.append(_numbered(_shuffled(question.id, question.answers)))
    blocks.append(
        '::: {.callout-note title="Answer" collapse="true"}\n\n' + _answer(question) + "\n\n:::"
    )
    body = "\n\n".join(blocks)
    return f":::: {{.quiz {attributes}}}\n\n{body}\n\n::::\n"


def _answer(question: Question) -> str:
    if question.kind == "order":
        return _numbered(question.answers) + f"\n\n{question.whys[0].strip()}"
    if question.kind == "number":
        right = f"{question.answers[0]} {question.unit}".strip()
        wrong = [
            f"Not {value} {question.unit}".strip() + f": {why.strip()}"
            for value, why in zip(question.answers[1:], question.whys[1:], strict=True)
        ]
        return "\n\n".join([f"**{right}.** {question.whys[0].strip()}", *wrong])
    marked = [
        ("**Right.** " if place == question.right else "**No.** ") + why.strip()
        for place, why in enumerate(question.whys)
    ]
    return _numbered(marked)


def _numbered(items: list[str]) -> str:
    lines = [
        f"{place}. " + item.strip().replace("\n", "\n   ") for place, item in enumerate(items, 1)
    ]
    return "\n".join(lines)


def _question(entry: dict[str, Any]) -> Question:
    kind = entry["kind"]
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} must be one of {', '.join(KINDS)}")
    unknown = set(entry) - ALLOWED[kind] - {"id", "kind", "question"}
    if unknown:
        raise ValueError(f"a {kind} question has no {', '.join(sorted(unknown))}")
    return {"choice": _choice, "order": _order, "number": _number}[kind](entry)


def _choice(entry: dict[str, Any]) -> Question:
    options = entry["options"]
    right = [place for place, option in enumerate(options) if option.get("right")]
    if len(options) < 3 or len(right) != 1:  # noqa: PLR2004 - two options are a coin
        raise ValueError("a choice needs three options or more, and one of them right")
    said = str(options[right[0]]["text"])
    if "key" in entry and (value := _written(_evaluate(entry))) not in said:
        raise ValueError(f"key {entry['key']} gives {value}, and the right option says {said!r}")
    whys = {str(option["text"]): option["why"] for option in options}
    texts = _shuffled(entry["id"], list(whys))
    explained = [whys[text] for text in texts]
    return Question(entry["id"], "choice", entry["question"], texts, explained, texts.index(said))


def _order(entry: dict[str, Any]) -> Question:
    items = [str(item) for item in entry["items"]]
    if len(set(items)) < 3 or len(set(items)) < len(items):  # noqa: PLR2004
        raise ValueError("an order needs three different items or more, in the right order")
    return Question(entry["id"], "order", entry["question"], items, [entry["why"]])


def _number(entry: dict[str, Any]) -> Question:
    tolerance = float(entry.get("tolerance", 0.005))
    wrong = entry.get("wrong", [])
    values = [_evaluate(entry)] + [_evaluate({**entry, "key": one["key"]}) for one in wrong]
    for value in values[1:]:
        if abs(value - values[0]) <= tolerance * abs(values[0]):
            raise ValueError(f"the wrong answer {value} counts as the right one")
    whys = [entry["why"], *(one["why"] for one in wrong)]
    answers = [_written(value) for value in values]
    return Question(
        entry["id"],
        "number",
        entry["question"],
        answers,
        whys,
        unit=entry.get("unit", ""),
        tolerance=tolerance,
    )


def _written(value: object) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"


def _shuffled(seed: str, items: list[str]) -> list[str]:
    """Return the items in an order that is the same in every build, and never the given one."""
    mixed = sorted(items, key=lambda item: hashlib.sha256(f"{seed} {item}".encode()).digest())
    return mixed if mixed != items else [*items[1:], items[0]]


def _evaluate(entry: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever the library answers
    """Work out a key with the names of the modules that the question names."""
    modules = entry.get("from", [])
    names: dict[str, Any] = {}
    for module in [modules] if isinstance(modules, str) else modules:
        names |= vars(importlib.import_module(module))
    try:
        return eval(str(entry["key"]), {**names})  # noqa: S307 - the book's own file
    except Exception as error:
        raise ValueError(f"key {entry['key']} fails: {type(error).__name__}: {error}") from error
