"""A product of positive semi-definite matrices need not be one: two counter-examples, over all directions y.

The first says that a characteristic polynomial does not settle it, the second that the matrix which the
published analyses of sliding windows are about is not positive either.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from driftwise.analysis.matplotlib_figures import COLOURS, STYLE, png_bytes
from driftwise.theory.counter_examples import Witness, part_of_a_gram, same_characteristic_polynomial


def main(target: Path) -> None:
    polynomial = same_characteristic_polynomial()
    printed, within = part_of_a_gram(unit_ball=False), part_of_a_gram()
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.set_title("I and B share their characteristic polynomial", loc="left")
        draw(left, "I", Witness(np.eye(2), polynomial.vector), COLOURS[0])
        draw(left, "B", polynomial, COLOURS[1])
        right.set_title("M = V⁻¹A₁A₁ᵀ, part of a gram matrix over the whole", loc="left")
        draw(right, "as printed, |A₂| = √2", printed, COLOURS[0])
        draw(right, "A₂ in the unit ball", within, COLOURS[1])
        target.write_bytes(png_bytes(figure))
    print(f"yᵀBy = {polynomial.value:g}")
    print(f"yᵀMy = {printed.value:.3g} as printed, {within.value:.3g} with A₂ in the unit ball")
    print(target)


def draw(axes: Axes, name: str, witness: Witness, colour: str) -> None:
    """The quadratic form around the half circle; the dot is at the direction of the witness."""
    angles = np.linspace(0, np.pi, 361)
    around = np.stack([np.cos(angles), np.sin(angles)])
    axes.plot(np.degrees(angles), np.einsum("ia,ij,ja->a", around, witness.matrix, around), color=colour)
    x, y = witness.vector
    place = np.degrees(np.arctan2(y, x)), witness.value / (x**2 + y**2)
    axes.plot(*place, "o", color=colour, label=f"{name}: yᵀMy = {witness.value:.3g} at y = ({x:g}, {y:g})")
    axes.axhline(0, color="#999999", linewidth=1)
    axes.set_xlabel("direction of y, degrees")
    axes.set_ylabel("yᵀMy for |y| = 1")
    axes.legend(frameon=False, loc="upper center")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "not_positive.png"))
