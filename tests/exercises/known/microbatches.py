"""Exercise 5: mistakes that somebody could make, and right solutions written differently."""
# ruff: noqa: ARG005  (a mutant may well ignore an argument)

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import count

import numpy as np

from shardwise.pipeline import bubble_fraction, bubble_fraction_exact, microbatches_for_bubble
from shardwise.pipeline.bubble import microbatches_for_bubble as under_another_name


def refuse(p, target):
    if p < 1 or not 0 < target <= 1:
        raise ValueError("at least one stage, and a target above 0 and at most 1")


def refusing(formula):
    """A formula with the right error behaviour, so that only the formula can be wrong."""

    def min_microbatches(p, target):
        refuse(p, target)
        return formula(p, target)

    return min_microbatches


def right(p, target):
    t = Fraction(str(target))
    return max(1, math.ceil((p - 1) * (1 - t) / t))


def textbook(p, t):
    return max(1, math.ceil((p - 1) * (1 - t) / t))


def searches(p, target):
    return next(m for m in count(1) if Fraction(p - 1, m + p - 1) <= Fraction(str(target)))


def searches_in_floats(p, target):
    return next(m for m in count(1) if bubble_fraction(p, m) <= target)


def repaired_by_one(p, target):
    m = textbook(p, target)
    while m > 1 and bubble_fraction(p, m - 1) <= target:
        m -= 1
    return m


