"""Policies by names: those that a benchmark compares, and the yardsticks that it holds them against."""

from __future__ import annotations

from driftwise.base.validation import ArgumentError, require_choice
from driftwise.scenarios.playing import Make, bandit_policy

RADIUS = 0.5  # of the confidence ellipsoids of all fixed memories
FIXED: dict[str, Make] = {
    **{
        f"memory_{length}": bandit_policy("d_lin_ucb", rate=1 - 1 / length, radius=RADIUS)
        for length in (30, 100, 300)
    },
    "memory_all": bandit_policy("lin_ucb", radius=RADIUS),
}
YARDSTICKS: dict[str, Make] = {
    "uniform": bandit_policy("uniform"),
    "greedy": bandit_policy("greedy"),
    **FIXED,
}
POLICIES: dict[str, Make] = {
    "adaptive_lin_ucb": bandit_policy("adaptive_lin_ucb"),
    "d_lin_ts": bandit_policy("d_lin_ts", rate=0.99, scale=0.2),
    "detect_and_restart": bandit_policy("change_detection", base={"algorithm": "lin_ucb", "radius": RADIUS}),
    "epsilon_greedy": bandit_policy("epsilon_greedy", epsilon=0.05, rate=0.99),
}


def register_policy(name: str, make: Make) -> None:
    """Let `driftwise bench` know a policy of your own: a module that does so is named by `--import`."""
    known = {**YARDSTICKS, **POLICIES}
    if not isinstance(name, str) or not name.isidentifier() or name in known:
        raise ArgumentError("name", "be a new name of letters, digits and '_'", name)
    if not callable(make):
        raise ArgumentError("make", "be a function from the sizes of a problem and a seed to a policy", make)
    POLICIES[name] = make


def policy_named(name: str) -> Make:
    """A policy or a yardstick by its name."""
    known = {**YARDSTICKS, **POLICIES}
    return known[require_choice("agent", name, list(known))]
