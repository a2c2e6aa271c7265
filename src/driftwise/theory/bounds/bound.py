r"""Bounds on dynamic regret: a sum of terms, with exponents, a source and a status.

A bound is evaluated for a `Setting` at a memory of $m$ episodes: a window, a period, or $1/\log(1/\eta)$ of
exponential weights, infinite without forgetting; by default that of the bound's tuning. A bound that is not
smaller than the trivial one is vacuous.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, NamedTuple, get_args

from driftwise.base.part import count, record, scalar
from driftwise.base.validation import ArgumentError, require_choice, require_count, require_number
from driftwise.theory.bandit_tuning import RidgeRule, bandit_ridge
from driftwise.theory.confidence import first_count

ProblemClass = Literal["linear bandit", "linear MDP", "linear mixture MDP"]
Growth = Literal["fixed", "proportional"]
Status = Literal["proven", "corrected", "withdrawn", "ours"]
_MAX_EPISODES = 10**18


@record
class Setting:
    r"""The numbers that a bound depends on.

    `constant` is what a theorem leaves open: $c$ in $\beta = c\,dH\sqrt\iota$ for linear MDPs, a factor of
    the whole for a rate. `mu_bound` is $C_\mu \ge \||\mu|(S)\|$ of the transition measures, by default
    $\sqrt d$.
    """

    dim: int = count()  # in a linear mixture MDP the number of known kernels
    num_episodes: int = count()
    variation: float = scalar(at_least=0)
    horizon: int = count(default=1)
    delta: float = scalar(above=0, at_most=1, default=0.05)
    ridge: float | None = None  # λ, by default that of the bound's tuning
    noise_scale: float = scalar(at_least=0, default=0.5)  # of rewards in [0, 1]
    norm_bound: float = scalar(at_least=0, default=1.0)
    constant: float = scalar(at_least=0, default=1.0)
    mu_bound: float | None = None

    def __post_init__(self) -> None:
        if self.ridge is not None:
            require_number("ridge", self.ridge, above=0)
        if self.mu_bound is not None:
            require_number("mu_bound", self.mu_bound, at_least=0)

    @property
    def measures(self) -> float:
        r"""$C_\mu \ge \||\mu|(S)\|$, at least $\sqrt d$."""
        return max(math.sqrt(self.dim), self.mu_bound or 0.0)


def trivial(setting: Setting, problem: ProblemClass) -> float:
    r"""Return the largest possible regret: $HK$ in an MDP, $2SK$ in a bandit."""
    per_episode = 2 * setting.norm_bound if problem == "linear bandit" else setting.horizon
    return float(per_episode * setting.num_episodes)


def whole_episodes(setting: Setting, memory: float) -> int:
    """Return the memory as a whole number of episodes between 1 and all."""
    return math.ceil(min(max(memory - 1e-9, 1.0), setting.num_episodes))


class Exponents(NamedTuple):
    r"""Powers of $d$, $H$, $\Delta$ and $K$ in a rate, without logarithms."""

    dim: Fraction
    horizon: Fraction
    variation: Fraction
    num_episodes: Fraction

    def __str__(self) -> str:
        written = {power: f"^{power}" if power.denominator == 1 else f"^({power})" for power in self}
        powers = [(symbol, power) for symbol, power in zip("dHΔK", self, strict=True) if power]
        return " ".join(symbol if power == 1 else symbol + written[power] for symbol, power in powers)

    def rate(self, setting: Setting) -> float:
        """Return the product of the powers."""
        sizes = (setting.dim, setting.horizon, setting.variation, setting.num_episodes)
        return math.prod(size ** float(power) for size, power in zip(sizes, self, strict=True))


def exponents(powers: str) -> Exponents:
    """Return exponents from the powers of $d$, $H$, $\\Delta$ and $K$, such as `"5/4 2 1/4 3/4"`."""
    return Exponents(*map(Fraction, powers.split()))


Value = Callable[[Setting, float], float]


@dataclass(frozen=True)
class Term:
    """A summand: its name, its formula in LaTeX, and its value for a setting and a memory."""

    name: str
    formula: str
    value: Value
    radius: Value | None = None  # that it is made with

    def __call__(self, setting: Setting, memory: float) -> float:
        return self.value(setting, memory)

    def times(self, formula: str, factor: Callable[[Setting], float]) -> Term:
        """Return the term times a factor."""
        return Term(self.name, formula + self.formula, lambda s, m: factor(s) * self.value(s, m))


@dataclass(frozen=True)
class BoundValue:
    """A bound evaluated for a setting and a memory."""

    bound: Bound
    setting: Setting
    memory: float
    terms: Mapping[str, float]
    radius: float | None

    @property
    def total(self) -> float:
        return sum(self.terms.values())

    @property
    def parameters(self) -> dict[str, float]:
        """The forgetting parameter of the recipe."""
        names = {"exponential weights": "rate", "sliding window": "length", "periodic restart": "period"}
        name = names.get(self.bound.forgetting)
        value = math.exp(-1 / self.memory) if name == "rate" else whole_episodes(self.setting, self.memory)
        return {} if name is None else {name: value}

    @property
    def remembered(self) -> float:
        r"""The effective number of episodes: window, period, or $1/\log(1/\eta)$; at most all."""
        if self.bound.forgetting == "exponential weights":
            return min(self.memory, float(self.setting.num_episodes))
        return float(whole_episodes(self.setting, self.memory))

    @property
    def trivial(self) -> float:
        return trivial(self.setting, self.bound.problem)

    @property
    def is_informative(self) -> bool:
        return self.total < self.trivial


@dataclass(frozen=True, eq=False)
class Bound:
    """A bound on the dynamic regret of an algorithm, or of every algorithm (`side="lower"`).

    It holds for `algorithm` in its tuned form with keywords `options`, whose tuning is `memory`. `assumes`
    names further assumptions. A `rate_only` bound omits constants and logarithms, with a `caveat`.
    """

    name: str
    algorithm: str
    problem: ProblemClass
    forgetting: str
    terms: tuple[Term, ...]
    exponents: Exponents
    source: str
    status: Status
    memory: Callable[[Setting], float] = lambda setting: math.inf
    ridge: RidgeRule = "one"
    options: Mapping[str, str] = field(default_factory=dict)
    assumes: str = ""
    caveat: str = ""
    side: Literal["upper", "lower"] = "upper"
    rate_only: bool = False

    def __post_init__(self) -> None:
        require_choice("problem", self.problem, get_args(ProblemClass))
        require_choice("status", self.status, get_args(Status))

    @property
    def summary(self) -> str:
        """The rate in one line, `d^(3/2) H^2 K^(1/2), stationary`."""
        words = ["stationary" * (not self.exponents.variation), "ours" * (self.status == "ours")]
        return ", ".join(filter(None, (str(self.exponents), self.assumes, *words, self.caveat)))

    @property
    def is_unconditional(self) -> bool:
        """Whether it is a valid upper bound without further assumptions."""
        return self.side == "upper" and not self.assumes and self.status != "withdrawn"

    def applies_to(self, setting: Setting) -> bool:
        """Return whether the bound applies: an upper rate without Δ only applies to stationary runs."""
        stationary = self.rate_only and self.side == "upper" and not self.exponents.variation
        return not (stationary and setting.variation > 0)

    def with_ridge(self, setting: Setting) -> Setting:
        """Return the setting with the ridge of the bound's tuning, unless it has one."""
        rule = self.ridge if setting.ridge is None else setting.ridge
        return replace(setting, ridge=bandit_ridge(dim=setting.dim, ridge=rule))

    def evaluate(self, setting: Setting, memory: float | None = None) -> BoundValue:
        """Evaluate all terms, at the memory of the bound's tuning unless another one is given."""
        if self.problem == "linear bandit" and setting.horizon != 1:
            raise ArgumentError("horizon", "be 1 for a linear bandit", setting.horizon)
        setting = self.with_ridge(setting)
        if memory is None:
            memory = self.memory(setting)
        elif not memory > 0:
            raise ArgumentError("memory", "be a number above 0", memory)
        values = {term.name: term.value(setting, memory) for term in self.terms}
        find_radius = self.terms[0].radius
        radius = None if find_radius is None else find_radius(setting, memory)
        return BoundValue(self, setting, memory, values, radius)


