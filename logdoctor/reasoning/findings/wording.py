"""Words of rules, filled with values of the job."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial

from msgspec import Struct

from logdoctor.model import Step, StepWords, Value, Words
from logdoctor.model.chinese import space_chinese
from logdoctor.model.tools import TOOLS, Tools
from logdoctor.pack.regexes import later
from logdoctor.pack.version_ranges import package_of, satisfies

OPEN = later(r"\{(\w+(?:\.\w+)?)([?}])")
LONGEST = 160
"""Characters of a value. A longer value is cut at its end."""
TITLE = 96
"""Characters of a title. In a longer one the values are cut."""
SHORTEST = 24
"""Characters that a value of a title keeps."""
_APART = later(
    r"\b(?:but|instead of|expected|against|not|differ\w*|while|sees|needs|got|found)\b"
    r"|不同|而不是|应为|但|却|不是|不一致"
)
"""Words between two values that are told as a difference."""
_PAIR = later(r"\{(\w+(?:\.\w+)?)\}(?=([^.。{}]*)\{(\w+(?:\.\w+)?)\})")
_OTHER = later(r"^others?_")
_NUMBER = later(r"\b(?:0x)?[a-f]*+\d[0-9a-f]*+\b")
_RANK = later(r"(?<![\w-])[Rr]ank $")
_SUBJECT = later(r"(?:^ ?|[.;:] |\b(?:[Tt]hat|because|while|whether|why|if) )(?:[Rr]anks? )?$")
"""Text that ends before or within the subject of a clause."""
_VERB = later(r"^ ([a-z]*[^\Ws]s)\b")
_VERBS = {"is": "are", "was": "were", "has": "have", "does": "do"}
_CHINESE = later(r"[\u4e00-\u9fff]")
_SPECIFIC = later(r"[0-9_/]|\w[-.]\w|[a-z][A-Z]")
"""Part of a value that only this job has: a number, a path, or a name of several parts."""
_TOKEN = later(r"[A-Za-z0-9._:@/][A-Za-z0-9._:@/-]*")
"""A value that may stand in a command. Values come from a log, so no other value is told in a command."""

Values = Mapping[str, Value]
_Cut = Callable[[str], str]


class FilledWords(Struct, frozen=True):
    """Texts for a person, with the values of a job."""

    title: str
    cause: str
    steps: tuple[Step, ...]


class Circumstances(Struct, frozen=True):
    """The facts by which steps are chosen, beside the values of the finding."""

    tools: Tools
    settings: Collection[tuple[str, str]] = ()
    """Settings of the job."""
    versions: Mapping[str, str] = {}
    """Versions by package, in the spelling of `package_key`."""
    said: str = ""
    """The proof, in small letters."""


def fill_words(words: Words, values: Values, about: Circumstances) -> FilledWords:
    """Fill the words. Tell only the steps that fit the job."""
    steps = (fill_step(step, values) for step in choose_steps(words.remedy, values, about))
    return FilledWords(fill_title(words.title, values), fill_forms(words.cause, values), tuple(steps))


def tells_values(words: Words, values: Values) -> bool:
    """Return whether the title or the summary holds a specific value of the job."""
    forms = (_choose_form(forms, values) for forms in (words.title, words.cause))
    told = (values.get(slot.name) for form in forms for slot in _split(form)[0])
    return any(is_specific(_format_value(value, _cut_end)) for value in told if is_known(value))


def is_specific(text: str) -> bool:
    """Return whether a text holds a number, a path or a name of several parts. Other words may be told of any job."""
    return _SPECIFIC.search(text) is not None


def fill_forms(forms: Sequence[str], values: Values) -> str:
    """Fill the first form whose slots are all known, or else the last form."""
    return fill(_choose_form(forms, values), values)


def fill_title(forms: Sequence[str], values: Values) -> str:
    """Fill the first form that is not longer than `TITLE`. Shorten the longest values of the fullest if none is."""
    form = _choose_form(forms, values)
    told = (fill(other, values) for other in forms if _has_all(other, values))
    if short := next((title for title in told if len(title) <= TITLE), ""):
        return short
    title, longest = fill(form, values), LONGEST
    while len(title) > TITLE and longest > SHORTEST:
        longest = max(SHORTEST, min(longest, len(title)) - 1)
        title = fill(form, values, partial(_cut_title, longest=longest))
    return title


def fill_step(step: StepWords, values: Values) -> Step:
    commands = (_fill_command(command, values) for command in step.run)
    told = tuple(command for command in commands if command)
    return Step(fill_forms(step.do, values), told, step.confirmed.threads)


def _fill_command(command: str, values: Values) -> str:
    """Return the command, or "" unless each slot has a value that needs no quotes."""
    slots = [values.get(name) for name in needed_slots(command)]
    is_safe = all(is_known(value) and _TOKEN.fullmatch(_format_value(value, _cut_end)) for value in slots)
    return fill(command, values) if is_safe else ""


def choose_steps(steps: Sequence[StepWords], values: Values, about: Circumstances) -> Sequence[StepWords]:
    """Return the steps that fit the job, in order.

    A step for one tool, for example one scheduler, is told if the job is known to use it. If no step is left, the
    steps for tools that the job may use are told. Steps that threads confirm stand before the others: first those of
    which most facts hold, then those of most threads. A manual confirms a step, but moves it nowhere.
    """
    fitting = [step for step in steps if all(_fits(key, wanted, values, about) for key, wanted in step.when)]
    may_fit = [
        step for step in steps if all(_fits(key, wanted, values, about) is not False for key, wanted in step.when)
    ]

    def place(step: StepWords) -> tuple[bool, bool, int, int]:
        is_first = bool(step.first) and all(_fits(key, wanted, values, about) for key, wanted in step.first)
        if not step.confirmed.threads:
            return not is_first, True, 0, 0
        facts = sum(key not in TOOLS and key != "lacks" for key, _ in step.when)
        return not is_first, False, -facts, -step.confirmed.threads

    return sorted(fitting or may_fit, key=place)


def _fits(key: str, wanted: Sequence[str], values: Values, about: Circumstances) -> bool | None:
    """Return whether a condition of a step holds. Return None if the tools of the job are not known."""
    match key:
        case "is":
            terms = (term.partition("=") for term in wanted)
            return all(_told(name, values, about) & {*told.casefold().split(",")} for name, _, told in terms)
        case "says":
            return any(word.casefold() in about.said for word in wanted)
        case "version":
            return all(_has_version(requirement, about) for requirement in wanted)
    if key in TOOLS:
        used = about.tools.get(key, ())
        return any(tool in wanted for tool in used) if used else None
    known = [bool(about.tools.get(name)) if name in TOOLS else is_known(values.get(name)) for name in wanted]
    return all(known) if key == "knows" else not any(known)


def _told(name: str, values: Values, about: Circumstances) -> set[str]:
    """Return the values of a slot, or of a setting of the job."""
    return {str(values.get(name)).casefold(), *(value.casefold() for key, value in about.settings if key == name)}


def _has_version(requirement: str, about: Circumstances) -> bool:
    version = about.versions.get(package_of(requirement))
    return version is not None and satisfies(version, requirement)


def is_known(value: Value | None) -> bool:
    return value not in (None, (), "")


def _choose_form(forms: Sequence[str], values: Values) -> str:
    return next((form for form in forms[:-1] if _has_all(form, values)), forms[-1])


def _has_all(template: str, values: Values) -> bool:
    return all(is_known(values.get(name)) for name in needed_slots(template)) and not tells_equals_apart(
        template, values
    )


def tells_equals_apart(form: str, values: Values) -> bool:
    """Return whether the form tells two equal values as a difference: "got 3 instead of 3"."""
    return any(
        one != other and str(values.get(one)) == str(values.get(other))
        for one, between, other in (pair.groups() for pair in _PAIR.finditer(form))
        if _OTHER.sub("", other) == one or _APART.search(between)
    )


def needed_slots(template: str) -> list[str]:
    """Return the slots without which a form is not told. Slots inside an insertion are not needed."""
    return [slot.name for slot in _split(template)[0] if slot.words is None]


class _Slot(Struct, frozen=True):
    """Slot of a form. ``words`` are those of an insertion."""

    before: str
    name: str
    words: str | None
    ends_sentence: bool


@lru_cache(maxsize=4096)
def _split(template: str) -> tuple[tuple[_Slot, ...], str]:
    """Return the slots of a form, and the text after the last."""
    slots, at = list[_Slot](), 0
    while opening := OPEN.search(template, at):
        end = opening.end() - 1 if opening[2] == "}" else _closing_brace(template, opening.end())
        words = template[opening.end() : end] if opening[2] == "?" else None
        ends_sentence = template.startswith((".", "。"), end + 1)
        slots.append(_Slot(template[at : opening.start()], opening[1], words, ends_sentence))
        at = end + 1
    return tuple(slots), template[at:]


def slots_of(words: Words) -> set[str]:
    """Return the names of all slots in title, cause and steps."""
    forms = (*words.title, *words.cause, *(form for step in words.remedy for form in (*step.do, *step.run)))
    return {opening[1] for form in forms for opening in OPEN.finditer(form)}


def find_old_slots(template: str) -> Iterator[str]:
    """Yield ``{name?…|…}``, an insertion with other words for an unknown value. Only a claim may have them."""
    for opening in OPEN.finditer(template):
        words = template[opening.end() : _closing_brace(template, opening.end())]
        if opening[2] == "?" and _split_alternatives(words)[1] and not opening[1].startswith("claim."):
            yield f"{{{opening[1]}?…|…}}"


def fill(template: str, values: Values, cut: _Cut | None = None) -> str:
    """Replace the slots of a form.

    - ``{name}`` and ``{field.column}`` by the value, ``?`` if it is unknown
    - ``{name? words}`` by the words if the value and all slots in the words are known, else by nothing
    - ``{claim.name?words|other}`` by the words if the claim is confirmed, else by the other words

    A text that begins with a filled "rank" begins with "Rank". Values come from a log, so they are cut and never
    interpreted.
    """
    text = _fill_parts(template, values, cut or _cut_end)
    if _CHINESE.search(template):
        return space_chinese(text)
    begins = template.startswith("{") and text.startswith("rank")
    return f"R{text[1:]}" if begins else text


def _fill_parts(template: str, values: Values, cut: _Cut) -> str:
    slots, rest = _split(template)
    parts: list[str] = []
    english, plural = not _CHINESE.search(template), False
    for slot in slots:
        before, value = slot.before, values.get(slot.name)
        if plural and before:
            before, plural = _in_plural(before), False
        if slot.words is not None:
            text = _fill_parts(_choose_words(slot.words, values, known=is_known(value)), values, cut)
        elif not is_known(value):
            text = "?"
        else:
            text = _format_value(value, cut)
            several = len(value) > 1 if isinstance(value, tuple) else text.startswith("ranks ")
            plural = english and several and bool(_SUBJECT.search("".join([*parts, before])))
            if english and several and _RANK.search(before):
                before = f"{before[:-1]}s "  # "Rank 3" becomes "Ranks 3,5"
        parts += [before, text.rstrip(".") if slot.ends_sentence else text]
    return "".join([*parts, _in_plural(rest) if plural else rest])


def _in_plural(text: str) -> str:
    """Return the text behind a subject of several: "Ranks 3,5 report", not "reports"."""
    verb = _VERB.match(text)
    return text if verb is None else f" {_VERBS.get(verb[1], verb[1][:-1])}{text[verb.end() :]}"


def _choose_words(words: str, values: Values, *, known: bool) -> str:
    if_known, bar, if_unknown = _split_alternatives(words)
    if bar:
        return if_known if known else if_unknown
    return if_known if known and _has_all(if_known, values) else ""


def _closing_brace(template: str, start: int) -> int:
    """Return the index of the closing brace. The brace was opened before ``start``."""
    depth = 1
    for i in range(start, len(template)):
        depth += {"{": 1, "}": -1}.get(template[i], 0)
        if depth == 0:
            return i
    return len(template)


@lru_cache(maxsize=4096)
def _split_alternatives(words: str) -> tuple[str, str, str]:
    """Split ``words|other`` at the first ``|`` outside of braces, as `str.partition` does."""
    depth = 0
    for i, char in enumerate(words):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "|" and depth == 0:
            return words[:i], char, words[i + 1 :]
    return words, "", ""


def _format_value(value: Value | None, cut: _Cut) -> str:
    """Return the value as text, cut. Closing brackets without an opening bracket are dropped."""
    text = compress(value) if isinstance(value, tuple) else str(value).strip()
    while text.endswith(")") and text.count(")") > text.count("("):
        text = text[:-1].rstrip()
    return cut(text)


def _cut_end(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _cut_title(text: str, longest: int) -> str:
    """Cut ``text``: a sentence at its end between two words, so that its verb stays, a name or a path in its middle."""
    if len(text) <= longest:
        return text
    head = text[: longest - 1].rpartition(" ")[0].rstrip(" ,;:(")
    if " " in head:
        return f"{head}…"
    end = (longest - 1) // 2
    return f"{text[: longest - 1 - end].rstrip()}…{text[-end:].lstrip()}"


def mask_numbers(text: str) -> str:
    """Return the text with ``#`` for each number: equal for lines that differ in their numbers only."""
    masked: str = _NUMBER.sub("#", text)
    return masked


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
