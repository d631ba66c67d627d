"""``logdoctor rules``: list, show, write and check rules."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from logdoctor.cli import authoring_commands
from logdoctor.cli.choices import complete_rule
from logdoctor.cli.diagnose_command import Rules
from logdoctor.cli.rule_folders import all_folders

if TYPE_CHECKING:
    from logdoctor.model import Rule
    from logdoctor.ruleset.loading import Ruleset

app = typer.Typer(
    help="List, show, start, lint and test rules; find what none explains.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
)
app.command("new")(authoring_commands.new)
app.command("lint")(authoring_commands.lint)
app.command("gaps")(authoring_commands.gaps)


def _read(folders: list[Path]) -> Ruleset:
    """Read the rules. Print the faults of the others to standard error."""
    from logdoctor.ruleset.loading import read

    book = read(folders)
    for fault in book.faults:
        typer.echo(str(fault), err=True)
    return book


@app.command("list")
def list_rules(rules: Rules = None) -> None:
    """List every rule: its id, what it leads to, its title, and where it comes from if it is none of ours."""
    folders = all_folders(rules)
    ours = {r.id for r in _read(folders[:1]).rules} if len(folders) > 1 else set[str]()
    for rule in _read(folders).rules:
        title, notes = rule.say("en").title[0], _notes(rule, folders, ours)
        typer.echo(f"{rule.id:34} {rule.role:9} {rule.action:8} {title}{notes}")


def _notes(rule: Rule, folders: list[Path], ours: set[str]) -> str:
    evidence = f"  [{rule.evidence}]" if rule.evidence else ""
    return evidence + _origin(rule, folders, ours)


def _origin(rule: Rule, folders: list[Path], ours: set[str]) -> str:
    """Return ``[folder]`` or ``[folder, in place of ours]`` for a rule of a user."""
    home = next(f for f in reversed(folders) if Path(rule.path).is_relative_to(f))
    if home == folders[0]:
        return ""
    return f"  [{home}, in place of ours]" if rule.id in ours else f"  [{home}]"


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A rule's id.", autocompletion=complete_rule)],
    rules: Rules = None,
    lang: str = "en",
) -> None:
    """Show one rule: the cause, the remedy, the symptoms, the examples."""
    rule = _read(all_folders(rules)).rule(name)
    if rule is None:
        raise typer.BadParameter(f"no rule is called '{name}'; see: logdoctor rules list", param_hint="NAME")
    for line in _page(rule, lang):
        typer.echo(line)


def _page(rule: Rule, lang: str) -> list[str]:
    words = rule.say(lang)
    lines = [f"{rule.id}: {words.title[0]}", "", f"  {words.cause[0]}", "", f"  What to do ({rule.action})"]
    for number, step in enumerate(words.remedy, 1):
        lines += [f"    {number}. {step.do[0]}", *(f"       $ {command}" for command in step.run)]
    lines += ["", "  Symptoms"]
    for s in rule.symptoms:
        parts = [f"{k} {v}" for k, v in (("kind", s.kind), ("text", s.text), ("fields", dict(s.fields) or None)) if v]
        lines.append(f"    {s.name}: {'; '.join(parts)}")
    lines += ["", f"  Holds when  {dict(rule.when)}"]
    lines += [f"  Class       {rule.failure_class}"] if rule.role != "benign" else []
    lines += [f"  Evidence    no log here shows it; source: {rule.evidence}"] if rule.evidence else []
    lines += [f"  Explains    {special.of}: {special.reason}" for special in rule.because]
    lines += ["", "  References", *(f"    {r}" for r in rule.references), "", f"  File {rule.path}"]
    return lines


@app.command()
def test(
    names: Annotated[list[str] | None, typer.Argument(help="Ids; all if none.", autocompletion=complete_rule)] = None,
    rules: Rules = None,
) -> None:
    """Run the examples and near-misses of the rules, with all rules loaded."""
    from logdoctor.authoring.rule_check import check_rules

    folders = all_folders(rules)
    faults = _read(folders).faults
    count, failed = check_rules(folders, names or [])
    for f in failed:
        typer.echo(f"{f.where}: {f.kind} of {f.rule} should be {f.expected}, got {f.actual}")
    typer.echo(f"{count} examples, {len(failed)} failed")
    if failed or faults or not count:
        raise typer.Exit(1)
