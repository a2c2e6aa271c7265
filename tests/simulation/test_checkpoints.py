"""A simulation that was killed goes on from its file, to the same bits; a file that is no good is named."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.base.files import remove_leftovers, replace_file
from driftwise.environments import LinearMdp
from driftwise.simulation import checkpoints
from driftwise.simulation.checkpoints import CheckpointError, OutdatedError, checkpoint_name, resume
from driftwise.simulation.results import CURVES
from driftwise.simulation.simulator import Simulation
from driftwise.simulation.tasks import Task
from tests.examples import NUM_EPISODES, NUM_RUNS, agent, make

OPTIONS: dict[str, Any] = dict(num_episodes=NUM_EPISODES, num_runs=NUM_RUNS, chunk_size=16)


def fresh(name: str = "opt_wlsvi", **options: Any) -> Simulation:
    return Simulation(Task(agent(name), make(), **{**OPTIONS, **options}))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / checkpoint_name(fresh().task)


class Killed(Exception):
    pass


@pytest.mark.parametrize("chunks", [1, 2, 3])
def test_an_interrupted_simulation_goes_on_to_the_same_bits(path, monkeypatch, chunks):
    monkeypatch.setattr(checkpoints, "_SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(checkpoints, "_TIME_SHARE", 1e9)  # a checkpoint after every chunk
    seen = []

    def progress(simulation: Simulation) -> None:
        if simulation.done >= min(16 * chunks, NUM_EPISODES):
            raise Killed

    with pytest.raises(Killed):
        resume(path, fresh(), progress=progress)
    result = resume(path, fresh(), progress=lambda simulation: seen.append(simulation.done))
    assert seen[0] == min(16 * chunks, NUM_EPISODES)
    whole = dw.simulate(agent("opt_wlsvi"), make(), **OPTIONS)
    for curve in ("returns", "values", "optimal_values"):
        assert getattr(result, curve).tobytes() == getattr(whole, curve).tobytes()


def test_whoever_stops_a_simulation_loses_nothing_that_was_played(path, monkeypatch):
    monkeypatch.setattr(checkpoints, "_SECONDS_BETWEEN", 1e9)  # no checkpoint but the last
    stood = []

    def progress(simulation: Simulation) -> None:
        stood.append(simulation.done)
        if simulation.done:
            raise Killed

    with pytest.raises(Killed):
        resume(path, fresh(), progress=progress)
    seen = []
    resume(path, fresh(), progress=lambda simulation: seen.append(simulation.done))
    assert 0 < seen[0] == stood[-1] < NUM_EPISODES


def test_names_differ_where_numbers_could():
    changes: list[dict[str, Any]] = [{}, dict(name="lsvi_ucb"), dict(seed=1), dict(num_runs=NUM_RUNS + 1)]
    changes += [dict(first_run=1), dict(record_every=2), dict(num_episodes=NUM_EPISODES + 1)]
    names = {checkpoint_name(fresh(**change).task) for change in changes}
    names.add(checkpoint_name(Task(agent("opt_wlsvi"), make(seed=1), **OPTIONS)))
    assert len(names) == 8
    assert checkpoint_name(fresh().task) in names


def test_environments_without_a_configuration_are_told_apart_by_their_models(path):
    def own(seed: int) -> Simulation:
        made = make(seed=seed)
        mine = LinearMdp(made.features, made.theta, made.mu, made.initial, made.drift)
        return Simulation(Task(agent("opt_wlsvi"), mine, **OPTIONS))

    assert checkpoint_name(own(0).task) == checkpoint_name(own(0).task) != checkpoint_name(own(1).task)
    resume(path, own(0))
    with pytest.raises(ValueError, match="belongs to another simulation, with another models"):
        resume(path, own(1))


def test_a_failure_while_writing_leaves_the_old_file_and_no_other(path, monkeypatch):
    simulation = fresh()
    simulation.advance()
    replace_file(path, checkpoints.pack_checkpoint(simulation))
    before = path.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    simulation.advance()
    with pytest.raises(OSError, match="No space left"):
        replace_file(path, checkpoints.pack_checkpoint(simulation))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("damage", ["truncated", "empty", "foreign", "an array"])
def test_a_damaged_file_is_named_and_not_used(path, damage):
    resume(path, fresh())
    data, array = path.read_bytes(), io.BytesIO()
    np.save(array, np.load(path)["returns"])
    damaged = {"truncated": data[: len(data) // 2], "empty": b"", "foreign": b"something else altogether"}
    path.write_bytes(damaged.get(damage, array.getvalue()))
    with pytest.raises(ValueError, match=r"is damaged .*delete it") as error:
        resume(path, fresh())
    assert str(path) in str(error.value)


def test_one_flipped_bit_never_gives_other_numbers(path):
    expected = resume(path, fresh()).values.tobytes()
    data = path.read_bytes()
    refused = 0
    for place in np.random.default_rng(0).integers(8 * len(data), size=200):
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        simulation = fresh()
        try:
            checkpoints.restore_checkpoint(bytes(flipped), path, simulation)
        except CheckpointError:
            refused += 1
        else:
            assert simulation.result().values.tobytes() == expected
    assert refused > 50  # the others are in places that nobody reads


def rewritten(path: Path, **changed: np.ndarray) -> None:
    """The checkpoint with other arrays, as whole as before."""
    path.write_bytes(checkpoints.pack_archive({**np.load(path), **changed}))


def test_an_edited_number_breaks_the_seal(path):
    resume(path, fresh())
    arrays = dict(np.load(path))
    arrays["values"][0] += 0.1
    np.savez(path, **arrays)
    with pytest.raises(CheckpointError, match=r"is damaged \(its content is not what it was written with\)"):
        resume(path, fresh())


def test_arrays_that_do_not_fit_are_damage(path):
    resume(path, fresh())
    rewritten(path, returns=np.zeros((1, 1, NUM_RUNS)))
    with pytest.raises(CheckpointError, match=r"is damaged \(checkpoint must come from .* got returns of"):
        resume(path, fresh())


@pytest.mark.parametrize(("make_it", "kind"), [(Path.mkdir, "a folder"), (os.mkfifo, "a pipe")])
def test_what_is_no_file_is_named_and_stays(path, make_it, kind):
    make_it(path)
    for use in (resume, checkpoints.drop_outdated):
        with pytest.raises(CheckpointError, match=f"cannot be read .*is {kind}, not a file") as told:
            use(path, fresh())
        assert str(told.value).startswith(str(path))
    assert path.exists()


@pytest.fixture(scope="module")
def finished() -> dict[str, Any]:
    """The arrays of a finished checkpoint."""
    simulation = fresh()
    while not simulation.finished:
        simulation.advance()
    return dict(np.load(io.BytesIO(checkpoints.pack_checkpoint(simulation))))


NOTHING = object()


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("origin", [], "origin must be a table, got a list"),
        ("origin.versions", [], "origin.versions must be a table, got a list"),
        ("origin.versions", None, "origin.versions must be a table, got null"),
        ("origin.sources", ["driftwise"], "origin.sources must be a table, got a list"),
        ("origin.sources", {"driftwise": 1}, "origin.sources.driftwise must be a word or a list"),
        ("origin.host", NOTHING, "origin.host is missing"),
        ("origin.xla_flags", NOTHING, "origin.xla_flags is missing"),
        ("origin.device", {}, "origin.device must be a word or a list, got a table"),
        ("identity", None, "identity must be a table, got null"),
        ("identity.platform", NOTHING, "identity.platform is missing"),
        ("identity.format", True, "identity.format must be an integer, got true or false"),
        ("seconds", "soon", "got seconds of <U4"),
        ("seconds", float("nan"), "got 40 episodes in nan seconds"),
        ("seconds", NOTHING, "got no seconds"),
        ("done", -1, "got -1 episodes"),
        ("done", 1.5, "got done of float64"),
        ("done", [40, 40], "got done of int64"),
        ("returns", float("nan"), "got returns that are not finite"),
        ("values", float("inf"), "got values that are not finite"),
    ],
)
def test_a_checkpoint_of_another_kind_is_damaged_however_whole(path, finished, place, value, said):
    name, _, key = place.partition(".")
    arrays = {**finished}
    if name in ("origin", "identity"):
        table = json.loads(str(arrays[name]))
        if key:
            table[key] = value
        table = {each: found for each, found in table.items() if found is not NOTHING} if key else value
        arrays[name] = np.array(json.dumps(table))
    elif value is NOTHING:
        del arrays[name]
    elif name in ("returns", "values"):
        arrays[name] = np.where(np.arange(len(arrays[name]))[:, None, None] == 3, value, arrays[name])
    else:
        arrays[name] = np.array(value)
    path.write_bytes(checkpoints.pack_archive(arrays))
    for use in (resume, checkpoints.drop_outdated)[: 1 if name in CURVES else 2]:
        with pytest.raises(CheckpointError, match=r"is damaged .*delete it") as told:
            use(path, fresh())
        assert said in str(told.value)
    assert path.exists()


OTHERS = [("versions", {name: "0.0.1"}) for name in ("driftwise", "jax", "jaxlib")]
OTHERS += [("sources", {"driftwise": "0123456789abcdef"}), ("sources", {"driftwise": None})]


@pytest.mark.parametrize("chunks", [1, 3])  # unfinished and finished
@pytest.mark.parametrize(("key", "others"), OTHERS)
def test_what_other_code_or_versions_computed_is_refused_and_dropped_on_request(path, key, others, chunks):
    simulation = fresh()
    for _ in range(chunks):
        simulation.advance()
    replace_file(path, checkpoints.pack_checkpoint(simulation))
    checkpoints.drop_outdated(path, fresh())  # nothing is wrong with it
    merged = {**simulation.origin[key], **others}
    changed = {name: value for name, value in merged.items() if value is not None}
    rewritten(path, origin=np.array(json.dumps({**simulation.origin, key: changed})))
    said = {
        "versions": r"with .*0\.0\.1.*: install those",
        "sources": r"by other code \(driftwise\): bring that",
    }
    with pytest.raises(CheckpointError, match=f"was computed {said[key]}.* or compute it again"):
        resume(path, fresh())
    checkpoints.drop_outdated(path, fresh())
    assert not path.exists()


@pytest.mark.parametrize("where", ["there", "here"])
def test_a_module_that_only_one_of_two_codes_has_is_other_code(path, where):
    simulation = fresh()
    simulation.advance()
    reader = fresh()
    (simulation if where == "there" else reader).sources |= {"mine.parts": "0123456789abcdef"}
    replace_file(path, checkpoints.pack_checkpoint(simulation))
    with pytest.raises(OutdatedError, match=r"was computed by other code \(mine.parts\)"):
        resume(path, reader)


def test_what_another_device_or_another_task_left_is_refused_and_not_dropped(path):
    resume(path, fresh())
    another = "belongs to another simulation, with another num_runs, seed"
    for other, said in ((fresh(device="gpu"), "was computed on a"), (fresh(seed=1, num_runs=2), another)):
        for use in (resume, checkpoints.drop_outdated):
            with pytest.raises(CheckpointError, match=said):
                use(path, other)
    assert path.exists()


def test_a_simulation_that_was_taken_up_names_all_that_computed_it(path):
    simulation = fresh()
    simulation.advance()
    replace_file(path, checkpoints.pack_checkpoint(simulation))
    elsewhere = {**simulation.origin, "host": {"name": "elsewhere", "cpu": "another"}, "xla_flags": "--odd"}
    rewritten(path, origin=np.array(json.dumps(elsewhere)))
    for _ in range(2):  # in the end it is read
        found = resume(path, fresh()).manifest
        assert found["host"] == [elsewhere["host"], simulation.origin["host"]]
        assert found["xla_flags"] == ["--odd", simulation.origin["xla_flags"]]
        assert found["sources"] == simulation.sources
        assert found["versions"] == simulation.origin["versions"]


def test_a_finished_simulation_says_what_computed_it_and_not_what_read_it(path):
    resume(path, fresh())
    origin = {**fresh().origin, "host": {"name": "elsewhere"}, "commit": "abc", "device": "another"}
    rewritten(path, origin=np.array(json.dumps(origin)))
    found = resume(path, fresh()).manifest
    assert {key: found[key] for key in origin} == origin


@pytest.mark.parametrize(("step", "writer"), [(-1, "an older"), (1, "a newer")])
def test_a_file_of_another_version_is_refused(path, monkeypatch, step, writer):
    with monkeypatch.context() as other:
        other.setattr(checkpoints, "_FORMAT", checkpoints._FORMAT + step)
        resume(path, fresh())
    with pytest.raises(OutdatedError, match=f"was written by {writer} version of driftwise"):
        resume(path, fresh())
    checkpoints.drop_outdated(path, fresh())
    assert not path.exists()


PROGRAM = """
import sys
from pathlib import Path
from driftwise.simulation import checkpoints
from driftwise.simulation.simulator import Simulation
from driftwise.simulation.tasks import Task
from tests.examples import agent, make

