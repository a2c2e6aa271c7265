"""The small install: NumPy and safetensors, and a sentence about all that needs more."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy
import pytest
import safetensors

import driftwise

ROOT = Path(__file__).parents[1]
ONLINE = """
import numpy as np, driftwise as dw
bandit = dw.online.Bandit("adaptive_lin_ucb", dim=2, seed=0)
decision = bandit.decide(np.eye(2))
bandit.learn(decision.id, reward=1.0)
bandit.save("bandit.safetensors")
same = dw.online.load("bandit.safetensors")
assert same.decide(np.eye(2)).arm == bandit.decide(np.eye(2)).arm

agent = dw.online.EpisodicAgent("opt_wlsvi", features=np.eye(2)[:, None], horizon=1, rate=0.9, radius=0.1)
agent.begin(0), agent.act(), agent.observe(1.0, 1)
agent.save("agent.safetensors")
assert dw.online.load("agent.safetensors").num_episodes == 1

env = dw.environments.combination_lock(horizon=2, drift=dw.drift.Constant())
assert len(list(dw.play(dw.algorithms.opt_wlsvi(env.spec, rate=0.9, radius=0.1), env, num_episodes=2))) == 2
"""
EVERY_MODULE = """
import importlib, pathlib, driftwise
root = pathlib.Path(driftwise.__file__).parent
for path in sorted(root.rglob("*.py")):
    name = ".".join(("driftwise", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
    if not name.startswith(("driftwise.cli.", "driftwise.__main__")):  # behind main, which is asked below
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            print(f"{name}: {error}")
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with NumPy, safetensors and driftwise, and nothing else."""
    folder = tmp_path_factory.mktemp("site")
    for module in (numpy, safetensors, driftwise):
        assert module.__file__ is not None
        place = Path(module.__file__).parent
        for each in (place, place.with_name(f"{place.name}.libs")):  # libraries that wheels bring
            if each.exists():
                (folder / each.name).symlink_to(each, target_is_directory=True)
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python without its site-packages."""
    environ = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-S", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environ)


def test_agents_decide_learn_save_and_load_with_numpy_and_safetensors_alone(small):
    done = run(small, "-c", ONLINE)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("dw.simulate", "dw.simulate needs jax: pip install 'driftwise[simulate]'"),
        ("dw.checks", "dw.checks needs jax: pip install 'driftwise[simulate]'"),
        ("dw.statistics", "dw.statistics needs scipy: pip install 'driftwise[simulate]'"),
        ("dw.compare", "dw.compare needs scipy: pip install 'driftwise[cli]'"),
    ],
)
def test_a_name_that_needs_more_says_what_in_one_sentence(small, name, sentence):
    done = run(small, "-c", f"import driftwise as dw; {name}")
    last = done.stderr.splitlines()[-1]
    assert last == f"ModuleNotFoundError: {sentence}"


def test_every_module_that_needs_more_names_its_extra(small):
    done = run(small, "-c", EVERY_MODULE)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) > 50  # else something was there that should not have been
    assert [line for line in lines if "pip install 'driftwise[" not in line] == []


def test_the_command_line_names_its_extra(small):
    done = run(small, "-m", "driftwise", "list")
    assert done.returncode == 2
    assert (
        done.stderr
        == "driftwise: error: the command line needs more packages: pip install 'driftwise[cli]'\n"
    )


def test_the_base_install_brings_numpy_and_safetensors():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [each.partition(">=")[0] for each in project["dependencies"]] == ["numpy", "safetensors"]
    assert "driftwise[simulate]" in project["optional-dependencies"]["cli"]
