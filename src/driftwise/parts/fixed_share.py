"""Fixed share: weights of experts that all show how well they forecast."""

from __future__ import annotations

from driftwise.base.arrays import namespace
from driftwise.base.part import number, part
from driftwise.base.types import Array, Numeric


@part
class FixedShare:
    r"""Exponential weights over experts, of which a share is dealt out anew after every round.

    $$u_j \propto w_j e^{\ell_j}, \qquad w_j \leftarrow (1-\alpha_t)\,u_j + \alpha_t\pi_j$$

    for scores $\ell_j$, logarithms of densities. `share` is $\alpha_t$; 0 means $1/(t+1)$ in the round
    $t = 1, 2, \dots$ The prior $\pi$, which is also where weights begin, is uniform but for an extra part
    `favour` of the last expert. For every sequence of scores and every sequence $j_1, \dots, j_T$ of experts,

    $$-\sum_t\log\sum_j w_{t,j}e^{\ell_{t,j}} \le -\sum_t\ell_{t,j_t} + \log\frac1{\pi_{j_1}}
      + \sum_{t<T} c_t, \qquad c_t = \log\frac1{(1-\alpha_t)1\{j_{t+1} = j_t\} + \alpha_t\pi_{j_{t+1}}}.$$

    Reference: Herbster & Warmuth, "Tracking the Best Expert", Machine Learning 1998.
    """

    share: Numeric = number(at_least=0, at_most=1, default=0.0)
    favour: Numeric = number(at_least=0, at_most=0.999, default=0.0)  # all weights have a logarithm

    def prior(self, like: Array) -> Array:
        """`π` for weights of this shape and type, `[J]` of `[..., J]`."""
        xp, num = namespace(like), like.shape[-1]
        last = xp.astype(xp.arange(num) == num - 1, like.dtype)
        return (1 - self.favour) / num + self.favour * last

    def prior_of_last(self, num: int) -> Array:
        """`π` of the last of so many experts."""
        return (1 - self.favour) / num + self.favour

    def share_at(self, tick: Array) -> Array:
        """`α_t` after `tick` rounds."""
        return self.share + (self.share == 0) / (tick + 1.0)

    def update(self, log_weights: Array, scores: Array, tick: Array) -> Array:
        """Logarithms of the weights `[..., J]` after round `tick` with these scores."""
        xp = namespace(log_weights)
        raised = log_weights + scores
        posterior = xp.exp(raised - raised.max(axis=-1, keepdims=True))
        posterior = posterior / posterior.sum(axis=-1, keepdims=True)
        share = self.share_at(tick)
        return xp.log((1 - share) * posterior + share * self.prior(log_weights))
