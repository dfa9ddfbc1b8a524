"""Whether what came of an attack is what must come of it."""

from __future__ import annotations

import unicodedata
from functools import cache

from exercises.attacks import places

MOST_TEXT = 1_000_000  # characters that a record of one notebook may show
MOST_MEMORY = 1 << 30  # bytes of the checking process
secrets = cache(places.secrets)


def stands(attack, number, ask, protection):
    """List what is amiss with an attack, which is asked for once more if it cost too many points.

    On a busy machine an honest half may run out of its time; no hole takes points away.
    """
    seen = ask(attack, number)
    found = amiss(attack, number, seen, protection)
    poor = not seen.raised and seen.points < attack.points(number)[0]
    if poor and len(found) == 1:
        return amiss(attack, number, ask(attack, number, again=True), protection)
    return found


def amiss(attack, number, seen, protection):
    """List what is not as the attack says it must be.

    Args:
        attack: the attack.
        number: the exercise it was tried on.
        seen: what came of it.
        protection: with any other than namespaces, an attack may hurt the attacker more.
    """
    if seen.raised:
        return [f"the grader failed: {seen.raised}"]
    found = [
        *_points(attack, number, seen, protection),
        *_words(attack, seen),
        *_traces(seen),
    ]
    if attack.human is not None and bool(seen.record["problem"]) != attack.human:
        found.append(f"problem={seen.record['problem']!r}")
    if seen.seconds > attack.seconds:
        found.append(f"took {seen.seconds:.1f} s")
    return found


def _points(attack, number, seen, protection):
    least, most = attack.points(number)
    if protection != "namespaces":
        least = 0
    if not least <= seen.points <= most:
        yield f"{seen.points:g} points, expected {least} to {most}"


def _words(attack, seen):
    yield from (f"does not say {word!r}" for word in attack.says if word not in seen.text)
    for word in (*attack.unseen, *secrets()):
        if word in seen.text:
            yield f"shows {word!r}"
    if len(seen.text) > MOST_TEXT:
        yield f"shows {len(seen.text)} characters"
    said = [seen.record["problem"], *seen.record["notes"]]
    said += [result["message"] for cell in seen.record["cells"] for result in cell["results"]]
    for text in said:
        if len(text) > 2000 or any(unicodedata.category(c) in ("Cc", "Cs") for c in text):
            yield f"not fit for a report: {text[:200]!r}"
    if any(unicodedata.category(c) == "Cs" for c in seen.text):
        yield "half characters, which no file can hold"


def _traces(seen):
    yield from (f"changed outside: {path}" for path in seen.changed)
    yield from (f"got out: {who}" for who in seen.heard)
    yield from (f"left running: {command}" for command in seen.left)
    if seen.peak > MOST_MEMORY:
        yield f"the checking process held {seen.peak >> 20} MiB"
    if seen.neighbour:
        yield f"the next student got something else: {seen.neighbour}"
