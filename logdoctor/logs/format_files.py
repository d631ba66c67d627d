r"""Format files: what a program prints, as YAML.

A file ``formats/<family>/<program>.yaml`` holds:

- ``about``: the program, its versions, the sources of the facts, the kinds of records and their fields
- ``parts``: named pieces of patterns.  ``%{name}`` stands for a piece in a pattern.  All files know the parts of
  ``formats/parts.yaml``.  ``%{module.NAME}`` is a constant that a reader in `logs.multiline` uses too
- ``kinds``: kinds that no record has, because only a reader or the end of the log gives them
- ``signs``: lifecycle signs of kinds.  ``MARK of SUBJECT, told by REPORTER, by AUTHOR, late, last, tells THING``
  with all parts optional, or a mapping with the names of `LifecycleSign`, or a list of these
- ``origin``: where lines of a format come from, if not from the job: ``{kernel: machine}``.  One file says it
- ``file_names``: words in the names of files that hold such lines of one machine: ``[dmesg, kern]``
- ``records``: see `RecordPattern`; ``match`` is the pattern, and a list of texts is joined; ``before`` names kinds or
  formats over which the record wins, see `logs.precedence`
- ``prefixes``: see `Prefix`
- ``samples``: lines, and all records that they give

At most one of these keys says which lines below belong to a record (`multiline.lines_below`):

- ``next``: the next line, if it matches this pattern.  Its named groups become fields
- ``while``: all lines that match
- ``until``: all lines to the one that matches
- ``read``: the reader ``module.function`` of `logs.multiline`, or ``{module.function: {option: value}}``
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import regex
from msgspec import Struct

from logdoctor.logs.precedence import Before, Records, faults_of_order
from logdoctor.logs.record_pattern import LifecycleSigns, LineReader, Prefix, RecordPattern, find_function
from logdoctor.model import Author, Level, LifecycleSign, Mark, Origin, Reporter, RuleError, RulesError, Subject, Tell
from logdoctor.model.numbers import number
from logdoctor.model.own_files import read_source
from logdoctor.pack.regexes import compiled
from logdoctor.pack.yaml_lines import Document, Faults, parse
from logdoctor.pack.yaml_lines import Path as Place

FOLDER = Path(__file__).parent.parent / "formats"
SHARED_PARTS = "parts"
"""Name of the file with the parts for all files."""

KEYS = ("about", "parts", "kinds", "origin", "file_names", "signs", "records", "prefixes", "samples")
RECORD_KEYS: Mapping[str, type] = {
    "kind": str,
    "match": str,
    "level": str,
    "note": str,
    "before": list,
    "general": bool,
    "last": bool,
    "often": bool,
    "literal": list,
    "line": str,
    "patience": int,
    "next": str,
    "while": str,
    "until": str,
    "read": str,
}
PREFIX_KEYS: Mapping[str, type] = {
    "name": str,
    "match": str,
    "starts": str,
    "decode": str,
    "once": bool,
    "last": bool,
    "unless": list,
}
READERS = ("next", "while", "until", "read")
PATTERNS = ("match", "line", *READERS[:-1])
MIN_LITERAL = 3
"""Least length of a text for the scan."""
LEVELS = get_args(Level)
ORIGINS = get_args(Origin)[1:]
SIGN_WORDS: Mapping[str, tuple[str, ...]] = {
    name: get_args(words)
    for name, words in (("mark", Mark), ("of", Subject), ("reporter", Reporter), ("by", Author), ("tells", Tell))
}
"""Words that each part of a lifecycle sign may be."""

_KIND = regex.compile(r"[a-z][\w-]*\.[a-z]\w*")
_SIGN_PART = regex.compile(r"told by (?P<reporter>.+)|by (?P<by>.+)|tells (?P<tells>.+)|(?P<flag>late|last)")
_PART = regex.compile(r"%\{([A-Za-z_][\w.]*)\}")
_WORDS = {str: "a text", int: "a whole number", bool: "true or false", list: "a list"}


class Sample(Struct, frozen=True):
    """Lines of a log, and the fields of all records that they give, by kind."""

    log: str
    records: Mapping[str, list[Mapping[str, Any]]]
    where: str


class FormatFile(Struct, frozen=True):
    """The parts of one format file."""

    name: str
    family: str
    about: str
    record_patterns: tuple[RecordPattern, ...] = ()
    befores: tuple[Before, ...] = ()
    other_kinds: tuple[str, ...] = ()
    lifecycle_signs: LifecycleSigns = {}
    prefixes: tuple[Prefix, ...] = ()
    samples: tuple[Sample, ...] = ()
    origins: Mapping[str, Origin] = {}
    file_names: tuple[str, ...] = ()

    @property
    def records(self) -> Records:
        """Return the record patterns with their ``before``, for `logs.precedence`."""
        return Records(self.record_patterns, self.befores)


def load_formats(folder: Path = FOLDER, *, check: bool = False) -> tuple[FormatFile, ...]:
    """Read all format files, in the order of their names.  Raise `RulesError` with all faults of all files.

    ``check`` also compiles each pattern, imports each function and finds each needless ``before``.  It takes seconds.
    """
    errors = list[RuleError]()
    shared = _read_parts(folder / f"{SHARED_PARTS}.yaml", errors)
    files = sorted(folder.glob("*/*.yaml"), key=lambda path: path.stem)
    formats = tuple([_read_file(path, folder, shared, errors, check=check) for path in files])
    errors += faults_of_order([file.records for file in formats], check=check)
    if errors:
        raise RulesError(errors)
    return formats


def _parse(path: Path, folder: Path, errors: list[RuleError]) -> Faults:
    where = str(path.relative_to(folder.parent))
    try:
        document = parse(read_source(path, "the format file could not be read"), where)
    except RuleError as error:
        errors.append(error)
        document = Document({}, file=where)
    return Faults(document, where)


def _read_parts(path: Path, errors: list[RuleError]) -> Mapping[str, str]:
    faults = _parse(path, path.parent, errors)
    parts = _Parts({}, faults)
    parts.add(_mapping(faults.document.data, (), faults).get("parts"))
    errors += faults.errors
    return parts.texts


def _read_file(
    path: Path, folder: Path, shared: Mapping[str, str], errors: list[RuleError], *, check: bool
) -> FormatFile:
    faults = _parse(path, folder, errors)
    data = _mapping(faults.document.data, (), faults)
    for key in data:
        if key not in KEYS:
            faults.add((key,), f"unknown key '{key}'", "", f"the keys are {', '.join(KEYS)}")
    if data and not isinstance(data.get("about"), str):
        faults.add(
            (), "'about' is missing", "the next reader wants to know the program", "about: NAME, versions, sources"
        )
    parts = _Parts(shared, faults, check=check)
    parts.add(data.get("parts"))
    records, befores = _records(data, parts)
    kinds = {record.kind for record in records}
    other_kinds = _other_kinds(data.get("kinds", []), kinds, faults)
    prefixes = tuple(p for place, entry in _entries(data, "prefixes", faults) if (p := _prefix(entry, place, parts)))
    found = FormatFile(
        path.stem,
        path.parent.name,
        str(data.get("about")),
        records,
        befores,
        other_kinds,
        _signs(data.get("signs"), {*kinds, *other_kinds}, faults),
        prefixes,
        tuple(s for place, entry in _entries(data, "samples", faults) if (s := _sample(entry, place, faults))),
        _origins(data.get("origin"), {kind.partition(".")[0] for kind in (*kinds, *other_kinds)}, faults),
        _file_names(data.get("file_names", []), faults),
    )
    parts.check_unused()
    errors += sorted(faults.errors, key=lambda error: number(error.where.rpartition(":")[2]) or 0)
    return found


def _mapping(value: Any, place: Place, faults: Faults) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    if value is not None:
        faults.add(place, "this must be a mapping", f"it is {value!r:.60}", "KEY: VALUE")
    return {}


def _entries(data: Mapping[str, Any], key: str, faults: Faults) -> Iterator[tuple[Place, dict[str, Any]]]:
    entries = data.get(key, [])
    if not isinstance(entries, list):
        faults.add((key,), f"'{key}' must be a list", "", f"{key}: [{{…}}]")
        return
    for index, entry in enumerate(entries):
        if table := _mapping(entry, (key, index), faults):
            yield (key, index), table


class _Parts:
    """Parts of patterns, and the patterns that are made of them."""

    def __init__(self, shared: Mapping[str, str], faults: Faults, *, check: bool = False) -> None:
        self.texts, self.faults, self.check = dict(shared), faults, check
        self._unused = set[str]()

    def add(self, parts: Any) -> None:
        """Add the parts of a file.  A part may hold parts that stand above it."""
        for name, value in _mapping(parts, ("parts",), self.faults).items():
            place = ("parts", name)
            if name in self.texts:
                self.faults.add(place, f"the part '{name}' exists in {SHARED_PARTS}.yaml", "", "choose another name")
            self.texts[name] = self.fill(value, place)
            self._unused.add(name)

    def fill(self, value: Any, place: Place) -> str:
        """Return a pattern with its parts filled in."""
        pieces = value if isinstance(value, list) else [value]
        if not all(isinstance(piece, str) for piece in pieces):
            self.faults.add(place, "a pattern must be a text", f"it is {value!r:.60}", "put it in single quotes")
            return ""
        return str(_PART.sub(lambda match: self._part(match[1], place), "".join(pieces)))

    def _part(self, name: str, place: Place) -> str:
        self._unused.discard(name)
        if "." in name:
            try:
                return str(find_function(name))
            except LookupError:
                self.faults.add(place, f"there is no constant '{name}'", "", "name one of logs/multiline: module.NAME")
        elif name not in self.texts:
            known = ", ".join(sorted(self.texts))
            self.faults.add(place, f"there is no part '{name}' above", "", f"the parts are {known}")
        return self.texts.get(name, "")

    def check_pattern(self, pattern: str, place: Place) -> None:
        """Add a fault for what is no regular expression."""
        try:
            if self.check:
                compiled(pattern)
        except regex.error as error:
            self.faults.add(
                place, "this is not a regular expression", str(error), "a backslash needs single quotes in YAML"
            )

    def check_function(self, name: str, place: Place) -> None:
        """Add a fault for a function that does not exist."""
        try:
            if self.check and name:
                find_function(name)
        except LookupError:
            self.faults.add(
                place, f"there is no function '{name}'", "", "module.function of logs/multiline or logs/decoders"
            )

    def check_unused(self) -> None:
        """Add a fault for each part that no pattern uses."""
        for name in sorted(self._unused):
            self.faults.add(("parts", name), f"no pattern uses the part '{name}'", "", "remove it")


def _values(entry: Mapping[str, Any], place: Place, keys: Mapping[str, type], parts: _Parts) -> dict[str, Any] | None:
    """Check the keys and types of an entry, and fill the parts in.  Return None for an entry with faults."""
    faults, values = parts.faults, dict[str, Any]()
    before = len(faults.errors)
    for key, value in entry.items():
        if key not in keys:
            faults.add((*place, key), f"unknown key '{key}'", "", f"the keys are {', '.join(keys)}")
        elif key in PATTERNS:
            values[key] = parts.fill(value, (*place, key))
            parts.check_pattern(values[key], (*place, key))
        elif key == "read":
            values[key] = _reader(value, (*place, key), parts)
        elif key == "before":
            values[key] = _names(value, (*place, key), faults)
        elif type(value) is not keys[key]:
            faults.add((*place, key), f"'{key}' must be {_WORDS[keys[key]]}", f"it is {value!r:.60}", f"{key}: …")
        else:
            values[key] = value
    for name in (reader.name if (reader := values.get("read")) else "", values.get("decode", "")):
        parts.check_function(name, place)
    for key in tuple(keys)[:2]:
        if not entry.get(key):
            faults.add(place, f"'{key}' is missing", "", f"add {key}: …")
    return values if len(faults.errors) == before else None


def _reader(value: Any, place: Place, parts: _Parts) -> LineReader | None:
    if isinstance(value, dict) and len(value) == 1:
        ((name, options),) = value.items()
        if isinstance(options, dict) and all(isinstance(option, str | int) for option in options.values()):
            return LineReader(
                name, {key: parts.fill(o, place) if isinstance(o, str) else o for key, o in options.items()}
            )
    if isinstance(value, str):
        return LineReader(value)
    parts.faults.add(
        place,
        "'read' is not understood",
        "it names a function of logs/multiline",
        "read: module.function  or  read: {module.function: {option: value}}",
    )
    return None


def _names(value: Any, place: Place, faults: Faults) -> tuple[str, ...]:
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(name, str) and names.count(name) == 1 for name in names):
        faults.add(
            place, "'before' is not understood", f"it is {value!r:.60}", "before: KIND, before: FORMAT, or a list"
        )
        return ()
    return tuple(names)


def _records(data: Mapping[str, Any], parts: _Parts) -> tuple[tuple[RecordPattern, ...], tuple[Before, ...]]:
    """Return the records of a file and their ``before``."""
    records, befores, faults = list[RecordPattern](), list[Before](), parts.faults
    for place, entry in _entries(data, "records", faults):
        record = _record(entry, place, parts)
        if record is None:
            continue
        if records and (records[-1].last, records[-1].general) > (record.last, record.general):
            what = f"'{record.kind}' is tried before the record above it"
            faults.add(place, what, "general and last records come last", "move it above them")
        where = faults.document.where((*place, "before"))
        names = _names(entry["before"], place, faults) if "before" in entry else ()
        befores += [Before(len(records), name, where) for name in names]
        records.append(record)
    return tuple(records), tuple(befores)


def _record(entry: Mapping[str, Any], place: Place, parts: _Parts) -> RecordPattern | None:
    values = _values(entry, place, RECORD_KEYS, parts)
    if values is None:
        return None
    if not _KIND.fullmatch(values["kind"]):
        parts.faults.add(
            (*place, "kind"), f"'{values['kind']}' is no kind", "", "a kind is FORMAT.WORD: ucx.connection"
        )
    if values.get("level", "info") not in LEVELS:
        what = f"'{values['level']}' is no level"
        parts.faults.add((*place, "level"), what, "", f"one of {', '.join(LEVELS)}; without it the line's own")
    if values.get("general") and values.get("last"):
        parts.faults.add(place, "general and last stand together", "last says more", "keep last")
    literal = values.get("literal", ())
    if not all(isinstance(text, str) and len(text) >= MIN_LITERAL for text in literal):
        what = f"the texts of 'literal' have at least {MIN_LITERAL} characters"
        parts.faults.add((*place, "literal"), what, f"it is {literal!r:.60}", "literal: [TEXT, …]")
    readers = [key for key in READERS if key in values]
    if len(readers) > 1:
        parts.faults.add(
            place, f"{' and '.join(readers)} stand together", "a record has one reader", "keep one of them"
        )
    reader = values.get("read") or next(
        (LineReader(f"lines_below.read_{k}", {"pattern": values[k]}) for k in readers), None
    )
    return RecordPattern(
        values["kind"],
        values["match"],
        values.get("level"),
        reader,
        values.get("note", ""),
        values.get("general", False),
        values.get("last", False),
        values.get("often", False),
        tuple(literal),
        values.get("line"),
        **({"patience": values["patience"]} if "patience" in values else {}),
    )


def _prefix(entry: Mapping[str, Any], place: Place, parts: _Parts) -> Prefix | None:
    values = _values(entry, place, PREFIX_KEYS, parts)
    if values is None:
        return None
    pattern = values.pop("match")
    return Prefix(pattern=pattern, **{**values, "unless": tuple(values.get("unless", ()))})


def _other_kinds(value: Any, kinds: set[str], faults: Faults) -> tuple[str, ...]:
    """Return the kinds that no record of the file has."""
    named = value if isinstance(value, list) else [value]
    for index, kind in enumerate(named):
        if not isinstance(kind, str) or not _KIND.fullmatch(kind):
            faults.add(("kinds", index), f"'{kind}' is no kind", "", "a kind is FORMAT.WORD: ucx.connection")
        elif kind in kinds:
            faults.add(("kinds", index), f"a record of this file is of the kind '{kind}'", "", "take it out")
    return tuple(map(str, named))


def _origins(value: Any, names: set[str], faults: Faults) -> dict[str, Origin]:
    origins = _mapping(value, ("origin",), faults)
    for name, origin in origins.items():
        place = ("origin", name)
        if name not in names:
            faults.add(place, f"no kind of this file is of the format '{name}'", "", "name one of its formats")
        if origin not in ORIGINS:
            faults.add(place, f"'{origin}' is no origin", "", f"one of {', '.join(ORIGINS)}; without it the job")
    return origins


def _file_names(value: Any, faults: Faults) -> tuple[str, ...]:
    words = value if isinstance(value, list) else [value]
    if not all(isinstance(word, str) and word.isalpha() for word in words):
        faults.add(("file_names",), "'file_names' are words of letters", f"it is {value!r:.60}", "file_names: [dmesg]")
        return ()
    return tuple(words)


def _signs(value: Any, kinds: set[str], faults: Faults) -> LifecycleSigns:
    table = dict[str, tuple[LifecycleSign, ...]]()
    for kind, signs in _mapping(value, ("signs",), faults).items():
        place = ("signs", kind)
        if kind not in kinds:
            faults.add(place, f"no record of this file is of the kind '{kind}'", "", "write the kind as in its record")
        table[kind] = tuple(_sign(sign, place, faults) for sign in (signs if isinstance(signs, list) else [signs]))
    return table


def _sign(value: Any, place: Place, faults: Faults) -> LifecycleSign:
    """Read one lifecycle sign, as a text or a mapping."""
    values = _split_sign(value) if isinstance(value, str) else dict(value) if isinstance(value, dict) else {"": value}
    tells = values.pop("tells", [])
    values["tells"] = tuple(tells) if isinstance(tells, list) else (tells,)
    for name, given in values.items():
        known = SIGN_WORDS.get(name, ())
        if name not in LifecycleSign.__struct_fields__:
            faults.add(
                place, f"'{name or given}' is no part of a sign", "", f"one of {', '.join(SIGN_WORDS)}, late, last"
            )
        elif not known and given is not True:
            faults.add(place, f"'{name}' must be true", f"it is {given!r:.60}", f"{name}: true, or leave it out")
        for word in (given if isinstance(given, tuple) else (given,)) if known else ():
            if word not in known:
                what = f"'{word}' is no word for '{name}' of a sign"
                faults.add(place, what, "", f"one of {', '.join(filter(None, known))}")
    return LifecycleSign(**{name: given for name, given in values.items() if name in LifecycleSign.__struct_fields__})


def _split_sign(text: str) -> dict[str, Any]:
    """Split ``fails of named, told by launcher, late, tells peer and stack`` into the fields of a sign."""
    values = dict[str, Any]()
    for at, part in enumerate(text.split(", ")):
        match = _SIGN_PART.fullmatch(part)
        if match is None:
            mark, _, subject = part.partition(" of ")
            values |= {"mark" if at == 0 else part: mark} | ({"of": subject} if subject else {})
        elif match["flag"]:
            values[match["flag"]] = True
        else:
            values |= {name: word for name, word in match.groupdict().items() if word}
    if "tells" in values:
        values["tells"] = values["tells"].split(" and ")
    return values


def _sample(entry: Mapping[str, Any], place: Place, faults: Faults) -> Sample | None:
    log, records = entry.get("log"), dict[str, list[Mapping[str, Any]]]()
    lines: list[Any] = log if isinstance(log, list) else [log]
    if not all(isinstance(line, str) for line in lines):
        faults.add(place, "a sample has no log", "", "{log: 'the line', KIND: {FIELD: VALUE}}")
        return None
    for kind, value in entry.items():
        if kind == "log":
            continue
        fields = value if isinstance(value, list) else [value]
        if not _KIND.fullmatch(kind) or not all(isinstance(f, dict) for f in fields):
            faults.add((*place, kind), f"'{kind}' is not understood", "", "{log: 'the line', KIND: {FIELD: VALUE}}")
            return None
        records[kind] = fields
    return Sample("\n".join(lines), records, faults.document.where(place))
