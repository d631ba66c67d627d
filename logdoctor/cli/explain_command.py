"""``logdoctor explain``: print the meaning of a code, and the remedy."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from logdoctor.cli.diagnose_command import Lang
from logdoctor.cli.output import language_of

if TYPE_CHECKING:
    from logdoctor.codes import Catalogue, Entry

app = typer.Typer(add_completion=False, rich_markup_mode=None)
WIDTH = 100
WORDS_WIDTH = 28

Words = Annotated[
    list[str] | None,
    typer.Argument(help="A code with its catalogue (xid 79), alone (ECONNREFUSED), or a whole line of a log."),
]


@app.command("explain", context_settings={"ignore_unknown_options": True})
def explain(words: Words = None, lang: Lang = None) -> None:
    """Say what a code means, who is to blame and what to do: Xids, errno, signals, exit codes, CUDA, NCCL, Slurm ...

    Without WORDS the catalogues are listed; with a catalogue's name alone, its codes.
    """
    language, query = language_of(lang), " ".join(words or []).strip()
    if not query:
        _print(_catalogues(language))
        return
    _print(_answer(query, language))


def _answer(query: str, lang: str) -> Iterator[str]:
    from logdoctor.codes.search import find_catalogues, find_codes, similar_names

    lists = find_catalogues(query)
    entries = () if lists else find_codes(query) or _codes_in_line(query)
    if not lists and not entries:
        near = ", ".join(similar_names(query))
        hint = f"did you mean {near}?" if near else "'logdoctor explain' lists what is known"
        raise typer.BadParameter(f"nothing is known of '{query}'; {hint}", param_hint="WORDS")
    for catalogue in lists:
        yield from _codes(catalogue, lang)
    for entry in entries:
        yield from (*_page(entry, lang), "")


def _codes_in_line(line: str) -> tuple[Entry, ...]:
    """Return the codes that the parsers find in a line of a log."""
    from logdoctor.codes import find_entries
    from logdoctor.pipeline.diagnosis import events

    entries = {(e.head.name, e.code): e for event in events(io.BytesIO(line.encode())) for e in find_entries(event)}
    return tuple(entries.values())


def _page(entry: Entry, lang: str) -> Iterator[str]:
    from logdoctor.codes.search import entry_rows
    from logdoctor.render.columns import pad, text_width, wrap

    (code, name), *rows = entry_rows(entry, lang)
    yield f"{code}  {name}".rstrip()
    left = max(text_width(label) for label, _ in rows) + 2
    for label, text in rows:
        first, *more = wrap(text, WIDTH - left - 2)
        yield f"  {pad(label, left)}{first}"
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


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        typer.echo(line)
