"""Words of rules, filled with values of the job."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from logdoctor.codes import explain
from logdoctor.model import Finding, Value, Words
from logdoctor.model.chinese import space_chinese
from logdoctor.pack.regexes import later

OPEN = later(r"\{(\w+(?:\.\w+)?)([|?}])")
LONGEST = 160
_RANK = later(r"(?<![\w-])[Rr]ank $")
_CHINESE = later(r"[\u4e00-\u9fff]")


class FindingValues(Mapping[str, Value]):
    """Values that a finding's words can name.

    ``field.column`` names a column of the code tables. ``awaited`` is ``rank 3`` or ``ranks 3,5``: the culprits of the
    finding that explains this one. ``rank`` is all culprits where each of them shows the
    failure. ``claim.peer`` is known if that claim is confirmed.
    """

    def __init__(
        self, finding: Finding, lang: str, explained_by: Finding | None = None, confirmed: Collection[str] = ()
    ) -> None:
        self._finding, self._lang, self._confirmed = finding, lang, confirmed
        self._awaited = explained_by.culprit.ranks if explained_by else ()

    def __getitem__(self, name: str) -> Value:
        if name == "awaited" and self._awaited:
            several = len(self._awaited) > 1 and self._lang == "en"
            return f"rank{'s' if several else ''} {compress(self._awaited)}"
        culprit = self._finding.culprit
        if name == "rank" and len(culprit.ranks) > 1 and {*culprit.ranks} == {*self._finding.ranks}:
            return culprit.ranks  # all of them show it, so the first one does not stand apart
        field, _, column = name.partition(".")
        if field == "claim" and column in self._confirmed:
            return column
        value = self._finding.values[field]
        if not column:
            return value
        entries = (explain(record.kind, field, value) for record in self._finding.records)
        entry = next((e for e in entries if e), None)
        if entry is None:
            raise KeyError(name)
        return entry.column(column, self._lang)

    def __iter__(self) -> Iterator[str]:
        return iter(self._finding.values)

    def __len__(self) -> int:
        return len(self._finding.values)


def fill(template: str, values: Mapping[str, Value]) -> str:
    """Replace the placeholders of a template.

    - ``{name}`` and ``{field.column}`` by the value, ``?`` if it is unknown
    - ``{name|words}`` by the value, or by the words if it is unknown
    - ``{name?words|other}`` by the words if the value is known, else by the other words

    The words may hold placeholders. Words before the brace are not repeated, so ``Rank {rank|A rank}`` gives "Rank 3"
    or "A rank". A text that begins with a filled "rank" begins with "Rank". Values come from a log, so they are cut
    and never interpreted.
    """
    text = _fill_parts(template, values)
    if _CHINESE.search(template):
        return space_chinese(text)
    begins = template.startswith("{") and text.startswith("rank")
    return f"R{text[1:]}" if begins else text


def _fill_parts(template: str, values: Mapping[str, Value]) -> str:
    parts: list[str] = []
    at = 0
    while opening := OPEN.search(template, at):
        end = opening.end() - 1 if opening[2] == "}" else _closing_brace(template, opening.end())
        value, words = values.get(opening[1]), template[opening.end() : end]
        unknown = value in (None, (), "")
        before = template[at : opening.start()]
        if opening[2] == "?":
            if_known, if_unknown = _split_alternatives(words)
            parts += [before, _fill_parts(if_unknown if unknown else if_known, values)]
        elif unknown:
            default = _fill_parts(words, values) if opening[2] == "|" else "?"
            parts += [_drop_repeated_end(before, default), default]
        else:
            several = isinstance(value, tuple) and len(value) > 1
            text = _format_value(value)
            if template.startswith(".", end + 1):
                text = text.removesuffix(".")
            parts += [_pluralise(before) if several else before, text]
        at = end + 1
    return "".join([*parts, template[at:]])


def _pluralise(before: str) -> str:
    """Return the plural if "Rank " is at the end.

    "Rank 3" becomes "Ranks 3,5". Chinese has no plural.
    """
    return f"{before[:-1]}s " if _RANK.search(before) and not _CHINESE.search(before) else before


def _drop_repeated_end(before: str, words: str) -> str:
    """Drop the last words of ``before`` that end ``words`` too.

    Example: before "on Rank " and words "a rank" give "on ".
    """
    parts = words.split(" ")
    for start in range(len(parts)):
        end = " ".join(parts[start:])
        cut = len(before) - len(end) - 1
        if cut >= 0 and before[cut:].lower() == f"{end.lower()} " and not before[cut - 1 : cut].isalnum():
            return before[:cut]
    return before


def _closing_brace(template: str, start: int) -> int:
    """Return the index of the closing brace.

    The brace was opened before ``start``.
    """
    depth = 1
    for i in range(start, len(template)):
        depth += {"{": 1, "}": -1}.get(template[i], 0)
        if depth == 0:
            return i
    return len(template)


def _split_alternatives(words: str) -> tuple[str, str]:
    """Split ``words|other`` at the first ``|`` outside of braces."""
    depth = 0
    for i, char in enumerate(words):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "|" and depth == 0:
            return words[:i], words[i + 1 :]
    return words, ""


def _format_value(value: Value | None) -> str:
    """Return the value as text, cut.

    Closing brackets without an opening bracket are dropped.
    """
    text = compress(value) if isinstance(value, tuple) else str(value).strip()
    while text.endswith(")") and text.count(")") > text.count("("):
        text = text[:-1].rstrip()
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def fill_words(words: Words, values: Mapping[str, Value]) -> Words:
    return Words(fill(words.title, values), fill(words.cause, values), tuple(fill(r, values) for r in words.remedy))


def compress(values: Iterable[int] | Iterable[str]) -> str:
    """Return ``0-3,7`` for numbers; join names by commas."""
    items = list(values)
    numbers = sorted({v for v in items if isinstance(v, int)})
    if len(numbers) != len(set(items)):
        return ", ".join(map(str, items))
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
