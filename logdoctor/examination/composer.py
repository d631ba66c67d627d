"""The composer: sentences about the facts of a proof, where the words of its rule tell none of them.

Three guards keep it honest. A fact is of the proof's own line or block, or of a line of the same process that a
question joined to it. Its role comes from a word beside the value; a fact without a role is quoted with its line and
not interpreted. A guess ("Often ...") is left out beside what a line shows, whether a sentence is added or the rule
tells it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from logdoctor.examination import Examined
from logdoctor.examination.questions import Answer
from logdoctor.examination.same_device import SameDevice
from logdoctor.examination.sentences import standard_sentences, tells_together
from logdoctor.model import Cause, Evidence, Fact, Line, say_fact
from logdoctor.model.catalogue import Catalogue
from logdoctor.model.sentences import split_sentences
from logdoctor.pack.regexes import later

MOST_SENTENCES = 2
MOST_LINES = 4
"""Lines that are added to the proof, at most."""
QUOTED = ("name", "path", "address", "version", "size", "count", "members", "reason", "code")
"""Types of facts of which the line is shown with the proof."""
_FOLDERS = later(r"^(?:[^\s/]*/)+|^(?:\[[0-9a-fA-F:.]*\]|\*|0\.0\.0\.0):(?=\d+$)")
"""Folders of a path, and the address that stands for all interfaces of a host."""


def compose(cause: Cause, examined: Examined, words: Catalogue) -> Cause:
    """Return the cause with sentences and lines of what its examination shows."""
    told = f"{cause.title} {cause.summary}"
    answers = [answer for answer in examined.answers if not answer.silent]
    said = [(answer, text) for answer in answers if not _is_told(answer, told) and (text := _say(answer, words))]
    sentences = [text for answer, text in said if not answer.beside]
    if not sentences and not any(tells(fact, told, words.lang) for fact in examined.own):
        sentences = [*standard_sentences(examined.own, words)][:1]
    is_known = sentences or any(answer.shared for answer in answers)
    sentences += [text for answer, text in said if answer.beside]
    shown = [line for answer in answers for line in (answer.base.line, *answer.lines)]
    shown += [fact.line for fact in examined.own if fact.type in QUOTED and not tells(fact, told, words.lang)]
    cause = replace(cause, summary=_with(cause.summary, sentences[:MOST_SENTENCES], words))
    if is_known or tells_together(examined.own, lambda fact: tells(fact, told, words.lang)):
        cause = _without_guesses(cause, words)
    return replace(
        cause,
        evidence=(*cause.evidence, *_new_lines(cause, shown)),
        facts=examined.known.facts,
    )


def tell_device(cause: Cause, device: SameDevice, words: Catalogue) -> Cause:
    """Return the cause with the device that the errors of the job name, if its words do not tell it."""
    if device.thing in f"{cause.title} {cause.summary}":
        return cause
    key = "examined.same-device.host" if device.host else "examined.same-device"
    text = words(key, thing=device.thing, host=device.host, count=device.count, of=device.of)
    return replace(cause, summary=_with(cause.summary, [text], words))


def _say(answer: Answer, words: Catalogue) -> str:
    key = f"examined.{answer.kind}.{answer.form}" if answer.form else f"examined.{answer.kind}"
    places = {name: _plain(value) for name, value in answer.fields.items()}
    return words(key, **{"line": answer.base.line.number, **places})


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _is_told(answer: Answer, told: str) -> bool:
    """Return whether the words tell all values of the answer already."""
    values = [str(v) for value in answer.fields.values() for v in (value if isinstance(value, tuple) else (value,))]
    joined = told.replace(", ", ",")
    return bool(values) and all(value.replace(", ", ",") in joined for value in values)


def tells(fact: Fact, told: str, lang: str = "en") -> bool:
    """Return whether a text tells the fact, as printed or as people say it. The end of a path or address is enough."""
    values = fact.value if isinstance(fact.value, tuple) else (fact.value,)
    short = (_FOLDERS.sub("", str(value)) or str(value) for value in values)
    said = (fact.said, say_fact(fact, lang))
    return any(text and text in told for text in said) or all(value in told for value in short)


def _with(summary: str, sentences: Sequence[str], words: Catalogue) -> str:
    """Return the summary with more sentences behind its first one."""
    first, *more = split_sentences(summary) or [""]
    return words("space").join((first, *sentences, *more)).strip() if sentences else summary


def _without_guesses(cause: Cause, words: Catalogue) -> Cause:
    """Return the cause without the guesses of its summary and steps. A first sentence stays."""
    guesses = tuple(words("guesses.begin").split())

    def certain(text: str) -> str:
        first, *more = split_sentences(text) or [""]
        kept = [sentence for sentence in more if not sentence.startswith(guesses)]
        return words("space").join((first, *kept)) if len(kept) < len(more) else text

    steps = tuple(replace(step, text=certain(step.text)) for step in cause.steps)
    return replace(cause, summary=certain(cause.summary), steps=steps)


def _new_lines(cause: Cause, lines: Iterable[Line]) -> Iterator[Evidence]:
    """Yield evidence for lines that the cause does not show yet, a few at most."""
    shown = {(e.line.file, e.line.number) for e in cause.evidence}
    first = cause.evidence[0] if cause.evidence else None
    for line in lines:
        if (line.file, line.number) not in shown and len(shown) < len(cause.evidence) + MOST_LINES:
            shown.add((line.file, line.number))
            yield Evidence(line, first.rank if first else None, first.host if first else None)
