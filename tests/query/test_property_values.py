"""Which values of a property a condition holds of."""

from rag.query.values import value_test
from tables import rows


@rows(
    "condition, values",
    ("meadows", ["Donella Meadows", "Meadows, D."]),
    ("田中", ["田中", "田中 花子"]),
    ("done", ["done", "Done, archived"]),
    ("not done", ["not done"]),
    ("fiction", ["historical fiction"]),
    ("完了", ["完了", "完了済み"]),
    ("erledigt", ["erledigt"]),
    ("5", ["No 5", "5"]),
    ("<2026-12-01", ["01.02.2026", "30.11.2026", "2026-11-30", "1. 2. 2026"]),
    (">=01.12.2026", ["01.12.2026", "2027-01-01"]),
    ("2026-12", ["01.12.2026", "2026-12-31", "2026/12/5 10:00"]),
    ("01.12.2026", ["2026-12-01", "1.12.2026"]),
    (">=200", ["200", "$1,200.50"]),
    (">200 <=300", ["201", "300 €"]),
)
def test_it_holds_of_these(condition, values):
    assert [value for value in values if not value_test(condition)(value)] == []


@rows(
    "condition, values",
    ("done", ["not done", "not yet done", "isn't done", "undone", "no longer done"]),
    ("fiction", ["non-fiction"]),
    ("完了", ["未完了", "完了していない", "完了以外"]),
    ("erledigt", ["nicht erledigt"]),
    ("5", ["15", "2026-05-05"]),
    ("2026", ["01.02.2026", "2026-02-01"]),
    ("<2026-12-01", ["01.12.2026", "02.01.2027"]),
    ("2026-12", ["12.11.2026", "2027-12-01"]),
    (">200 <=300", ["200", "301", "$1,200", "many"]),
    ("<200", ["200"]),
    (">2026-11", ["2026-11-30"]),
)
def test_and_not_of_these(condition, values):
    assert [value for value in values if value_test(condition)(value)] == []