checkpoints._SECONDS_BETWEEN, checkpoints._TIME_SHARE = 0.0, 1e9
simulation = Simulation(Task(agent("opt_wlsvi"), make(), num_episodes=200_000, num_runs=3, chunk_size=16))
checkpoints.resume(Path(sys.argv[1]), simulation, progress=lambda now: print(now.done, flush=True))
"""


@pytest.mark.slow
def test_a_killed_process_never_loses_or_changes_anything(tmp_path):
    """Twenty SIGKILLs at random moments of a program that writes a checkpoint every few milliseconds."""
    path = tmp_path / "killed.npz"
    rng = np.random.default_rng(0)
    command = [sys.executable, "-c", PROGRAM, str(path)]
    kept = 0
    for _ in range(20):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            begun = int(process.stdout.readline())
            assert begun >= kept  # nothing that was seen to be kept is lost
            for _ in range(rng.integers(1, 40)):
                assert process.stdout.readline()
            time.sleep(rng.uniform(0.0, 0.01))
            assert process.poll() is None
            process.send_signal(signal.SIGKILL)
        kept = int(np.load(path)["done"])
        assert begun < kept < 200_000
    options: dict[str, Any] = dict(num_runs=3, chunk_size=16)
    resumed = Simulation(Task(agent("opt_wlsvi"), make(), num_episodes=200_000, **options))
    checkpoints.restore_checkpoint(path.read_bytes(), path, resumed)
    whole = Simulation(Task(agent("opt_wlsvi"), make(), num_episodes=200_000, **options))
    while whole.done < kept:
        whole.advance()
    assert resumed.result().values.tobytes() == whole.result().values.tobytes()
    assert resumed.result().returns.tobytes() == whole.result().returns.tobytes()
    remove_leftovers(tmp_path)
    assert list(tmp_path.iterdir()) == [path]  # and nothing half-written is left lying about
