"""The card's table of what a design can estimate follows from the cases."""

from __future__ import annotations

import math

from helmbench_hf.content.load import Benchmark
from helmbench_hf.matrix.design import designs
from helmbench_hf.matrix.expand import expand
from helmbench_hf.matrix.precision import figures


def test_more_cells_of_the_same_messages_are_no_more_certain(real: Benchmark) -> None:
    by_design = designs(real, expand(real))
    core, full = ({each.name: each for each in figures(real, by_design[name])} for name in ("core", "full"))
    headline = "hidden J at the headline condition"
    assert core[headline].pairs < full[headline].pairs
    assert core[headline].half_width == full[headline].half_width == 1.96 * math.sqrt(0.30 / core[headline].meanings)
    for name, figure in core.items():
        assert figure.pairs <= full[name].pairs
        assert figure.printed == (figure.pairs >= real.scoring.minimum_pairs)
        assert (figure.half_width is None) == (figure.meanings == 0)


def test_nothing_can_be_said_of_no_cases(real: Benchmark) -> None:
    assert {(each.pairs, each.half_width) for each in figures(real, [])} == {(0, None)}
