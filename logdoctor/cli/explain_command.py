"""``logdoctor explain``: print what a code, a signature, a rule or a line of a log means, and what to do."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from logdoctor.cli.choices import complete_word
from logdoctor.cli.diagnose_command import Lang, Rules
from logdoctor.cli.output import Style, language_of, width_of, write
from logdoctor.cli.words import MOST_PROPOSALS, similar

if TYPE_CHECKING:
    from logdoctor.codes import Catalogue, Entry
    from logdoctor.model import Diagnosis, Rule
    from logdoctor.ruleset.loading import Ruleset

app = typer.Typer(add_completion=False, rich_markup_mode=None)
WORDS_WIDTH = 28
LEAST_SIMILARITY = 0.55

Words = Annotated[
    list[str] | None,
    typer.Argument(
        help="A signature or rule (cuda.oom), a code (xid 79, 137, ECONNREFUSED), or a line of a log.",
        autocompletion=complete_word,
    ),
]
Full = Annotated[bool, typer.Option("--all", help="Also sources, references, and texts in other languages.")]


@app.command("explain", context_settings={"ignore_unknown_options": True})
def explain(words: Words = None, full: Full = False, lang: Lang = None, rules: Rules = None) -> None:
    """Say what a signature, a code or a line of a log means, and what to do: Xids, errno, signals, exit codes, NCCL ...

    Letter case, '_', '-' and spaces do not matter. A number alone lists what it can be. A line of a log is diagnosed.
    Without WORDS the catalogues of codes are listed; with a catalogue's name alone, its codes.

    Exit codes: 0 it is explained, 2 nothing is known of it.
    """
    language, query = language_of(lang), " ".join(words or []).strip()
    from logdoctor.model import LogdoctorError

    try:
        for part in explanation(query, language, rules or (), full=full):
            if isinstance(part, str):
                typer.echo(part)
            else:
                write(part, Style(lang=language), None)
    except LogdoctorError as error:
        raise typer.BadParameter(f"{error.what}; {error.help}", param_hint="WORDS") from None


def explanation(query: str, lang: str, folders: Sequence[Path], *, full: bool) -> Iterator[str | Diagnosis]:
    """Yield the lines that explain ``query``, or the diagnosis of a line of a log.

    Raise `LogdoctorError` if nothing is known of it.
    """
    yield from _answer(query, lang, folders, cache(partial(_read, folders)), full=full) if query else _catalogues(lang)


def _answer(
    query: str, lang: str, folders: Sequence[Path], book: Callable[[], Ruleset], *, full: bool
) -> Iterator[str | Diagnosis]:
    from logdoctor.codes.search import find_catalogues, find_codes
    from logdoctor.codes.table import labels

    lists = find_catalogues(query)
    rules = () if lists or "." not in query else _rules_named(query, book().rules)
    entries = () if lists or rules else find_codes(query)
    for catalogue in lists:
        yield from _codes(catalogue, lang)
    if len(entries) > 1 and query.lstrip("-").isdigit():
        yield from _choices(query, entries, lang)
    else:
        for entry in entries:
            yield from (*_page(entry, lang, full=full), "")
        if entries and query.isalpha() and not any(entry.columns.get("see") for entry in entries):
            others = _named(query, book().rules)
            yield from [f"{labels(lang)['see']}: {', '.join(others)}"] if others else ()
    if not lists and not entries:
        yield from _answer_without_code(query, lang, folders, book(), full=full)


def _answer_without_code(
    query: str, lang: str, folders: Sequence[Path], book: Ruleset, *, full: bool
) -> Iterator[str | Diagnosis]:
    """Explain a signature, a rule, or a line of a log."""
    from logdoctor.cli.rule_page import rule_rows
    from logdoctor.codes.search import code_names
    from logdoctor.model import LogdoctorError

    if found := _rules_named(query, book.rules):
        signature = book.signatures.get(found[0].signature)
        title, *rows = rule_rows(query, found, signature.near if signature else (), lang, book.defects, full=full)
        yield from _layout(": ".join(filter(None, title)), rows)
    elif " " in query and (diagnosis := _diagnose(query, lang, folders)) is not None:
        yield diagnosis
    else:
        rules = book.rules
        names = {*code_names(), *(rule.signature for rule in rules), *(rule.id for rule in rules)}
        near = _named(query, rules) or similar(query, sorted(names), MOST_PROPOSALS, LEAST_SIMILARITY)
        named = f"did you mean {', '.join(near[:MOST_PROPOSALS])}?"
        hint = named if near else "'logdoctor explain' lists what is known"
        raise LogdoctorError(f"nothing is known of '{query}'", help=hint)


def _read(folders: Sequence[Path]) -> Ruleset:
    from logdoctor.cli.rule_folders import all_folders
    from logdoctor.ruleset.loading import read

    return read(all_folders(folders))


def _rules_named(query: str, rules: Sequence[Rule]) -> Sequence[Rule]:
    """Return the rules of a signature, the one rule of this id, or the rules of the only signature with this word."""
    from logdoctor.cli.rule_page import find_rules

    named = _named(query, rules)
    return find_rules(named[0] if len(named) == 1 else query, rules)


def _named(word: str, rules: Iterable[Rule]) -> list[str]:
    """Return the signatures that have ``word`` in their name, as ``rdzv.timeout`` has ``timeout``."""
    return sorted({rule.signature for rule in rules if word.lower() in re.split(r"[.-]", rule.signature)})


def _diagnose(line: str, lang: str, folders: Sequence[Path]) -> Diagnosis | None:
    """Return the diagnosis of a line of a log, None if it tells of no failure."""
    from logdoctor.model import CALM
    from logdoctor.pipeline.diagnosis import diagnose

    source: Any = io.BytesIO(f"{line}\n".encode())
    source.name = "<stdin>"
    diagnosis = diagnose(source, rules=folders, lang=lang)
    return None if diagnosis.verdict in CALM else diagnosis


def _choices(number: str, entries: Sequence[Entry], lang: str) -> Iterator[str]:
    """List what a number can be, a line each."""
    from logdoctor.codes.table import labels
    from logdoctor.render.columns import pad, shorten, text_width

    names = [f"{entry.head.label(lang)} {entry.code}".strip() for entry in entries]
    left = max(map(text_width, names)) + 2
    yield labels(lang)["likely"].format(code=number)
    for name, entry in zip(names, entries, strict=True):
        text = f"{entry.name}: {entry.column('meaning', lang)}"
        yield f"  {pad(name, left)}{shorten(text, max(width_of(Style()) - left - 2, 20))}"
    yield labels(lang)["more"].format(example=f"{entries[0].head.label('en').lower()} {number}")


def _page(entry: Entry, lang: str, *, full: bool) -> Iterator[str]:
    from logdoctor.codes.search import entry_rows, entry_title

    return _layout(entry_title(entry, lang), [*entry_rows(entry, lang, full=full)])


def _layout(title: str, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Return a title and, below it, texts with their labels at the left."""
    from logdoctor.render.columns import pad, text_width, wrap

    yield title
    width = width_of(Style())
    left = max(text_width(label) for label, _ in rows) + 2
    for label, text in rows:
        first, *more = wrap(text, max(width - left - 2, 20)) or [""]
        yield f"  {pad(label, left)}{first}".rstrip()
        yield from (" " * (left + 2) + line for line in more)


def _codes(catalogue: Catalogue, lang: str) -> Iterator[str]:
    yield catalogue.head.title(lang)
    for entry in catalogue.entries:
        name = "" if entry.name == entry.code else entry.name
        yield f"  {entry.code:>12}  {name:{WORDS_WIDTH}}  {entry.column('meaning', lang)}"
    yield ""


def _catalogues(lang: str) -> Iterator[str]:
    from logdoctor.codes import catalogue, names
    from logdoctor.codes.table import labels

    for name in names():
        head, entries = catalogue(name).head, catalogue(name).entries
        yield f"{name:14} {len(entries):4} {labels(lang)['codes']}  {head.title(lang)}"
        yield f"{'':26}{head.about['source']} ({head.about['version']})"