def derive(bound: Bound, name: str, **changes: Any) -> Bound:
    """Return the bound of another algorithm, `name`."""
    return replace(bound, **{"name": name, "algorithm": name, **changes})


def make_rate(name: str, rate: str, *, algorithm: str = "", **fields: Any) -> Bound:
    """Return a bound known up to constants and logarithms: a sum of products of powers, joined by `+`."""

    def summand(powers: Exponents) -> Term:
        return Term(str(powers), str(powers), lambda setting, _: setting.constant * powers.rate(setting))

    if fields.get("side") == "lower":
        algorithm = fields["forgetting"] = "any"
    products = [exponents(powers) for powers in rate.split("+")]
    fields |= dict(terms=tuple(map(summand, products)), exponents=products[0], rate_only=True)
    return Bound(name, algorithm or name, **fields)


def first_useful_length(
    bound: Bound, setting: Setting, *, growth: Growth = "fixed", limit: int = _MAX_EPISODES
) -> int | None:
    r"""Return the first $K$, up to `limit`, at which a bound is below the trivial one, or `None`.

    `growth="fixed"` keeps $\Delta$ as $K$ grows, `"proportional"` $\Delta/K$. It may become vacuous again.
    """
    require_choice("growth", growth, ("fixed", "proportional"))
    limit, setting = require_count("limit", limit), bound.with_ridge(setting)
    variation_per_episode = setting.variation / setting.num_episodes

    def is_useful(num_episodes: int) -> bool:
        variation = setting.variation if growth == "fixed" else variation_per_episode * num_episodes
        return bound.evaluate(replace(setting, num_episodes=num_episodes, variation=variation)).is_informative

    return first_count(is_useful, limit)


def best_memory(bound: Bound, setting: Setting) -> float:
    r"""Return the memory between 1 and $10K$ that minimises a bound, within 5 %."""
    steps = math.ceil(math.log(10 * setting.num_episodes) / 0.05)
    memories = (math.exp(0.05 * step) for step in range(steps + 1))
    return min(memories, key=lambda memory: bound.evaluate(setting, memory).total)
