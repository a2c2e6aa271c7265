"""An encoder's features are those of scikit-learn's transformers, in the unit ball, whatever the rows are."""

import datetime
import json
import math
import tomllib
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftwise.base import ArgumentError, from_config, to_config
from driftwise.online import Encoder, EpisodicAgent, load
from driftwise.online.encoding import Category, Cycle, Hashed, Number
from driftwise.online.features import PerAction

TOML = """
interactions = [["age", "country"]]

[columns]
hour = { type = "Cycle", period = 24 }
age = { type = "Number", low = 0, high = 100, missing = "own" }
country = { type = "Category", values = ["DE", "FR"], unknown = "own", missing = "zero" }
city = { type = "Hashed", buckets = 4 }
"""
TABLE = tomllib.loads(TOML)
ROW = {"hour": 6, "age": 75, "country": "FR", "city": "Ulm"}


def frame_of(rng: np.random.Generator, num: int, words: str) -> Any:
    return pytest.importorskip("pandas").DataFrame(
        {
            "age": rng.normal(40, 15, size=num),
            "word": rng.choice([*words], size=num),
            "count": rng.integers(0, 9, size=num),
            "loyal": rng.uniform(size=num) < 0.5,
        }
    )


@pytest.mark.parametrize("deviations", [None, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_an_encoder_that_is_learnt_equals_the_transformers_of_scikit_learn(seed, deviations):
    compose = pytest.importorskip("sklearn.compose")
    from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

    rng = np.random.default_rng(seed)
    pilot, later = frame_of(rng, 50, "abc"), frame_of(rng, 30, "abcd")  # with a word that is not known
    later["age"] *= 2  # beyond what the pilot has
    scaler = MinMaxScaler((-1, 1), clip=True) if deviations is None else StandardScaler()
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    transformers = [("numbers", scaler, ["age", "count"]), ("words", words, ["word"])]
    transformer = compose.ColumnTransformer(transformers)
    made = transformer.fit(pilot).transform(later)
    numbers = made[:, :2] if deviations is None else np.clip(made[:, :2] / deviations, -1, 1)
    crossed = np.einsum("ni,nj->nij", numbers[:, :1], made[:, 2:]).reshape(len(later), -1)
    loyal = 2.0 * later["loyal"].to_numpy()[:, None] - 1
    expected = np.hstack([np.ones((30, 1)), numbers, made[:, 2:], loyal, crossed]) / math.sqrt(6)

    names = ["age", "count", "word", "loyal"]
    encoder = Encoder.from_frame(pilot, names, interactions=[["age", "word"]], deviations=deviations)
    np.testing.assert_allclose(encoder.rows(later), expected, rtol=0, atol=1e-12)
    assert encoder.names[:4] == ["1", "age", "count", "word=a"]
    assert encoder.names[-1] == "age × word=c"
    assert len(encoder.names) == encoder.dim


def test_a_file_a_table_a_pilot_and_parts_make_the_same_encoder(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(TOML, encoding="utf-8")
    encoder = Encoder.from_toml(path)
    country = Category("country", ("DE", "FR"), "own", "zero")
    parts = Cycle("hour", 24), Number("age", 0, 100, "own"), country, Hashed("city", 4)
    assert encoder == Encoder(parts, (("age", "country"),))
    assert encoder == Encoder.from_table(TABLE)
    assert encoder == Encoder.from_table(json.loads(json.dumps(encoder.to_table())))
    assert encoder == from_config(json.loads(json.dumps(to_config(encoder))))
    pilot = {"hour": [1, 2], "age": [0, 100], "country": ["FR", "DE"], "city": ["Ulm", "Bern"]}
    told = {
        "hour": {"type": "Cycle", "period": 24},
        "age": {"missing": "own"},
        "country": {"unknown": "own", "missing": "zero"},
        "city": {"type": "Hashed", "buckets": 4},
    }
    made = Encoder.from_frame(pilot, told, interactions=[["age", "country"]], deviations=None)
    assert made == encoder
    assert hash(made) == hash(encoder)


def test_rows_are_the_same_from_a_list_from_columns_and_from_a_data_frame():
    pandas = pytest.importorskip("pandas")
    encoder, rows = Encoder.from_table(TABLE), [ROW, {**ROW, "age": None, "country": None, "extra": "x"}]
    columns = {name: [row[name] for row in rows] for name in ROW}
    expected = np.array([encoder(row) for row in rows])
    for table in (rows, tuple(rows), columns, pandas.DataFrame(columns)):
        np.testing.assert_array_equal(encoder.rows(table), expected)
    assert encoder.rows([]).shape == (0, encoder.dim)


def test_features_are_what_the_columns_say():
    found = dict(zip(Encoder.from_table(TABLE).names, Encoder.from_table(TABLE)(ROW).tolist(), strict=True))
    root = math.sqrt(6)
    nonzero = {name: round(value * root, 12) for name, value in found.items() if abs(value) > 1e-15}
    (bucket,) = (name for name in nonzero if name.startswith("city"))
    assert abs(nonzero.pop(bucket)) == 1
    assert nonzero == {"1": 1, "sin hour": 1, "age": 0.5, "country=FR": 1, "age × country=FR": 0.5}


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        (Number("x", 0, 2, "zero"), None, [0]),
        (Number("x", 0, 2, "own"), float("nan"), [0, 1]),
        (Number("x", 0, 2), 1e300, [1]),
        (Number("x", -1e100, 1e100), -1.7e308, [-1]),
        (Number("x", 0, 2), True, [0]),
        (Number("x", 0, 2), np.bool_(False), [-1]),
        (Number("x", 0, 2), np.float32(0.5), [-0.5]),
        (Number("x", 0, 2), Decimal("0.5"), [-0.5]),
        (Category("x", ("1", "True")), 1, [1, 0]),
        (Category("x", ("1", "True")), 1.0, [1, 0]),
        (Category("x", ("1", "True")), True, [0, 1]),
        (Category("x", (1, True)), "True", [0, 1]),  # pyright: ignore[reportArgumentType]
        (Category("x", ("1",)), "2", [0]),
        (Category("x", ("1",), "own", "own"), "2", [0, 1, 0]),
        (Category("x", ("1",), "own", "own"), None, [0, 0, 1]),
        (Hashed("x", 2, "own"), None, [0, 0, 1]),
    ],
)
def test_missing_unknown_and_odd_values_have_their_places(column, value, expected):
    np.testing.assert_allclose(Encoder((column,), constant=False)({"x": value}), expected)


def test_the_missing_values_of_pandas_are_missing():
    pandas = pytest.importorskip("pandas")
    encoder = Encoder((Number("x", 0, 2, "own"), Category("w", ("a",), missing="own")), constant=False)
    frame = pandas.DataFrame({"x": pandas.array([1, None], dtype="Int64"), "w": ["a", None]})
    np.testing.assert_array_equal(encoder.rows(frame) * math.sqrt(2), [[0, 0, 1, 0], [0, 1, 0, 1]])
    assert encoder({"x": pandas.NaT, "w": pandas.NA}) @ [0, 1, 0, 1] == pytest.approx(math.sqrt(2))


def test_hashes_are_the_same_in_every_process_and_deal_words_and_signs_out_evenly():
    found = [Hashed("city", 64).entries(word) for word in ("Ulm", "Bern", 7, "7")]
    assert found == [((10, 1.0),), ((35, 1.0),), ((49, -1.0),), ((49, -1.0),)]
    made = Encoder((Hashed("x", 16),), constant=False).rows({"x": [f"word {i}" for i in range(4000)]})
    num, balance = np.abs(made).sum(axis=0), made.sum(axis=0)
    assert np.abs(num - 250).max() < 5 * math.sqrt(250)  # of a binomial, with room for 16 of them
    assert np.abs(balance).max() < 5 * math.sqrt(250)


NUMBERS = st.booleans() | st.integers() | st.floats() | st.decimals()
VALUES = NUMBERS | st.none() | st.text(max_size=5) | st.binary(max_size=3) | st.dates() | st.lists(NUMBERS)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from([*ROW, "x"]), VALUES), st.booleans())
def test_whatever_a_row_holds_it_is_in_the_unit_ball_or_refused_in_one_sentence(row, whole):
    encoder, refused = Encoder.from_table(TABLE), ""
    try:
        features = encoder({**ROW, **row} if whole else row)
    except ArgumentError as error:
        refused, features = str(error), np.zeros(encoder.dim)
    assert not refused or (" must " in refused and "\n" not in refused and len(refused) < 1000)
    assert features.shape == (encoder.dim,)
    assert np.linalg.norm(features) <= 1 + 1e-12


