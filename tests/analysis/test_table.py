"""A table and its writers."""

from __future__ import annotations

import csv
import io
import math

import pytest

from driftwise.analysis.page import Article, Code, Definitions, Page, Section, write_html
from driftwise.analysis.statistics.wording import with_half_width
from driftwise.analysis.table import (
    Cell,
    Column,
    Table,
    csv_text,
    latex_text,
    markdown_text,
    numbers,
    terminal_table,
    words,
)
from driftwise.cli.app import plain

TABLE = Table.of(
    "regrets",
    (
        *words("place", "agent"),
        Column("regret", ("mean", "half_width"), "regret, mean ± 95 %"),
        *numbers("share"),
    ),
    [
        ("lock", "A | 50%", Cell.of(with_half_width, 1.23456, 0.1), Cell("–", (math.nan,))),
        ("lock", "<b>", Cell("∞", (math.inf, math.nan)), Cell.of("{:.1f}".format, 0.25, best=True)),
        ("maze", "ε", Cell.of(with_half_width, -2.0, math.nan), Cell.of("{:.1f}".format, 1 / 3)),
    ],
)


def test_csv_has_all_digits_and_nothing_where_a_number_is_not_known() -> None:
    rows = list(csv.reader(io.StringIO(csv_text(TABLE))))
    assert rows == [
        ["place", "agent", "mean", "half_width", "share"],
        ["lock", "A | 50%", "1.23456", "0.1", ""],
        ["lock", "<b>", "inf", "", "0.25"],
        ["maze", "ε", "-2.0", "", str(1 / 3)],
    ]


def test_markdown_escapes_what_would_end_a_cell() -> None:
    lines = markdown_text(TABLE).splitlines()
    assert lines[:3] == [
        "| place | agent | regret | share |",
        "|---|---|---:|---:|",
        r"| `lock` | A \| 50% | 1.23 ± 0.10 | – |",
    ]
    assert len(lines) == 5


def test_latex_groups_rows_by_their_first_word() -> None:
    assert latex_text(TABLE, ["two\nlines"]).splitlines() == [
        "% two lines",
        r"\begin{tabular}{llrr}",
        r"\toprule",
        r"Place & Agent & Regret & Share \\",
        r"\midrule",
        r"lock & A \textbar{} 50\% & $1.23 \pm 0.10$ & -- \\",
        r" & \textless{}b\textgreater{} & $\infty$ & $0.2$ \\",
        r"\midrule",
        r"maze & $\varepsilon$ & $-2$ & $0.3$ \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_a_terminal_says_what_a_number_is_and_has_it_on_the_right() -> None:
    drawn = terminal_table(TABLE)
    assert [str(column.header) for column in drawn.columns] == [
        "place",
        "agent",
        "regret, mean ± 95 %",
        "share",
    ]
    assert [column.justify for column in drawn.columns] == ["left", "left", "right", "right"]
    assert drawn.row_count == 3


def test_columns_can_be_left_out() -> None:
    left = TABLE.without("place", "regret")
    assert [column.heading for column in left.columns] == ["agent", "share"]
    assert [[cell.text for cell in row] for row in left.rows] == [
        ["A | 50%", "–"],
        ["<b>", "0.2"],
        ["ε", "0.3"],
    ]


def test_numbers_are_sorted_by_the_first_and_unknown_ones_come_last() -> None:
    assert [row[3].key for row in TABLE.rows] == ["Infinity", "0.25", "0.3333333333"]
    assert Cell("−∞", (-math.inf,)).key == "-Infinity"


def test_a_page_escapes_all_text() -> None:
    nasty = "</script><img src=x onerror=alert(1)> & \"'"
    section = Section(
        nasty, [nasty, TABLE, Definitions({nasty: nasty}), Code(nasty), Code(nasty, summary=nasty)]
    )
    page = write_html(
        Page(nasty, nasty, nasty, nasty, [Article(nasty, [section], nasty, nasty, nasty)], nasty)
    )
    assert "<img" not in page.split("<body>")[1].split("<script>")[0]
    assert page.count("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt; &amp; &#34;&#39;") == 18
    assert '<td class="number best" data-key="0.25">0.2</td>' in page


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1.0, math.inf, math.nan), [1.0, None, None]),
        ({"a": Cell("x", (1,))}, {"a": {"text": "x", "numbers": [1], "best": False}}),
        ("abc", "abc"),
    ],
)
def test_json_has_names_and_finite_numbers(value: object, expected: object) -> None:
    assert plain(value) == expected