def to_a_hundred(p, target):
    hundredths = round(target * 100) or 1
    return max(1, -(-(p - 1) * (100 - hundredths) // hundredths))


def no_larger_fraction(p, target):
    t = Fraction(target).limit_denominator(1000) or Fraction(1, 1000)
    return max(1, math.ceil((p - 1) * (1 - t) / t))


def swallows_a_zero(p, target):
    if target == 0:
        return 0
    refuse(p, target)
    return right(p, target)


def lets_nan_through(p, target):
    if p < 1 or target <= 0 or target > 1:
        raise ValueError(target)
    return 1 if target != target else right(p, target)  # noqa: PLR0124


def with_decimals_of_28_digits(p, target):
    t = Decimal(str(target))
    quotient = (p - 1) * (1 - t) / t
    return max(1, int(quotient.to_integral_value(ROUND_CEILING)))


def bisects(limit):
    def search(p, target):
        low, high = 1, limit
        while low < high:
            middle = (low + high) // 2
            if bubble_fraction_exact(p, middle) <= Fraction(str(target)):
                high = middle
            else:
                low = middle + 1
        return low

    return search


MUTANTS = {
    # the formula
    "the bubble itself": refusing(lambda p, t: bubble_fraction(p, 4 * p)),
    "four for each stage": refusing(lambda p, t: 4 * p),
    "divides by M, as Megatron does": refusing(
        lambda p, t: max(1, math.ceil((p - 1) / Fraction(str(t))))
    ),
    "p in place of p - 1": refusing(lambda p, t: right(p + 1, t)),
    "forgets the stages on the right": refusing(
        lambda p, t: max(1, math.ceil((p - 1) / Fraction(str(t))) - p)
    ),
    "the target for its complement": refusing(
        lambda p, t: max(1, math.ceil((p - 1) * Fraction(str(t)) / (1 - Fraction(str(t)) or 1)))
    ),
    "below the target, not at it": refusing(
        lambda p, t: max(1, math.floor((p - 1) * (1 - Fraction(str(t))) / Fraction(str(t))) + 1)
    ),
    "rounds down": refusing(
        lambda p, t: max(1, math.floor((p - 1) * (1 - Fraction(str(t))) / Fraction(str(t))))
    ),
    "rounds to nearest": refusing(
        lambda p, t: max(1, round((p - 1) * (1 - Fraction(str(t))) / Fraction(str(t))))
    ),
    "no micro-batch for a single stage": refusing(
        lambda p, t: math.ceil((p - 1) * (1 - Fraction(str(t))) / Fraction(str(t)))
    ),
    "a micro-batch for each stage at least": refusing(lambda p, t: max(p, right(p, t))),
    "two at least": refusing(lambda p, t: max(2, right(p, t))),
    # numbers
    "the textbook in floats": refusing(textbook),
    "the float for the decimal": refusing(
        lambda p, t: max(1, math.ceil((p - 1) * (1 - Fraction(t)) / Fraction(t)))
    ),
    "floats, less a little": refusing(lambda p, t: max(1, math.ceil((p - 1) * (1 - t) / t - 1e-9))),
    "floats, rounded first": refusing(
        lambda p, t: max(1, math.ceil(round((p - 1) * (1 - t) / t, 6)))
    ),
    "floats, multiplied out": refusing(lambda p, t: max(1, math.ceil((p - 1) / t - (p - 1)))),
    "one less where floats allow it": refusing(repaired_by_one),
    "hundredths": refusing(to_a_hundred),
    "fractions up to thousandths": refusing(no_larger_fraction),
    "decimals of 28 digits": refusing(with_decimals_of_28_digits),
    # search
    "tries one after the other": refusing(searches),
    "tries one after the other, in floats": refusing(searches_in_floats),
    "bisects up to a million": refusing(bisects(10**6)),
    # types
    "a float": refusing(lambda p, t: float(min(right(p, t), 10**300))),
    "a Fraction": refusing(lambda p, t: Fraction(right(p, t))),
    "numpy": refusing(lambda p, t: np.int64(min(right(p, t), 2**62))),
    "text": refusing(lambda p, t: str(right(p, t) % 10**9)),
    "true": refusing(lambda p, t: True),
    "nothing": refusing(lambda p, t: None),
    # errors
    "zero passes": swallows_a_zero,
    "nan passes": lets_nan_through,
    "refuses nothing": lambda p, t: right(p, t) if t else 1,
    "clamps": lambda p, t: right(max(p, 1), min(max(t, 1e-9), 1)),
    "refuses a target of 1": lambda p, t: right(p, t) if t < 1 else refuse(0, 1),
    "refuses a single stage": lambda p, t: right(p, t) if p > 1 else refuse(0, 1),
    "an assertion": lambda p, t: right(p, t) if p >= 1 and 0 < t <= 1 else int(None),
    "ValueError for everything": lambda p, t: refuse(0, 1),
    # somebody else's answer
    "asks the library": microbatches_for_bubble,
    "asks under another name": refusing(lambda p, t: int(under_another_name(p, t))),
}


def in_integers(p, target):
    refuse(p, target)
    numerator, denominator = Decimal(repr(target)).as_integer_ratio()
    idle = (p - 1) * (denominator - numerator)
    return max(1, (idle + numerator - 1) // numerator)


def total_slots_first(p, target):
    if not p >= 1:
        raise ValueError(p)
    if not 0 < target <= 1:
        raise ValueError(target)
    slots = math.ceil(Fraction(p - 1) / Fraction(str(target)))
    return max(slots - (p - 1), 1)


def doubles_and_bisects(p, target):
    refuse(p, target)
    t = Fraction(str(target))
    high = 1
    while bubble_fraction_exact(p, high) > t:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if bubble_fraction_exact(p, middle) > t else (low, middle)
    return high


def with_enough_decimals(p, target):
    refuse(p, target)
    context = Context(prec=800, rounding=ROUND_CEILING)
    t = Decimal(str(target))
    quotient = context.divide(context.multiply(Decimal(p - 1), context.subtract(1, t)), t)
    return max(1, int(context.to_integral_value(quotient)))


POINTS = {"min_microbatches": 10}
WRONG = {"min_microbatches": MUTANTS}
RIGHT = {
    "min_microbatches": {
        "as in the notebook": refusing(right),
        "in integers": in_integers,
        "total slots first": total_slots_first,
        "doubles and bisects": doubles_and_bisects,
        "with enough decimals": with_enough_decimals,
    }
}
