"""Exponential weights over experts: EXP3 for bandit feedback, and fixed share for full feedback."""

import math
from typing import Literal

from driftwise.base.arrays import namespace
from driftwise.base.part import count, number, part
from driftwise.base.types import Array, Numeric
from driftwise.base.validation import require_choice, require_count, require_number, require_numeric

Form = Literal["auer", "bubeck"]


@part
class Exp3:
    r"""Exponential weights over arms, of which only the chosen one reveals its gain.

    $p_i = (1-\gamma)\,w_i/W + \gamma/I$ with $W = \sum_j w_j$. After arm $a$ gained $x$, for all arms,
    $$w_i \leftarrow w_i\exp\Big(\eta\,\frac{x\,1\{i=a\} + \beta}{p_i}\Big) + \frac{e\alpha}{I}\,W,$$
    with `mixing` $\gamma$, `step_size` $\eta$, `bonus` $\beta$ and `sharing` $\alpha$. The state is the
    logarithms of the weights, `[..., I]`, shifted so that the largest is 0. Gains are clipped to [0, 1].
    """

    num_arms: int = count()
    mixing: Numeric = number(at_least=0, at_most=1)
    step_size: Numeric = number(at_least=0)
    bonus: Numeric = number(at_least=0, default=0.0)
    sharing: Numeric = number(at_least=0, default=0.0)

    def __post_init__(self) -> None:
        if self.num_arms > 1:
            require_numeric("mixing", self.mixing, above=0, at_most=1)

    def init(self, like: Array) -> Array:
        """Return equal weights, in the array library and the precision of `like`."""
        return namespace(like).zeros(self.num_arms, dtype=like.dtype)

    def probabilities(self, log_weights: Array) -> Array:
        """Return the probabilities of the next arm; each is at least γ/I."""
        xp = namespace(log_weights)
        weights = xp.exp(log_weights)
        share = weights / xp.sum(weights, axis=-1, keepdims=True)
        return (1 - self.mixing) * share + self.mixing / self.num_arms

    def update(
        self, log_weights: Array, arm: Array, gain: Array, probabilities: Array | None = None
    ) -> Array:
        """Return the log-weights after an arm's gain; `probabilities` are those it was drawn with."""
        xp, dtype = namespace(log_weights), log_weights.dtype
        drawn = xp.astype(xp.arange(self.num_arms) == xp.asarray(arm)[..., None], dtype)
        gain = xp.clip(xp.asarray(gain, dtype=dtype), 0, 1)[..., None]
        if probabilities is None:
            probabilities = self.probabilities(log_weights)
        updated = log_weights + self.step_size * ((gain * drawn + self.bonus) / probabilities)
        total = xp.sum(xp.exp(log_weights), axis=-1, keepdims=True)
        dealt = math.e * self.sharing / self.num_arms * total
        log_dealt = xp.where(dealt > 0, xp.log(xp.where(dealt > 0, dealt, 1)), -xp.inf)  # no warning at 0
        shared = xp.logaddexp(updated, log_dealt)
        return shared - xp.max(shared, axis=-1, keepdims=True)


def exp3(num_arms: int, *, num_rounds: int) -> Exp3:
    r"""EXP3 for I arms and N rounds: an expected regret of at most $2\sqrt{e-1}\sqrt{NI\ln I}$.

    Reference: Auer, Cesa-Bianchi, Freund & Schapire (2002), The nonstochastic multiarmed bandit problem,
    Figure 1 and Corollary 3.2 with $g = N$. Deviations from the paper: none.
    """
    arms, rounds = require_count("num_arms", num_arms), require_count("num_rounds", num_rounds)
    mixing = min(1.0, math.sqrt(arms * math.log(arms) / ((math.e - 1) * rounds)))
    return Exp3(arms, mixing, mixing / arms)


