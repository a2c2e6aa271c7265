"""Audits of an agent in an environment, and of all agents of an experiment that can be audited."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.analysis.audit.findings import AuditFinding, Evidence
from driftwise.analysis.audit.lemmas import LEMMAS
from driftwise.analysis.audit.mixture_views import MixtureSubject
from driftwise.analysis.audit.snapshot import Snapshot, Trace, observe_run
from driftwise.analysis.audit.subject import SHARE_ROUNDING, Subject
from driftwise.analysis.formatting import format_count
from driftwise.base.agent import Agent
from driftwise.base.knowledge import name_needs
from driftwise.base.types import WeightFunction
from driftwise.base.validation import require_choice, require_count, require_number
from driftwise.environments import Environment, LinearBandit, LinearMdp
from driftwise.experiments import Experiment, Study
from driftwise.experiments.experiment import Experiments
from driftwise.parts import LeastSquares

_NUM_CHECKED = 200  # episodes of a run that are checked, about, unless a stride is given


class Skipped(NamedTuple):
    """A statement that was not audited, or a whole agent, with the reason."""

    environment: str
    agent: str
    statement: str  # empty for the whole agent
    why: str


@dataclass(frozen=True)
class Audit:
    """Findings about every agent in every environment."""

    name: str
    lengths: Mapping[str, int]  # episodes of a run in each environment
    strides: Mapping[str, int]  # every stride-th episode is checked
    num_runs: int
    seed: int
    delta: float
    findings: tuple[AuditFinding, ...]
    skipped: tuple[Skipped, ...]

    @property
    def violated(self) -> tuple[AuditFinding, ...]:
        return tuple(finding for finding in self.findings if finding.violated)

    @property
    def sizes(self) -> tuple[str, ...]:
        """Episodes, runs, seed and stride in words."""
        strides, lengths = {*self.strides.values()}, {*self.lengths.values()}
        every = max(strides, default=1)
        checked = f"checked every {'episode' if every == 1 else f'{every} episodes'}"
        if len(strides) > 1:
            checked = f"about {_NUM_CHECKED} episodes of each checked at most"
        episodes = " + ".join(f"{length:,} ({label})" for label, length in self.lengths.items()) + " episodes"
        if len(lengths) == 1:
            episodes = format_count(lengths.pop(), "episode")
        return episodes, format_count(self.num_runs, "run"), f"seed {self.seed}", checked


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
) -> tuple[tuple[AuditFinding, ...], tuple[Skipped, ...]]:
    """Play an agent and check every statement that applies to it.

    Args:
      stride: every `stride`-th episode is checked; about 200 episodes by default.
      delta: the probability of failure of a radius that is a number; other radii have their own.
      beta_scale: the agent explores with this multiple of the radius that theory requires, not with its own.
      labels: the names of environment and agent in the findings.
    """
    num_episodes, num_runs = require_count("num_episodes", num_episodes), require_count("num_runs", num_runs)
    stride = _stride(num_episodes) if stride is None else require_count("stride", stride)
    delta = require_number("delta", delta, above=0, at_most=1)
    if beta_scale is not None:
        beta_scale = require_number("beta_scale", beta_scale, at_least=0)
    where = labels or (environment.name, type(agent).__name__)
    subject = _subject(agent, environment, num_episodes, delta, beta_scale)
    if isinstance(subject, str):
        return (), (Skipped(*where, "", subject),)
    first = subject if isinstance(subject, Subject) else subject.memories[0]
    conditions = first.conditions()
    lemmas = [lemma for lemma in LEMMAS.values() if lemma.view in (Snapshot, Trace)]
    if first is not subject:  # of a mixture's memories only what they compute is checked
        statements = [lemma for lemma in LEMMAS.values() if lemma.group == "this agent"]
        lemmas = [lemma for lemma in statements if lemma.view is not Trace]
        lemmas = [lemma for lemma in lemmas if lemma.kind in ("identity", "always")]
    reasons = {lemma: "; ".join(filter(None, (conditions[name] for name in lemma.needs))) for lemma in lemmas}
    evidence = [Evidence(lemma, num_runs) for lemma, why in reasons.items() if not why]
    for run in range(num_runs):
        for view in observe_run(subject, seed=seed, run=run, stride=stride):
            for statement in evidence:
                if statement.lemma.view is type(view):
                    statement.check(run, view)
    radii = [statement.sides for statement in evidence if statement.lemma.name == "theory_radius"]
    share = float(min(((radius / required).min() for _, required, radius in radii), default=math.inf))
    share = 1.0 if abs(share - 1) < SHARE_ROUNDING else share
    findings = tuple(statement.finding(where, first.delta, share) for statement in evidence)
    return findings, tuple(Skipped(*where, lemma.name, why) for lemma, why in reasons.items() if why)


def _subject(
    agent: Agent, environment: Environment, num_episodes: int, delta: float, beta_scale: float | None
) -> Subject | MixtureSubject | str:
    """The subject of an audit, or the reason why there is none."""
    learner = agent.base if isinstance(agent, MixtureOfMemories) else agent
    if not isinstance(learner, LeastSquares):
        return f"it is a {type(learner).__name__}, no least-squares agent"
    if agent.needs:
        return f"its regression is another one: it needs {name_needs(agent.needs)}"
    if not isinstance(learner.forgetting, WeightFunction):
        return "its forgetting is no weight function, which all statements are about"
    if learner.caution is not None:
        return "its samples have weights that no statement is about"
    if not isinstance(environment, LinearMdp | LinearBandit):
        return f"the true models of {environment.name} are not known"
    if isinstance(environment, LinearBandit) and environment.link != "identity":
        return f"the means of {environment.name} are not linear"
    if isinstance(environment, LinearBandit) and environment.corruption is not None:
        return f"the rewards of {environment.name} are corrupted"
    if not isinstance(agent, MixtureOfMemories):
        subject = Subject(learner, environment, num_episodes, delta)
        return subject if beta_scale is None else subject.with_theory_radius(beta_scale)
    if beta_scale is not None:
        return "theory knows no radius of a mixture"
    return MixtureSubject(agent, environment, num_episodes, delta)


def audit_study(
    study: Study,
    *,
    stride: int | None = None,
    delta: float = 0.05,
    beta_scale: float | None = None,
    agent: str | None = None,
    progress: Callable[[str, str], None] = lambda environment, agent: None,
) -> Audit:
    """Audit every agent of a study, or the one with that label, in the part of the run that it plays."""
    if agent is not None:
        require_choice("agent", agent, list(study.experiment.agents))
    findings, skipped, lengths = [], [], {}
    options: dict[str, Any] = dict(num_runs=study.num_runs, seed=study.seed, stride=stride, delta=delta)
    for group in study.groups:
        for label, point in group.points.items() if agent in (None, group.name) else ():
            place, task = group.environment_label, group.task
            progress(place, label)
            options |= dict(num_episodes=task.num_episodes, beta_scale=beta_scale, labels=(place, label))
            new_findings, left_out = audit_agent(point.agent, task.environment, **options)
            findings += new_findings
            skipped += left_out
            lengths[place] = task.num_episodes
    strides = {label: stride or _stride(length) for label, length in lengths.items()}
    sizes = lengths, strides, study.num_runs, study.seed
    return Audit(study.experiment.name, *sizes, delta, tuple(findings), tuple(skipped))


def builtin_experiments() -> tuple[Experiment, ...]:
    """Return small linear MDPs and bandits (stationary, abrupt, gradual) with radii from theory."""
    return tuple(Experiments(files("driftwise.analysis.audit").joinpath("builtin")).values())


def _stride(num_episodes: int) -> int:
    return -(-num_episodes // _NUM_CHECKED)
