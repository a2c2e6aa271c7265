"""A table and its writers."""

import csv
import io
import json
import math
from html.parser import HTMLParser

import numpy as np
import pytest

from driftwise.analysis.figures import Axis, Figure, mean_curve
from driftwise.analysis.formatting import format_half_width
from driftwise.analysis.page import Article, Code, Page, Section, write_html
from driftwise.analysis.report.latex import latex_text
from driftwise.analysis.table import Cell, Table, TableColumn, csv_text, markdown_text, numbers, words
from driftwise.cli.output import to_plain

TABLE = Table.of(
    "regrets",
    (
        *words("place", "agent"),
        TableColumn("regret", ("mean", "half_width"), "regret, mean ± 95 %"),
        *numbers("share"),
    ),
    [
        ("lock", "A | 50%", Cell.of(format_half_width, 1.23456, 0.1), Cell("–", (math.nan,))),
        ("lock", "<b>", Cell("∞", (math.inf, math.nan)), Cell.of("{:.1f}".format, 0.25, best=True)),
        ("maze", "ε", Cell.of(format_half_width, -2.0, math.nan), Cell.of("{:.1f}".format, 1 / 3)),
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
        r"lock & A $|$ 50\% & $1.23 \pm 0.10$ & -- \\",
        r" & $<$b$>$ & $\infty$ & $\mathbf{0.2}$ \\",
        r"\midrule",
        r"maze & $\varepsilon$ & $-2$ & $0.3$ \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_columns_can_be_left_out() -> None:
    left = TABLE.without("place", "regret")
    assert [column.heading for column in left.columns] == ["agent", "share"]
    texts = [[cell.text for cell in row] for row in left.rows]
    assert texts == [["A | 50%", "–"], ["<b>", "0.2"], ["ε", "0.3"]]


def test_numbers_are_sorted_by_the_first_and_unknown_ones_come_last() -> None:
    assert [row[3].key for row in TABLE.rows] == ["Infinity", "0.25", "0.3333333333"]
    assert Cell("−∞", (-math.inf,)).key == "-Infinity"


def read(page: str) -> tuple[list[str], list[str]]:
    """Tags of a page, and all texts and values of attributes, as a browser reads them."""
    tags: list[str] = []
    texts: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append(tag)
            texts.extend(value for _, value in attrs if value is not None)

        def handle_data(self, data: str) -> None:
            texts.append(data)

    reader = Reader()
    reader.feed(page.partition("<script>")[0])  # what follows are the page's own scripts
    reader.close()
    return tags, texts


def page_with(text: str) -> str:
    """A page with the text wherever there can be one."""
    columns, cells = (TableColumn(text), TableColumn(text, (text,))), (Cell(text), Cell(text, (1.0,)))
    axes = Axis(text), Axis(text)
    figure = Figure(text, [mean_curve(text, 0, np.ones(2))], *axes, text, caption=text, x=np.ones(2))
    texts = [text, {text: text}, Code(text), Code(text, summary=text), [text]]
    section = Section(text, [*texts, Table(text, columns, (cells,)), figure, (figure, figure)])
    parts = [Article(text, [section], text, text, text), section]
    return write_html(Page(text, text, text, text, parts, {text: 0, f"faint {text}": None}, text))


def test_a_page_shows_all_text_as_it_is_given() -> None:
    nasty = "</script></td><img src=x onerror=alert(1)> & \"'"
    (tags, texts), (same_tags, plain_texts) = read(page_with(nasty)), read(page_with("plain"))
    assert tags == same_tags
    for found, expected in zip(texts, plain_texts, strict=True):
        if expected.startswith("{"):  # a figure, in JSON
            figure = json.loads(found)
            assert figure["x_axis"]["label"] == figure["curves"][0]["agent"] == nasty
        else:
            assert found == expected.replace("plain", nasty)
    assert sum(nasty in found for found in texts) > 40


def test_the_best_number_of_a_table_is_marked_and_can_be_sorted_by() -> None:
    page = write_html(Page("t", "k", "h", "l", [Section("s", [TABLE])]))
    assert '<td class="number best" data-key="0.25">0.2</td>' in page


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1.0, math.inf, math.nan), [1.0, None, None]),
        ({"a": Cell("x", (1,))}, {"a": {"text": "x", "numbers": [1], "best": False, "mark": ""}}),
        ("abc", "abc"),
    ],
)
def test_json_has_names_and_finite_numbers(value: object, expected: object) -> None:
    assert to_plain(value) == expected


@pytest.mark.parametrize("word", ["=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", " =1", "＝1+1", "-"])
def test_words_that_spreadsheets_take_for_formulas_are_made_harmless(word: str) -> None:
    table = Table.of("t", words("agent") + numbers("x"), [(word, Cell.of(str, -1.5))])
    _, *rows = csv.reader(io.StringIO(csv_text(table), newline=""))
    assert rows == [["'" + word.replace("\r", " "), "-1.5"]]


@pytest.mark.parametrize("word", ["-1.5", "+3", "-1e-3", "A=1", "'", "", "a\n=b"])
def test_words_that_are_numbers_or_harmless_stay_as_they_are(word: str) -> None:
    table = Table.of("t", words("agent", "what"), [(word, "x")])
    assert list(csv.reader(io.StringIO(csv_text(table))))[1:] == [[word, "x"]]


@pytest.mark.parametrize("word", ["[1cm] x", "*", " [x]"])
def test_no_cell_is_an_argument_of_the_row_before(word: str) -> None:
    lines = latex_text(Table.of("t", words("agent", "what"), [("a", "b"), (word, word)])).splitlines()
    row = lines[-3]
    assert row == rf"{{}}{word.strip()} & {{}}{word.strip()} \\"
