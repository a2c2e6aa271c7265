"""Policies by names: those that a benchmark compares, and the yardsticks that it holds them against."""

from __future__ import annotations

from typing import NamedTuple

from driftwise.base.validation import ArgumentError, require_choice
from driftwise.scenarios.policies import bandit_policy, mdp_policy
from driftwise.scenarios.problems import KINDS
from driftwise.scenarios.protocols import Make

RADIUS = 0.5  # of the confidence ellipsoids of all fixed memories of bandits
CHANCE = "uniform"
LENGTHS = (30, 100, 300)


class Field(NamedTuple):
    """All who play the problems of one kind, by their names; a name may be in both fields."""

    baselines: dict[str, Make]
    fixed: dict[str, Make]  # memories, of which the best in hindsight is the yardstick
    policies: dict[str, Make]  # those that are judged

    @property
    def yardsticks(self) -> dict[str, Make]:
        """Those that nobody judges."""
        return self.baselines | self.fixed

    @property
    def everyone(self) -> dict[str, Make]:
        return self.yardsticks | self.policies


FIELDS = {
    "bandits": Field(
        baselines={CHANCE: bandit_policy("uniform"), "greedy": bandit_policy("greedy")},
        fixed={
            **{
                f"memory_{length}": bandit_policy("d_lin_ucb", rate=1 - 1 / length, radius=RADIUS)
                for length in LENGTHS
            },
            "memory_all": bandit_policy("lin_ucb", radius=RADIUS),
        },
        policies={
            "adaptive_lin_ucb": bandit_policy("adaptive_lin_ucb"),
            "d_lin_ts": bandit_policy("d_lin_ts", rate=0.99, scale=0.2),
            "detect_and_restart": bandit_policy(
                "change_detection", base={"algorithm": "lin_ucb", "radius": RADIUS}
            ),
            "epsilon_greedy": bandit_policy("epsilon_greedy", epsilon=0.05, rate=0.99),
        },
    ),
    "mdps": Field(
        baselines={CHANCE: mdp_policy("uniform"), "greedy": mdp_policy("lsvi_ucb", radius=0.0)},
        fixed={
            **{f"memory_{length}": mdp_policy("opt_wlsvi", rate=1 - 1 / length) for length in LENGTHS},
            "memory_all": mdp_policy("lsvi_ucb"),
        },
        policies={
            "adaptive_opt_wlsvi": mdp_policy("adaptive_opt_wlsvi"),
            "opt_rlsvi": mdp_policy("opt_rlsvi", scale=0.3, upper=3.0, ridge=0.01, rate=0.99),
            "detect_and_restart": mdp_policy("change_detection", base={"algorithm": "lsvi_ucb"}),
            "ucrl_vtr": mdp_policy("ucrl_vtr", radius=0.3, rate=0.99),
        },
    ),
}


def register_policy(name: str, make: Make, *, kind: str = "bandits") -> None:
    """Let `driftwise bench` know a policy of your own: a module that does so is named by `--import`.

    Args:
      name: a new one; the same for policies of both kinds, if they are one method.
      make: makes the policy, from the sizes of a problem and a seed.
      kind: of the problems that it plays, `"bandits"` or `"mdps"`.
    """
    field = FIELDS[require_choice("kind", kind, list(KINDS))]
    if not isinstance(name, str) or not name.isidentifier() or name in field.everyone:
        raise ArgumentError("name", "be a new name of letters, digits and '_'", name)
    if not callable(make):
        raise ArgumentError("make", "be a function from the sizes of a problem and a seed to a policy", make)
    field.policies[name] = make


def policy_named(name: str, kind: str) -> Make:
    """A policy or a yardstick by its name."""
    known = FIELDS[kind].everyone
    return known[require_choice("agent", name, list(known))]
