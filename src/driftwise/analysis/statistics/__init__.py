"""Statistics over independent runs, `[runs, ...]`: run `i` of every agent meets the same environment draws.

`estimation` computes numbers with their intervals, `comparisons` compares agents, `regret_summaries` reduces
regret curves to one number. Only NumPy and `scipy.special` are needed. Resampling has a fixed seed.
"""

from driftwise.base.extras import require_extra

with require_extra("statistics", "simulate"):
    from driftwise.analysis.statistics.comparisons import (
        AgentPair,
        PairedDifference,
        RankTable,
        all_pairs,
        average_ranks,
        holm_adjust,
        paired_difference,
        rank_table,
        sign_flip_test,
        simultaneous_test,
        t_test,
    )
    from driftwise.analysis.statistics.estimation import (
        ROUNDING,
        IntervalEstimate,
        bootstrap_interval,
        interquartile_mean,
        is_lowest,
        jackknife_interval,
        mean_interval,
        rounded_difference,
        sample_equality,
        trailing_mean,
    )
    from driftwise.analysis.statistics.regret_summaries import (
        RecoverySummary,
        growth_exponent,
        recovery_summary,
        recovery_times,
        regret_area,
        scaling_exponent,
    )

__all__ = ["ROUNDING", "AgentPair", "IntervalEstimate", "PairedDifference", "RankTable", "RecoverySummary"]
__all__ += ["all_pairs", "average_ranks", "bootstrap_interval", "growth_exponent", "holm_adjust"]
__all__ += ["interquartile_mean", "is_lowest", "jackknife_interval", "mean_interval", "paired_difference"]
__all__ += ["rank_table", "recovery_summary", "recovery_times", "regret_area", "rounded_difference"]
__all__ += ["sample_equality", "scaling_exponent", "sign_flip_test", "simultaneous_test", "t_test"]
__all__ += ["trailing_mean"]
