"""`rag eval`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rag.cli.framework import options as opt
from rag.cli.framework.options import argument, value
from rag.cli.framework.settings import load_settings
from rag.cli.render.console import plural, print_line, print_report, say, visible

if TYPE_CHECKING:
    from rich.table import Table

    from rag.app.evaluate import EvaluationReport
    from rag.evaluation.comparison import Comparison, Difference
    from rag.evaluation.questions import Question

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
        "--modes",
        "MODE,…",
        "Modes of search, with commas: each is measured.",
    ),
    transforms: opt.Texts = opt.TRANSFORMS,
    vaults: opt.Texts = opt.VAULTS,
    json: bool = opt.JSON,
    quiet: bool = opt.QUIET,
    config_file: Path | None = opt.CONFIG,
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

    config = load_settings(config_file)
    given = (config.search.mode if modes is None else modes).split(",")
    wanted = [*dict.fromkeys(opt.check_mode(mode.strip()) for mode in given)]
    asked = _read(questions)
    baseline = None if compare is None else load_runs(compare)
    with Workspace(config) as workspace:
        report = run(
            workspace,
            asked,
            wanted,
            transforms=transforms or None,
            vaults=vaults,
            baseline=baseline,
            save=save,
        )
    if not quiet:
        for notice in () if json else (text for one in report.runs for text in one.run.notices):
            say(notice)
        opt.warn_if_stale(report.index)
    if unknown := report.runs[0].run.unknown:
        names = [f"{one.id} ({(one.relevant or one.partial)[0]})" for one in unknown]
        where = f"vault {', '.join(vaults)}" if vaults else "the index"
        verb = "names" if len(unknown) == 1 else "name"
        count = plural(len(unknown), "question")
        say(f"{count} {verb} notes that are not in {where}: {_few(names)}")
    for one in report.runs:
        if one.compared:
            _warn_of_comparison(one.compared, one.run.mode, one.compared_with)
    if json:
        print_report(report)
    else:
        _print(report)
    if report.is_worse:
        raise typer.Exit(1)


def _read(source: str) -> list[Question]:
    from rag.evaluation.questions import parse_questions, read_questions

    if source != "-":
        return read_questions(Path(source))
    # Bytes where there are any: they are UTF-8, whatever the locale says.
    text = getattr(sys.stdin, "buffer", sys.stdin).read() if sys.stdin else b""
    return parse_questions(text if isinstance(text, bytes) else text.encode(), "stdin")


def _warn_of_comparison(found: Comparison, mode: str, before: str) -> None:
    """Say what a comparison leaves out; `before` is the mode of the baseline."""
    from rag.evaluation.comparison import FEW

    if before != mode:
        say(f"mode {mode} is compared with mode {before} of the baseline")
    for left_out, where in (
        (found.only_baseline, "only in the baseline"),
        (found.only_now, "not in the baseline"),
        (found.changed, "not the same in the baseline"),
    ):
        if left_out:
            count = plural(len(left_out), "question")
            say(f"left out, {where}: {count} ({_few(left_out)})")
    if found.queries < FEW:
        say(f"only {plural(found.queries, 'question')} to compare: trust the interval little")


def _few(names: list[str]) -> str:
    more = ", …" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _print(report: EvaluationReport) -> None:
    from rag.cli.render.terminal import make_console
    from rag.evaluation.run import score_auc, summaries

    console = make_console()
    for position, one in enumerate(report.runs):
        if position:
            print_line("")
        figures = summaries(one.run.outcomes)
        rows = {visible(name): row for name, row in figures["categories"].items()}
        table = _table(f"mode {one.run.mode}", *_LABELS.values())
        for name, row in [*rows.items(), ("all", figures["overall"])]:
            cells = (f"{row[key]:,.{_DIGITS.get(key, 3)}f}" for key in _LABELS)
            table.add_row(name, *cells, style="bold" if row is figures["overall"] else None)
        console.print(table)
        auc = score_auc(one.run.outcomes)
        if auc is not None:
            print_line(f"{_AUC}: {auc:.3f} (area under the curve)")
        if one.compared:
            print_line("")
            console.print(_comparison_table(one.compared))
            print_line("")
            print_line(_verdict(one.compared))


def _table(first: str, *columns: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(first, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _comparison_table(comparison: Comparison) -> Table:
    both = f"{plural(comparison.queries, 'question')} in both"
    table = _table(both, "baseline", "now", "difference", "95 % interval")
    for name, one in comparison.differences.items():
        digits = _DIGITS.get(name, 4)  # what matters may be less than a thousandth
        values = (f"{value:.{digits}f}" for value in (one.baseline, one.now))
        table.add_row(_LABELS[name], *values, f"{one.difference:+.{digits}f}", _span(one, digits))
    return table


def _span(one: Difference, digits: int = 4) -> str:
    return f"{one.low:+.{digits}f} to {one.high:+.{digits}f}"


def _verdict(comparison: Comparison) -> str:
    from rag.evaluation.comparison import DECIDING

    one = comparison.differences[DECIDING]
    change = f"{_LABELS[DECIDING]} changed by {one.difference:+.4f} (95 %: {_span(one)})"
    if comparison.same:
        return f"The same as the baseline: {_LABELS[DECIDING]} did not change."
    if comparison.worse:
        return f"Worse than the baseline: {change}."
    if comparison.better:
        return f"Better than the baseline: {change}."
    return f"Not worse than the baseline: {change}, which may be chance."
