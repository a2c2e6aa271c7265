"""Files that were made to be loaded wrongly: each is refused in one sentence."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save, save_file

from driftwise.base import __version__
from driftwise.base.arrays import map_tree
from driftwise.online import Bandit, EpisodicAgent, agent_files, load
from driftwise.online.tensors import least_numbers, to_tensors
from driftwise.parts import Glr
from tests.examples import PARAMETERS, SPEC
from tests.examples import make as make_environment
from tests.online.streams import BANDITS, lead, make

Header = dict[str, Any]
SENTENCE = r"^path must be an agent's file that is (whole|of this version), got '.*agent.safetensors': [^\n]*"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.safetensors"


def saved(path: Path, name: str = "d_lin_ucb", **options: Any) -> None:
    """A bandit with decisions that wait, and some that have expired."""
    bandit = make(name, max_pending=4, **options)
    lead(bandit, 25, seed=1)
    bandit.save(path)


def refused(path: Path, why: str) -> None:
    with pytest.raises(ValueError, match=SENTENCE + why + r"[^\n]*$"):
        load(path)


DAMAGED = "truncated, damaged or no safetensors file"
FOREIGN = "was not written by driftwise.online"
UNKNOWN = "has a tensor of type {!r}, and known are"
PICKLE = b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x07nothing\x94."


def framed(header: bytes, body: bytes = b"") -> bytes:
    return len(header).to_bytes(8, "little") + header + body


def changed(change: Callable[[Header], Any]) -> Callable[[bytes], bytes]:
    """Return the function that changes the header of a file."""

    def of_file(whole: bytes) -> bytes:
        end = 8 + int.from_bytes(whole[:8], "little")
        header = json.loads(whole[8:end])
        change(header)
        return framed(json.dumps(header).encode(), whole[end:])

    return of_file


def entry(name: str, key: str, *value: Any) -> Callable[[bytes], bytes]:
    """Return the function that gives an entry of the header another value, or takes it away."""
    return changed(lambda header: header[name].update({key: value[0]}) if value else header[name].pop(key))


HEADERS = [
    *(b"", b"{]", b"\xff\xfe\xfd", b"[1, 2]", b"17", b"[" * 100_000, b'{"a":' * 100_000, b'{"a": 1, "a": 2}'),
    b'{"a": ' + b"9" * 5000 + b"}",
]
LENGTHS = [0, 1 << 20, 100_000_001, 1 << 31, 1 << 63, (1 << 64) - 1]
SHAPES = [[-1, 2, 2], [1 << 32] * 3, [1.5, 2, 2], "all", [1, 2000, 2000]]
OFFSETS = [(), ([0, 72],), ([1 << 40, (1 << 40) + 72],), ([172, 100],), ([72],)]  # none, overlapping, …
BROKEN: list[tuple[Callable[[bytes], bytes], str]] = [
    *((lambda _, header=header: framed(header), DAMAGED) for header in HEADERS),
    *(
        (lambda _, n=n: n.to_bytes(8, "little") + b"{}", f".*of {n} bytes, where there are 2")
        for n in LENGTHS
    ),
    *((entry("__metadata__", key), DAMAGED) for key in ("description", "checksum")),
    (entry("__metadata__", "product"), FOREIGN),
    (entry("__metadata__", "description", 7), DAMAGED),
    (entry("__metadata__", "description", "{}"), "checksum does not fit"),
    (entry("__metadata__", "format", "2"), "has format 2 of driftwise .*, and this version reads format 4"),
    *((entry("state.0", "dtype", kind), UNKNOWN.format(kind)) for kind in ("F8_E4M3", "BF16", "PICKLE", {})),
    *((entry("state.0", "shape", shape), DAMAGED) for shape in SHAPES),
    *(
        (entry("state.0", "data_offsets", *offsets), DAMAGED)
        for offsets in [(), *([each] for each in OFFSETS)]
    ),
    *((changed(lambda header, it=it: header.update(__metadata__=it)), FOREIGN) for it in (["driftwise"], 1)),
    (changed(lambda header: header.update({"state.0": 3})), DAMAGED),
    *((lambda whole, stop=stop: whole[:stop], DAMAGED) for stop in (0, 100, -9)),
    (lambda whole: whole + b"more", DAMAGED),
    (lambda whole: whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:], "checksum does not fit"),
    (lambda _: PICKLE, DAMAGED),
    (lambda _: save({"weights": np.ones(3)}), FOREIGN),
]


@pytest.mark.parametrize(("change", "why"), BROKEN)
def test_what_is_not_a_whole_file_of_ours_is_refused_in_one_sentence(change, why, path):
    saved(path)
    path.write_bytes(change(path.read_bytes()))
    refused(path, why)


def test_a_large_file_of_somebody_else_is_refused_by_its_header(path, monkeypatch):
    save_file({"weights": np.zeros(1)}, path, {"product": "another"})
    with path.open("ab") as file:
        file.truncate(1 << 34)  # which on most disks takes no room
    monkeypatch.setattr(agent_files, "_checksum", None)
    refused(path, "was not written by driftwise.online")


@pytest.mark.skipif(os.name != "posix", reason="needs pipes")
@pytest.mark.parametrize(
    ("make_path", "why"),
    [
        (Path.mkdir, "Is a directory"),
        (os.mkfifo, "it is a pipe, not a file"),
        (lambda path: path.symlink_to("/dev/zero"), "it is a device, not a file"),
    ],
)
def test_only_a_regular_file_is_opened(make_path, why, path):
    make_path(path)
    refused(path, why)


def resealed(path: Path, change: Callable[[dict[str, Any], dict[str, np.ndarray]], Any]) -> None:
    """The file after a change of its description or its tensors, with a checksum that fits."""
    description, tensors, *_ = agent_files.read_agent_file(path)
    change(description, tensors)
    agent_files.write_agent_file(path, agent_files.AgentFile(description, tensors, {}))


Change = Callable[[dict[str, Any], dict[str, np.ndarray]], Any]  # of a description and tensors


def put(name: str, value: Any, at: Any = ...) -> Change:
    def change(_: Any, tensors: dict[str, np.ndarray]) -> None:
        tensors[name] = tensors[name].copy()
        tensors[name][at] = value

    return change


def instead(name: str, array: Any) -> Change:
    return lambda _, tensors: tensors.update({name: np.asarray(array)})


def described(**changes: Any) -> Change:
    return lambda description, _: description.update(changes)


def nested(depth: int) -> Any:
    config: Any = {}
    for _ in range(depth):
        config = {"type": "Spec", "dim": config}
    return config


def text(ids: Any) -> np.ndarray:
    return np.frombuffer(json.dumps(ids).encode(), dtype=np.uint8)


HUGE = {"type": "Spec", "num_states": 1, "num_actions": 1, "dim": 10**9, "horizon": 1}
DESCRIBED: list[tuple[str, Any]] = [
    ("kind", []), ("kind", "oracle"), ("agent", 3), ("agent", {"type": "NoForgetting"}),
    ("agent", {"type": []}), ("agent", nested(400)), ("more", 1), ("seed", -1), ("seed", "0"),
    ("algorithm", []), ("max_pending", 1), ("num_draws", 10**9), ("metadata", []),
]  # fmt: skip
AGENT = [
    ("spec", HUGE), ("spec", HUGE | {"dim": 4}), ("forgetting", {"type": "SlidingWindow", "length": 10**9}),
    ("forgetting", {"type": "ExponentialWeights", "rate": 2.0}),
]  # fmt: skip
PUT: list[tuple[Any, ...]] = [
    ("state.0", np.nan, (0, 0, 0)), ("state.2", np.inf), ("state.4", -1), ("state.4", 2**63 - 1),
    ("gauge", np.nan), ("gauge", -1.0), ("samples", -1), ("pending.counts", -5),
    ("pending.counts", 2**63 - 1, 0), ("pending.counts", 10**12, 1), ("pending.counts", 1, 0),
    ("pending.ids", 255), ("pending.rounds", 3), ("pending.rounds", 1000, -1), ("pending.times", np.nan),
    ("pending.latest", 1e300), ("pending.times", -1e300, (0, 0)), ("pending.times", 0.0, (0, 1)),
    ("pending.numbers", np.inf), ("pending.numbers", -1.0, (0, 0)), ("pending.features", np.nan),
]  # fmt: skip
INSTEAD: list[tuple[str, Any]] = [
    ("state.0", np.ones((1, 3, 3), dtype=bool)), ("state.0", np.eye(4)[None]), ("gauge", [1.0, 2.0]),
    ("samples", 0.5), ("pending.counts", np.array([25])), ("pending.counts", [25.5, 0.5]),
    ("pending.ids", text(["a", "a", "b", "c"])), ("pending.ids", text(["a", "b"])),
    ("pending.ids", text([1, 2, 3, 4])), ("pending.ids", text("abcd")),
    ("pending.ids", text(["a", "b", "c", "x" * 201])), ("pending.gone", text([])),
    ("pending.numbers", np.zeros((0, 3))), ("pending.features", np.zeros((4, 7))),
]  # fmt: skip
CRAFTED: list[Change] = [
    *(described(**{name: value}) for name, value in DESCRIBED),
    *(lambda description, _, part=part: description["agent"].update([part]) for part in AGENT),
    *(put(*given) for given in PUT),
    *(instead(*given) for given in INSTEAD),
    *(lambda description, _, name=name: description.pop(name) for name in ("kind", "agent")),
    lambda _, tensors: tensors.pop("state.0"),
    lambda _, tensors: tensors.update({"pending.gone": tensors["pending.ids"]}),
]
PLANNED = [
    instead("plans.0.shapes", np.array([[1, 2]])),
    instead("plans.0.shapes", np.zeros((0, 2), dtype=np.int64)),
    instead("plans.0.shapes", np.full((4, 2), 0.5)),
    put("plans.0.shapes", -1),
    put("plans.0.shapes", 1 << 62),
    put("plans.2.values", np.nan),
    put("pending.numbers", 4.0, (0, 0)),  # an arm that was not offered
]


@pytest.mark.parametrize(
    ("name", "change"), [("d_lin_ucb", each) for each in CRAFTED] + [("d_lin_ts", each) for each in PLANNED]
)
def test_numbers_that_are_no_agent_are_refused(name, change, path):
    saved(path, name)
    resealed(path, change)
    refused(path, "(the agent in it cannot be made|it is of a) ")


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("d_lin_ucb", instead("state.0", np.eye(3)), "state.0 must be of shape (1, 3, 3) and type float64"),
        ("d_lin_ucb", instead("samples", [3]), "samples must be of shape () and type int64, got int64 (1,)"),
        ("d_lin_ts", instead("plans.1.shapes", [[3, 1]] * 3), "plans.1 must be of 4 arms, where one is of"),
    ],
)
def test_an_array_of_another_shape_is_told_by_its_name(name, change, sentence, path):
    saved(path, name)
    resealed(path, change)
    refused(path, re.escape(sentence))


EPISODIC: dict[str, Callable[[Any, Any], Any]] = {
    "a number of episodes below 0": described(num_episodes=-1),
    "a number of episodes that is a word": described(num_episodes="many"),
    "a number of episodes near the end of time": described(num_episodes=2**63 - 1),
    "features that are no numbers": lambda _, tensors: tensors.update(features=tensors["features"] > 0),
    "a plan that is missing": described(num_episodes=5, plan_every=2),
    "a long horizon": lambda description, _: description["agent"]["spec"].update(horizon=10**12),
    "a long window": lambda description, _: description["agent"].update(
        forgetting={"type": "SlidingWindow", "length": 10**9, "capacity": 0}
    ),
    "many states": lambda description, _: description["agent"]["spec"].update(num_states=10**12),
    "other states": lambda description, _: description["agent"]["spec"].update(num_states=2),
    "a state that is not finite": put("state.0", np.nan),
    "a gauge of two": instead("gauge", [1.0, 2.0]),
    "no gauge": lambda _, tensors: tensors.pop("gauge"),
    "no state": lambda _, tensors: tensors.pop("state.0"),
}


@pytest.mark.parametrize("how", EPISODIC)
def test_numbers_that_are_no_episodic_agent_are_refused(how, path):
    features = make_environment().features
    agent = EpisodicAgent("opt_wlsvi", features=features, horizon=SPEC.horizon, **PARAMETERS["opt_wlsvi"])
    agent.save(path)
    resealed(path, EPISODIC[how])
    refused(path, "the agent in it cannot be made ")


def with_sizes(config: Any, name: str, size: Any) -> Any:
    """A description in which all that has a name is as large, and lists are as long."""
    if isinstance(config, list):
        return size * config if name == "lists" else config
    if not isinstance(config, dict):
        return config
    return {key: size if key == name else with_sizes(each, name, size) for key, each in config.items()}


SIZES = [
    ("adaptive_lin_ucb", "lists", 1000), ("d_lin_ucb", "dim", 10**6), ("d_lin_ucb", "horizon", 10**9),
    ("sw_lin_ucb", "length", 10**9), ("sw_lin_ucb", "capacity", 10**9), ("master", "num_orders", 10**9),
    ("dynamic_lin_ucb", "capacity", 10**9), ("dynamic_lin_ucb", "longest_window", 10**9),
    ("change_detection", "window", 10**9), ("glb_weight_ucb", "capacity", 10**9),
]  # fmt: skip


@pytest.mark.parametrize(("name", "size", "value"), SIZES)
def test_sizes_beyond_a_file_are_refused_before_they_take_memory(name, size, value, path, monkeypatch):
    saved(path, name, **({"detector": Glr(noise_scale=0.5)} if name == "change_detection" else {}))
    resealed(
        path, lambda description, _: description.update(agent=with_sizes(description["agent"], size, value))
    )
    monkeypatch.setattr(Bandit, "_start", None)  # where memory is taken
    refused(path, r".*sizes must be those of the \d+ numbers in the file")


@pytest.mark.parametrize("name", BANDITS)
def test_sizes_that_are_asked_for_are_not_more_than_there_are(name):
    sizes, bandit = list[int](), make(name)
    map_tree(lambda leaf: sizes.append(np.size(leaf)), bandit.state)
    assert least_numbers(bandit.agent) <= sum(sizes)


NO_SUMS = {
    "a ridge below 0": ("d_lin_ucb", "ridge", -1.0),
    "a ridge below 0 in a block": ("bob", "ridge", -1.0),
    "a weight below 0": ("d_lin_ucb", "weight", -1.0),
    "a gram that is not symmetric": ("d_lin_ucb", "gram", np.triu(np.ones((3, 3)))),
    "a gram below 0": ("d_lin_ucb", "gram", np.diag([1.0, -1.0, 1.0])),
    "a gram of squares below 0": ("d_lin_ucb", "gram_sq", -np.eye(3)),
    "squared errors below 0": ("adaptive_lin_ucb", "total", -1.0),
    "weighted squared errors below 0": ("adaptive_lin_ucb", "noise.moments.cross", -1.0),
    "weights of memories above 1": ("adaptive_lin_ucb", "log_weights", 1000.0),
    "a clock beyond the calendar": ("clock_lin_ucb", "memory", 1e300),
}


def spoilt(state: Any, name: str, value: Any) -> Any:
    """A state whose first field of that name, at any depth, has other numbers."""
    if not hasattr(state, "_fields"):
        return state
    first, _, rest = name.partition(".")
    for field in state._fields:
        old = getattr(state, field)
        if field == first and not rest:
            return state._replace(**{field: np.broadcast_to(value, old.shape).astype(old.dtype)})
        new = spoilt(old, rest if field == first and rest else name, value)
        if new is not old:
            return state._replace(**{field: new})
    return state


@pytest.mark.parametrize("how", NO_SUMS)
def test_sums_that_no_rewards_could_have_made_are_refused(how, path):
    name, field, value = NO_SUMS[how]
    saved(path, name)
    state = spoilt(load(path).state, field, value)
    resealed(path, lambda _, tensors: tensors.update(to_tensors("state", state)))
    refused(path, "the agent in it cannot be made .*state: ")


def test_a_file_of_another_version_says_who_wrote_it_and_what_to_do(path):
    """As files of adaptive bandits from 0.2.0 are, whose origin has another name."""
    saved(path, "adaptive_lin_ucb")
    resealed(path, lambda description, _: description["agent"].update(origin="first"))
    refused(path, rf"driftwise {__version__} wrote it, .*got 'first'\); load it with that version, or ")
