"""Policies by names: those that a benchmark compares, and the yardsticks that it holds them against."""

from __future__ import annotations

from typing import NamedTuple

from driftwise.base.validation import ArgumentError, require_choice
from driftwise.scenarios import ours
from driftwise.scenarios.policies import bandit_policy, mdp_policy
from driftwise.scenarios.problems import KINDS
from driftwise.scenarios.protocols import Make

CHANCE = "uniform"
BASELINES = frozenset({CHANCE, "greedy", "epsilon_greedy", "epsilon_greedy_lsvi", "random_restart"})


class Field(NamedTuple):
    """All who play the problems of one kind, by their names; a name may be in both fields."""

    fixed: dict[str, Make]  # memories, of which the best in hindsight is the yardstick
    yardsticks: dict[str, Make]  # played with whatever else is played: those memories and two baselines
    policies: dict[str, Make]  # played where none are named, and all that others register
    others: dict[str, Make]  # played where they are named

    @classmethod
    def of(
        cls, baselines: dict[str, Make], fixed: dict[str, Make], ours: dict[str, Make], *first: str
    ) -> Field:
        """Of our own, the `first` are played where none are named."""
        rest = {name: make for name, make in ours.items() if name not in first}
        return cls(fixed, baselines | fixed, {name: ours[name] for name in first}, rest)

    @property
    def contestants(self) -> dict[str, Make]:
        return self.policies | self.others

    @property
    def everyone(self) -> dict[str, Make]:
        return self.yardsticks | self.contestants

    def judges(self, name: str) -> bool:
        """Whether verdicts are passed on it: nobody judges yardsticks and baselines."""
        return name not in self.yardsticks and name not in BASELINES


FIELDS = {
    "bandits": Field.of(
        {CHANCE: bandit_policy("uniform"), "greedy": bandit_policy("greedy")},
        ours.BANDIT_MEMORIES,
        ours.BANDITS,
        *("adaptive_lin_ucb", "d_lin_ts", "change_detection", "epsilon_greedy"),
    ),
    "mdps": Field.of(
        {CHANCE: mdp_policy("uniform"), "greedy": mdp_policy("lsvi_ucb", radius=0.0)},
        ours.MDP_MEMORIES,
        ours.MDPS,
        *("adaptive_opt_wlsvi", "opt_rlsvi", "change_detection", "ucrl_vtr"),
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
