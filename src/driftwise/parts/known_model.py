"""Known transitions: occupancies of policies, and the inverse covariance of their features."""

from typing import NamedTuple, Protocol, Self, runtime_checkable

from driftwise.base.arrays import identity_like, namespace, scan, spd_inverse
from driftwise.base.knowledge import AnchorMeasures, InitialDistribution
from driftwise.base.part import count, number, part
from driftwise.base.random import choose_index, draw_uniform
from driftwise.base.types import Array, FeatureTable, Key, Numeric
from driftwise.parts.regression import matvec


class KnownModel(NamedTuple):
    """Transitions `P_h(s'|s,a) = φᵀμ_h(s')` and the distribution of the first state."""

    features: Array  # [N, d]
    products: Array  # [N, d·d] φφᵀ
    measures: Array  # [H, d, S]
    initial: Array  # [S]

    @classmethod
    def of(cls, features: FeatureTable) -> Self:
        """Return the model for an agent that needs the measures and the initial distribution."""
        phi, measures = features.values, features.get(AnchorMeasures).array[0]
        products = (phi[:, :, None] * phi[:, None, :]).reshape(len(phi), -1)
        return cls(phi, products, measures, features.get(InitialDistribution).array)

    def occupancy(self, policy: Array) -> Array:
        """Return `u_h(s,a)`, the visit probabilities of a policy `[H, S, A]`: `[H, S, A]`."""

        def step(reached: Array, x: tuple) -> tuple[Array, Array]:
            policy, measures = x
            visits = reached[:, None] * policy
            return (visits.reshape(-1) @ self.features) @ measures, visits

        return scan(step, self.initial, (policy, self.measures))[1]

    def expected(self, occupancy: Array) -> Array:
        """Return `Σ_{s,a} u_h(s,a) φ`, for occupancies `[H, S, A]`: `[H, d]`."""
        return occupancy.reshape(len(occupancy), -1) @ self.features

    def covariance(self, occupancy: Array) -> Array:
        """Return `Σ_{s,a} u_h(s,a) φφᵀ`, for occupancies `[H, S, A]`: `[H, d, d]`."""
        dim = self.features.shape[-1]
        return (occupancy.reshape(len(occupancy), -1) @ self.products).reshape(-1, dim, dim)


@runtime_checkable
class InverseCovariance(Protocol):
    """An inverse of the feature covariance under a policy mixed with uniform exploration."""

    def inverse(self, model: KnownModel, policy: Array, exploration: Array, key: Key) -> Array:
        """Return `[H, d, d]`; with probability `exploration` a whole episode is played uniformly."""


@part
class ExactInverse:
    """`(Σ_h + ρI)⁻¹`, with the covariance computed from the occupancies of finitely many states."""

    ridge: Numeric = number(above=0, default=1e-4)

    def inverse(self, model: KnownModel, policy: Array, exploration: Array, key: Key) -> Array:
        uniform = model.occupancy(namespace(policy).ones_like(policy) / policy.shape[-1])
        covariance = model.covariance((1 - exploration) * model.occupancy(policy) + exploration * uniform)
        return spd_inverse(covariance + self.ridge * identity_like(covariance))


@part
class GeometricResampling:
    """`½ Σ_{i=0}^M Π_{j≤i} (I − ½φ_jφ_jᵀ)` from M simulated episodes, of mean `(I − (I − ½Σ)^{M+1}) Σ⁻¹`."""

    num_samples: int = count(default=100)

    def inverse(self, model: KnownModel, policy: Array, exploration: Array, key: Key) -> Array:
        xp = namespace(policy)
        visited = xp.moveaxis(self.simulate_features(model, policy, exploration, key), 1, 0)  # [M, H, d]
        identity = identity_like(model.covariance(policy)) + xp.zeros_like(visited[0])[..., None]

        def step(carry: tuple[Array, Array], x: tuple) -> tuple[tuple[Array, Array], tuple]:
            (product, total), (phi,) = carry, x
            product = product - 0.5 * matvec(product, phi)[..., None] * phi[..., None, :]
            return (product, total + product), ()

        (_, total), _ = scan(step, (identity, identity), (visited,))
        return 0.5 * total

    def simulate_features(self, model: KnownModel, policy: Array, exploration: Array, key: Key) -> Array:
        """Return features along simulated episodes, `[H, M, d]`."""
        xp = namespace(policy)
        horizon, _, num_actions = policy.shape
        draws = draw_uniform(key, self.num_samples * (2 * horizon + 2), policy.dtype)
        draws = draws.reshape(-1, self.num_samples)
        explores = (draws[0] < exploration)[:, None]
        start = choose_index(xp.cumulative_sum(model.initial), draws[1])

        def step(states: Array, x: tuple) -> tuple[Array, Array]:
            policy, measures, for_action, for_next = x
            chances = xp.where(explores, 1 / num_actions, policy[states])
            actions = choose_index(xp.cumulative_sum(chances, axis=-1), for_action)
            phi = model.features[states * num_actions + actions]
            return choose_index(xp.cumulative_sum(phi @ measures, axis=-1), for_next), phi

        return scan(step, start, (policy, model.measures, draws[2::2], draws[3::2]))[1]