def exp3_p(num_arms: int, *, num_rounds: int, delta: float = 0.05, form: Form = "auer") -> Exp3:
    r"""EXP3.P: bonuses bound the regret with probability $1-\delta$, not only in expectation.

    `"auer"`: at most $4\sqrt{IN\ln(IN/\delta)} + 4\sqrt{(5/3)IN\ln I} + 8\ln(IN/\delta)$ (Auer et al. 2002,
    Figure 3 and Theorem 6.3). `"bubeck"`: at most $5.15\sqrt{IN\ln(I/\delta)}$ (Bubeck & Cesa-Bianchi 2012,
    Regret analysis of stochastic and nonstochastic multi-armed bandit problems, Theorem 3.2), as printed.
    """
    arms, rounds = require_count("num_arms", num_arms), require_count("num_rounds", num_rounds)
    delta = require_number("delta", delta, above=0, at_most=1)
    spread = math.sqrt(math.log(arms) / (arms * rounds))
    if require_choice("form", form, ("auer", "bubeck")) == "auer":
        mixing = min(3 / 5, 2 * math.sqrt(0.6) * arms * spread)
        bonus = 2 * math.sqrt(math.log(arms * rounds / delta) / (arms * rounds))
        return Exp3(arms, mixing, mixing / (3 * arms), bonus)
    bonus = math.sqrt(math.log(arms / delta) / (arms * rounds))
    return Exp3(arms, min(1.0, 1.05 * arms * spread), 0.95 * spread, bonus)


def exp3_s(num_arms: int, *, num_rounds: int, num_switches: int = 0) -> Exp3:
    r"""EXP3.S: arms share their weights, to follow a best arm that changes.

    Against the best sequence of arms with $S - 1$ = `num_switches` changes the expected regret is at most
    $2\sqrt{e-1}\sqrt{IN(S\ln(IN) + e)}$ (Auer et al. 2002, Section 8, Corollary 8.3). Deviations: none.
    """
    arms, rounds = require_count("num_arms", num_arms), require_count("num_rounds", num_rounds)
    hardness = 1 + require_count("num_switches", num_switches, at_least=0)
    numerator = arms * (hardness * math.log(arms * rounds) + math.e)
    mixing = min(1.0, math.sqrt(numerator / ((math.e - 1) * rounds)))
    return Exp3(arms, mixing, mixing / arms, sharing=1 / rounds)


@part
class FixedShare:
    r"""Exponential weights over experts, of which a share is redistributed after every round.

    $$u_j \propto w_j e^{\ell_j}, \qquad w_j \leftarrow (1-\alpha_t)\,u_j + \alpha_t\pi_j$$
    for scores $\ell_j$, logarithms of densities. `share` is $\alpha_t$; 0 means $1/(t+1)$ in the round
    $t = 1, 2, \dots$ The prior $\pi$, also the initial weights, is uniform except for extra mass
    `favour` on the last expert. For every sequence of scores and every sequence $j_1, \dots, j_T$ of experts,
    $$-\sum_t\log\sum_j w_{t,j}e^{\ell_{t,j}} \le -\sum_t\ell_{t,j_t} + \log\frac1{\pi_{j_1}} +
      \sum_{t<T} c_t, \qquad c_t = \log\frac1{(1-\alpha_t)1\{j_{t+1} = j_t\} + \alpha_t\pi_{j_{t+1}}}.$$
    Reference: Herbster & Warmuth, "Tracking the Best Expert", Machine Learning 1998.
    """

    share: Numeric = number(at_least=0, at_most=1, default=0.0)
    favour: Numeric = number(at_least=0, at_most=0.999, default=0.0)  # below 1: no weight is 0

    def prior(self, like: Array) -> Array:
        """Return `π` for weights of this shape and type, `[J]` of `[..., J]`."""
        xp, num = namespace(like), like.shape[-1]
        last = xp.astype(xp.arange(num) == num - 1, like.dtype)
        return (1 - self.favour) / num + self.favour * last

    def share_at(self, tick: Array) -> Array:
        """Return `α_t` after `tick` rounds."""
        return self.share + (self.share == 0) / (tick + 1.0)

    def update(self, log_weights: Array, scores: Array, tick: Array) -> Array:
        """Return the log-weights `[..., J]` after round `tick` with these scores."""
        xp, raised, share = namespace(log_weights), log_weights + scores, self.share_at(tick)
        posterior = xp.exp(raised - raised.max(axis=-1, keepdims=True))
        posterior = posterior / posterior.sum(axis=-1, keepdims=True)
        return xp.log((1 - share) * posterior + share * self.prior(log_weights))
