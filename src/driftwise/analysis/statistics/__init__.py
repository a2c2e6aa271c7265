"""Statistics over independent runs, `[runs, ...]`: run `i` of every agent meets the same environment draws.

`intervals` says how sure a number is, `comparisons` which agent is better; `curves` has regret curves in one
number, `samples` differences that are none, and `wording` numbers as texts. Only NumPy and `scipy.special`
are needed; whatever is random has a fixed seed.
"""

from driftwise.base.extras import needed_by

with needed_by("statistics", "simulate"):
    from driftwise.analysis.statistics.comparisons import (
        Pair,
        PairedDifference,
        RankTable,
        all_pairs,
        average_ranks,
        holm,
        paired_difference,
        rank_table,
        sign_flip_test,
        simultaneous_test,
        t_test,
    )
    from driftwise.analysis.statistics.curves import (
        Recovery,
        growth_exponent,
        recovery_summary,
        recovery_times,
        regret_area,
        scaling_exponent,
        trailing_mean,
    )
    from driftwise.analysis.statistics.intervals import (
        Interval,
        bootstrap_interval,
        interquartile_mean,
        jackknife_interval,
        mean_interval,
    )
    from driftwise.analysis.statistics.samples import ROUNDING, difference, equality, lowest

__all__ = [
    "ROUNDING",
    "Interval",
    "Pair",
    "PairedDifference",
    "RankTable",
    "Recovery",
    "all_pairs",
    "average_ranks",
    "bootstrap_interval",
    "difference",
    "equality",
    "growth_exponent",
    "holm",
    "interquartile_mean",
    "jackknife_interval",
    "lowest",
    "mean_interval",
    "paired_difference",
    "rank_table",
    "recovery_summary",
    "recovery_times",
    "regret_area",
    "scaling_exponent",
    "sign_flip_test",
    "simultaneous_test",
    "t_test",
    "trailing_mean",
]
