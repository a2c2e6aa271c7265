"""What docs/named-arms.md says is so."""

from __future__ import annotations

import re
import tomllib

import numpy as np
import pytest

from driftwise.online import Encoder
from driftwise.online.encoding.pilots import MOST_WORDS
from tests.test_production_docs import DOCS, names_of

PAGE = (DOCS / "named-arms.md").read_text(encoding="utf-8")


def test_its_examples_run_and_give_what_they_say():
    names = names_of(PAGE)
    assert names["decision"].arm in ("red", "blue")
    assert names["best"] == ["red"]
    assert names["found"].rows == 20
    np.testing.assert_allclose(names["features"][0, 1:3], [0, 0.5])  # four terms
    assert np.linalg.norm(names["features"], axis=1).max() <= 1
    assert names["hybrid"].arms == ["red", "blue"]


def test_its_schema_is_read_as_a_file(tmp_path):
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "schema.toml"
    path.write_text(block, encoding="utf-8")
    encoder = Encoder.from_toml(path)
    assert encoder == Encoder.from_table(tomllib.loads(block))
    row = {"age": 90, "hour": 23, "country": "ES", "city": None}
    assert dict(zip(encoder.names, encoder(row), strict=True))["country is unknown"] == pytest.approx(6**-0.5)


def test_its_numbers_and_links_are_right():
    assert f"at most {MOST_WORDS:,} of them" in PAGE
    for link in re.findall(r"\]\(([^)#]+)", PAGE):
        assert (DOCS / link).exists(), link
