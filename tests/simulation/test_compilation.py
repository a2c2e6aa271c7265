"""Compiled programs that outlive their process."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import pytest

from driftwise.simulation import devices
from driftwise.simulation.devices import CACHE_SETTING, cache_folder, enable_compilation_cache

FOLDER, SECONDS = "jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs"


@pytest.fixture
def chosen() -> Iterator[Callable[[], str | None]]:
    """The folder that JAX keeps programs in, as if nobody had chosen one; its settings are put back."""
    before = {name: jax.config.values[name] for name in (FOLDER, SECONDS)}  # pyright: ignore
    jax.config.update(FOLDER, None)
    enable_compilation_cache.cache_clear()
    yield lambda: jax.config.values[FOLDER]  # pyright: ignore
    for name, value in before.items():
        jax.config.update(name, value)
    enable_compilation_cache.cache_clear()


def test_the_folder_is_the_users_own_and_of_this_kind_of_machine(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    folder = cache_folder({"XDG_CACHE_HOME": "/somewhere"})
    assert folder is not None
    assert folder.parent == Path("/somewhere/driftwise")
    assert cache_folder({}) == Path.home() / ".cache" / "driftwise" / folder.name
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_folder({}) == Path.home() / "Library" / "Caches" / "driftwise" / folder.name
    monkeypatch.setattr(sys, "platform", "win32")
    assert cache_folder({"LOCALAPPDATA": "/local"}) == Path("/local/driftwise") / folder.name
    assert cache_folder({CACHE_SETTING: "/elsewhere"}) == Path("/elsewhere") / folder.name
    monkeypatch.setattr(devices, "cpu_model", lambda: "another processor")
    assert cache_folder({CACHE_SETTING: "/elsewhere"}) != Path("/elsewhere") / folder.name


def test_jax_is_told_of_the_folder_once_it_is_there(chosen, tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_SETTING, str(tmp_path / "new"))
    enable_compilation_cache()
    folder = Path(str(chosen()))
    assert folder.parent == tmp_path / "new"
    assert folder.is_dir()


def test_the_folder_of_the_program_around_is_left_alone(chosen, tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_SETTING, str(tmp_path / "ours"))
    jax.config.update(FOLDER, "theirs")
    enable_compilation_cache()
    assert chosen() == "theirs"
    assert not (tmp_path / "ours").exists()


@pytest.mark.parametrize("setting", ["off", __file__])  # in which no folder can be made
def test_one_setting_switches_it_off_and_so_does_a_folder_that_cannot_be_made(setting, chosen, monkeypatch):
    monkeypatch.setenv(CACHE_SETTING, setting)
    enable_compilation_cache()
    assert chosen() is None


PROGRAM = """
import jax
from tests.examples import agent, make
from driftwise.simulation.running import simulate

events = []
jax.monitoring.register_event_listener(lambda event, **_: events.append(event))
result = simulate(agent("opt_wlsvi"), make(), num_episodes=40, num_runs=3)
print(events.count("/jax/compilation_cache/cache_hits"), result.cumulative_regret.tobytes().hex())
"""


@pytest.mark.slow
def test_a_second_process_compiles_no_program_again_and_computes_the_same_bytes(tmp_path):
    root = Path(__file__).parents[2]
    environ = {key: value for key, value in os.environ.items() if not key.startswith("JAX_")}
    path = os.pathsep.join([str(root / "src"), str(root)])
    environ |= {
        CACHE_SETTING: str(tmp_path),
        "PYTHONPATH": path,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }

    def run() -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True, check=True
        )
        hits, numbers = done.stdout.split()
        return int(hits), numbers

    hits, numbers = run()
    kept = sorted(tmp_path.rglob("jit_play_chunk*"))
    assert len(kept) == 1
    again, same = run()
    assert again > hits
    assert same == numbers
    assert sorted(tmp_path.rglob("jit_play_chunk*")) == kept
