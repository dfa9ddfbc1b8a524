"""PipelineBubble: its model against the library on all that its controls reach, and its traits."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Any

import pytest
import traitlets
from node_models import node

from shardwise.pipeline import bubble_fraction, bubble_fraction_exact, microbatches_for_bubble
from shardwise_widgets import PipelineBubble
from shardwise_widgets.pipeline_bubble import MAX_MICROBATCHES, MAX_STAGES, TARGETS

STAGES = range(1, MAX_STAGES + 1)


def test_the_limits_of_the_controls_are_those_of_the_traits() -> None:
    fields = node(
        "import { widget } from './pipeline-bubble/index.js';\nconst output = widget.fields;"
    )
    assert fields == {
        "stages": {"kind": "whole", "least": 1, "most": MAX_STAGES},
        "microbatches": {"kind": "whole", "least": 1, "most": MAX_MICROBATCHES},
        "target": {"kind": "one", "of": list(TARGETS)},
    }


def test_both_definitions_are_the_librarys_everywhere() -> None:
    drawn = node(
        """
        import { ofIdeal, ofTotal } from './pipeline-bubble/model.js';
        const range = (most) => Array.from({ length: most }, (_, i) => i + 1);
        const both = (p) => (m) => [ofTotal(p, m), ofIdeal(p, m)];
        const output = range(input[0]).map((p) => range(input[1]).map(both(p)));
        """,
        [MAX_STAGES, MAX_MICROBATCHES],
    )
    for stages in STAGES:
        for microbatches in range(1, MAX_MICROBATCHES + 1):
            assert drawn[stages - 1][microbatches - 1] == [
                bubble_fraction(stages, microbatches),
                bubble_fraction(stages, microbatches, "ideal"),
            ]


def test_the_fewest_microbatches_for_a_target_are_the_librarys() -> None:
    drawn = node(
        """
        import { fewest } from './pipeline-bubble/model.js';
        const output = input.stages.map((p) => input.targets.map((target) => fewest(p, target)));
        """,
        {"stages": list(STAGES), "targets": list(TARGETS)},
    )
    expected = [[microbatches_for_bubble(p, target) for target in TARGETS] for p in STAGES]
    assert drawn == expected


def test_at_four_times_the_stages_the_formula_is_the_one_that_is_shown() -> None:
    assert all(bubble_fraction_exact(p, 4 * p) == Fraction(p - 1, 5 * p - 1) for p in STAGES)
    assert 4 * MAX_STAGES <= MAX_MICROBATCHES, "the line is always on the axis"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"stages": 0}, "stages=0 must be a whole number from 1 to 64"),
        ({"stages": 65}, "stages=65 must be a whole number from 1 to 64"),
        ({"stages": None}, "stages=None must be a number"),
        ({"microbatches": 257}, "microbatches=257 must be a whole number from 1 to 256"),
        ({"microbatches": 1.5}, "microbatches=1.5 must be"),
        ({"target": 0.3}, "target=0.3 must be one of 0.01, 0.02, 0.05, 0.1, 0.2, 0.5"),
        ({"target": True}, "target=True must be one of"),
    ],
)
def test_a_wrong_argument_is_named_and_changes_nothing(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        PipelineBubble(**arguments)
    bubble = PipelineBubble()
    with pytest.raises(traitlets.TraitError, match=re.escape(message)):
        bubble.set_state({"stages": 5, "microbatches": 3, **arguments})
    assert (bubble.stages, bubble.microbatches, bubble.target) == (4, 8, 0.1)


def test_the_books_page_has_the_numbers_and_an_image() -> None:
    text = PipelineBubble(stages=8, microbatches=32, link="stages").book_markdown()
    state = json.loads(re.findall(r'<script type="application/json">(.*?)</script>', text)[0])
    assert state == {"stages": 8, "microbatches": 32, "target": 0.1}
    page, image = text.replace("\u00a0", " ").split('unless-format="html:js"')
    assert "= 7/(32 + 7)" in page
    assert "17.9 %" in page
    assert re.search(r"!\[Bubble over 1 to 256 micro-batches for 8 stages", image)
