"""Tables of a replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from driftwise.analysis.statistics.wording import percent, rounded, with_interval
from driftwise.analysis.table import Cell, Column, Table, numbers, words
from driftwise.online.replay import Evaluation, Interval, Replay
from driftwise.online.replay.evaluations import Intervals

KINDS = {  # of intervals, by their names
    "normal": "normal",
    "asymptotic": "asymptotic",
    "running": "at all times",
    "weighted": "weighted",
    "plug_in": "early",
}

BIASED = " (BIASED)"
MOST_ACTIONS = 100  # in a table; JSON has all


def tables(replay: Replay) -> list[Table]:
    """All tables, the answer first."""
    makers: list[Callable[[Replay], Table]] = [means_table, estimates_table, weights_table, actions_table]
    return [make(replay) for make in makers]


def evaluated(replay: Replay) -> Iterator[tuple[str, Evaluation]]:
    """The logged policy and all others, by their names."""
    yield "logged", replay.logged
    yield from replay.policies.items()


def means_table(replay: Replay) -> Table:
    """Values of all policies and their differences, with every interval that there is."""
    kinds = [Column(name, (name, f"{name}: from", f"{name}: to")) for name in KINDS.values()]
    rows = []
    for name, each in evaluated(replay):
        rows.append((name, *_cells(each.value)))
        for other, intervals in each.differences.items():
            rows.append((f"{name} − {other}", *_cells(intervals)))
    sure = f"{100 * (1 - replay.options.delta):g} % intervals"
    title = f"Mean rewards on {replay.log.path}, with {sure}{BIASED * replay.biased}"
    return Table.of("means", (*words("policy"), *kinds), rows, title).without_empty()


def _cells(intervals: Intervals) -> Iterator[Cell]:
    for kind in KINDS:
        yield _cell(intervals.get(kind))


def _cell(interval: Interval | None) -> Cell:
    return Cell("–", (float("nan"),) * 3) if interval is None else Cell.of(with_interval, *interval)


def estimates_table(replay: Replay) -> Table:
    """The estimates of all methods with their standard errors."""
    columns = (*words("policy", "estimate"), *numbers("value", "standard error", "95 % from", "to"))
    rows = [
        (
            name,
            method,
            *(Cell.of(rounded, number) for number in (found.value, found.error, found.low, found.high)),
        )
        for name, each in replay.policies.items()
        for method, found in each.final.values.items()
        if method != "replay" or replay.options.learn == "accepted"
    ]
    return Table.of("estimates", columns, rows, f"Estimates, with normal intervals{BIASED * replay.biased}")


def weights_table(replay: Replay) -> Table:
    """How much of the log speaks of each policy."""
    columns = (
        *words("policy"),
        *numbers("learnt from", "effective rows", "mean weight", "clipped rows", "clipped weight"),
        Column("without a chance", ("unsupported",)),
    )
    rows = []
    for name, each in replay.policies.items():
        final = each.final
        numbers_ = each.learnt, final.effective, final.mean_weight, final.clipped, final.clipped_weight
        unsupported = float("nan") if each.unsupported is None else each.unsupported
        rows.append(
            (
                name,
                *(Cell.of(rounded, number) for number in numbers_),
                Cell("–" if each.unsupported is None else percent(unsupported), (unsupported,)),
            )
        )
    return Table.of(
        "weights", columns, rows, f"Weights of {replay.logged.final.events:,} rows"
    ).without_empty()


def actions_table(replay: Replay) -> Table:
    """Every action: how often it was logged, its mean reward, and what the policies would give it."""
    shares = [Column(f"{name}: share", (f"{name} share",)) for name in replay.policies]
    weights = [Column(f"{name}: weight", (f"{name} weight",)) for name in replay.policies]
    both = (column for pair in zip(shares, weights, strict=True) for column in pair)
    columns = (*words("action"), *numbers("rows", "share", "mean reward"), *both)
    rows = []
    for action, logged in replay.logged.actions.items():
        views = (each.actions[action] for each in replay.policies.values())
        rows.append(
            (
                action,
                Cell.of("{:,}".format, logged.rows),
                Cell.of(percent, logged.share),
                Cell.of(rounded, logged.reward),
                *(
                    cell
                    for view in views
                    for cell in (Cell.of(percent, view.share), Cell.of(rounded, view.weight))
                ),
            )
        )
    rows.sort(key=lambda row: -row[1].numbers[0])
    most = f", the {MOST_ACTIONS} most logged of {len(rows):,}" * (len(rows) > MOST_ACTIONS)
    return Table.of("actions", columns, rows[:MOST_ACTIONS], f"Actions{most}")
