"""A parsed rule file becomes a `Rule`, or a list of all its faults."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import regex

from logdoctor.codes import column_values
from logdoctor.model import CLAIMS, Because, Claim, DecisionRow, Example, NoHelp, Rule, Symptom, pack_words
from logdoctor.model.rule import InLanguages
from logdoctor.pack.regexes import compiled
from logdoctor.pack.yaml_lines import Document, Faults, Path
from logdoctor.ruleset import RuleFile
from logdoctor.ruleset.decisions import DECISIONS
from logdoctor.ruleset.durations import DURATION
from logdoctor.ruleset.tables import ACTIONS, read_claim
from logdoctor.ruleset.words_reader import check_column, read_no_help, read_words

KEYS = (
    "like title cause action remedy references symptoms when because examples near_misses text "
    "signature failure_class claims role strength evidence culprit guards outlived reason decision not lint"
).split()
REQUIRED = "title cause remedy references symptoms examples near_misses".split()
HEALTHY = "healthy"
ROLES = ("cause", "symptom", "fallback", "benign")
OUTLIVED = ("by progress", "by a good end", "never")
REASON = ("own", "above")
STRENGTHS = ("proof", "strong", "likely", "hint")
SYMPTOM_KEYS = ("text", "kind", "dialect", "level", "fields")
LEVELS = ("fatal", "error", "warning", "info")
NAME_LISTS = ("any", "all", "none", "sequence", "apart", "together", "blame", "also", "before")
WHEN_KEYS = (*NAME_LISTS, "within", "count", "differ", "phase", "job")
PHASES = ("launch", "init", "before first step", "running", "checkpoint", "teardown")
CULPRIT_KEYS = ("ranks", "hosts", "gpus", "peers")
MANY = 20
COUNT = re.compile(r"(>=|<=|==|>|<)?\s*([0-9]{1,9})")


def read_rule(document: Document, file: RuleFile, faults: Faults) -> Rule | None:
    """Return the rule of a parsed file. Return None if the file has faults, which are added to ``faults``.

    Its action is "" if the file does not say it.
    """
    data = document.data
    if not isinstance(data, dict):
        faults.add((), "a rule file holds one mapping", "", "see docs/rules.md for a sketch to copy")
        return None
    before = len(faults.errors)
    _check_keys(data, faults)
    _check_lint(data.get("lint"), faults)
    symptoms = _symptoms(data.get("symptoms"), faults)
    names = _symptom_names(data.get("symptoms"))
    when = _when(data.get("when"), names, faults)
    rule = Rule(
        id=file.id,
        signature=_signature(data, file, faults),
        action=_choice(data, "action", (*ACTIONS, ""), "", faults),
        role=_choice(data, "role", (*ROLES, ""), "", faults),
        failure_class=_text(data, "failure_class", faults),
        strength=_choice(data, "strength", STRENGTHS, "strong", faults),
        packed_words=pack_words((("en", read_words(data, (), faults)), *_translations(data.get("text"), faults))),
        symptoms=symptoms,
        when=when,
        evidence=_text(data, "evidence", faults),
        culprit=_culprit(data.get("culprit"), faults),
        guards=_guards(data.get("guards"), faults),
        outlived=_choice(data, "outlived", OUTLIVED, OUTLIVED[0], faults),
        reason=_choice(data, "reason", REASON, REASON[0], faults),
        claims=_claims(data.get("claims"), faults),
        because=_because(data.get("because"), faults),
        references=_names(data.get("references"), ("references",), faults, required=True),
        examples=_examples(data.get("examples"), "examples", file.id, faults),
        near_misses=_examples(data.get("near_misses"), "near_misses", "", faults),
        path=str(file.path),
        decisions=_decision(data, faults),
        no_help=_no_help(data, faults),
    )
    return rule if len(faults.errors) == before else None


def _signature(data: dict[str, Any], file: RuleFile, faults: Faults) -> str:
    """Return the signature as the folder or the file says it. Without one it is the id, or healthy if benign."""
    if file.signature and "signature" in data:
        faults.add(("signature",), "the folder says the signature", f"it is {file.signature}", "take the key out")
    default = HEALTHY if data.get("role") == "benign" else file.signature or file.id
    return _text(data, "signature", faults, default)


def _check_keys(data: dict[str, Any], faults: Faults) -> None:
    for key in data:
        if key not in KEYS:
            faults.add((key,), f"unknown key '{key}'", "", f"the keys are {', '.join(KEYS)}")
    for key in REQUIRED:
        if not data.get(key):
            faults.add((), f"'{key}' is missing or empty", "a rule without it is not complete", "see docs/rules.md")


def _guards(value: Any, faults: Faults) -> dict[str, str]:
    """Return the regular expressions for the values of slots."""
    if value is not None and not isinstance(value, dict):
        faults.add(("guards",), "'guards' is not understood", "", "guards: {errno: '[1-9][0-9]*'}")
        return {}
    return {name: text for name, text in (value or {}).items() if _is_regex(text, ("guards", name), faults)}


def _no_help(data: dict[str, Any], faults: Faults) -> tuple[NoHelp, ...]:
    path: Path = ("not",)
    rows = read_no_help(data.get("not"), path, faults)
    return tuple(row for number, row in enumerate(rows) if _is_regex(row.text, (*path, number, "text"), faults))


def _check_lint(value: Any, faults: Faults) -> None:
    ignored = value.get("ignore") if isinstance(value, dict) and set(value) == {"ignore"} else None
    if value is None or (
        isinstance(ignored, dict) and all(isinstance(reason, str) and reason.strip() for reason in ignored.values())
    ):
        return
    faults.add(
        ("lint",),
        "'lint' is not understood",
        "each remark that is ignored needs its reason",
        "lint: {ignore: {overlapping: why it is right as it is}}",
    )


def _text(data: dict[str, Any], key: str, faults: Faults, default: str = "") -> str:
    value = data.get(key, default)
    if isinstance(value, str):
        return value.strip()
    faults.add((key,), f"'{key}' must be a text", f"it is {type(value).__name__}", "put it in quotes")
    return default


def _choice(data: dict[str, Any], key: str, allowed: Iterable[str], default: str, faults: Faults) -> Any:
    value = data.get(key, default)
    if value not in allowed:
        faults.add((key,), f"'{key}' is {value!r}", "", f"one of {', '.join(filter(None, allowed))}")
        return default
    return value


def _names(value: Any, path: Path, faults: Faults, *, required: bool = False) -> tuple[str, ...]:
    if value is None and not required:
        return ()
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        faults.add(path, f"'{path[-1]}' must be a list of texts", "", "[one, two]")
        return ()
    return tuple(v.strip() for v in value)


def _translations(value: Any, faults: Faults) -> InLanguages:
    if value is None:
        return ()
    if not isinstance(value, dict) or not all(isinstance(v, dict) for v in value.values()):
        faults.add(
            ("text",), "'text' holds one mapping a language", "", "text: {zh: {title: …, cause: …, remedy: […]}}"
        )
        return ()
    for lang, part in value.items():
        for key in ("title", "cause", "remedy"):
            if not part.get(key):
                faults.add(("text", lang), f"the language '{lang}' lacks '{key}'", "", "translate all three parts")
    return tuple((lang, read_words(part, ("text", lang), faults)) for lang, part in value.items())


def _symptoms(value: Any, faults: Faults) -> tuple[Symptom, ...]:
    if not isinstance(value, dict):
        faults.add(
            ("symptoms",), "'symptoms' must be a mapping of names", "", "symptoms: {lost: {text: 'connection lost'}}"
        )
        return ()
    return tuple(s for name, part in value.items() if (s := _symptom(name, part, faults)))


def _symptom_names(value: Any) -> list[str]:
    """Return the names of all symptoms. A faulty symptom is not reported again where it is used."""
    return [*value] if isinstance(value, dict) else []


def _symptom(name: str, part: Any, faults: Faults) -> Symptom | None:
    path: Path = ("symptoms", name)
    if not isinstance(part, dict) or not part or set(part) - set(SYMPTOM_KEYS):
        faults.add(
            path, f"the symptom '{name}' is not understood", "", f"a mapping with some of {', '.join(SYMPTOM_KEYS)}"
        )
        return None
    text = part.get("text")
    if text is not None and not _is_regex(text, (*path, "text"), faults):
        return None
    if not {"text", "kind"} & set(part):
        faults.add(
            path, f"the symptom '{name}' has neither text nor kind", "it would fit every line", "add one of them"
        )
    for key in ("kind", "dialect"):
        if not isinstance(part.get(key, ""), str):
            faults.add((*path, key), f"'{key}' must be a text", "", "a name, perhaps with a star: nccl.*")
            return None
    levels: Any = _names(part.get("level"), (*path, "level"), faults)
    if not set(levels) <= set(LEVELS):
        faults.add((*path, "level"), f"unknown level {part['level']!r}", "", f"some of {', '.join(LEVELS)}")
    return Symptom(name, text, part.get("kind"), part.get("dialect"), levels, _fields(part.get("fields"), path, faults))


def _is_regex(text: Any, path: Path, faults: Faults) -> bool:
    try:
        compiled(text)
    except (regex.error, TypeError) as error:
        faults.add(
            path, "this is not a regular expression", str(error), "mind that backslashes need single quotes in YAML"
        )
        return False
    return True


def _fields(value: Any, path: Path, faults: Faults) -> tuple[tuple[str, Any], ...]:
    if value is None:
        return ()
    if not isinstance(value, dict):
        faults.add((*path, "fields"), "'fields' must be a mapping", "", "fields: {op: ALLREDUCE, status: [12, 13]}")
        return ()
    table: list[tuple[str, Any]] = []
    for name, wanted in value.items():
        check_column(str(name), (*path, "fields", name), faults)
        if isinstance(wanted, str):
            if _is_regex(wanted, (*path, "fields", name), faults):
                table.append((name, wanted))
            continue
        values = wanted if isinstance(wanted, list) else [wanted]
        if all(isinstance(value, str | int | float) for value in values):
            table.append((name, tuple(values)))
        else:
            faults.add(
                (*path, "fields", name), f"what '{name}' must be is not understood", "", "a text, a number or a list"
            )
    for name, wanted in table:
        _check_value(str(name), wanted, (*path, "fields", name), faults)
    return tuple(table)


def _check_value(name: str, wanted: tuple[Any, ...] | str, path: Path, faults: Faults) -> None:
    """Check that some code has the value that a symptom asks of ``field.column``."""
    field, dot, column = name.partition(".")
    values = column_values(field, column) if dot else frozenset()
    if isinstance(wanted, str):
        missing = [] if any(regex.fullmatch(wanted, value) for value in values) else [wanted]
    else:
        missing = [str(w) for w in wanted if w not in values]
    if values and missing:
        few = ", ".join(sorted(values)) if len(values) < MANY else f"{len(values)} values"
        faults.add(path, f"no code has {', '.join(missing)} as its {column}", f"there are {few}", "logdoctor explain")


def _claims(value: Any, faults: Faults) -> tuple[Claim, ...]:
    texts = _names(value, ("claims",), faults)
    try:
        return tuple(map(read_claim, texts))
    except ValueError as error:
        faults.add(("claims",), f"there is no claim {error}", "", f"the claims are {', '.join(CLAIMS)}")
        return ()


def _when(value: Any, names: list[str], faults: Faults) -> dict[str, Any]:
    if value is None:
        return {"any": [*names]}
    if not isinstance(value, dict):
        faults.add(("when",), "'when' must be a mapping", "", f"some of {', '.join(WHEN_KEYS)}")
        return {"any": [*names]}
    for key, part in value.items():
        _check_when(key, part, names, faults)
    if not {"any", "all", "sequence"} & set(value):
        faults.add(("when",), "'when' needs any, all or sequence", "nothing would make the rule hold", "add one")
    return dict(value)


def _check_when(key: str, part: Any, names: list[str], faults: Faults) -> None:
    path: Path = ("when", key)
    if key not in WHEN_KEYS:
        faults.add(path, f"unknown condition '{key}'", "", f"one of {', '.join(WHEN_KEYS)}")
        return
    used = (
        _names(part, path, faults, required=True)
        if key in NAME_LISTS
        else tuple(part)
        if isinstance(part, dict) and key != "job"
        else ()
    )
    for name in used:
        if name not in names:
            faults.add(path, f"'{name}' is no symptom of this rule", "", f"the symptoms are {', '.join(names)}")
    if key == "within" and not (isinstance(part, str) and DURATION.fullmatch(part)):
        faults.add(path, f"'within' is {part!r}", "", "a time such as 90s, 15m or 1h")
    if key == "count" and not (isinstance(part, dict) and all(COUNT.fullmatch(str(v)) for v in part.values())):
        faults.add(path, "'count' is not understood", "", "count: {name: '>=3'}")
    if key == "phase" and not set(_names(part, path, faults, required=True)) <= set(PHASES):
        faults.add(path, "unknown phase", "", f"some of {', '.join(PHASES)}")
    if key in ("count", "differ", "job") and not isinstance(part, dict):
        faults.add(path, f"'{key}' must be a mapping", "", f"{key}: {{name: …}}")


def _decision(data: dict[str, Any], faults: Faults) -> tuple[DecisionRow, ...]:
    if "decision" not in data:
        return ()
    return (DecisionRow("", _choice(data, "decision", DECISIONS, "investigate", faults)),)


def _culprit(value: Any, faults: Faults) -> dict[str, str]:
    if value is None:
        return {}
    if (
        not isinstance(value, dict)
        or set(value) - set(CULPRIT_KEYS)
        or not all(isinstance(v, str) for v in value.values())
    ):
        faults.add(
            ("culprit",), "'culprit' is not understood", "", "culprit: {ranks: missing, peers: peer, hosts: nobody}"
        )
        return {}
    return dict(value)


def _because(value: Any, faults: Faults) -> tuple[Because, ...]:
    if value is None:
        return ()
    if isinstance(value, list) and all(
        isinstance(part, dict) and set(part) == {"of", "reason"} and all(isinstance(v, str) for v in part.values())
        for part in value
    ):
        return tuple(Because(part["of"], part["reason"]) for part in value)
    faults.add(
        ("because",), "'because' is not understood", "each needs its reason", "because: [{of: app.import, reason: …}]"
    )
    return ()


def _examples(value: Any, key: str, truth: str, faults: Faults) -> tuple[Example, ...]:
    if not isinstance(value, list):
        faults.add((key,), f"'{key}' must be a list", "", f"{key}: [{{log: …}}]")
        return ()
    return tuple(e for i, part in enumerate(value) if (e := _example(part, (key, i), truth, faults)))


def _example(part: Any, path: Path, truth: str, faults: Faults) -> Example | None:
    allowed = {"log", "finds", "because"} if truth else {"log", "is", "because"}
    if not isinstance(part, dict) or not isinstance(part.get("log"), str) or set(part) - allowed:
        faults.add(path, "an example is not understood", "", f"a mapping with {', '.join(sorted(allowed))}")
        return None
    if not truth and not part.get("is"):
        faults.add(path, "a near-miss says what it `is`", "", "is: healthy, unknown or another signature")
    finds = part.get("finds") or {}
    if not isinstance(finds, dict):
        faults.add((*path, "finds"), "'finds' must be a mapping", "", "finds: {rank: 3, host: n1}")
        return None
    line = faults.document.line((*path, "log"))
    return Example(part["log"], truth or str(part.get("is")), str(part.get("because", "")), tuple(finds.items()), line)