@pytest.mark.parametrize(
    "value", [Decimal("sNaN"), 10**5000, -(10**5000), "\ud800"], ids=["nan", "large", "small", "half"]
)
@pytest.mark.parametrize("column", [Number("x", 0, 1), Category("x", ("a",)), Hashed("x", 4)])
def test_values_that_break_other_programs_are_words_or_refused(column, value):
    try:
        assert np.isfinite(Encoder((column,))({"x": value})).all()
    except ArgumentError as error:
        refused = str(error)
        assert refused.startswith("column 'x' must be")


REFUSED = {
    "a column that is missing": ({"age": 3}, "columns must have 'hour' among them, got 'age'"),
    "no row": ([1.0], r"row must map columns to values, got \[1.0\]"),
    "a word for a number": ({**ROW, "age": "old"}, "column 'age' must be a number, got 'old'"),
    "a date": ({**ROW, "age": datetime.date(2020, 1, 2)}, "column 'age' must be a number, got datetime.date"),
    "an infinity": ({**ROW, "hour": math.inf}, "column 'hour' must be a finite number, got inf"),
    "a missing value": ({**ROW, "hour": None}, "column 'hour' must be there, got None"),
    "half a word": ({**ROW, "city": 2.5}, "column 'city' must be a word, an integer or a boolean, got 2.5"),
}


