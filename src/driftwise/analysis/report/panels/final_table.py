"""The final table of an environment, and how to read it."""

from __future__ import annotations

import math

from driftwise.analysis.page import Section
from driftwise.analysis.report.data import ReportData
from driftwise.analysis.report.final_table import final_table
from driftwise.analysis.report.panels.common import bootstrap_caution
from driftwise.analysis.statistics.wording import rounded

MAX_CHANGES = 4  # with a column each; of more, the table has the mean


def final(data: ReportData) -> Section:
    """Regret, area, recovery and events of every agent."""
    recovery = "recovery" if len(data.changes) <= MAX_CHANGES else "mean recovery"
    columns = ("rank", "agent", "regret", "iqm", "area", recovery, "events", "seconds")
    note = (
        "Final regret: cumulative regret after the last episode, mean ± 95 % half-width (Student’s t). "
        f"IQM: mean of the middle half of the runs, with a bootstrap interval.{bootstrap_caution(data)} "
        "Area: under the curve of cumulative regret, divided by K²/2, so that a constant regret of r in each "
        "episode gives r."
    )
    notes = [note, _recovery_note(data)] if data.changes else [note]
    return Section("Final table", [final_table({data.environment_label: data}, columns), *notes])


def _recovery_note(data: ReportData) -> str:
    threshold, width = data.recovery_threshold, data.smoothing
    if math.isnan(threshold):
        return "Recovery is not known: its threshold is a property of the environment, which cannot be made."
    averaged = f", averaged over {width} points," if width > 1 else ""
    held = " and stays there as long" if width > 1 else ""
    return (
        f"Recovery: median episodes from a change until the regret of an episode{averaged} is down to "
        f"{rounded(threshold, 3)}{held}. That is a quarter of the mean regret of random actions: the same "
        "for all agents, and in every report on this environment with as many episodes, recorded as often. "
        "0: the agent never rose above it. ∞: half of the runs or more do not recover until the next change "
        "or the end. –: too little was recorded after the change to judge."
    )
