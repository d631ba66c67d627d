"""Progress lines: step, epoch or iteration, value, total, loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import regex

from logdoctor.logs.record_pattern import Message, Multiline, MultilineReader
from logdoctor.model import Value
from logdoctor.model.numbers import number, number_fields
from logdoctor.pack.regexes import later

MAX_TEXT = 20_000
"""Characters at the end of a line that are searched for bars."""
_LOSS = later(
    r"\b(?:\w{0,24}[_ ])?[Ll]oss['\"]?(?:_\w{1,20})? ?[:=]? {0,4}['\"]?(?P<loss>-?\d[\d.]*(?:[eE][+-]?\d{1,4})?|-?nan"
    r"|-?inf|-?NaN|-?Inf|NAN)\b"
)
_EPOCH = later(r"\b[Ee]poch['\"]? ?[:=]? ?\[?(?P<epoch>\d+(?:\.\d+)?)")
_EPOCHS = later(r"\b[Ee]poch['\"]? ?[:=]? ?\[?\d+ ?/ ?(?P<epochs>\d+)\b")
_BATCH = later(r"(?i)\b(?:step|iter(?:ation)?|batch)\b\W{1,4}(?P<batch>\d{1,9}) ?/ ?(?P<batches>\d{1,9})\b")
_OPTIONS = later(r"\bNamespace\(|(?:^|\s)--[a-z]")
_ETA = later(r"\beta: ?(?:(?P<days>\d{1,3}) days?, ?)?(?P<hours>\d{1,3}):(?P<minutes>\d\d):(?P<seconds>\d\d)\b")
_PHASES = (
    ("save", r"[Ss]av(?:e|ing)\b|[Ww]riting .{0,20}(?:checkpoint|shard|weight)|[Cc]onsolidat"),
    ("resume", r"[Rr]esum|[Rr]estor|[Ss]kipping (?:the )?(?:first|batches)|[Ff]ast[- ]?[Ff]orward"),
    ("data", r"^Map\b|[Tt]okeniz|[Gg]rouping|[Ff]ilter|[Pp]acking|[Gg]enerating .{0,40}split|[Dd]ataset|[Dd]ownload"),
    ("data", r"[Ff]etching|[Pp]reprocess|[Cc]aching|[Ss]huffl|[Bb]uilding .{0,20}(?:index|dataset)"),
    ("data", r"[Ee]xtracting|[Ss]canning"),
    ("load", r"[Ll]oad(?:ing)?\b.{0,40}(?:checkpoint|shard|weight|state|model|pipeline|safetensors)|[Ll]oading"),
    ("eval", r"[Vv]alidat|[Ee]valuat|\b[Ee]val|[Tt]esting|[Pp]redict|loglikelihood|[Gg]enerat|[Ii]nferenc|[Ss]anity"),
    ("compile", r"[Cc]ompil|[Aa]utotun|[Cc]aptur(?:e|ing) (?:batches|CUDA|cuda|graph)|torchinductor"),
)
_FAILS = later(
    r"(?:^|\]:? ?)\W*(?:\w+\.)*(?:[A-Z]\w*)?(?:Error|Exception)\b|\b(?:[Ff]ail(?:ed|ure)|[Cc]ould not|[Cc]annot"
    r"|[Uu]nable to|ERROR|rror while|rror when|xception (?:occurred|while|in|during))\b"
)
"""A line that reports the failure of a phase. Another pattern reads it."""
_CHECKPOINT_STEP = later(r"(?:iteration|step|checkpoint|ckpt)[ :=_-]{0,9}(?P<step>\d{1,15})\b")
_CHECKPOINT_PATH = later(r"\b(?:to|in|at|as) {0,2}['\"]?(?P<path>[^\s'\"]*/[^\s'\"]*[^\s'\".,;:])")
_LOADED_PATH = later(
    r"\b(?:from|at|checkpoint|ckpt|file|weights|model|loading) {1,2}['\"]?"
    r"(?P<path>(?=[^\s'\"]{0,300}[A-Za-z])(?!https?:|in/|it/)[^\s'\"\[\]]*/[^\s'\"]*[^\s'\".,;:)])"
)
_CONFIGURATION = later(r"/(?:[^/]*config\.json|(?:pytorch_)?model[^/]*\.(?:safetensors|bin))$")
"""A file in the folder of a checkpoint, as Transformers names them."""
_PHASE = tuple((name, later(pattern)) for name, pattern in _PHASES)


@lru_cache(1024)
def phase_of(description: str) -> str:
    """Return the phase that a description names, or "".

    ``Loading checkpoint shards`` is ``load``. Phases: save, resume, eval, data, load, compile.
    """
    return next((name for name, pattern in _PHASE if pattern.search(description)), "")


_COUNT = later(r"(?P<number>\d{1,15}(?:\.\d{1,15}(?=[kMGe]))?(?:e\+\d\d)?)(?P<times>[kMG]?)")
_FACTORS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
"""Factors of the letters that tqdm writes behind large numbers."""


def read_step(unit: str) -> MultilineReader:
    """Return a reader for a line that counts ``unit``. It adds loss and epoch if printed.

    The reader returns None for options and settings, because ``--epoch 3 --lr 0.1`` counts nothing.
    """

    def read(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline | None:
        if _OPTIONS.search(head.text):
            return None
        values = _step_fields(head.text, fields, unit)
        return Multiline(head.text[:400], _mark_bar(values) if BAR_MARK in head.text[:400] else values)

    return read


def _step_fields(text: str, fields: Mapping[str, Value], unit: str) -> dict[str, Value]:
    values: dict[str, Value] = {"unit": unit}
    for name in ("value", "total"):
        count = _COUNT.fullmatch(str(fields.get(name, "")).replace(",", ""))
        if count:
            values[name] = round(float(count["number"]) * _FACTORS[count["times"]])
    if (begun := number(str(fields.get("begun", "")))) is not None:
        values["value"] = max(begun - 1, 0)  # a headline such as "Epoch 1/8" stands above the work
    loss, epoch = _LOSS.search(text), _EPOCH.search(text)
    if loss:
        values["loss"] = loss["loss"].lower()
    if epoch and unit != "epoch":
        values["epoch"] = epoch["epoch"]
    if inner := (_BATCH if unit == "epoch" else _EPOCHS).search(text):
        values |= number_fields(inner.groupdict())
    if eta := _ETA.search(text):
        days, hours, minutes, seconds = (number(part) or 0 for part in eta.groups())
        values["eta_s"] = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return values


def read_bar(head: Message, _fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline | None:
    """Read tqdm's bar. Of several on a line (carriage returns) the last counts.

    A bar whose description names another phase than training reports that phase, not a step.
    """
    bar = _last_bar(head.text)
    if bar is None:
        return None
    values = _mark_bar(_step_fields(head.text[bar.start() :], bar.groupdict(), "step"))
    text, description = bar[0].strip()[:400], bar["what"].strip(" :\r")
    if not description:
        return Multiline(text, values)
    values["what"] = description.partition("...")[0][-80:]
    phase = phase_of(values["what"])
    return Multiline(text, {**values, "phase": phase}, kind="progress.phase") if phase else Multiline(text, values)


def _mark_bar(values: dict[str, Value]) -> dict[str, Value]:
    """Add ``advances: False``, because a bar is drawn again though nothing moves."""
    return {**values, "advances": False}


def _last_bar(text: str) -> regex.Match[str] | None:
    bars = list(BAR.finditer(text[-MAX_TEXT:]))
    return bars[-1] if bars else None


def read_phase(phase: str = "") -> MultilineReader:
    """Return a reader for a line about a phase.

    Without ``phase`` the words of the line name the phase. The reader returns None if the line reports a failure.
    """

    def read(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline | None:
        if head.source.level in ("error", "fatal") or _FAILS.search(head.text):
            return None
        name = phase or phase_of(str(fields.get("what", head.text))) or "data"
        return Multiline(head.text[:400], {"phase": name, **_path_fields(name, head.text)})

    return read


def _path_fields(phase: str, text: str) -> dict[str, Value]:
    if phase == "save":
        return _checkpoint_fields(text)
    path = _LOADED_PATH.search(text[:MAX_TEXT]) if phase in ("load", "resume") else None
    return {"checkpoint_path": path["path"]} if path else {}


def _checkpoint_fields(text: str) -> dict[str, Value]:
    """Return the step and the path of a checkpoint, as far as the line names them."""
    step, path = _CHECKPOINT_STEP.search(text), _CHECKPOINT_PATH.search(text)
    number_of_step = number(step["step"]) if step else None
    fields: dict[str, Value] = {} if number_of_step is None else {"checkpoint_step": number_of_step}
    return {**fields, "checkpoint_path": _CONFIGURATION.sub("", path["path"])} if path else fields


BAR_MARK = "%|"
BAR = later(
    r"(?P<what>[^\r\n%|\]]{0,120}?)(?P<percent>\d{1,3})%\|[^|\r\n]{0,400}\| *"
    r"(?P<value>\d+(?:\.\d+)?[kMG]?)/(?P<total>\d+(?:\.\d+)?[kMG]?) \[[\d:]+<(?:[\d:]+|\?)(?:, [^\]\r\n]{0,300})?"
)
"""tqdm's bar with its description in front."""
