"""What hidden checks say: the property, the smallest failing input, and got against expected."""

from __future__ import annotations

import pytest
from support import ROOT

from shardwise_grading.mutants import read_known
from shardwise_grading.runner import load, run

FOLDER = ROOT / "tests" / "exercises" / "known"
TWO = "all_reduce_mean(2 float32 tensors of shape (1,))"
FIVE_ON_FOUR = "my_row_parallel(identity y (5, 5), b (5, 4), n=4)"
THIRD = 0.3333333333333333
A_THIRD = f"min_microbatches(2, {THIRD})"
THREE_THREE = "accumulate(float32 W (2, 3), micro-batches of 3, 3 rows)"
TWO_TWO = "accumulate(float32 W (2, 3), micro-batches of 2, 2 rows)"
TOO_MANY = "my_row_parallel(float32 y (3, 2), b (2, 4), n=3)"
THREE_ON_TWO = "my_row_parallel(float32 y (3, 3), b (3, 4), n=2)"


@pytest.fixture
def failures(hidden_folder):
    """The messages of a mutant by property."""

    def check(exercise, mutant, seed="23"):
        known = next(part for part in read_known(FOLDER / f"{exercise}.py") if mutant in part.wrong)
        module = load(exercise)
        report = run(module, known.part, known.wrong[mutant], points=known.points, seed=seed)
        return {result.property: result.message for result in report.results if not result.passed}

    return check


@pytest.mark.parametrize(
    ("exercise", "mutant", "message"),
    [
        (
            "all_reduce_mean",
            "stack and mean",
            f"{TWO} called ring_all_reduce 0 times; expected once",
        ),
        (
            "all_reduce_mean",
            "a device too many",
            f"{TWO} gave ring_all_reduce 3 tensors; expected 2",
        ),
        (
            "all_reduce_mean",
            "everything travels in 64 bits",
            f"{TWO} all-reduced 16 bytes; expected 8",
        ),
        (
            "all_reduce_mean",
            "the same tensor for everybody",
            f"{TWO}: result[0] shares its memory with result[1]; expected its own",
        ),
        (
            "all_reduce_mean",
            "divides the inputs in place",
            f"{TWO} changed tensors[0] and tensors[1]; expected nothing to change",
        ),
        (
            "all_reduce_mean",
            "rank 0 only",
            f"{TWO} returned 1 results; expected 2, one for each device",
        ),
        (
            "row_parallel",
            "torch.chunk for both",
            f"{FIVE_ON_FOUR} has partial products of 3 devices; expected 4",
        ),
        (
            "row_parallel",
            "pads with zeros",
            f"{FIVE_ON_FOUR}: device 1 has rows 2 to 3 of b; expected row 2 of b",
        ),
        (
            "row_parallel",
            "one all-reduce for each device",
            f"{THREE_ON_TWO} called ring_all_reduce 2 times; expected once",
        ),
        (
            "row_parallel",
            "lets an empty shard pass",
            f"{TOO_MANY} returned a tensor of shape (3, 4); expected ValueError",
        ),
        (
            "microbatches",
            "the textbook in floats",
            "min_microbatches(4, 0.03) returned 98; expected 97, whose bubble is 3/100",
        ),
        (
            "microbatches",
            "one less where floats allow it",
            f"{A_THIRD} returned 2; expected 3, as 2 have a bubble of 1/3, above {THIRD}",
        ),
        ("microbatches", "a float", "min_microbatches(2, 0.5) returned 1.0; expected the int 1"),
        (
            "gradient_accumulation",
            "one backward over the whole batch",
            f"{THREE_THREE}: a matrix product got 6 rows; expected at most 3",
        ),
        (
            "gradient_accumulation",
            "backward into W.grad",
            f"{TWO_TWO} changed W.requires_grad and W.grad; expected nothing to change",
        ),
        (
            "gradient_accumulation",
            "marks W",
            f"{TWO_TWO} changed W.requires_grad; expected nothing to change",
        ),
        (
            "gradient_accumulation",
            "empties the lists",
            f"{TWO_TWO} changed xs[0] and xs[1] and ys[0]; expected nothing to change",
        ),
        (
            "gradient_accumulation",
            "zips what there is",
            "accumulate(W, 2 xs, 1 ys) returned a tensor of shape (2, 3); expected ValueError",
        ),
    ],
)
def test_names_the_smallest_failing_input(failures, exercise, mutant, message):
    assert message in failures(exercise, mutant).values()


@pytest.mark.parametrize("exercise", ["all_reduce_mean", "row_parallel"])
def test_a_stand_in_all_reduce_is_said_to_be_one(failures, exercise):
    (message,) = failures(exercise, "calls the all-reduce and looks away").values()
    assert message.startswith("with an all-reduce whose sums are 7 times too large: ")


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("exercise", "mutant"),
    [
        ("all_reduce_mean", "stack and mean"),
        ("all_reduce_mean", "no division"),
        ("row_parallel", "y @ b"),
        ("row_parallel", "torch.chunk for both"),
        ("microbatches", "the textbook in floats"),
        ("microbatches", "one less where floats allow it"),
        ("gradient_accumulation", "one backward over the whole batch"),
        ("gradient_accumulation", "plain average"),
    ],
)
def test_partial_credit_does_not_depend_on_the_seed(failures, exercise, mutant, seed):
    assert failures(exercise, mutant, str(seed)).keys() == failures(exercise, mutant).keys()
