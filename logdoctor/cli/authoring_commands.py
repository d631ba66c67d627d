"""``logdoctor rules new|lint|gaps``: commands for authors of rules."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from logdoctor.cli.choices import among, complete_rule, one_of
from logdoctor.cli.config_options import used_settings
from logdoctor.cli.diagnose_command import Rules
from logdoctor.cli.errors import print_problems, report_errors
from logdoctor.cli.progress_bar import spinner
from logdoctor.cli.rule_folders import all_folders
from logdoctor.cli.words import require

if TYPE_CHECKING:
    from logdoctor.authoring.drafting import Draft
    from logdoctor.authoring.gaps import GapRow
    from logdoctor.authoring.lint import LintResult
    from logdoctor.authoring.lint_issue import LintIssue

Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 for warnings too.")]
Texts = Annotated[bool, typer.Option("--texts", help="Print the notes on the language of texts too.")]
LINT_FORMATS, GAPS_FORMATS = ("text", "json"), ("table", "json", "csv")
LintFormat = Annotated[
    str, typer.Option("--format", "-f", help=f"{one_of(LINT_FORMATS)}.", autocompletion=among(LINT_FORMATS))
]


def lint(
    names: Annotated[list[str] | None, typer.Argument(help="Ids; all if none.", autocompletion=complete_rule)] = None,
    rules: Rules = None,
    strict: Strict = False,
    texts: Texts = False,
    format: LintFormat = "text",
) -> None:
    """Say what is wrong with the rules, everything at once, each with file, line, reason and help.

    Exit codes: 0 no errors, 1 an error (with --strict: or a warning, or a printed note).
    """
    from logdoctor.authoring.lint import lint as lint_rules

    require(format, LINT_FORMATS, "--format")
    result = lint_rules(all_folders(rules), names or [])
    issues = result.issues
    if names and not result.count:
        raise typer.BadParameter(
            f"no rule is called '{' '.join(names)}'; see: logdoctor rules list", param_hint="NAMES"
        )
    shown = [issue for issue in issues if texts or issue.severity != "note"]
    if format == "json":
        typer.echo(json.dumps([_plain(r) for r in shown], indent=1, ensure_ascii=False))
    else:
        for issue in shown:
            typer.echo(str(issue), err=issue.severity == "error")
        typer.echo(_summary(result))
    if any(strict or r.severity == "error" for r in shown):
        raise typer.Exit(1)


def _summary(result: LintResult) -> str:
    numbers, count = Counter(r.severity for r in result.issues), result.count
    counts = [f"{numbers[s]} {s}{'s' * (numbers[s] > 1)}" for s in ("error", "warning") if numbers[s]]
    notes = Counter(r.code for r in result.issues if r.severity == "note")
    texts = ", ".join(f"{number} {code}" for code, number in sorted(notes.items()))
    about_texts = f"\ntexts (--texts prints them): {texts}" if texts else ""
    untranslated = [f"{number} without words in '{lang}'" for lang, number in sorted(result.untranslated.items())]
    return f"{count} rule{'s' * (count != 1)}, {', '.join([*(counts or ['no faults']), *untranslated])}{about_texts}"


def _plain(issue: LintIssue) -> dict[str, Any]:
    """Return an issue as editors and CI read it, with file and line apart."""
    file, _, line = issue.where.rpartition(":")
    place = {"file": file, "line": int(line)} if line.isdigit() else {"file": issue.where, "line": 1}
    details = {"code": issue.code, "severity": issue.severity, "rule": issue.rule, "message": issue.what}
    return {**place, **details, "why": issue.why, "help": issue.help}


def gaps(
    paths: Annotated[
        list[str],
        typer.Argument(help="Logs, each one job as for diagnose; of a folder with folders in it each child is a job."),
    ],
    rules: Rules = None,
    format: Annotated[
        str, typer.Option("--format", "-f", help=f"{one_of(GAPS_FORMATS)}.", autocompletion=among(GAPS_FORMATS))
    ] = "table",
    top: Annotated[int | None, typer.Option("--top", min=1, help="Only so many templates.")] = None,
) -> None:
    """List the failure lines that no rule explains, by template, with counts: the worklist for rule authors.

    First those of most jobs for which no rule names a cause (a catch-all does not count).

    Exit codes: 0, or 3 if nothing could be read.
    """
    from msgspec.structs import asdict

    from logdoctor.authoring.gaps import count_gaps, find_gaps
    from logdoctor.pipeline.knowledge import gather

    require(format, GAPS_FORMATS, "--format")
    with spinner() as show:
        knowledge = gather(all_folders(rules))
        worklist = find_gaps(paths, knowledge, show)
        rows = count_gaps(worklist.gaps, top)
    print_problems((*knowledge.faults, *worklist.problems))
    if format == "json":
        typer.echo(json.dumps([*map(asdict, rows)], indent=1, ensure_ascii=False))
    elif format == "csv":
        _write_csv(rows)
    else:
        for line in _gap_lines(rows, worklist.jobs):
            typer.echo(line)
    if not worklist.jobs:
        raise typer.Exit(3)


def _write_csv(rows: Iterable[GapRow]) -> None:
    import csv

    from msgspec.structs import astuple

    from logdoctor.authoring.gaps import GapRow
    from logdoctor.model.escape import spreadsheet_cell

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(GapRow.__struct_fields__)
    writer.writerows([spreadsheet_cell(value) for value in astuple(row)] for row in rows)


def _gap_lines(rows: Sequence[GapRow], jobs: int) -> Iterator[str]:
    if rows:
        yield " count   jobs unsolved  kind                      template, example"
    for row in rows:
        yield f"{row.count:6} {row.jobs:6} {row.unsolved:8}  {row.kind:25} {row.template}"
        yield f"{'':51}{row.example}"
    templates = f"{len(rows)} template{'s' * (len(rows) != 1)}"
    yield f"{templates} of unexplained failure lines in {jobs} job{'s' * (jobs != 1)}"


def new(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="ID", help="The rule's id: family.name, such as net.link-lost.")],
    place: Annotated[
        str | None, typer.Option("--from", help="FILE:LINE of the failing line, as reports and 'rules gaps' print it.")
    ] = None,
    line: Annotated[
        str | None, typer.Option("--line", help="The failing line itself; without both, standard input.")
    ] = None,
    rules: Annotated[
        Path | None,
        typer.Option("--rules", help="The folder to write to: FOLDER/family/name/rule.yaml.", file_okay=False),
    ] = None,
    signature: Annotated[str, typer.Option("--signature", help="Of which signature this is a variant.")] = "",
) -> None:
    """Begin a rule from a log line: everything that can be known is filled in, the words are left to you (TODO)."""
    from logdoctor.authoring.drafting import ID, draft, lines_at, place_of
    from logdoctor.ruleset.loading import read

    own = used_settings(ctx).rules
    if not ID.fullmatch(name):
        raise typer.BadParameter("an id is family.name, in small letters, digits and -", param_hint="ID")
    if place and line:
        raise typer.BadParameter("give --from or --line, not both", param_hint="--line")
    home = rules or _own_folder(own)
    file = home / place_of(name, signature)
    if file.exists():
        raise typer.BadParameter(f"{file} is there already; choose another id, or edit it", param_hint="ID")
    with report_errors():
        text = lines_at(place) if place else line if line is not None else sys.stdin.read()
        book = read(all_folders([*own, *([rules] if rules and rules.is_dir() else ())]))
        rule = draft(name, text, book.signatures, signature)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as out:
            out.write(rule.text)
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be written: {error.strerror}", param_hint="--rules") from None
    for step in _next_steps(name, file, rules, rule):
        typer.echo(step)


def _own_folder(own: Sequence[Path]) -> Path:
    """Return the first folder of the settings, or ``rules/`` in a checkout."""
    from logdoctor.ruleset import shipped_rules

    if own:
        return own[0]
    ours = shipped_rules()
    if ours == Path.cwd() / "rules":
        return ours
    raise typer.BadParameter("say where your rules are: --rules FOLDER", param_hint="--rules")


def _next_steps(name: str, file: Path, rules: Path | None, draft: Draft) -> Iterator[str]:
    option = f" --rules {shlex.quote(str(rules))}" if rules else ""
    yield f"wrote {file}"
    yield f"  the line is of the kind {draft.kind}, level {draft.level}"
    yield "next:"
    yield f"  1. edit {file}: narrow the text, write every TODO"
    yield f"  2. logdoctor rules lint {name}{option}"
    yield f"  3. logdoctor rules test {name}{option}"
    yield f"  4. logdoctor diagnose{option} LOG"
