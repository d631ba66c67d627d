"""``logdoctor rules``: look at the rules, check them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from logdoctor.model import Rule
    from logdoctor.rulebook.loading import Rulebook

app = typer.Typer(help="List, show, lint and test the rules.", no_args_is_help=True, rich_markup_mode=None)

Folders = Annotated[
    list[Path] | None,
    typer.Option("--rules", help="A folder of your own rules, added to ours.", exists=True, file_okay=False),
]


def _folders(own: list[Path] | None) -> list[Path]:
    from logdoctor.rulebook import shipped_rules

    return [shipped_rules(), *(own or [])]


def _load(own: list[Path] | None) -> Rulebook:
    from logdoctor.model import RulesError
    from logdoctor.rulebook.loading import load

    try:
        return load(_folders(own))
    except RulesError as error:
        typer.echo(str(error), err=True)
        typer.echo(f"{len(error.errors)} faults", err=True)
        raise typer.Exit(1) from None


@app.command("list")
def list_rules(rules: Folders = None) -> None:
    """List every rule: its id, what it leads to, and its title."""
    for rule in _load(rules).rules:
        typer.echo(f"{rule.id:34} {rule.role:9} {rule.action:8} {rule.say('en').title}")


@app.command()
def show(name: Annotated[str, typer.Argument(help="A rule's id.")], rules: Folders = None, lang: str = "en") -> None:
    """Show one rule: the cause, the remedy, the symptoms, the examples."""
    rule = _load(rules).rule(name)
    if rule is None:
        raise typer.BadParameter(f"no rule is called '{name}'; see: logdoctor rules list", param_hint="NAME")
    for line in _page(rule, lang):
        typer.echo(line)


def _page(rule: Rule, lang: str) -> list[str]:
    words = rule.say(lang)
    lines = [f"{rule.id}: {words.title}", "", f"  {words.cause}", "", f"  What to do ({rule.action})"]
    lines += [f"    {i}. {r}" for i, r in enumerate(words.remedy, 1)]
    lines += ["", "  Symptoms"]
    for s in rule.symptoms:
        parts = [f"{k} {v}" for k, v in (("kind", s.kind), ("text", s.text), ("fields", dict(s.fields) or None)) if v]
        lines.append(f"    {s.name}: {'; '.join(parts)}")
    lines += ["", f"  Holds when  {dict(rule.when)}"]
    lines += [f"  Explains    {', '.join(rule.explains)}"] if rule.explains else []
    lines += ["", "  References", *(f"    {r}" for r in rule.references), "", f"  File {rule.path}"]
    return lines


@app.command()
def lint(rules: Folders = None) -> None:
    """Load all rules and say what is wrong with them, all faults at once."""
    from logdoctor.knowledge import gather
    from logdoctor.model import RulesError

    book = _load(rules)
    try:
        gather(_folders(rules))
    except RulesError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    typer.echo(f"{len(book.rules)} rules, no faults")


@app.command()
def test(
    names: Annotated[list[str] | None, typer.Argument(help="Ids; all if none.")] = None, rules: Folders = None
) -> None:
    """Run the examples and near-misses of the rules, with all rules loaded."""
    from logdoctor.rule_check import check

    _load(rules)
    count, failed = check(_folders(rules), names or [])
    for f in failed:
        typer.echo(f"{f.where}: {f.kind} of {f.rule} should be {f.wanted}, got {f.got}")
    typer.echo(f"{count} examples, {len(failed)} failed")
    if failed:
        raise typer.Exit(1)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a rule file, for editors."""
    from logdoctor.rulebook import shipped_rules

    typer.echo((shipped_rules() / "rule.schema.json").read_text("utf-8"))
