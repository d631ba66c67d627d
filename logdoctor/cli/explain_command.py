"""``logdoctor explain``: what a code means, who is to blame, what to do, and where that is from."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from logdoctor.cli.diagnose_command import Lang, language_of
from logdoctor.cli.rule_options import chosen_settings

if TYPE_CHECKING:
    from logdoctor.catalogues import Catalogue, Entry

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
    language, asked = language_of(lang, chosen_settings().lang), " ".join(words or []).strip()
    if not asked:
        _print(_catalogues(language))
        return
    _print(_answer(asked, language))


def _answer(asked: str, lang: str) -> Iterator[str]:
    from logdoctor.catalogues.asking import asked_for, listed, nearest

    lists = listed(asked)
    entries = () if lists else asked_for(asked) or _in_line(asked)
    if not lists and not entries:
        near = ", ".join(nearest(asked))
        hint = f"did you mean {near}?" if near else "'logdoctor explain' lists what is known"
        raise typer.BadParameter(f"nothing is known of '{asked}'; {hint}", param_hint="WORDS")
    for one in lists:
        yield from _codes(one, lang)
    for entry in entries:
        yield from (*_page(entry, lang), "")


def _in_line(line: str) -> tuple[Entry, ...]:
    """The codes in a line of a log, as the parsers read it."""
    from logdoctor.catalogues import meanings
    from logdoctor.diagnosis import events

    seen = {(e.head.name, e.code): e for event in events(io.BytesIO(line.encode())) for e in meanings(event)}
    return tuple(seen.values())


def _page(entry: Entry, lang: str) -> Iterator[str]:
    from logdoctor.catalogues.asking import page
    from logdoctor.render.columns import padded, text_width, wrap

    (code, name), *rows = page(entry, lang)
    yield f"{code}  {name}".rstrip()
    left = max(text_width(label) for label, _ in rows) + 2
    for label, text in rows:
        first, *more = wrap(text, WIDTH - left - 2)
        yield f"  {padded(label, left)}{first}"
        yield from (" " * (left + 2) + line for line in more)


def _codes(one: Catalogue, lang: str) -> Iterator[str]:
    yield one.head.title(lang)
    for entry in one.entries:
        name = "" if entry.name == entry.code else entry.name
        yield f"  {entry.code:>12}  {name:{WORDS_WIDTH}}  {entry.column('meaning', lang)}"
    yield ""


def _catalogues(lang: str) -> Iterator[str]:
    from logdoctor.catalogues import catalogue, names
    from logdoctor.catalogues.table import page_words

    for name in names():
        one = catalogue(name)
        yield f"{name:14} {len(one.entries):4} {page_words(lang)['codes']}  {one.head.title(lang)}"
        yield f"{'':26}{one.head.about['source']} ({one.head.about['version']})"


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        typer.echo(line)
