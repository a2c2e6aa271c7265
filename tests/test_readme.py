"""What the README says is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import driftwise as dw

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_examples_run_in_order_and_give_what_their_comments_say() -> None:
    names: dict[str, Any] = {}
    shapes = []
    for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        exec(block, names)
        shapes.append(names["result"].cumulative_regret.shape)
    assert shapes == [(32, 1000)] + [(2, 3, 8, 200)] * 4
    assert names["decision"].arm in range(3)
    assert isinstance(names["agent"].forgetting, dw.forgetting.ExponentialWeights)
    assert names["variation"] == names["env"].variation(1000).total > 0
    assert names["mine"].spec == dw.Spec(num_states=2, num_actions=2, dim=4, horizon=1)


def test_drifts_and_commands_it_names_exist() -> None:
    for name in ("Constant", "Abrupt", "Gradual", "Periodic", "RandomWalk"):
        assert f"`{name}`" in README
        assert isinstance(getattr(dw.drift, name), type)
    makefile = (Path(__file__).parent.parent / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for link in re.findall(r"\]\((?!http)([^)]+)\)", README):
        assert (Path(__file__).parent.parent / link).exists(), link
