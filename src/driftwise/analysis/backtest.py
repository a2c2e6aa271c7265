"""A backtest as a table, in words, and as a page."""

from __future__ import annotations

import math

import numpy as np

from driftwise.analysis.page import Article, Figure, Page, Section, axis, line, write_html
from driftwise.analysis.statistics.wording import counted, rounded, with_interval
from driftwise.analysis.table import Cell, Column, Table, numbers, words
from driftwise.online.backtesting import Backtest, Interval, MemoryScore

READING = (
    "memory: rows, 1/(1−η) for a rate η, or a window. score: mean logarithm of the density that a memory's "
    "forecast gave the next reward, with one noise for all rows; higher is better. behind: the best score "
    "less this, with its 95 % interval. best?: whether it may be, as no other is better by more than "
    "chance, at 95 % for all together. learnt: the score with the noise that the mixture has learnt. error: "
    "root mean square of what the forecasts missed. mixture: all memories, weighed by their scores so far."
)
LIMITS = (
    "Intervals take the rows as they came and average over their noise alone: they say what forecast best "
    "on this log. A log with one change has shown one change."
)


def html_page(found: Backtest, source: str) -> str:
    """The verdict and the scores, then the figures."""
    blocks = [scores_table(found), READING, LIMITS, *_figures(found)]
    return write_html(
        Page(
            title="tune",
            kicker=f"{source} · {counted(found.rows, 'row')} · {counted(found.dim, 'feature')}",
            heading="How long to remember",
            lead=" ".join(sentences(found)),
            parts=[Article("", [Section("", blocks)])],
        )
    )


def scores_table(found: Backtest, title: str = "") -> Table:
    """The scores of all memories and of their mixture."""
    best = found.advised.name
    rows = [
        (
            Cell(each.name, best=each.name == best),
            Cell.of(_score, each.score, best=each.name == best),
            Cell("–", each.behind) if each.name == best else _behind(each.behind),
            "yes" if each.may_be_best else "no",
            Cell.of(_score, each.learnt_score),
            Cell.of(rounded, each.error),
        )
        for each in found.memories
    ]
    mixture = (
        "mixture",
        Cell.of(_score, found.mixture),
        _behind(found.mixture_behind),
        "–",
        Cell.of(_score, found.learnt_mixture),
        Cell("–", (math.nan,)),
    )
    columns = (
        *words("memory"),
        *numbers("score"),
        Column("behind", ("behind", "behind from", "behind to")),
        *words("best?"),
        *numbers("learnt", "error"),
    )
    return Table.of("memories", columns, [*rows, mixture], title)


def _behind(behind: Interval) -> Cell:
    return Cell.of(lambda *ends: "{} [{}, {}]".format(*map(_score, ends)), *behind)


def _score(score: float) -> str:
    return "–" if math.isnan(score) else f"{score:.4f}".replace("-", "−")


def sentences(found: Backtest) -> tuple[str, ...]:
    """The advice, whether forgetting helps, and what choosing as one goes would have reached."""
    return (_advice(found), _verdict(found), *_remarks(found))


def _advice(found: Backtest) -> str:
    best, others = found.advised, [name for name in found.may_be_best if name != found.advised.name]
    told = f"not distinguishable from it: {', '.join(others)}" if others else "no other may be best, at 95 %"
    return f"Advised memory: {_described(best)}; {told}."


def _described(memory: MemoryScore) -> str:
    if memory.name == "all":
        return "all rows, no forgetting"
    return f"{memory.name} rows" + ("" if memory.rate is None else f" (rate {memory.rate:.6g})")


def _verdict(found: Backtest) -> str:
    said = {
        "helps": "Forgetting helps",
        "does not help": "Forgetting does not help",
        "open": "Whether forgetting helps is open",
    }[found.forgetting]
    return f"{said}: at best it gains {with_interval(*found.gain)} in the score of a row."


def _remarks(found: Backtest) -> list[str]:
    best, learnt = found.advised, found.best_with_learnt_noise
    how = "given" if found.noise_given else "the likeliest in hindsight"
    remarks = [
        f"The mixture scores {_score(found.mixture)}, the best memory in hindsight {_score(best.score)}, "
        f"with a noise of {rounded(found.noise_scale)}, {how}."
    ]
    exponential = [each.name for each in found.memories[:-1] if each.rate is not None]
    if found.forgetting == "helps" and [best.name] == exponential[-1:]:
        remarks.append("The longest memory that was tried is best: try longer ones too.")
    if learnt.name != best.name:
        remarks.append(
            f"With the noise learnt, {_described(learnt)} scores best: there rows count for less while "
            "the noise is large, and single outliers for less."
        )
    return remarks


def _figures(found: Backtest) -> list[Figure]:
    best = found.best_with_learnt_noise.learnt_score
    shown = [
        (each.rate, each.name, each.learnt_score - best, -each.behind.value, each.behind.high)
        for each in found.memories
    ]
    windows = [each for each in shown if each[0] is None]
    gap = [(None, "", math.nan, math.nan, math.nan)] * bool(windows)  # no line from one kind to the other
    columns = zip(*(each for each in shown if each[0] is not None), *gap, *windows, strict=True)
    _, names, learnt, score, high = map(list, columns)
    places = np.arange(len(names), dtype=float)
    lines = [
        line(0, "noise fixed", np.array(score), np.array(high) + score, mode="lines+markers"),
        line(1, "noise learnt", np.array(learnt), mode="lines+markers"),
    ]
    ticks = axis("memory", tickvals=places.tolist(), ticktext=names)
    title = "Score of each memory less that of the best"
    layout = {"xaxis": ticks, "yaxis": axis("per row"), "showlegend": True}
    figures = [Figure("scores", lines, layout, title, title, x=places)]
    for kind, weights in (("fixed", found.weights), ("learnt", found.learnt_weights)):
        title = f"Weights of the memories in their mixture, noise {kind}"
        layout = {"xaxis": axis("row"), "yaxis": axis("", range=[0, 1]), "showlegend": True}
        curves = [line(j, each.name, weights[:, j]) for j, each in enumerate(found.memories)]
        x = found.at_rows.astype(float)
        figures.append(Figure(f"weights-{kind}", curves, layout, f"{title}, over rows", title, x=x))
    return figures
