"""A bandit whose arms have names, and whose contexts have columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, Literal

import numpy as np

from driftwise.base.part import from_config, to_config
from driftwise.base.times import Moment, moment_of
from driftwise.base.validation import ArgumentError, require_count, require_kind
from driftwise.online import files
from driftwise.online.bandits import saving
from driftwise.online.bandits.bandit import Bandit
from driftwise.online.bandits.decision import ArmBlocks, NamedDecision
from driftwise.online.bandits.pending import Outcome, Waiting, as_id
from driftwise.online.bandits.renewal import keeps_samples
from driftwise.online.bandits.samples import Samples, samples_of
from driftwise.online.bandits.slots import ArmSettings, Slots
from driftwise.online.encoding import Encoder
from driftwise.online.encoding.pilots import rows_of
from driftwise.online.summary import Summary

KIND = "named bandit"  # in files
Row = Mapping[str, Any]
Names = Sequence[str] | Mapping[str, Row]


class NamedBandit:
    r"""A `Bandit` for arms that come and go by name, in contexts that are rows of a table.

    ```python
    encoder = Encoder.from_toml("schema.toml")
    bandit = NamedBandit(own=encoder, max_arms=20)
    decision = bandit.decide({"hour": 13, "country": "DE"}, ["red", "blue"])
    bandit.learn(decision.id, reward=0.7)
    ```

    With `own`, an arm has a block of weights for what this encoder makes of the context, in one of `max_arms`
    slots. With `shared`, all arms have the same weights for what that encoder makes of the context and of
    columns that arms have, `decide(context, {"red": {"price": 3.5}, …})`. With both, the reward is the sum:
    $\varphi = (\text{shared}, e_{\text{slot}} \otimes \text{own})/\sqrt2$, and an arm that is new begins
    with what others have taught of its features.

    A name that is not known takes a free slot when it is first on offer. `retire` takes an arm out: its
    weights are marginalised (`Bandit.renew`), so that what it taught shared weights stays. Where no slot is
    free, new names are refused; with `when_full="retire"`, arms least recently on offer retire.

    All else is as of `Bandit`, which takes the other settings.
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
        bandit = Bandit(algorithm, dim=encoding.dim, **settings)
        if when_full == "retire" and None not in (own, shared) and keeps_samples(bandit.state):
            expected = f"be 'refuse' where weights are shared, for {algorithm}, which keeps samples"
            raise ArgumentError("when_full", expected, when_full)
        self._start(encoding, bandit)

    def _start(self, encoding: ArmSettings, bandit: Bandit) -> None:
        self.encoding, self.bandit = encoding, bandit
        self._slots = Slots(encoding.max_arms)

    def __repr__(self) -> str:
        return f"NamedBandit({self.bandit!r}, {len(self.arms)} arms)"

    @property
    def arms(self) -> list[str]:
        """Names of the arms that have a slot, the least recently on offer first."""
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
        """Numbers to watch: how much is known, how good predictions are, and whether the world drifts."""
        return self.bandit.summary()

    def pending(self) -> list[Waiting]:
        """Decisions that wait for their rewards, with the names of their arms, the oldest first."""
        return self.bandit.pending()

    def decide(
        self,
        context: Row | None,
        arms: Names,
        *,
        id: str | int | None = None,
        arm: str | int | None = None,
        time: Moment | None = None,
    ) -> NamedDecision:
        """Choose one of the arms, which are names, or columns of their own by their names.

        A value of an arm's own comes before that of the context. `id`, `arm` and `time` are as of
        `Bandit.decide`, the arm by its name.
        """
        names, shared, own = self._encoded(context, arms)
        taken = None if arm is None else _place(as_id(arm, "arm"), names)
        moment = None if time is None else moment_of("time", time)
        with self.bandit._lock:
            if id is not None:
                self.bandit._pending.require_new(id)  # before any arm retires
            self._use(names)
            blocks = self._blocks(names, shared, own)
            made = self.bandit.decide(blocks.features, id=id, arm=taken, time=moment, names=names)
        return NamedDecision(
            arm=names[made.arm],
            id=made.id,
            index=made.index,
            bonus=made.bonus,
            probability=made.probability,
            probabilities=dict(zip(names, made.probabilities.tolist(), strict=True)),
            scores=dict(zip(names, made.scores.tolist(), strict=True)),
            time=made.time,
            blocks=blocks,
        )

    def learn(self, id: str | int, reward: float, *, strict: bool = True) -> Outcome:
        """Take in the reward of a decision, as `Bandit.learn` does."""
        return self.bandit.learn(id, reward, strict=strict)

    def learn_from(
        self, contexts: Any, arms: Any, rewards: Any, *, weight: Any = 1.0, time: Any = None
    ) -> None:
        """Take in rewards of arms that somebody else chose: a row, its arm and its reward, or many.

        Many are a list of names, and a data frame, lists by the names of columns, or a list of rows; columns
        of arms are among theirs. Where nothing depends on a context it is None, as for `decide`. `weight` and
        `time` are as of `Bandit.learn_from`: at weight 0 nothing happens, and no arm takes a slot.
        """
        single = isinstance(arms, (str, Integral))
        names = _names([arms] if single else arms)
        if contexts is None:
            rows = [{}] * len(names)
        else:
            rows = [contexts] if single else [*rows_of(contexts, self._columns)]
        if len(names) != len(rows):
            raise ArgumentError("arms", f"be one for each of the {len(rows)} rows", arms, f"{len(names)}")
        own, shared = (
            None if each is None else each.rows(rows) for each in (self.encoding.own, self.encoding.shared)
        )
        like = np.zeros((len(rows), 1))
        samples = samples_of(like[0] if single else like, rewards, weight, time, 1)
        with self.bandit._lock:
            earnings = self.bandit._earnings(samples, timed=time is not None)  # before any arm retires
            counted = np.flatnonzero(samples.weights)
            if not len(counted):
                return
            names, earnings = [names[i] for i in counted], [earnings[i] for i in counted]
            own, shared = (None if each is None else each[counted] for each in (own, shared))
            samples = Samples(*(each[counted] for each in samples))
            for part in self._stretches(names):
                inner, common = (None if each is None else each[part] for each in (own, shared))
                blocks = self._blocks(names[part], common, inner)
                moments = None if time is None else samples.times[part]
                others = {"weight": samples.weights[part], "time": moments}
                self.bandit.learn_from(blocks.features, earnings[part], **others)

    def scores(self, context: Row | None, arms: Names, *, time: Moment | None = None) -> dict[str, float]:
        """Indices of the arms in the next decision, by their names. Nothing is decided; no slot is taken."""
        names, shared, own = self._encoded(context, arms)
        with self.bandit._lock:
            found = self.bandit.scores(self._blocks(names, shared, own).features, time=time)
        return dict(zip(names, found.tolist(), strict=True))

    def top(self, context: Row | None, arms: Names, k: int, *, time: Moment | None = None) -> list[str]:
        """The `k` arms of the highest scores, the best first. Nothing is decided."""
        scores = self.scores(context, arms, time=time)
        if require_count("k", k) > len(scores):
            raise ArgumentError("k", f"be at most the {len(scores)} arms that there are", k)
        return sorted(scores, key=scores.__getitem__, reverse=True)[:k]

    def retire(self, arm: str | int) -> int:
        """Take an arm out, and free its slot; what it taught shared weights stays.

        Its waiting decisions expire; their number is returned. The arm is new if it comes again.
        """
        name = as_id(arm, "arm")
        with self.bandit._lock:
            expired = self.bandit.renew(self.encoding.block(self._slots.require(name)), name=name)
            del self._slots.taken[name]
        return expired

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that is needed to go on, encoders and names included, as `Bandit.save` does."""
        with self.bandit._writing:
            self.bandit._seen = files.write(path, self._content())

    def to_bytes(self) -> bytes:
        """The content of its file; `pickle` and `copy.deepcopy` take it too."""
        with self.bandit._writing:
            content = self._content()
        return files.to_bytes(content)

    @classmethod
    def from_bytes(cls, content: bytes) -> NamedBandit:
        """The bandit of `to_bytes`."""
        return files.require_own(cls, files.from_bytes(content), "content")

    def __reduce__(self) -> tuple[Any, ...]:
        return NamedBandit.from_bytes, (self.to_bytes(),)

    @classmethod
    def restored(cls, file: files.AgentFile, features: None = None) -> NamedBandit:
        """The bandit of a file, which has its encoders."""
        if features is not None:
            raise ArgumentError("features", f"be left out for a {KIND}", features)
        encoding = require_kind("arms", from_config(file.description["arms"]), ArmSettings)
        inner = require_kind("bandit", file.description["bandit"], dict)
        bandit, named = Bandit.restored(file._replace(description=inner)), object.__new__(cls)
        if bandit.agent.spec.dim != encoding.dim:
            raise ArgumentError("bandit", f"have {encoding.dim} weights", bandit)
        named._start(encoding, bandit)
        named._slots.restore(file.tensors)
        return named

    def _content(self) -> files.AgentFile:
        inner = saving.content_of(self.bandit, "bandit", self._slots.to_tensors)
        arms = to_config(self.encoding)
        return inner._replace(description={"kind": KIND, "arms": arms, "bandit": inner.description})

    @property
    def _columns(self) -> list[str]:
        encoders = (each for each in (self.encoding.own, self.encoding.shared) if each is not None)
        return [*dict.fromkeys(column.name for each in encoders for column in each.columns)]

    def _encoded(
        self, context: Row | None, arms: Names
    ) -> tuple[list[str], np.ndarray | None, np.ndarray | None]:
        """Names of arms, with their shared features and those of their own."""
        row: Row = require_kind("context", {} if context is None else context, Mapping)
        names = _names(arms)
        if not 0 < len(names) == len({*names}):
            raise ArgumentError("arms", "be one or more, of different names", names)
        given = arms.values() if isinstance(arms, Mapping) else ()
        columns = [require_kind("arms", each, Mapping) for each in given]
        if self.encoding.own is None and not columns and len(names) > 1:
            raise ArgumentError("arms", "have columns where no weights are their own", names, "names alone")
        shared, own = (
            None if each is None else _rows(each, row, columns, len(names))
            for each in (self.encoding.shared, self.encoding.own)
        )
        return names, shared, own

    def _leaving(self, names: list[str]) -> list[str]:
        """Arms that have to retire before these can be used."""
        own, when_full = self.encoding.own, self.encoding.when_full
        return [] if own is None else self._slots.leaving(names, when_full)

    def _use(self, names: list[str]) -> None:
        """Give arms their slots."""
        for name in self._leaving(names):
            self.retire(name)
        if self.encoding.own is not None:
            self._slots.use(names)

    def _blocks(self, names: list[str], shared: np.ndarray | None, own: np.ndarray | None) -> ArmBlocks:
        slots = [] if own is None else self._slots.look_up(names)
        return ArmBlocks(shared, own, slots, self.encoding.max_arms)

    def _stretches(self, names: list[str]) -> Iterator[slice]:
        """Samples whose arms have slots at the same time, up to the next for which an arm has to retire."""
        if self.encoding.when_full == "refuse":
            self._leaving([*dict.fromkeys(names)])  # before anything is learnt
        first = 0
        for place, name in enumerate(names):
            if place > first and self._leaving([name]):
                yield slice(first, place)
                first = place
            self._use([name])
        yield slice(first, len(names))


def _names(arms: Any) -> list[str]:
    frame = not isinstance(arms, (list, tuple)) and np.ndim(arms) > 1  # it iterates over names of columns
    if isinstance(arms, str) or not isinstance(arms, Iterable) or frame:
        raise ArgumentError("arms", "be names in a list, or map names to their columns", arms)
    return [as_id(name, "arms") for name in arms]


def _rows(encoder: Encoder, context: Row, columns: list[Row], num_arms: int) -> np.ndarray:
    """Features of arms; where these have nothing that the encoder looks at, they are encoded once."""
    known = {column.name for column in encoder.columns}
    if all(known.isdisjoint(each) for each in columns):
        return encoder(context)[None].repeat(num_arms, axis=0)
    return np.array([encoder({**context, **each}) for each in columns])


def _place(name: str, names: list[str]) -> int:
    if name not in names:
        raise ArgumentError("arm", "be one of those on offer", name)
    return names.index(name)


files.LOADERS[KIND] = NamedBandit.restored
