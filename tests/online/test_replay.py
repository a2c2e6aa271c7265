"""Off-policy replay: estimates against closed forms, blocks of any size, and logs that cannot be read."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from driftwise.analysis.replay_report import replay_lead
from driftwise.online.deciders import RoundDraws
from driftwise.online.encoding import Encoder, Hashed
from driftwise.online.replay import Estimates, Options, PolicyEvaluation, Replay, TableLog, read_samples
from driftwise.online.replay import replay as replay_policies
from driftwise.online.replay.evaluations import Event, Tally
from driftwise.online.replay.logged_rows import ActionEncoding, read_rows
from tests.reference.replay import replayed

CHANCES = np.array([0.5, 0.3, 0.2])  # of the logging policy
COLUMNS: dict[str, Any] = dict(action="arm", reward="gain", features=("x",), propensity="chance")


def drawn(rows: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    x, arms = rng.uniform(-1, 1, rows), rng.choice(3, rows, p=CHANCES)
    means = np.stack([0.5 + 0.4 * x, 0.5 - 0.4 * x, np.full(rows, 0.6)], axis=1)[np.arange(rows), arms]
    gain = (rng.random(rows) < means).astype(float)
    return {"x": x, "arm": np.array(["a", "b", "c"])[arms], "gain": gain, "chance": CHANCES[arms]}


def write_csv(path: Path, columns: dict[str, Any]) -> Path:
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


class Found(NamedTuple):
    whole: Replay
    own: PolicyEvaluation

    @property
    def final(self) -> Estimates:
        return self.own.final


def replay(log: Any, algorithm: str, parameters: dict[str, Any] | None = None, **options: Any) -> Found:
    """The replay of one policy."""
    found = replay_policies(log, {algorithm: parameters or {}}, Options(**options))
    return Found(found, found.policies[algorithm])


def tallied(rows: Iterable[Sequence[float]]) -> Estimates:
    """Return the estimates of events with rewards, weights, and perhaps expected, predicted, accepted."""
    tally = Tally()
    for reward, weight, *others in rows:
        expected, predicted, accepted = others or (0.0, 0.0, False)
        robust = expected + weight * (reward - predicted)
        tally.add(Event(reward, weight, 0.0, robust, bool(accepted), np.ones(1), gains=None, outcomes=None))
    return tally.estimates


def written(path: Path, text: str, **changed: Any) -> TableLog:
    """Return the log of a table that is written first."""
    path.write_text(text, encoding="utf-8")
    return TableLog(path, **COLUMNS, **changed)


@pytest.mark.parametrize(
    ("frozen_after", "known"), [(None, True), (None, False), *((row, True) for row in (1, *range(36, 44)))]
)
def test_a_replay_is_the_plain_loop_over_the_log(tmp_path, frozen_after, known):
    """The reward model predicts before it learns; freezing is exact to the row; shares are propensities."""
    columns = drawn(80, seed=4)
    names: dict[str, Any] = COLUMNS if known else COLUMNS | {"propensity": None}
    log = TableLog(write_csv(tmp_path / "log.csv", columns), **names)
    chances = {arm: np.mean(columns["arm"] == arm) for arm in "abc"}  # shares of the log
    propensities = columns["chance"] if known else [chances[arm] for arm in columns["arm"]]
    actions, uniforms = map("abc".index, columns["arm"]), RoundDraws(7).uniform(np.arange(80))
    rows = zip(actions, columns["gain"], propensities, uniforms, strict=True)
    given: Any = dict(radius=0.3, frozen_after=frozen_after)
    terms, learnt = replayed(columns["x"][:, None], rows, num_actions=3, **given)
    found = replay(log, "lin_ucb", {"radius": 0.3}, frozen_after=frozen_after, seed=7)
    for name, each in terms.items():
        expected = np.mean(each), np.std(each, ddof=1) / np.sqrt(len(each))
        of = (found.whole.logged.final, "IPS") if name == "logged" else (found.final, name)
        assert of[0].values[of[1]] == pytest.approx(expected, rel=1e-9), name
    assert (found.final.accepted, found.own.learnt) == (len(terms["replay"]), learnt)
    assert found.final.events == len(terms["logged"]) == 80 - (frozen_after or 0)


EQUAL = {f"{num} of {weight}": np.full(num, weight) for num in (2, 3, 5) for weight in (0.1, 0.3, 7.0)}
WEIGHTS = EQUAL | {"drawn": np.random.default_rng(0).exponential(1, 40)}


@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
def test_sums_are_the_textbook_formulas(weight: np.ndarray) -> None:
    rng, num = np.random.default_rng(1), len(weight)
    reward, expected, predicted = rng.normal(5, 1, num), rng.normal(size=num), rng.normal(size=num)
    accepted = np.arange(num) % 5 < 2
    found = tallied(np.stack([reward, weight, expected, predicted, accepted], axis=1).tolist())
    robust = expected + weight * (reward - predicted)
    terms = {"replay": reward[accepted], "IPS": weight * reward, "DR": robust}
    for name, each in terms.items():
        assert found.values[name] == pytest.approx((each.mean(), each.std(ddof=1) / np.sqrt(len(each))))
    value, effective = (weight * reward).sum() / weight.sum(), weight.sum() ** 2 / (weight**2).sum()
    correction = effective / (effective - 1)  # with equal weights the error is that of a mean
    error = np.sqrt(correction * (weight**2 * (reward - value) ** 2).sum()) / weight.sum()
    assert found.values["SNIPS"] == pytest.approx((value, error))
    assert found.effective == pytest.approx(effective)
    assert found.mean_weight == pytest.approx(weight.mean())
    assert (found.events, found.accepted) == (num, accepted.sum())


@pytest.mark.parametrize("weights", [[0.3], [0.1, 0.0], [1e-9, 7.0, 1e-9, 1e-9], [0.1, 1.0, 0.1]])
def test_an_event_that_decides_alone_has_no_error(weights: list[float]) -> None:
    found = tallied(zip((0.1, 0.7, 0.2, 0.9), weights, strict=False)).values["SNIPS"]
    assert np.isfinite(found.value)
    assert np.isnan(found.error)


def test_rewards_that_are_all_alike_have_exactly_their_value_and_no_error() -> None:
    rows = [(0.1, weight, 0.0, 0.0, True) for weight in (0.3, 7.0, 0.0, 1e-3, 2.0, *[2.0] * 5)]
    found = tallied(rows[:5]).values
    assert found["replay"] == (0.1, 0.0)
    assert found["SNIPS"].value == 0.1
    assert tallied(rows).values["SNIPS"] == (0.1, 0.0)


def test_a_tiny_propensity_is_events_it_stops_learning(tmp_path: Path) -> None:
    columns = {name: list(values) for name, values in drawn(300).items()}
    usual = replay(TableLog(write_csv(tmp_path / "log.csv", columns), **COLUMNS), "lin_ucb", {"radius": 0.3})
    assert not usual.whole.warnings
    assert usual.own.learnt == usual.final.accepted > usual.whole.dim == 6
    assert usual.final.mean_weight == pytest.approx(1, abs=0.2)
    columns["chance"][7] = 1e-9
    log = TableLog(write_csv(tmp_path / "log.csv", columns), **COLUMNS)
    found = replay(log, "lin_ucb", {"radius": 0.3})
    assert found.own.learnt == found.final.accepted <= 1
    assert replay(log, "uniform", clip=5.0).final.accepted == pytest.approx(300 / 5, rel=0.3)
    (warning,) = found.whole.warnings
    assert warning.endswith("fewer than its 6 features: where weights may be 1e+09, few are accepted")
    assert warning in replay_lead(found.whole)


def test_a_log_that_changes_while_it_is_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {name: list(values) for name, values in drawn(60).items()}
    log = TableLog(write_csv(tmp_path / "log.csv", columns), **COLUMNS)
    new_action = columns | {"arm": ["d", *columns["arm"][1:]]}
    for other in (new_action, {name: values[:50] for name, values in columns.items()}):
        rows = read_rows(TableLog(write_csv(tmp_path / "log.csv", columns), **COLUMNS))
        write_csv(tmp_path / "log.csv", other)
        monkeypatch.setattr("driftwise.online.replay.replaying.read_rows", lambda *_, rows=rows, **__: rows)
        with pytest.raises(ValueError, match=r"log.csv must stay as it is while it is read, but it"):
            replay(log, "uniform")


def test_more_weights_than_can_be_learnt_are_refused_with_a_way_out(tmp_path: Path) -> None:
    rows = [f"{i / 400},{i % 300},1,0.5" for i in range(400)]
    with pytest.raises(ValueError, match=r"300 actions and 2 features .* at most 500 .* got 600: take sha"):
        replay(written(tmp_path / "log.csv", "\n".join(["x,arm,gain,chance", *rows])), "uniform")


def test_blocks_of_any_size_and_both_formats_give_the_same_numbers(tmp_path: Path) -> None:
    columns = drawn(400) | {"land": np.array(["de", "fr", "it"])[np.arange(400) % 3]}
    columns["gain"] = columns["gain"] > 0  # as `True` in text
    parquet.write_table(pa.table(columns), tmp_path / "log.parquet")
    given: dict[str, Any] = COLUMNS | {"features": ("x", "land")}
    logs = [
        TableLog(path, **given, bytes_at_once=size)
        for path in (write_csv(tmp_path / "log.csv", columns), tmp_path / "log.parquet")
        for size in (600, 1 << 20)
    ]
    lengths = [max(len(block.rewards) for block in log.blocks()) for log in logs]
    assert [length < 30 for length in lengths] == [True, False, True, False]  # what is held at a time
    samples, *others = map(read_samples, logs)
    for other in others:
        np.testing.assert_array_equal(other.features, samples.features)
        np.testing.assert_array_equal(other.rewards, columns["gain"])
    assert samples.encoding is not None
    assert samples.encoding.encoder.names == ["1", "x", "land=de", "land=fr", "land=it"]
    blocks = samples.features.reshape(400, 3, 5)[np.arange(400), ["abc".index(arm) for arm in columns["arm"]]]
    np.testing.assert_allclose(blocks[:, 2:], np.eye(3)[np.arange(400) % 3] / np.sqrt(3))
    first, *others = (replay(log, "d_lin_ucb", {"rate": 0.99, "radius": 0.3}, every=150).own for log in logs)
    assert [window.row for window in first.windows] == [150, 300, 400]
    assert all(other.windows == first.windows for other in others)
    assert (first.windows[-1].window.events, first.windows[-1].so_far.events) == (100, 400)


def test_rows_that_lack_a_value_are_counted_and_left_out(tmp_path: Path) -> None:
    columns = {name: list(values) for name, values in drawn(60).items()}
    clean = replay(TableLog(write_csv(tmp_path / "clean.csv", columns), **COLUMNS), "uniform")
    for name, value in (("x", ""), ("gain", "nan"), ("arm", ""), ("chance", "NA"), ("x", "-inf")):
        for other, row in (("x", "0.1"), ("gain", "1"), ("arm", "a"), ("chance", "0.5")):
            columns[other].insert(7, value if other == name else row)
    file = write_csv(tmp_path / "holey.csv", columns)
    holey = replay(TableLog(file, **COLUMNS, bytes_at_once=64), "uniform")  # some blocks have nothing else
    assert (clean.whole.skipped, holey.whole.skipped) == (0, 5)
    assert str(holey.own.windows) == str(clean.own.windows)  # NaN is not equal to itself


def test_numbers_that_look_whole_at_first_are_read_to_the_end(tmp_path: Path) -> None:
    lines = ["x,arm,gain,chance"] + ["1,2,0,0.5", "0, 1,1,0.5"] * 50 + ["0.25,1.5 ,0.5,0.5"]
    found = replay(written(tmp_path / "log.csv", "\n".join(lines), bytes_at_once=64), "uniform")
    # spaces around actions do not count
    assert (found.whole.rows, [*found.own.actions]) == (101, ["1", "1.5", "2"])


def test_times_are_read_as_seconds_timestamps_and_text(tmp_path: Path) -> None:
    columns, seconds = drawn(20), 1.7e9 + 0.5 * np.arange(20)
    moments = (1e6 * seconds).astype("datetime64[us]")
    zoned = np.array([f"{moment}+00:00" for moment in moments])
    written = {"seconds": seconds, "plain": moments.astype(str), "zoned": zoned}
    logs = [write_csv(tmp_path / f"{name}.csv", columns | {"at": each}) for name, each in written.items()]
    parquet.write_table(pa.table(columns | {"at": moments}), tmp_path / "log.parquet")
    for path in (*logs, tmp_path / "log.parquet"):
        (block,) = TableLog(path, **COLUMNS, time="at").blocks()
        assert block.times == pytest.approx(seconds, abs=1e-5)
    bad = write_csv(tmp_path / "bad.csv", columns | {"at": np.array(["noon"] * 20)})
    with pytest.raises(ValueError, match=r"row 1: at must be times .*, got 'noon'"):
        replay(TableLog(bad, **COLUMNS, time="at"), "uniform")
    late = write_csv(tmp_path / "late.csv", columns | {"at": 1000 * seconds})
    with pytest.raises(ValueError, match=r"row 1: at must be seconds since 1970, within ±1e\+11, got 1.7e"):
        replay(TableLog(late, **COLUMNS, time="at"), "uniform")


def test_an_encoder_says_what_becomes_of_columns_and_of_missing_values(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {name: list(values) for name, values in drawn(40).items()}
    columns["code"] = [1, 2] * 20
    columns["x"][3] = ""
    x = {"type": "Number", "low": -1, "high": 1, "missing": "own"}
    encoder = Encoder.from_table({"columns": {"x": x, "code": {"type": "Category", "values": ["1", "2"]}}})
    given: dict[str, Any] = COLUMNS | {"features": (), "encoder": encoder}
    log = TableLog(write_csv(tmp_path / "log.csv", columns), **given)
    samples = read_samples(log)
    assert (samples.skipped, len(samples.rewards), samples.encoding) == (0, 40, ActionEncoding(encoder, 3))
    assert log.describe()["encoder"] == encoder.to_table()
    with pytest.raises(ValueError, match="features must be the columns of the encoder, or left out"):
        TableLog(log.path, **{**given, "features": ("x",)})


def test_a_feature_of_too_many_words_is_refused_unless_an_encoder_hashes_them(tmp_path: Path) -> None:
    rows = [f"w{i},{'ab'[i % 2]},1,0.5" for i in range(1100)]
    text = "\n".join(["x,arm,gain,chance", *rows])
    with pytest.raises(ValueError, match=r"x must have at most 1,000 different words, got more: take an enc"):
        replay(written(tmp_path / "log.csv", text), "uniform")
    hashed = written(tmp_path / "log.csv", text, encoder=Encoder((Hashed("x", 2),)))
    assert len(read_samples(hashed).rewards) == 1100


BAD = {
    "no such file": (None, {}, r"log.csv cannot be read: No such file or directory"),
    "empty": ("", {}, r"log.csv cannot be read: Empty CSV file"),
    "no rows": ("x,arm,gain,chance\n", {}, r"must have at least one row to learn from, but it has none"),
    "all missing": ("x,arm,gain,chance\n,a,1,1\n", {}, r"at least one row to .*, but all 1 lack a value"),
    "one action": ("x,arm,gain,chance\n1,a,1,1\n", {}, r"arm must have at least two different values"),
    "ragged": ("x,arm,gain,chance\n1,a,1,1\n1,a\n", {}, r"cannot be read: CSV parse error: .*Expected 4"),
    "column": ("x,arm,gain\n1,a,1\n", {}, r"has no column 'chance'; its columns are 'x', 'arm', 'gain'"),
    "doubled": ("x,x,arm,gain,chance\n1,1,a,1,1\n", {}, r"has more than one column 'x'"),
    "word": ("x,arm,gain,chance\n1,a,1,1\none,b,1,1\n", {}, r"row 2: x must be a number, got 'one'"),
    "chance 0": ("x,arm,gain,chance\n1,a,1,0\n", {}, r"row 1: chance must be a prob.* in \(0, 1\], got 0"),
    "chance 2": ("x,arm,gain,chance\n1,a,1,1\n1,b,1,2\n", {}, r"row 2: chance must be .* got 2"),
    "huge": ("x,arm,gain,chance\n1,a,1e200,1\n", {}, r"row 1: gain must lie between ±1e\+100, got 1e\+200"),
    "leak": ("", {"features": ("x", "gain")}, r"must be different columns, got 'gain' twice"),
    "semicolons": ("x;arm;gain;chance\n1;a;1;1\n", {}, r"has no column 'arm'.*separated by commas"),
    "no features": ("", {"features": ()}, r"features must name at least one column, got none"),
    "ending": ("", {"path": "a.txt"}, r"ending of the log's name must be one of .csv, .parquet, got '.txt'"),
}


@pytest.mark.parametrize(("text", "changed", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_replayed_is_one_sentence(text, changed, message, tmp_path):
    path = tmp_path / "log.csv"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as raised:
        replay(TableLog(**{"path": path, **COLUMNS, **changed}), "uniform")
    assert "\n" not in str(raised.value)
