"""Fills a rule's words with the job's own values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from logdoctor.codes import explain
from logdoctor.model import Finding, Value, Words
from logdoctor.pack.regexes import later

OPEN = later(r"\{(\w+(?:\.\w+)?)([|?}])")
LONGEST = 160
_RANK = later(r"(?<![\w-])[Rr]ank $")
_CHINESE = later(r"[\u4e00-\u9fff]")


class Told(Mapping[str, Value]):
    """What a finding's words can name: its bindings, and ``field.column`` of what the catalogues know of them.

    ``awaited`` are the ranks that brought it about, where another finding explains it by theirs.
    """

    def __init__(self, finding: Finding, lang: str, explained_by: Finding | None = None) -> None:
        """``lang`` is the language of what the catalogues say."""
        self._finding, self._lang = finding, lang
        self._awaited = explained_by.culprit.ranks if explained_by else ()

    def __getitem__(self, name: str) -> Value:
        if name == "awaited" and self._awaited:
            several = len(self._awaited) > 1 and self._lang == "en"
            return f"rank{'s' if several else ''} {compress(self._awaited)}"
        field, _, column = name.partition(".")
        value = self._finding.values[field]
        if not column:
            return value
        known = (explain(record.kind, field, value) for record in self._finding.records)
        entry = next((e for e in known if e), None)
        if entry is None:
            raise KeyError(name)
        return entry.column(column, self._lang)

    def __iter__(self) -> Iterator[str]:
        return iter(self._finding.values)

    def __len__(self) -> int:
        return len(self._finding.values)


def fill(template: str, values: Mapping[str, Value]) -> str:
    """``{name}``, ``{field.column}``, ``{name|words when unknown}`` and ``{name?words when known}`` replaced.

    The words may hold names in turn, those of a question mark a ``|`` and what is said when it is unknown.
    What stands before the brace is not said twice where the words end in it: ``Rank {rank|A rank}`` gives "Rank 3" or
    "A rank"; a rank that a text begins with is written large.  Text of a log is cut, never interpreted.
    """
    said = _filled(template, values)
    begins = template.startswith("{") and said.startswith("rank") and not _CHINESE.search(template)
    return f"R{said[1:]}" if begins else said


def _filled(template: str, values: Mapping[str, Value]) -> str:
    parts: list[str] = []
    at = 0
    while found := OPEN.search(template, at):
        end = found.end() - 1 if found[2] == "}" else _closing(template, found.end())
        known, words = values.get(found[1]), template[found.end() : end]
        unknown = known in (None, (), "")
        before = template[at : found.start()]
        if found[2] == "?":
            when_known, when_unknown = _halves(words)
            parts += [before, _filled(when_unknown if unknown else when_known, values)]
        elif unknown:
            said = _filled(words, values) if found[2] == "|" else "?"
            parts += [_without_the_end_of(said, before), said]
        else:
            several = isinstance(known, tuple) and len(known) > 1
            shown = _shown(known)
            if template.startswith(".", end + 1):
                shown = shown.removesuffix(".")
            parts += [_of_several(before) if several else before, shown]
        at = end + 1
    return "".join([*parts, template[at:]])


def _of_several(before: str) -> str:
    """``before`` more than one number: "Rank 3", but "Ranks 3,5"; Chinese has one form for both."""
    return f"{before[:-1]}s " if _RANK.search(before) and not _CHINESE.search(before) else before


def _without_the_end_of(said: str, before: str) -> str:
    """``before`` without the words and the space at its end in which ``said`` ends too."""
    words = said.split(" ")
    for start in range(len(words)):
        end = " ".join(words[start:])
        cut = len(before) - len(end) - 1
        if cut >= 0 and before[cut:].lower() == f"{end.lower()} " and not before[cut - 1 : cut].isalnum():
            return before[:cut]
    return before


def _closing(template: str, start: int) -> int:
    """Where the brace that was opened before ``start`` closes."""
    depth = 1
    for i in range(start, len(template)):
        depth += {"{": 1, "}": -1}.get(template[i], 0)
        if depth == 0:
            return i
    return len(template)


def _halves(words: str) -> tuple[str, str]:
    """What stands before and behind the first ``|`` that is in no brace."""
    depth = 0
    for i, char in enumerate(words):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "|" and depth == 0:
            return words[:i], words[i + 1 :]
    return words, ""


def _shown(value: Value | None) -> str:
    """As text, without the brackets that closed what stood around it in the log."""
    text = compress(value) if isinstance(value, tuple) else str(value).strip()
    while text.endswith(")") and text.count(")") > text.count("("):
        text = text[:-1].rstrip()
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def fill_words(words: Words, values: Mapping[str, Value]) -> Words:
    """All three parts of a rule's words, filled."""
    return Words(fill(words.title, values), fill(words.cause, values), tuple(fill(r, values) for r in words.remedy))


def compress(values: Iterable[int] | Iterable[str]) -> str:
    """``0-3,7`` for numbers; names joined by commas."""
    given = list(values)
    numbers = sorted({v for v in given if isinstance(v, int)})
    if len(numbers) != len(set(given)):
        return ", ".join(map(str, given))
    parts: list[str] = []
    start = previous = None
    for n in [*numbers, None]:
        if previous is not None and n != previous + 1:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
            start = n
        elif start is None:
            start = n
        previous = n
    return ",".join(parts)
