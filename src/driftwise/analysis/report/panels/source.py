"""A word on curves of another program, before all that is computed from them."""

from __future__ import annotations

from driftwise.analysis.page import Section
from driftwise.analysis.report.data import Report, longest


def source(report: Report) -> Section | None:
    """What is known of the curves and what stands for regret there, if another program wrote them."""
    data = longest(report)
    if not data.foreign:
        return None
    text = (
        "Another program wrote these curves: nothing is known of the agents, of the environment or of its "
        "changes. Runs of different agents belong together in the order of their names; where that means "
        "nothing, the paired tests hold all the same, only less sharply."
    )
    if "regret" not in data.measured:
        text += (
            f" The file has rewards and no regret. The {data.quantity} is the highest reward in the "
            "environment less the reward: differences between agents are right, its size means little."
        )
    return Section("Where the curves come from", [text])
