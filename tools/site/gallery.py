"""The galleries, written when the site is built: environments with their drift, and panels of a report."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from driftwise.analysis.docstrings import Docstring
from driftwise.analysis.drawings import Curve, Drawing
from driftwise.analysis.examples import example
from driftwise.analysis.finished import load_study
from driftwise.analysis.report.panels import CLOSING, OPENING, PANELS
from driftwise.environments import ENVIRONMENTS, ContinuingMdp, Environment, LinearBandit, LinearMdp
from driftwise.environments.drift import Gradual
from driftwise.environments.planning import action_values, optimal_values, policy_values
from tools.site import BUILD, embedded
from tools.site.runs import played

EPISODES = 120
DRIFT = Gradual((EPISODES // 4, 3 * EPISODES // 4))  # from the first anchor to the second
ROUNDS = 1200
MOST_CURVES = 6
EXTRA = BUILD / "extra"  # files that the site has besides its pages
REPORT = "example-report.html"

ENVIRONMENTS_HEAD = """# Gallery of environments

Problems with a `drift` go here from their first anchor to the second, between a quarter and three
quarters of the episodes. Two curves tell how much that matters: the value of the best policy of each
episode, and the value that the best policy of the first episode has there. Their distance is the regret
of who never learns again. Bandits show their parameter, problems without episodes the best gain."""

PANELS_PAGE = """# Gallery of report panels

`driftwise report DIR` writes one page that needs no network. It consists of panels, each of which is
there only if it has something to show. [The report](../report.md) says how to read them.

| panel | where | what it shows |
|---|---|---|
{rows}

This is the report of [report-panels.toml](../runs/report-panels.toml), live: curves can be hidden, zoomed
and saved. It also opens <a href="../{report}">alone</a>.

```{{raw}} html
<iframe class="report" title="a report" loading="lazy" src="../{report}"></iframe>
```
"""


def pages() -> dict[str, str]:
    """The galleries by their names."""
    return {"environments": environments_page(), "panels": panels_page()}


def environments_page() -> str:
    """Every environment, with a picture of its drift."""
    parts = [ENVIRONMENTS_HEAD]
    for name, maker in ENVIRONMENTS.items():
        drawing = _drawing(name, made(name, maker))
        call = f"```{{eval-rst}}\n.. autofunction:: driftwise.environments.{name}\n```"
        parts += [f"## {name}", embedded(drawing), call]
    return "\n\n".join(parts) + "\n"


def made(name: str, maker: Callable[..., Environment]) -> Environment:
    """An environment that drifts, with the maker's own sizes; else that of its example."""
    parameters = inspect.signature(maker).parameters
    if "drift" in parameters:
        return maker(drift=DRIFT)
    if "num_rounds" in parameters:
        return maker(num_rounds=ROUNDS)
    names: dict[str, Any] = {}
    exec(example("environments", maker).python, names)
    return names["environment"]


def _drawing(name: str, environment: Environment) -> Drawing:
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
    drawn = [Curve(each, values, values, values) for each, values in curves.items()]
    text = f"{label} of {name} over {word}s: {', '.join(curves)}"
    return Drawing(f"drift-{name}", episodes + 1, drawn, word, label, "", text)


def _values(environment: LinearMdp, episodes: np.ndarray) -> dict[str, np.ndarray]:
    features, first = environment.features, environment.model(0)
    habit = action_values(features, first, optimal_values(features, first)).argmax(axis=-1)
    models = [environment.model(t) for t in episodes.tolist()]
    best = [optimal_values(features, model)[0] @ environment.initial for model in models]
    kept = [policy_values(features, model, habit)[0] @ environment.initial for model in models]
    return {"best policy of the episode": np.array(best), "best policy of the first": np.array(kept)}


def panels_page() -> str:
    """Every panel of a report in words, above a report that has most of them."""
    EXTRA.mkdir(parents=True, exist_ok=True)
    load_study(played("report-panels")).report(EXTRA / REPORT)
    rows = [
        f"| `{panel.__name__}` | {where} | {Docstring.of(panel.__doc__).summary} |"
        for where, panels in (("opening", OPENING), ("each environment", PANELS), ("closing", CLOSING))
        for panel in panels
    ]
    return PANELS_PAGE.format(rows="\n".join(rows), report=REPORT)
