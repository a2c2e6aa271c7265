"""Policies of scenarios: their protocols, our algorithms as policies, and those that a benchmark compares.

All of ours have shared, untuned parameters, and none knows how long a run is: an algorithm that needs the
number of episodes is given `_HORIZON`. Radii are those of practice; where theory sets a radius of its own,
`_THEORY` scales it to about the same. `_PROOF` lowers constants with which no run would learn anything.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, SupportsIndex

import numpy as np

from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.types import FeatureTable, Plan, Spec
from driftwise.base.validation import ArgumentError, require_choice
from driftwise.parts import Glr
from driftwise.scenarios.problems import PROBLEM_KINDS
from driftwise.scenarios.rounds import Context, MdpContext, Reward, Trajectory

if TYPE_CHECKING:  # listing scenarios needs no bandits
    from driftwise.online import Bandit


class ScenarioPolicy(Protocol):
    """A policy of a bandit: `decide` returns the number of an arm, and `learn` True for an alarm.

    Rewards come in order, some late or never. A scenario that restarts keeps only what a policy pickles.
    """

    def decide(self, context: Context) -> SupportsIndex: ...
    def learn(self, reward: Reward) -> bool | None: ...


class MdpPolicy(Protocol):
    """A `ScenarioPolicy` of an MDP: `decide` returns probabilities of actions for an episode, `[H, S, A]`."""

    def decide(self, context: MdpContext) -> np.ndarray: ...
    def learn(self, trajectory: Trajectory) -> bool | None: ...


PolicyMaker = Callable[[Spec, int], ScenarioPolicy | MdpPolicy]  # from the sizes of a problem and a seed


class BanditPolicy:
    """A `driftwise.online.Bandit` as a policy."""

    def __init__(self, bandit: "Bandit") -> None:
        self.bandit, self.detects = bandit, "alarms" in bandit.diagnostics()

    def decide(self, context: Context) -> int:
        time = float(context.number)  # a round is a second
        return self.bandit.decide(context.arms, id=context.number, time=time).arm

    def learn(self, reward: Reward) -> bool | None:
        self.bandit.learn(reward.number, reward.value)
        return self.bandit.diagnostics()["alarms"] > 0 if self.detects else None


class AgentPolicy:
    """An agent of `driftwise.algorithms` as a policy of an MDP; it plans as in a simulation."""

    def __init__(self, agent: Agent, run: int) -> None:
        self.agent = agent
        self.state: Any = None  # until it has features
        self._key = random.fold(random.fold(random.key(0), run), random.PLANNING)
        self._waiting: deque[tuple[int, FeatureTable, Plan]] = deque()

    def decide(self, context: MdpContext) -> np.ndarray:
        if self.state is None:
            self.state = self.agent.init(context.table)
        plan = self.agent.plan(self.state, context.table, random.fold(self._key, context.number))
        self._waiting.append((context.number, context.table, plan))
        return plan.policy

    def learn(self, trajectory: Trajectory) -> bool | None:
        number, table, plan = self._waiting.popleft()
        while number < trajectory.number:  # those between are lost
            number, table, plan = self._waiting.popleft()
        self.state = self.agent.update(self.state, table, plan, trajectory.episode)
        alarms = self.agent.diagnostics(self.state).get("alarms")
        return None if alarms is None else bool(alarms > 0)


def bandit_policy(algorithm: str, **options: Any) -> PolicyMaker:
    """Return a maker of policies, each an online bandit with these options."""

    def make(spec: Spec, seed: int) -> BanditPolicy:
        from driftwise.online import Bandit

        if spec.num_states * spec.horizon > 1:
            raise ArgumentError("scenario", "be one of a bandit, for the policy of one", spec)
        return BanditPolicy(Bandit(algorithm, dim=spec.dim, seed=seed, **options))

    return make


def mdp_policy(algorithm: str, **options: Any) -> PolicyMaker:
    """Return a maker of policies, each an agent for MDPs with the default parameters of `EpisodicAgent`."""

    def make(spec: Spec, seed: int) -> AgentPolicy:
        from driftwise.algorithms import build
        from driftwise.online.episodes.agent_building import with_defaults

        if spec.num_states * spec.horizon == 1:
            raise ArgumentError("scenario", "be one of an MDP, for the policy of one", spec)
        return AgentPolicy(build(spec, algorithm, **with_defaults(algorithm, options, spec.horizon)), seed)

    return make


RANDOM_POLICY = "uniform"
BASELINES = frozenset({RANDOM_POLICY, "greedy", "epsilon_greedy", "epsilon_greedy_lsvi", "random_restart"})
RADIUS, _NOISE = 0.5, 0.5  # of ellipsoids; the most that rewards between 0 and 1 can have
_HORIZON = 1000
_LENGTHS, _LENGTH = (30, 100, 300), 100  # of fixed memories, and of all others that have one
_PERIOD = 97  # of restarts, which should not fall on the jumps of a world
_RATE = 1 - 1 / _LENGTH
_THEORY = 0.25
_PROOF = dict(gap_scale=1e-4, width_scale=1e-4)
_CAUTION = dict(alpha=0.1, corruption=50.0)
_CLICKS: dict[str, Any] = dict(radius=RADIUS, norm_bound=5.0, outside="clip")  # for rewards in [0, 1]
_UCB: dict[str, Any] = dict(algorithm="lin_ucb", radius=RADIUS)
_LSVI: dict[str, Any] = dict(algorithm="lsvi_ucb")

_Options = dict[str, dict[str, Any]]  # of policies, by name; `algorithm` is that name unless given

_BANDIT_MEMORIES: _Options = {
    f"memory_{length}": dict(algorithm="d_lin_ucb", rate=1 - 1 / length, radius=RADIUS) for length in _LENGTHS
} | {"memory_all": _UCB}
_BANDITS: _Options = {
    "adaptive": dict(base=_UCB),
    "adaptive_glb_omd": dict(outside="clip"),
    "adaptive_lin_ts": {},
    "adaptive_lin_ucb": {},
    "bob": dict(num_episodes=_HORIZON, noise_scale=_NOISE, radius_scale=_THEORY),
    "borl": dict(base=[*_BANDIT_MEMORIES.values()][:-1], num_episodes=_HORIZON),
    "change_detection": dict(base=_UCB, detector=Glr(noise_scale=_NOISE)),
    "clock_lin_ucb": dict(half_life=0.693 * _LENGTH, radius=RADIUS),  # a round is a second
    # outside of its assumption: arms are new in every round here
    "covering_restart": dict(base=_UCB, num_episodes=_HORIZON, noise_scale=_NOISE),
    "cw_oful": dict(radius=RADIUS, **_CAUTION),
    "d_glb_omd": dict(rate=_RATE, **_CLICKS),
    "d_lin_ts": dict(rate=_RATE, scale=_NOISE),
    "d_rand_lin_ucb": dict(rate=_RATE, radius=RADIUS),
    "detect_and_restart": dict(base=_UCB, num_episodes=_HORIZON, noise_scale=_NOISE),
    "dynamic_lin_ucb": dict(noise_scale=_NOISE, radius=RADIUS),
    "epsilon_greedy": dict(epsilon=0.05, rate=_RATE),
    "glb_weight_ucb": dict(rate=_RATE, **_CLICKS),
    "lin_ts": dict(scale=_NOISE),
    "master": dict(base=_UCB, num_episodes=_HORIZON, regret_scale=1.0),
    "master_lin_ucb": dict(num_episodes=_HORIZON, radius_scale=_THEORY),
    "random_restart": dict(base=_UCB, probability=1 / _LENGTH),
    "restart_adv": dict(period=_PERIOD, outside="clip"),
    "restart_lin_ucb": dict(period=_PERIOD, radius=RADIUS),
    "robust_weight_ucb": dict(rate=_RATE, radius=RADIUS, **_CAUTION),
    "sc_d_glucb": dict(rate=_RATE, num_episodes=_HORIZON, **_CLICKS),
    "sift_lin_ucb": dict(rate=_RATE, radius=RADIUS),
    "square_cb": dict(gamma=50.0, rate=_RATE),
    "sw_lin_ucb": dict(length=_LENGTH, radius=RADIUS),
    "weight_ucb": dict(rate=_RATE, radius=RADIUS),
}
_MDP_MEMORIES: _Options = {
    f"memory_{length}": dict(algorithm="opt_wlsvi", rate=1 - 1 / length) for length in _LENGTHS
} | {"memory_all": _LSVI}
_MDPS: _Options = {
    "ada_lsvi_ucb_restart": dict(num_episodes=_HORIZON),
    "adaptive_opt_wlsvi": {},
    "change_detection": dict(base=_LSVI),
    "detect_and_restart": dict(base=_LSVI, num_episodes=_HORIZON),
    "epsilon_greedy_lsvi": dict(epsilon=0.05, rate=_RATE),
    "lsvi_ucb_plus_plus": dict(lower_radius=0.3, squares_radius=0.3, **_PROOF),
    "lsvi_ucb_restart": dict(period=_PERIOD),
    "master_lsvi_ucb": dict(num_episodes=_HORIZON),
    "oppo": dict(step_size=1.0),
    "opt_rlsvi": dict(scale=0.3, upper=3.0, ridge=0.01, rate=_RATE),
    "opt_wlsvi_borl": dict(num_episodes=_HORIZON),
    "q_ucb": dict(scale=0.1),
    "random_restart": dict(base=_LSVI, probability=1 / _LENGTH),
    "restart_q_ucb": dict(period=_PERIOD, scale=0.1),
    "sw_lsvi_ucb": dict(length=_LENGTH),
    "ucbvi": dict(scale=0.1, rate=_RATE),
    "ucrl_vtr": dict(radius=0.3, rate=_RATE),
    "ucrl_vtr_plus": dict(rate=_RATE),
}


class PolicySet(NamedTuple):
    """All policies for the problems of one kind, by their names; a name may be in both sets."""

    fixed: dict[str, PolicyMaker]  # memories, of which the best in hindsight is the yardstick
    yardsticks: dict[str, PolicyMaker]  # always played: those memories and two baselines
    policies: dict[str, PolicyMaker]  # played by default, with all that users register
    others: dict[str, PolicyMaker]  # played where they are named

    @property
    def contestants(self) -> dict[str, PolicyMaker]:
        return self.policies | self.others

    def judges(self, name: str) -> bool:
        """Return whether a policy gets verdicts: yardsticks and baselines get none."""
        return name not in self.yardsticks and name not in BASELINES


def _policy_set(
    make: Callable[..., PolicyMaker], greedy: _Options, fixed: _Options, policies: _Options, *names: str
) -> PolicySet:
    """Return the set in which those of `names` are played by default."""
    every = {RANDOM_POLICY: {}} | greedy | fixed | policies
    makers = {name: make(**{"algorithm": name, **options}) for name, options in every.items()}
    return PolicySet(
        fixed={name: makers[name] for name in fixed},
        yardsticks={name: maker for name, maker in makers.items() if name not in policies},
        policies={name: makers[name] for name in names},
        others={name: makers[name] for name in policies if name not in names},
    )


_BY_DEFAULT = ("adaptive_lin_ucb", "d_lin_ts", "change_detection", "epsilon_greedy")
_MDPS_BY_DEFAULT = ("adaptive_opt_wlsvi", "opt_rlsvi", "change_detection", "ucrl_vtr")
_GREEDY: _Options = {"greedy": dict(algorithm="lsvi_ucb", radius=0.0)}
POLICY_SETS = {
    "bandits": _policy_set(bandit_policy, {"greedy": {}}, _BANDIT_MEMORIES, _BANDITS, *_BY_DEFAULT),
    "mdps": _policy_set(mdp_policy, _GREEDY, _MDP_MEMORIES, _MDPS, *_MDPS_BY_DEFAULT),
}


def register_policy(name: str, make: PolicyMaker, *, kind: str = "bandits") -> None:
    """Add a policy of your own to `driftwise bench`, from a module that `--import` names.

    `make(spec, seed)` makes it for problems of a `kind`, `"bandits"` or `"mdps"`; add one for both twice.
    """
    known = POLICY_SETS[require_choice("kind", kind, list(PROBLEM_KINDS))]
    if not isinstance(name, str) or not name.isidentifier() or name in known.yardsticks | known.contestants:
        raise ArgumentError("name", "be a new name of letters, digits and '_'", name)
    if not callable(make):
        raise ArgumentError("make", "be a function from the sizes of a problem and a seed to a policy", make)
    known.policies[name] = make


def policy_named(name: str, kind: str) -> PolicyMaker:
    """Return the maker of a policy or of a yardstick by its name."""
    known = POLICY_SETS[kind].yardsticks | POLICY_SETS[kind].contestants
    return known[require_choice("agent", name, list(known))]
