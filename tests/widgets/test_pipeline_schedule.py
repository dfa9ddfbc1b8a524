"""PipelineSchedule: the model against the library everywhere, traits, and readers' schedules."""

from __future__ import annotations

import itertools
import json
import random
import re
from fractions import Fraction
from typing import Any

import pytest
import traitlets
from node_models import node

from shardwise.pipeline import (
    Cell,
    peak_inflight_per_stage,
    pipeline_schedule,
    schedule_bubble_fraction,
    schedule_makespan,
)
from shardwise_widgets import PipelineSchedule
from shardwise_widgets.pipeline_schedule import (
    COSTS,
    END,
    MAX_MICROBATCHES,
    MAX_STAGES,
    OWN,
    POLICIES,
)

REACHED = list(
    itertools.product(
        (policy for policy in POLICIES if policy != OWN),
        range(1, MAX_STAGES + 1),
        range(1, MAX_MICROBATCHES + 1),
        COSTS,
    )
)
ANALYSE = """
import { analyse } from './pipeline-schedule/model.js';
const { cells, ...found } = analyse(input);
const { makespan, bubble, peaks } = found;
const output = { makespan, bubble, peaks, held: cells.map(({ held }) => held) };
"""


def test_the_limits_of_the_controls_are_those_of_the_traits() -> None:
    fields = node(
        "import { widget } from './pipeline-schedule/index.js';\nconst output = widget.fields;"
    )
    assert fields["policy"]["of"] == list(POLICIES)
    assert fields["backward_cost"]["of"] == list(COSTS)
    limits = {
        name: (field["least"], field["most"]) for name, field in fields.items() if "most" in field
    }
    assert limits == {
        "stages": (1, MAX_STAGES),
        "microbatches": (1, MAX_MICROBATCHES),
        "step": (0, END),
    }


def test_every_schedule_that_can_be_asked_for_is_the_librarys() -> None:
    drawn = node(
        """
        import { derive, schedule } from './pipeline-schedule/model.js';
        const output = input.map(([policy, stages, microbatches, backward_cost]) => {
          const traits = { policy, stages, microbatches, backward_cost, step: 512, cells: [] };
          const { makespan, bubble, peaks, times } = derive(traits).run;
          return { slots: schedule(traits), makespan, bubble, peaks, last: times.length };
        });
        """,
        REACHED,
    )
    for (policy, stages, microbatches, cost), found in zip(REACHED, drawn, strict=True):
        cells = pipeline_schedule(stages, microbatches, policy, backward_cost=cost)
        assert found["slots"] == [[c.stage, c.microbatch, c.op, c.start, c.end] for c in cells]
        assert found["makespan"] == schedule_makespan(cells)
        assert found["peaks"] == peak_inflight_per_stage(cells)
        assert found["bubble"] == pytest.approx(schedule_bubble_fraction(cells), rel=1e-12)
        assert found["last"] <= END


@pytest.mark.parametrize("seed", range(20))
def test_a_readers_schedule_is_measured_as_the_library_does(seed: int) -> None:
    draw = random.Random(seed)
    stages, microbatches = draw.randint(1, 8), draw.randint(1, 12)
    cells = pipeline_schedule(
        stages,
        microbatches,
        draw.choice(["gpipe", "1f1b"]),
        forward_cost=[Fraction(draw.randint(0, 6), 2) for _ in range(stages)],
        backward_cost=[Fraction(draw.randint(1, 9), 2) for _ in range(stages)],
        latency=Fraction(draw.randint(0, 2), 4),
    )
    draw.shuffle(cells)
    found = node(ANALYSE, PipelineSchedule.from_schedule(cells).cells)
    assert found["makespan"] == schedule_makespan(cells)
    assert found["bubble"] == pytest.approx(schedule_bubble_fraction(cells), rel=1e-12)
    # Where cells take no time, the list decides which of two at one instant is the first.
    assert max(found["held"]) == max(found["peaks"]) <= microbatches
    if all(cell.start < cell.end for cell in cells):
        assert found["peaks"] == peak_inflight_per_stage(cells)


def test_from_schedule_shows_the_readers_cells() -> None:
    cells = pipeline_schedule(3, 5, "1f1b", backward_cost=2, latency=Fraction(1, 2))
    widget = PipelineSchedule.from_schedule(iter(cells[::-1]), step=4)
    assert (widget.policy, widget.stages, widget.microbatches, widget.step) == (OWN, 3, 5, 4)
    assert sorted(widget.cells) == sorted(
        (c.stage, c.microbatch, c.op, float(c.start), float(c.end)) for c in cells
    )
    assert widget.cells == sorted(widget.cells, key=lambda cell: cell[3:])
    text = widget.book_markdown()
    assert f"makespan {float(schedule_makespan(cells)):g}<" in text
    assert json.loads(re.findall(r'<script type="application/json">(.*?)</script>', text)[0])[
        "cells"
    ]
    widget.policy = "gpipe"
    assert widget.cells, "one's own can be chosen again"
    widget.policy = OWN


