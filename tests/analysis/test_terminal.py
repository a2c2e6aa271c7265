"""Tables on a terminal: they fit, and no name and no number is cut."""

import re

from hypothesis import given
from hypothesis import strategies as st

from driftwise.analysis.docstrings import fill_prose
from driftwise.analysis.table import Cell, Table, TableColumn, numbers, terminal_text, words

letters = st.text("abcdefghij_", min_size=1, max_size=24)
prose = st.lists(letters, max_size=12).map(" ".join)
name = st.lists(letters, min_size=1, max_size=3).map(" ".join)
number = st.builds("{} ± {}".format, st.integers(0, 10**9), st.integers(0, 999))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    kinds = draw(st.lists(st.sampled_from(["prose", "number"]), min_size=0, max_size=8))
    made = {"prose": words("what"), "number": numbers("regret of it")}
    columns = words("agent") + tuple(column for kind in kinds for column in made[kind])
    cells = {"prose": prose, "number": number}
    rows = [[draw(name), *(draw(cells[kind]) for kind in kinds)] for _ in range(draw(st.integers(0, 4)))]
    return Table.of("drawn", columns, rows)


@given(tables(), st.integers(60, 120))
def test_every_table_fits_and_keeps_all_words_and_numbers_whole(table: Table, width: int) -> None:
    text = terminal_text(table, width)
    assert max(map(len, text.splitlines()), default=0) <= width
    for row in table.rows:
        for column, cell in zip(table.columns, row, strict=True):
            if column.fields:
                assert re.search(rf"(^|\s){re.escape(cell.text)}($|\s)", text, re.M), cell.text
            for word in cell.text.split():
                assert re.search(rf"(^|\s){re.escape(word)}($|\s)", text, re.M), word


TABLE = Table.of(
    "regrets",
    (*words("place", "agent"), TableColumn("regret", ("mean",), "regret, mean ± 95 %"), *numbers("share")),
    [
        ("lock", "OPT-WLSVI", Cell("1.23 ± 0.10", (1.23,)), Cell("–", (0.0,))),
        ("maze of rooms", "ε", Cell("−2", (-2.0,)), Cell("0.25", (0.25,))),
    ],
)


def test_columns_stand_beside_each_other_where_they_fit() -> None:
    assert terminal_text(TABLE, 80).splitlines() == [
        "place          agent      regret, mean ± 95 %  share",
        "────────────────────────────────────────────────────",
        "lock           OPT-WLSVI          1.23 ± 0.10      –",
        "maze of rooms  ε                           −2   0.25",
    ]


def test_what_does_not_fit_follows_below_with_the_names_again() -> None:
    assert terminal_text(TABLE, 37).splitlines() == [
        "                              regret,",
        "place          agent      mean ± 95 %",
        "─────────────────────────────────────",
        "lock           OPT-WLSVI  1.23 ± 0.10",
        "maze of rooms  ε                   −2",
        "",
        "place          agent      share",
        "───────────────────────────────",
        "lock           OPT-WLSVI      –",
        "maze of rooms  ε           0.25",
    ]


def test_where_names_leave_no_room_every_row_is_a_paragraph() -> None:
    assert terminal_text(TABLE, 30).splitlines() == [
        "lock · OPT-WLSVI",
        "  regret, mean ± 95 %:",
        "  1.23 ± 0.10",
        "  share: –",
        "maze of rooms · ε",
        "  regret, mean ± 95 %: −2",
        "  share: 0.25",
    ]
    columns = (*words("name"), *numbers("a", "b", "c"))
    table = Table.of("t", columns, [("x" * 50, *(Cell("1.234567", (1,)) for _ in "abc"))])
    assert terminal_text(table, 64).splitlines() == ["x" * 50, *(f"  {name}: 1.234567" for name in "abc")]


def test_paragraphs_cut_no_name() -> None:
    name = "OPT-WLSVI-" * 6
    lines = fill_prose(f"{'word ' * 10}{name} is an agent", 80).splitlines()
    assert lines == [("word " * 10).strip(), f"{name} is an agent"]


def test_wide_letters_take_two_columns() -> None:
    lines = terminal_text(Table.of("t", (*words("名前"), *numbers("n")), [("試験", Cell("1", (1,)))]), 40)
    assert lines.splitlines() == ["名前  n", "───────", "試験  1"]
