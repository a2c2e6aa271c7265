"""Audits of an agent in an environment, and of all agents of an experiment that can be audited."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.analysis.audit.by_hand import CASES, DELTA
from driftwise.analysis.audit.findings import Evidence, Finding
from driftwise.analysis.audit.lemmas import LEMMAS
from driftwise.analysis.audit.mixture import MixedSnapshot, MixtureSubject, Weighing
from driftwise.analysis.audit.reference import radius_share
from driftwise.analysis.audit.snapshot import Snapshot, Trace, views
from driftwise.analysis.audit.subject import Subject
from driftwise.analysis.statistics.wording import counted
from driftwise.base.agent import Agent
from driftwise.base.types import WeightFunction
from driftwise.base.validation import require_choice, require_count, require_number
from driftwise.environments import Environment, LinearBandit, LinearMdp
from driftwise.experiments import Experiment, Study
from driftwise.experiments.files import Experiments
from driftwise.parts.least_squares import LeastSquares

LOOKS = 200  # about so many episodes of a run are checked, unless a stride is given


class Skipped(NamedTuple):
    """A statement that was not audited, or a whole agent, and the reason as half a sentence."""

    environment: str
    agent: str
    statement: str  # empty for the whole agent
    why: str


@dataclass(frozen=True)
class Audit:
    """Findings about each agent in each environment, at these sizes."""

    name: str
    lengths: Mapping[str, int]  # episodes of a run in each environment
    strides: Mapping[str, int]  # of which every so many are checked
    num_runs: int
    seed: int
    delta: float
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...]

    @property
    def violated(self) -> tuple[Finding, ...]:
        """The findings that are violations."""
        return tuple(finding for finding in self.findings if finding.violated)

    @property
    def sizes(self) -> tuple[str, ...]:
        """Episodes, runs, seed and stride in words."""
        strides = {*self.strides.values()}
        every = "every episode" if strides == {1} else f"every {max(strides, default=1)} episodes"
        looks = f"checked {every}" if len(strides) < 2 else f"about {LOOKS} episodes of each checked at most"
        episodes = " + ".join(f"{length:,} ({label})" for label, length in self.lengths.items()) + " episodes"
        if len({*self.lengths.values()}) == 1:
            episodes = counted(next(iter(self.lengths.values())), "episode")
        return episodes, counted(self.num_runs, "run"), f"seed {self.seed}", looks


def audit_agent(
    agent: Agent,
    environment: Environment,
    *,
    num_episodes: int,
    num_runs: int = 1,
    seed: int = 0,
    stride: int | None = None,
    delta: float = 0.05,
    beta_scale: float | None = None,
    labels: tuple[str, str] | None = None,
) -> tuple[tuple[Finding, ...], tuple[Skipped, ...]]:
    """Play and check every statement that applies, at every `stride`-th episode (about 200 unless given).

    `delta` is what a radius that is a number was made for; others know their own. With `beta_scale` the agent
    explores with so many times the radius that theory asks for, not with its own. `labels` are what the
    findings call environment and agent.
    """
    num_episodes, num_runs = require_count("num_episodes", num_episodes), require_count("num_runs", num_runs)
    stride = _stride(num_episodes) if stride is None else require_count("stride", stride)
    delta = require_number("delta", delta, above=0, at_most=1)
    where = labels or (environment.name, type(agent).__name__)
    learner = agent.base if isinstance(agent, MixtureOfMemories) else agent
    if not isinstance(learner, LeastSquares):
        return (), (Skipped(*where, "", f"it is a {type(learner).__name__}, no least-squares agent"),)
    if agent.needs:
        why = f"its regression is another one: it needs {' and '.join(agent.needs)}"
        return (), (Skipped(*where, "", why),)
    if not isinstance(learner.forgetting, WeightFunction):
        return (), (
            Skipped(*where, "", "its forgetting is no weight function, which all statements are about"),
        )
    if learner.caution is not None:
        return (), (Skipped(*where, "", "its samples have weights that no statement is about"),)
    if not isinstance(environment, LinearMdp | LinearBandit):
        return (), (Skipped(*where, "", f"the true models of {environment.name} are not known"),)
    if isinstance(environment, LinearBandit) and environment.link != "identity":
        return (), (Skipped(*where, "", f"the means of {environment.name} are not linear"),)
    if isinstance(environment, LinearBandit) and environment.corruption is not None:
        return (), (Skipped(*where, "", f"the rewards of {environment.name} are corrupted"),)
    if isinstance(agent, MixtureOfMemories):
        if beta_scale is not None:
            return (), (Skipped(*where, "", "theory knows no radius of a mixture"),)
        return _audit(MixtureSubject(agent, environment, num_episodes, delta), where, num_runs, seed, stride)
    subject = Subject(learner, environment, num_episodes, delta)
    if beta_scale is not None:
        subject = subject.with_theory_radius(require_number("beta_scale", beta_scale, at_least=0))
    return _audit(subject, where, num_runs, seed, stride)


def _audit(
    subject: Subject | MixtureSubject, where: tuple[str, str], num_runs: int, seed: int, stride: int
) -> tuple[tuple[Finding, ...], tuple[Skipped, ...]]:
    lacking = lacking_of(subject)
    evidence = [Evidence(LEMMAS[name], num_runs) for name, why in lacking.items() if not why]
    promised = any(each.lemma.kind == "promised" for each in evidence)
    share = math.inf  # of theory's radius
    for run in range(num_runs):
        for view in views(subject, seed=seed, run=run, stride=stride):
            if promised and isinstance(view, Snapshot):
                share = min(share, radius_share(view))
            for each in evidence:
                if each.lemma.view is type(view):
                    each.look(run, view)
    found = tuple(each.finding(*where, subject.delta, share) for each in evidence)
    return found, tuple(Skipped(*where, name, why) for name, why in lacking.items() if why)


def lacking_of(subject: Subject | MixtureSubject) -> dict[str, str]:
    """The statements that are about such a subject, and which of their conditions it does not meet.

    Of the memories of a mixture it is stated what they do, not what they know of the truth.
    """
    if isinstance(subject, Subject):
        return {name: each.lacks(subject) for name, each in LEMMAS.items() if each.view in (Snapshot, Trace)}
    alike = subject.memories[0]
    return {
        name: each.lacks(alike)
        for name, each in LEMMAS.items()
        if each.view in (MixedSnapshot, Weighing)
        or (each.view is Snapshot and each.group == "this agent" and each.kind in ("identity", "always"))
    }


def audit_study(
    study: Study,
    *,
    stride: int | None = None,
    delta: float = 0.05,
    beta_scale: float | None = None,
    agent: str | None = None,
    progress: Callable[[str, str], None] = lambda environment, agent: None,
) -> Audit:
    """Audit every agent of a study that can be, or the one with the label `agent`.

    An environment that is met for a part of the run is audited in that part. The rest is as of `audit_agent`.
    """
    if agent is not None:
        require_choice("agent", agent, list(study.experiment.agents))
    findings, skipped, lengths = [], [], {}
    for group in study.groups:
        for label, point in group.points.items() if agent in (None, group.name) else ():
            progress(group.environment_label, label)
            found, without = audit_agent(
                point.agent,
                group.task.environment,
                num_episodes=group.task.num_episodes,
                num_runs=study.num_runs,
                seed=study.seed,
                stride=stride,
                delta=delta,
                beta_scale=beta_scale,
                labels=(group.environment_label, label),
            )
            findings += found
            skipped += without
            lengths[group.environment_label] = group.task.num_episodes
    strides = {label: stride or _stride(length) for label, length in lengths.items()}
    sizes = lengths, strides, study.num_runs, study.seed
    return Audit(study.experiment.name, *sizes, delta, tuple(findings), tuple(skipped))


def audit_by_hand() -> Audit:
    """Hold the statements against cases done by hand."""
    lengths = {case.name: case.subject.num_episodes for case in CASES}
    sizes = lengths, dict.fromkeys(lengths, 1), 1, 0
    return Audit("by hand", *sizes, DELTA, tuple(case.finding() for case in CASES), ())


def builtin_experiments() -> tuple[Experiment, ...]:
    """Small linear MDPs and bandits that stand still, jump and glide, with radii from theory."""
    return tuple(Experiments(files("driftwise.analysis.audit").joinpath("builtin")).values())


def _stride(num_episodes: int) -> int:
    return -(-num_episodes // LOOKS)