FAIR = pipeline_schedule(2, 2, "gpipe")
F00, F01, B10 = FAIR[0], FAIR[1], next(c for c in FAIR if (c.stage, c.op) == (1, "B"))


def without(cell: Cell) -> list[Cell]:
    return [other for other in FAIR if other is not cell]


@pytest.mark.parametrize(
    ("cells", "error", "message"),
    [
        (None, TypeError, "cells=None must be a list of Cell"),
        (7, TypeError, "cells=7 must be a list of Cell"),
        ([], ValueError, "cells is empty"),
        ([*FAIR, "F"], TypeError, "cells[8]='F' must be a Cell"),
        (without(F01), ValueError, f"cells lacks F of micro-batch {F01.microbatch} on stage 0"),
        (without(B10), ValueError, f"cells lacks B of micro-batch {B10.microbatch} on stage 1"),
        ([c for c in FAIR if c.stage], ValueError, "cells lacks F of micro-batch 0 on stage 0"),
        ([*FAIR, F00], ValueError, "is the second of its kind: give each cell once"),
        (
            [*without(F01), Cell(0, F01.microbatch, "F", Fraction(1, 2), Fraction(3, 2))],
            ValueError,
            "starts before stage 0 is free: start it at 1 or later",
        ),
        (
            [*without(B10), Cell(1, B10.microbatch, "B", 0, 1)],
            ValueError,
            "starts before its forward has ended: start it at",
        ),
        (
            [*pipeline_schedule(1, 1), Cell(1, 0, "F", 0, 1), Cell(1, 0, "B", 1, 2)],
            ValueError,
            "starts before its message from stage",
        ),
        (pipeline_schedule(9, 1), ValueError, "cells has 9 stages, and the widget draws at most 8"),
        (
            pipeline_schedule(1, 33),
            ValueError,
            "cells has 33 micro-batches, and the widget draws at most 32",
        ),
        (
            pipeline_schedule(1, 1, forward_cost=0, backward_cost=0),
            ValueError,
            "no cell takes any time",
        ),
        (
            [Cell(0, 0, "F", 0, 10**400), Cell(0, 0, "B", 10**400, 2 * 10**400)],
            ValueError,
            "cells end too late for a float: give times in a larger unit",
        ),
    ],
)
def test_what_is_no_schedule_is_named(cells: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        PipelineSchedule.from_schedule(cells)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policy": "zb"}, "policy='zb' must be one of gpipe, 1f1b, own"),
        ({"policy": 1}, "policy=1 must be one of"),
        ({"policy": OWN}, "policy='own' needs a schedule: use PipelineSchedule.from_schedule"),
        ({"stages": 0}, "stages=0 must be a whole number from 1 to 8"),
        ({"stages": 2.5}, "stages=2.5 must be"),
        ({"stages": True}, "stages=True must be a number"),
        ({"microbatches": 33}, "microbatches=33 must be a whole number from 1 to 32"),
        ({"microbatches": "8"}, "microbatches='8' must be a number"),
        ({"backward_cost": 2.5}, "backward_cost=2.5 must be one of 1, 1.5, 2, 3"),
        ({"step": -1}, "step=-1 must be a whole number from 0 to 512"),
        ({"step": None}, "step=None must be a number"),
    ],
)
def test_a_wrong_argument_is_named_and_changes_nothing(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        PipelineSchedule(**arguments)
    widget = PipelineSchedule(policy="1f1b")
    before = {name: getattr(widget, name) for name in widget.shown}
    for change in (
        lambda: [setattr(widget, name, value) for name, value in arguments.items()],
        lambda: widget.set_state(arguments),
        lambda: widget.set_state({"stages": 3, **arguments}),
    ):
        with pytest.raises(traitlets.TraitError, match=re.escape(message)):
            change()
        assert {name: getattr(widget, name) for name in widget.shown} == before


def test_the_view_cannot_set_the_readers_cells() -> None:
    widget = PipelineSchedule.from_schedule(FAIR)
    with pytest.raises(traitlets.TraitError, match="cells is read-only"):
        widget.set_state({"cells": []})
    assert len(widget.cells) == 8


def test_the_books_page_needs_no_more_than_the_traits() -> None:
    text = PipelineSchedule(policy="1f1b", backward_cost=2, link="stages").book_markdown()
    state = json.loads(re.findall(r'<script type="application/json">(.*?)</script>', text)[0])
    assert state == {
        "policy": "1f1b",
        "stages": 4,
        "microbatches": 8,
        "backward_cost": 2,
        "step": END,
        "cells": [],
    }
    assert 'data-widget="PipelineSchedule" data-link="stages"' in text
    assert text.count("sw-schedule-cell") >= 2 * 4 * 8
