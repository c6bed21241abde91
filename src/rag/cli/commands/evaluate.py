"""`rag eval`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rag.cli.framework import options as opt
from rag.cli.framework.options import Given, argument, shared, value
from rag.cli.render.console import print_line, print_report, say
from rag.text.messages import plural, visible

if TYPE_CHECKING:
    from rich.table import Table

    from rag.app.evaluate import EvaluationReport
    from rag.evaluation.comparison import Comparison
    from rag.evaluation.run import Question

_LABELS = {
    "queries": "queries",
    "ndcg_5": "nDCG@5",
    "ndcg_10": "nDCG@10",
    "mrr": "MRR",
    "hit_1": "hit@1",
    "hit_3": "hit@3",
    "hit_5": "hit@5",
    "recall_10": "recall@10",
    "latency_ms_p50": "ms p50",
}
_DIGITS = {"queries": 0, "latency_ms_p50": 1}
_AUC = "the score tells right first results from wrong ones"
_NAMED = 3  # questions that a message names


def evaluate(
    questions: str = argument("QUESTIONS", "A file, one question a line in JSON; `-` reads stdin."),
    compare: Path | None = value("--compare", "FILE", "Compare with a run kept by --save."),
    save: Path | None = value("--save", "FILE", "Keep this run in a file."),
    modes: str | None = value(
        "--modes", "MODE,…", "Modes of search, with commas: each is measured."
    ),
    given: Given = shared("transforms vaults json quiet config_file"),
) -> None:
    """Measure how well the search answers a set of questions.

    A question has a `query`, the paths of the `relevant` notes, and optionally an `id`, the
    paths of `partial` notes, which are worth half, and a `category`. With --compare the exit
    code is 1 when the search became worse: when the 95 % interval of the change of nDCG@10
    (paired bootstrap over the questions of both runs) lies wholly below 0.

    \b
    echo '{"query": "rolling back", "relevant": ["Rollback.md"]}' | rag eval -
    rag eval questions.jsonl --save before.json
    rag eval questions.jsonl --compare before.json   exit code 1 when it is worse
    rag eval questions.jsonl --modes lexical,hybrid
    """
    from rag.app.evaluate import evaluate as run
    from rag.app.workspace import Workspace
    from rag.evaluation.comparison import load_runs

    config, json, vaults = given.config, given.json, given.vaults
    named = (config.search.mode if modes is None else modes).split(",")
    wanted = [*dict.fromkeys(opt.check_mode(mode.strip()) for mode in named)]
    asked = _read(questions)
    baseline = None if compare is None else load_runs(compare)
    with Workspace(config) as workspace:
        report = run(workspace, asked, wanted, given.transforms or None, vaults, baseline, save)
    if not given.quiet:
        for notice in () if json else (text for mode in report.runs for text in mode.run.notices):
            say(notice)
        opt.warn_if_stale(report.index)
    _warn(report, f"vault {', '.join(vaults)}" if vaults else "the index")
    if json:
        print_report(report)
    else:
        _print(report)
    if any(mode.worse for mode in report.runs):
        raise typer.Exit(1)


def _read(source: str) -> list[Question]:
    from rag.evaluation.run import parse_questions, read_questions

    if source != "-":
        return read_questions(Path(source))
    # Bytes where there are any: they are UTF-8, whatever the locale says.
    text = getattr(sys.stdin, "buffer", sys.stdin).read() if sys.stdin else b""
    return parse_questions(text if isinstance(text, bytes) else text.encode(), "stdin")


def _warn(report: EvaluationReport, where: str) -> None:
    from rag.evaluation.comparison import FEW

    if unknown := report.runs[0].run.unknown:
        names = [f"{q.id} ({(q.relevant or q.partial)[0]})" for q in unknown]
        say(f"{plural(len(unknown), 'question')} with notes that are not in {where}: {_few(names)}")
    for mode in report.runs:
        if (compared := mode.compared) is None:
            continue
        if mode.compared_with != mode.run.mode:
            say(f"mode {mode.run.mode} is compared with mode {mode.compared_with} of the baseline")
        if left_out := compared.left_out:
            count = plural(len(left_out), "question")
            say(f"left out, not the same in the baseline: {count} ({_few(left_out)})")
        if compared.queries < FEW:
            count = plural(compared.queries, "question")
            say(f"only {count} to compare: trust the interval little")


def _few(names: list[str]) -> str:
    more = ", …" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _print(report: EvaluationReport) -> None:
    from rag.cli.render.terminal import make_console

    console = make_console()
    for position, mode in enumerate(report.runs):
        rows = [
            (name, *(f"{row[key]:,.{_DIGITS.get(key, 3)}f}" for key in _LABELS))
            for name, row in [*mode.categories.items(), ("all", mode.overall)]
        ]
        table = _table(rows, [f"mode {mode.run.mode}", *_LABELS.values()])
        console.print(*[""] * bool(position), table, sep="\n")
        if mode.score_auc is not None:
            print_line(f"{_AUC}: {mode.score_auc:.3f} (area under the curve)")
        if mode.compared:
            console.print("", _comparison(mode.compared), "", sep="\n", end="")
            print_line(_verdict(mode.compared))


def _table(rows: Sequence[tuple[str, ...]], names: list[str]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for column, head in enumerate(names):
        table.add_column(head, justify="right" if column else "left", no_wrap=bool(column))
    table.columns[0].overflow = "fold"
    for row in rows:
        table.add_row(visible(row[0]), *row[1:], style="bold" if row[0] == "all" else None)
    return table


def _comparison(comparison: Comparison) -> Table:
    rows = []
    for name, row in comparison.differences.items():
        digits = _DIGITS.get(name, 4)  # what matters may be less than a thousandth
        was, now = (f"{value:.{digits}f}" for value in (row.baseline, row.now))
        change, low, high = (f"{x:+.{digits}f}" for x in (row.difference, row.low, row.high))
        rows.append((_LABELS[name], was, now, change, f"{low} to {high}"))
    both = f"{plural(comparison.queries, 'question')} in both"
    return _table(rows, [both, "baseline", "now", "difference", "95 % interval"])


def _verdict(comparison: Comparison) -> str:
    from rag.evaluation.comparison import DECIDING

    row, label = comparison.differences[DECIDING], _LABELS[DECIDING]
    if comparison.same:
        return f"The same as the baseline: {label} did not change."
    change = f"{label} changed by {row.difference:+.4f} (95 %: {row.low:+.4f} to {row.high:+.4f})"
    if comparison.worse or comparison.better:
        return f"{'Worse' if comparison.worse else 'Better'} than the baseline: {change}."
    return f"Not worse than the baseline: {change}, which may be chance."