@pytest.mark.parametrize(("row", "message"), REFUSED.values(), ids=REFUSED)
def test_rows_that_cannot_be_encoded_are_refused_in_one_sentence(row, message):
    encoder = Encoder.from_table(TABLE)
    with pytest.raises(ValueError, match=message):
        encoder(row)
    with pytest.raises(ValueError, match=f"^row 1: {message}"):
        encoder.rows([ROW, row])


def columns(**table: Any) -> dict[str, Any]:
    return {"columns": {"x": table}}


WRONG = {
    "an unknown type": (columns(type="Nummer"), r"columns\.x\.type must name a part, got 'Nummer' \(did you"),
    "a part that is no column": (columns(type="NoForgetting"), r"columns\.x: name is no key of NoForgetting"),
    "a setting that is missing": (columns(type="Number", low=0), r"columns\.x: high is missing: Number"),
    "a range that is none": (columns(type="Number", low=1, high=1), "high must be above low"),
    "an endless range": (columns(type="Number", low=-1e308, high=1e308), r"columns\.x: low must be a num"),
    "an unknown setting": (columns(type="Cycle", period=7, width=1), r"columns\.x: width is no key of Cycle"),
    "words that repeat": (columns(type="Category", values=["1", 1]), "values must be different words"),
    "no words": (columns(type="Category", values=[]), "values must list at least one word"),
    "too many features": (columns(type="Hashed", buckets=16_000), "at most 10,000, got 16,001 of them"),
    "endless buckets": (columns(type="Hashed", buckets=10**12), r"columns\.x: buckets must be an integer"),
    "no feature": ({"constant": False}, "columns must make at least one feature"),
    "no table": ({"columns": {"x": 3}}, r"columns\.x must be a table, got 3"),
    "an unknown key": ({"column": {}}, "column is no key of Encoder"),
    "a column that is not there": (
        {**TABLE, "interactions": [["age", "cuntry"]]},
        r"interactions must name columns, of .*, got 'cuntry' \(did you mean 'country'\?\)",
    ),
    "an interaction of one": ({**TABLE, "interactions": [["age"]]}, "interactions must list the names of"),
    "an interaction of letters": ({**TABLE, "interactions": ["age"]}, "interactions must list the names of"),
}


PILOTS = {
    "values that are missing": ({"x": [1, None]}, None, r"columns\.x\.missing must .*, where 1 of 2"),
    "no value": ({"x": [None]}, None, "frame must have values in its column 'x', got none"),
    "dates": ({"x": [datetime.date(2020, 1, 2)]}, None, "column 'x' must be of numbers, booleans or words"),
    "a word and a number": ({"x": [1, "a"]}, None, "column 'x' must be of numbers, .*, got 'a'"),
    "no such column": ({"x": [1]}, ["y"], "columns must have 'y' among them, got dict without it"),
    "many words": ({"x": [*map(str, range(1001))]}, None, r"columns\.x\.type must be 'Hashed' beyond 1,000"),
    "no settings": ({"x": [1]}, {"x": 3}, "must be a Mapping, got 3"),
    "no row": ([{"x": 1}, 3], None, "row must be a Mapping, got 3"),
}


@pytest.mark.parametrize("how", [*WRONG, *PILOTS])
def test_what_makes_no_encoder_is_refused_in_one_sentence(how):
    *given, message = (WRONG | PILOTS)[how]
    with pytest.raises(ValueError, match=message):
        (Encoder.from_table if how in WRONG else Encoder.from_frame)(*given)


def test_a_file_that_makes_no_encoder_is_refused_by_its_name(tmp_path):
    path = tmp_path / "schema.toml"
    for text, message in (
        ("[columns]\nx = 3 4", ".*line 2"),
        ("[columns.x]\ntype = 'Number'", r"columns\.x: low is missing: Number needs it"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=rf"schema\.toml: {message}"):
            Encoder.from_toml(path)


def test_a_pilot_may_be_rows_and_a_number_that_never_varies_is_nothing():
    encoder = Encoder.from_frame([{"x": 3.0, "w": "b"}, {"x": 3.0, "w": "a"}])
    assert encoder == Encoder((Number("x", 0, 6), Category("w", ("a", "b"))))
    assert encoder({"x": 3.0, "w": "a"})[1] == 0
    assert Encoder.from_frame({"x": [1e20, 1e20]})({"x": 1e20})[1] == 0


def test_an_encoder_is_a_basis_that_an_episodic_agent_saves(tmp_path):
    features = PerAction(Encoder.from_table(TABLE), 2)
    agent = EpisodicAgent("opt_wlsvi", features=features, horizon=1, rate=0.9, radius=1.0)
    agent.begin(ROW)
    agent.act()
    agent.observe(1.0, ROW)
    agent.save(tmp_path / "agent.safetensors")
    restored = load(tmp_path / "agent.safetensors")
    for each in (agent, restored):
        each.begin({**ROW, "city": "Bern"})
    assert restored.act() == agent.act()
