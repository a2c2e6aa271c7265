"""The galleries of environments and of report panels, written when the site is built."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from driftwise.analysis.docstrings import Docstring
from driftwise.analysis.examples import make_example
from driftwise.analysis.figures import Axis, Curve, Figure
from driftwise.analysis.finished import load_study
from driftwise.analysis.report.writing import CLOSING, OPENING, PANELS
from driftwise.environments import ENVIRONMENTS, ContinuingMdp, Environment, LinearBandit, LinearMdp
from driftwise.environments.drift import Gradual
from driftwise.environments.planning import action_values, optimal_values, policy_values
from tools.site import BUILD, embed_figure
from tools.site.runs import run_folder

EPISODES = 120
DRIFT = Gradual((EPISODES // 4, 3 * EPISODES // 4))  # from the first anchor to the second
ROUNDS = 1200
MOST_CURVES = 6
EXTRA = BUILD / "extra"  # files that the site has besides its pages
REPORT = "example-report.html"

ENVIRONMENTS_HEAD = """# Gallery of environments

Problems with a `drift` move here from their first anchor to the second, between a quarter and three
quarters of the episodes. Two curves show how much that matters: the value of the best policy of each
episode, and the value that the best policy of the first episode has there. The gap is the regret of a
policy that is never updated. Bandits show their parameter, problems without episodes the best gain."""

PANELS_PAGE = """# Gallery of report panels

`driftwise report DIR` writes one page that needs no network. It consists of panels, and shows only those
that have content. [The report](../report.md) explains how to read them.

| panel | where | what it shows |
|---|---|---|
{rows}

This is the report of [report-panels.toml](../runs/report-panels.toml), live: curves can be hidden, zoomed
and saved. It can also be opened <a href="../{report}">on its own</a>.

```{{raw}} html
<iframe class="report" title="a report" loading="lazy" src="../{report}"></iframe>
```
"""


def pages() -> dict[str, str]:
    """Return the galleries by their names."""
    return {"environments": environments_page(), "panels": panels_page()}


def environments_page() -> str:
    """Return the page of all environments, with a figure of the drift of each."""
    parts = [ENVIRONMENTS_HEAD]
    for name, maker in ENVIRONMENTS.items():
        figure = _figure(name, make_environment(maker))
        call = f"```{{eval-rst}}\n.. autofunction:: driftwise.environments.{name}\n```"
        parts += [f"## {name}", embed_figure(figure), call]
    return "\n\n".join(parts) + "\n"


def make_environment(maker: Callable[..., Environment]) -> Environment:
    """Return an environment that drifts, with the default sizes of the maker, or that of its example."""
    parameters = inspect.signature(maker).parameters
    if "drift" in parameters:
        return maker(drift=DRIFT)
    if "num_rounds" in parameters:
        return maker(num_rounds=ROUNDS)
    names: dict[str, Any] = {}
    exec(make_example("environment", maker).python, names)
    return names["environment"]


def _figure(name: str, environment: Environment) -> Figure:
    episodes = np.arange(EPISODES)
    if isinstance(environment, LinearMdp):
        curves, label = _values(environment, episodes), "value of an episode"
    elif isinstance(environment, ContinuingMdp):
        curves, label = {"best gain": environment.gains(episodes)}, "reward of a step"
    else:
        assert isinstance(environment, LinearBandit)
        episodes = np.arange(0, ROUNDS, ROUNDS // 200)
        path = environment.at(episodes)
        curves = {f"θ{number + 1}": path[:, number] for number in range(min(path.shape[1], MOST_CURVES))}
        label = "parameter"
    word = "round" if isinstance(environment, LinearBandit) else "episode"
    lines = [Curve(label, values, number) for number, (label, values) in enumerate(curves.items())]
    text = f"{label} of {name} over {word}s: {', '.join(curves)}"
    axes = Axis(word, integer=True), Axis(label)
    return Figure(f"drift-{name}", lines, *axes, text, x=episodes + 1, legend=True)


def _values(environment: LinearMdp, episodes: np.ndarray) -> dict[str, np.ndarray]:
    features, first = environment.features, environment.model(0)
    initial_policy = action_values(features, first, optimal_values(features, first)).argmax(axis=-1)
    models = [environment.model(t) for t in episodes.tolist()]
    best = [optimal_values(features, model)[0] @ environment.initial for model in models]
    kept = [policy_values(features, model, initial_policy)[0] @ environment.initial for model in models]
    return {"best policy of the episode": np.array(best), "best policy of the first": np.array(kept)}


def panels_page() -> str:
    """Return the page that describes every panel of a report, above a report that has most of them."""
    EXTRA.mkdir(parents=True, exist_ok=True)
    load_study(run_folder("report-panels")).report(EXTRA / REPORT)
    rows = [
        f"| `{panel.__name__}` | {where} | {Docstring.of(panel.__doc__).summary} |"
        for where, panels in (("opening", OPENING), ("each environment", PANELS), ("closing", CLOSING))
        for panel in panels
    ]
    return PANELS_PAGE.format(rows="\n".join(rows), report=REPORT)
