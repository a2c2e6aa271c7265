"""A backtest as a table, in words, and as a page."""

import math

import numpy as np

from driftwise.analysis.figures import Axis, Curve, Figure
from driftwise.analysis.formatting import format_count, format_interval, format_number
from driftwise.analysis.page import Article, Page, Section, write_html
from driftwise.analysis.table import Cell, Table, TableColumn, numbers, words
from driftwise.online.backtesting import Backtest, MemoryScore
from driftwise.online.intervals import Interval

SCORES_NOTE = (
    "memory: rows, 1/(1−η) for a rate η, or a window. score: mean logarithm of the density that a memory's "
    "forecast gave the next reward, with one noise for all rows; higher is better. behind: the best score "
    "less this, with its 95 % interval. best?: whether it may be, as no other is better by more than "
    "chance, at 95 % for all together. learnt: the score with the noise that the mixture has learnt. error: "
    "root mean square of what the forecasts missed. mixture: all memories, weighed by their scores so far."
)
LIMITS_NOTE = (
    "Intervals take the rows as they came and average over their noise alone: they say what forecast best "
    "on this log. A log with one change has shown one change."
)


def backtest_page(backtest: Backtest, source: str) -> str:
    """Return the page: the verdict and the scores, then the figures."""
    sizes = format_count(backtest.rows, "row"), format_count(backtest.dim, "feature")
    kicker, lead = " · ".join((source, *sizes)), " ".join(backtest_sentences(backtest))
    blocks = [scores_table(backtest), SCORES_NOTE, LIMITS_NOTE, *_figures(backtest)]
    parts = [Article("", [Section("", blocks)])]
    return write_html(Page("tune", kicker, "How long to remember", lead, parts))


def scores_table(backtest: Backtest, title: str = "") -> Table:
    """Return the scores of all memories and of their mixture."""
    rows = []
    for memory in backtest.memories:
        is_best, may_be_best = memory == backtest.advised, "yes" if memory.may_be_best else "no"
        score, learnt = Cell.of(_score, memory.score, best=is_best), Cell.of(_score, memory.learnt_score)
        behind = Cell("–", memory.behind) if is_best else _behind(memory.behind)
        error = Cell.of(format_number, memory.error)
        rows.append((Cell(memory.name, best=is_best), score, behind, may_be_best, learnt, error))
    score, learnt = Cell.of(_score, backtest.mixture), Cell.of(_score, backtest.learnt_mixture)
    rows.append(("mixture", score, _behind(backtest.mixture_behind), "–", learnt, Cell("–", (math.nan,))))
    behind = TableColumn("behind", ("behind", "behind from", "behind to"))
    columns = *words("memory"), *numbers("score"), behind, *words("best?"), *numbers("learnt", "error")
    return Table.of("memories", columns, rows, title)


def _behind(behind: Interval) -> Cell:
    return Cell.of(lambda *ends: "{} [{}, {}]".format(*map(_score, ends)), *behind)


def _score(score: float) -> str:
    return "–" if math.isnan(score) else f"{score:.4f}".replace("-", "−")


def backtest_sentences(backtest: Backtest) -> tuple[str, ...]:
    """Return the advice, whether forgetting helps, and the score of the mixture."""
    best, learnt = backtest.advised, backtest.best_with_learnt_noise
    others = [name for name in backtest.may_be_best if name != best.name]
    rest = f"not distinguishable from it: {', '.join(others)}" if others else "no other may be best, at 95 %"
    verdict = f"Forgetting {backtest.forgetting}"
    verdict = "Whether forgetting helps is open" if backtest.forgetting == "open" else verdict
    how = "given" if backtest.noise_given else "the likeliest in hindsight"
    sentences = [
        f"Advised memory: {_describe(best)}; {rest}.",
        f"{verdict}: at best it gains {format_interval(*backtest.gain)} in the score of a row.",
        f"The mixture scores {_score(backtest.mixture)}, the best memory in hindsight {_score(best.score)}, "
        f"with a noise of {format_number(backtest.noise_scale)}, {how}.",
    ]
    exponential = [memory.name for memory in backtest.memories[:-1] if memory.rate is not None]
    if backtest.forgetting == "helps" and [best.name] == exponential[-1:]:
        sentences.append("The longest memory that was tried is best: try longer ones too.")
    if learnt.name != best.name:
        sentences.append(
            f"With the noise learnt, {_describe(learnt)} scores best: there rows count for less while "
            "the noise is large, and single outliers for less."
        )
    return tuple(sentences)


def _describe(memory: MemoryScore) -> str:
    if memory.name == "all":
        return "all rows, no forgetting"
    return f"{memory.name} rows" + ("" if memory.rate is None else f" (rate {memory.rate:.6g})")


def _figures(backtest: Backtest) -> list[Figure]:
    best = backtest.best_with_learnt_noise.learnt_score
    scores = [
        (memory.rate, memory.name, memory.learnt_score - best, -memory.behind.value, memory.behind.high)
        for memory in backtest.memories
    ]
    windows = [row for row in scores if row[0] is None]
    gap = [(None, "", math.nan, math.nan, math.nan)] * bool(windows)  # no line from one kind to the other
    columns = zip(*(row for row in scores if row[0] is not None), *gap, *windows, strict=True)
    _, names, learnt, score, high = map(list, columns)
    places, score = np.arange(len(names), dtype=float), np.array(score)
    reach = np.array(high) + score
    lines = [
        Curve("noise fixed", score, 0, low=score - reach, high=score + reach, kind="marked"),
        Curve("noise learnt", np.array(learnt), 1, kind="marked"),
    ]
    axes = Axis("memory", ticks=dict(zip(places.tolist(), names, strict=True))), Axis("per row")
    title = "Score of each memory less that of the best"
    figures = [Figure("scores", lines, *axes, title, title, x=places, legend=True)]
    for kind, weights in (("fixed", backtest.weights), ("learnt", backtest.learnt_weights)):
        title = f"Weights of the memories in their mixture, noise {kind}"
        curves = [Curve(memory.name, weights[:, j], j) for j, memory in enumerate(backtest.memories)]
        axes = Axis("row", integer=True), Axis(limits=(0, 1))
        x, text = backtest.at_rows.astype(float), f"{title}, over rows"
        figures.append(Figure(f"weights-{kind}", curves, *axes, text, title, x=x, legend=True))
    return figures
