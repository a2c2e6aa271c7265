"""A bandit whose arms have names, and whose contexts have columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np

from driftwise.algorithms.algorithm import find_algorithm
from driftwise.base.part import from_config, to_config
from driftwise.base.times import Timestamp, to_timestamp
from driftwise.base.validation import ArgumentError, require_instance
from driftwise.online import agent_files
from driftwise.online.bandit import Bandit
from driftwise.online.bandit_files import SavedBandit, bandit_content
from driftwise.online.decisions import Outcome, Waiting, as_id
from driftwise.online.encoding import Encoder
from driftwise.online.encoding.encoder import ArmBlocks, iterate_rows
from driftwise.online.limits import best_of, require_samples
from driftwise.online.named_arms import ArmSettings, ArmSlots, NamedDecision
from driftwise.online.renewal import keeps_samples
from driftwise.online.summary import Summary

_KIND = "named bandit"  # in files
Row = Mapping[str, Any]
Names = Sequence[str] | Mapping[str, Row]


class NamedBandit(SavedBandit):
    r"""A `Bandit` for arms that come and go by name, in contexts that are rows of a table.

    ```python
    encoder = Encoder.from_toml("schema.toml")
    bandit = NamedBandit(own=encoder, max_arms=20)
    decision = bandit.decide({"hour": 13, "country": "DE"}, ["red", "blue"])
    bandit.learn(decision.id, reward=0.7)
    ```

    With `own`, an arm has a block of weights for the context as this encoder encodes it, in one of `max_arms`
    slots. With `shared`, all arms have the same weights for the encoded context and the encoded columns of
    arms, `decide(context, {"red": {"price": 3.5}, …})`. With both, the reward is the sum:
    $\varphi = (\text{shared}, e_{\text{slot}} \otimes \text{own})/\sqrt2$.

    A new name takes a free slot in its first decision. Where none is free, new names are refused; with
    `when_full="retire"`, the least recently used arms retire. `settings` are those of `Bandit`.
    """

    def __init__(
        self,
        algorithm: str = "adaptive_lin_ucb",
        *,
        own: Encoder | None = None,
        shared: Encoder | None = None,
        max_arms: int = 0,
        when_full: Literal["refuse", "retire"] = "refuse",
        **settings: Any,
    ) -> None:
        if "dim" in settings:
            raise ArgumentError("dim", "be left out: encoders and max_arms make it", settings["dim"])
        encoding = ArmSettings(own, shared, max_arms, when_full)
        expands = settings.get("expand", "no") != "no" and find_algorithm(algorithm).takes("blocks")
        if expands and shared is None:
            settings = {"blocks": max_arms} | settings
        bandit = Bandit(algorithm, dim=encoding.dim, **settings)
        if when_full == "retire" and None not in (own, shared) and keeps_samples(bandit.state):
            expected = f"be 'refuse' where weights are shared, for {algorithm}, which keeps samples"
            raise ArgumentError("when_full", expected, when_full)
        self._start(encoding, bandit)

    def _start(self, encoding: ArmSettings, bandit: Bandit) -> None:
        self.encoding, self.bandit = encoding, bandit
        self._slots = ArmSlots(encoding.max_arms, encoding.when_full)

    def __repr__(self) -> str:
        return f"NamedBandit({self.bandit!r}, {len(self.arms)} arms)"

    @property
    def arms(self) -> list[str]:
        """Names of the arms that have a slot, the least recently used first."""
        with self.bandit._lock:
            return [*self._slots.taken]

    @property
    def metadata(self) -> dict[str, Any]:
        """The caller's own dictionary."""
        return self.bandit.metadata

    @metadata.setter
    def metadata(self, metadata: dict[str, Any]) -> None:
        self.bandit.metadata = metadata

    def summary(self) -> Summary:
        """Return numbers to watch, as `Bandit.summary` does."""
        return self.bandit.summary()

    def pending(self) -> list[Waiting]:
        """Return the decisions that wait for their rewards, with names of arms, the oldest first."""
        return self.bandit.pending()

    def decide(
        self,
        context: Row | None,
        arms: Names,
        *,
        id: str | int | None = None,
        arm: str | int | None = None,
        time: Timestamp | None = None,
    ) -> NamedDecision:
        """Choose one of the arms, given as names, or as names with columns that override the context's.

        `id`, `arm` and `time` are as in `Bandit.decide`, the arm by its name.
        """
        names, encoded = self._encode(context, arms)
        if arm is not None and (arm := as_id(arm, "arm")) not in names:
            raise ArgumentError("arm", "be one of the arms of the decision", arm)
        taken = None if arm is None else names.index(arm)
        moment = None if time is None else to_timestamp("time", time)
        with self.bandit._lock:
            if id is not None:
                self.bandit._pending.require_new(id)  # before any arm retires
            self._use(names)
            blocks = encoded._replace(slots=self._slots.look_up(names))
            decision = self.bandit.decide(blocks.features, id=id, arm=taken, time=moment, names=names)
        numbers = decision.id, decision.index, decision.bonus, decision.probability
        probabilities = dict(zip(names, decision.probabilities.tolist(), strict=True))
        scores = dict(zip(names, decision.scores.tolist(), strict=True))
        return NamedDecision(names[decision.arm], *numbers, probabilities, scores, decision.time, blocks)

    def learn(self, id: str | int, reward: float, *, strict: bool = True) -> Outcome:
        """Learn the reward of a decision, as `Bandit.learn` does."""
        return self.bandit.learn(id, reward, strict=strict)

    def learn_many(self, ids: Any, rewards: Any, *, strict: bool = True) -> list[Outcome]:
        """Learn the rewards of many decisions that came together, as `Bandit.learn_many` does."""
        return self.bandit.learn_many(ids, rewards, strict=strict)

    def learn_from(
        self, contexts: Any, arms: Any, rewards: Any, *, weight: Any = 1.0, time: Any = None
    ) -> None:
        """Learn rewards of arms that were chosen elsewhere: a row, its arm and its reward, or many.

        Many are a list of names, and a data frame, lists by the names of columns, or a list of rows, which
        also have the columns of the arms. `weight` and `time` are as in `Bandit.learn_from`.
        """
        single = isinstance(arms, (str, Integral))
        names = _names([arms] if single else arms)
        encoders = self.encoding.shared, self.encoding.own
        rows = [{} if contexts is None else contexts] * len(names)
        if contexts is not None and not single:
            known = (encoder.columns for encoder in encoders if encoder is not None)
            rows = [*iterate_rows(contexts, [*dict.fromkeys(column.name for column in chain(*known))])]
        if len(names) != len(rows):
            raise ArgumentError("arms", f"be one for each of the {len(rows)} rows", arms, f"{len(names)}")
        encoded = [None if encoder is None else encoder.rows(rows) for encoder in encoders]
        like = np.zeros((len(rows), 1))
        samples = require_samples(like[0] if single else like, rewards, weight, time, 1)
        with self.bandit._lock:
            checked = np.array(self.bandit._rewards(samples, timed=time is not None))  # before arms retire
            counted = np.flatnonzero(samples.weights)
            names = [names[i] for i in counted]
            for part in self._slices(names) if names else ():
                taken = counted[part]
                shared, own = (None if rows is None else rows[taken] for rows in encoded)
                blocks = ArmBlocks(shared, own, self._slots.look_up(names[part]), self.encoding.max_arms)
                moments = None if time is None else samples.times[taken]
                weights = samples.weights[taken]
                self.bandit.learn_from(blocks.features, checked[taken], weight=weights, time=moments)

    def scores(self, context: Row | None, arms: Names, *, time: Timestamp | None = None) -> dict[str, float]:
        """Return the indices of arms in the next decision, by name. Nothing is decided; no slot is taken."""
        names, encoded = self._encode(context, arms)
        with self.bandit._lock:
            blocks = encoded._replace(slots=self._slots.look_up(names))
            scores = self.bandit.scores(blocks.features, time=time)
        return dict(zip(names, scores.tolist(), strict=True))

    def top(self, context: Row | None, arms: Names, k: int, *, time: Timestamp | None = None) -> list[str]:
        """Return the `k` arms of the highest scores, the best first. Nothing is decided."""
        scores = self.scores(context, arms, time=time)
        return [[*scores][i] for i in best_of(np.array([*scores.values()]), k)]

    def retire(self, arm: str | int) -> int:
        """Remove an arm and free its slot, and return how many of its decisions expire.

        Its weights are marginalised (`Bandit.renew`): what it taught shared weights stays.
        """
        name = as_id(arm, "arm")
        with self.bandit._lock:
            expired = self.bandit.renew(self.encoding.block(self._slots.require(name)), name=name)
            del self._slots.taken[name]
        return expired

    @property
    def _inner(self) -> Bandit:
        return self.bandit

    @classmethod
    def _restore(cls, file: agent_files.AgentFile) -> Self:
        encoding = require_instance("arms", from_config(file.description["arms"]), ArmSettings)
        inner = require_instance("bandit", file.description["bandit"], dict)
        bandit, named = Bandit.from_file(file._replace(description=inner)), object.__new__(cls)
        if bandit.agent.spec.dim != encoding.dim:
            raise ArgumentError("bandit", f"have {encoding.dim} weights", bandit)
        named._start(encoding, bandit)
        named._slots.restore(file.tensors)
        return named

    def _content(self) -> agent_files.AgentFile:
        inner = bandit_content(self.bandit, "bandit", self._slots.to_tensors)
        arms = to_config(self.encoding)
        return inner._replace(description={"kind": _KIND, "arms": arms, "bandit": inner.description})

    def _encode(self, context: Row | None, arms: Names) -> tuple[list[str], ArmBlocks]:
        """Return the names of arms, with their features, which have no slots yet."""
        row: Row = require_instance("context", {} if context is None else context, Mapping)
        names = _names(arms)
        if not 0 < len(names) == len({*names}):
            raise ArgumentError("arms", "be one or more, of different names", names)
        given = arms.values() if isinstance(arms, Mapping) else ()
        columns = [require_instance("arms", row, Mapping) for row in given]
        if self.encoding.own is None and not columns and len(names) > 1:
            raise ArgumentError("arms", "have columns where all weights are shared", names, "names alone")

        def encode(encoder: Encoder | None) -> np.ndarray | None:
            if encoder is None:
                return None
            if all({column.name for column in encoder.columns}.isdisjoint(row) for row in columns):
                return encoder(row)[None].repeat(len(names), axis=0)
            return np.array([encoder({**row, **own}) for own in columns])

        shared, own = encode(self.encoding.shared), encode(self.encoding.own)
        return names, ArmBlocks(shared, own, [], self.encoding.max_arms)

    def _use(self, names: list[str]) -> None:
        for name in self._slots.to_retire(names):
            self.retire(name)
        self._slots.use(names)

    def _slices(self, names: list[str]) -> Iterator[slice]:
        """Yield slices of samples whose arms have slots at the same time, each up to the next retirement."""
        if self.encoding.when_full == "refuse":
            self._slots.to_retire([*dict.fromkeys(names)])  # before anything is learnt
        first = 0
        for number, name in enumerate(names):
            if number > first and self._slots.to_retire([name]):
                yield slice(first, number)
                first = number
            self._use([name])
        yield slice(first, len(names))


def _names(arms: Any) -> list[str]:
    frame = not isinstance(arms, (list, tuple)) and np.ndim(arms) > 1  # it iterates over names of columns
    if isinstance(arms, str) or not isinstance(arms, Iterable) or frame:
        raise ArgumentError("arms", "be names in a list, or map names to their columns", arms)
    return [as_id(name, "arms") for name in arms]


agent_files.LOADERS[_KIND] = NamedBandit.from_file
