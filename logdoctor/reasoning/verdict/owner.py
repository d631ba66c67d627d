"""The owner of a cause: who has to change something, and where in the user's own code.

The table of owners says it for most signatures. For the others it is found in the proof: by a code that the failure
carries, else by the innermost frame of the user's own code, else by the library that raised the failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, cast

from logdoctor.codes import Entry, find_entries, find_printed
from logdoctor.codes.packages import find_package
from logdoctor.model import Examination, Finding, Owner, Record, Rule, Step, Who
from logdoctor.model.catalogue import Catalogue
from logdoctor.model.log import Scalar

FRAMES = "frames"
"""Owner in the table that stands for the codes and frames of the proof."""
BY_ACTION: Mapping[str, Who] = {"free-disk": "storage", "check-filesystem": "storage"}
"""Owners by the action of a code, which tells more than its blame."""
BY_BLAME: Mapping[str, Who] = {
    "user": "your settings",
    "system": "host",
    "hardware": "host",
    "driver": "gpu-or-driver",
    "firmware": "gpu-or-driver",
    "network": "fabric",
    "peer": "fabric",
    "scheduler": "scheduler",
}
"""Owners by the blame of a code. Codes of the program itself and of libraries leave it to the frames."""
GPU_CODES = ("cuda", "xid", "sxid", "cann")
CALLS_OF_DATA = ("__getitem__", "collate", "dataset", "dataloader")
"""Parts of frames that read the user's data."""
WRONG_VALUES = ("KeyError", "IndexError", "ValueError", "UnicodeDecodeError", "JSONDecodeError")
"""Exceptions that a wrong sample or batch raises."""
KNOWN_PLACES = frozenset({"frames", "where", "package", "library"})
"""Fields that tell where an exception was raised."""
WITH_FRAME: tuple[Who, ...] = ("your code", "your data")
"""Owners to whom a frame of their own code is shown. A setting is seldom made where it fails."""
TOLD_BY_PARENT = ("process crashes", "memory out")
"""Failure classes whose traceback is that of the parent, which only waits for the process.

A dump of the threads is of the process itself."""
TOLD_ABOVE = ("aborts", "end noticed", "process ends")
"""Failure classes of which the reason stands above the line that tells the end."""
TOLD_LATE = ("kernel faults",)
"""Failure classes that a later call reports: a GPU works behind the program."""
NATIVE_SOURCES = (".pyx", ".pxi", ".c", ".cpp")
"""Suffixes of sources that a traceback shows and that are compiled into a library."""


def owner_of(
    finding: Finding, values: Mapping[str, Scalar], words: Catalogue, examined: Examination | None = None
) -> Owner:
    """Return who can mend the failure, with the user's own frame if the log holds one.

    Frames that the record does not hold may stand around it: ``examined`` tells their owner.
    """
    record = finding.records[0]
    traced = next((e for e in (record, *finding.records) if _own_frame(e)), record)
    stack = _by_stack(examined) if examined and not (_own_frame(traced) or _package(traced)) else Owner()
    named: list[Who | Literal["frames"]] = [row.who for row in finding.rule.owners if _holds(row.when, values)]
    if finding.rule.failure_class in TOLD_ABOVE and (entry := _by_reason(examined)) and (by := _by_code(entry)):
        return Owner(by, why=words("owner.why.code", code=entry.name))
    if named[:1] == [FRAMES]:
        who, why = _by_proof(traced, words, stack)
    elif named[:1] == ["your code"] and stack.who not in ("not-told", "your code"):
        who, why = stack.who, words("owner.why.library")
    else:
        whos: list[Who] = [who for who in named if who != "frames"] or ["not-told"]
        only_library = whos[0] == "your code" and len(whos) > 1 and _package(record) and not _own_frame(traced)
        who, why = whos[1 if only_library else 0], words("owner.why.kind", signature=finding.rule.signature)
    if who == "not-told":
        return Owner()
    of_parent = finding.rule.failure_class in TOLD_BY_PARENT and "threads" not in traced.fields
    if who not in WITH_FRAME or of_parent or finding.rule.failure_class in TOLD_LATE:
        return Owner(who, package=_package(record) or stack.package, why=why)
    code = str(traced.fields.get("own_code", ""))
    frame = _own_frame(traced) or stack.frame or _call_in_stack(finding)
    return Owner(who, frame, code, _package(traced) or stack.package, why)


def with_frame(steps: Sequence[Step], owner: Owner, rule: Rule, words: Catalogue) -> tuple[Step, ...]:
    """Add the step "Look at train.py:88" behind the first step, or before it.

    The frame of an exception is often the call of the whole run, so a certain fix stands before it. A fallback rule
    knows no certain fix, and of a crash the frame is the best that is known.
    """
    if not owner.frame:
        return tuple(steps)
    code = owner.code.replace("`", "'")
    look = Step(words("look.code", frame=owner.frame, code=code) if code else words("look", frame=owner.frame))
    at = 0 if rule.role == "fallback" or rule.failure_class in TOLD_BY_PARENT else 1
    return (*steps[:at], look, *steps[at:])


def _holds(when: str, values: Mapping[str, Scalar]) -> bool:
    name, _, wanted = when.partition("=")
    return not when or (name in values and (not wanted or str(values[name]) in wanted.split(",")))


def _call_in_stack(finding: Finding) -> str:
    """Return the place that called the library's function in a native stack, as the rule captured it."""
    place = finding.values.get("place") if finding.values.get("caller") else ""
    return str(place or "")


def _by_reason(examined: Examination | None) -> Entry | None:
    """Return the code that the reason above the block tells."""
    reasons = (fact for fact in (examined.facts if examined else ()) if (fact.type, fact.role) == ("reason", "above"))
    return next((entry for fact in reasons if (entry := find_printed(str(fact.value), "errno"))), None)


def _by_stack(examined: Examination) -> Owner:
    """Return the owner that the frames around the proof tell."""
    owner, own = (next((f for f in examined.facts if (f.type, f.role) == ("frame", r)), None) for r in ("owner", "own"))
    if owner is None:
        return Owner()
    place = str(own.value).rpartition("(")[2].partition(" ")[0].rstrip(")") if own else ""
    return Owner(cast("Who", owner.value), place if ":" in place else "", package=owner.of)


def _by_proof(record: Record, words: Catalogue, stack: Owner) -> tuple[Who, str]:
    if record.tells("about peers"):
        return "not-told", ""
    for entry in find_entries(record):
        if who := _by_code(entry):
            return who, words("owner.why.code", code=entry.name)
    if stack.who == "your code":
        key = "owner.why.called" if stack.package else "owner.why.raised"
        return stack.who, words(key, package=stack.package)
    if stack.who != "not-told":
        return stack.who, words("owner.why.library")
    if not _own_frame(record):
        if "exception" in record.fields and KNOWN_PLACES.isdisjoint(record.fields):
            return "not-told", ""
        package = find_package(str(record.fields.get("package") or record.fields.get("library") or ""))
        return package.owner if package else "framework", words("owner.why.library")
    return _by_frame(record, words)


def _by_code(entry: Entry) -> Who | None:
    blame = entry.columns["blame"]
    if entry.head.name in GPU_CODES and blame in ("hardware", "driver", "firmware"):
        return "gpu-or-driver"
    return BY_ACTION.get(entry.columns["action"]) or BY_BLAME.get(blame)


def _by_frame(record: Record, words: Catalogue) -> tuple[Who, str]:
    """Return the owner of a failure that the user's own code raised or called."""
    package = find_package(str(record.fields.get("package", "")))
    if _reads_data(record) or (package and package.owner == "your data"):
        return "your data", words("owner.why.data")
    if package and package.owner in ("your data", "your settings"):
        return package.owner, words("owner.why.called", package=package.package)
    if name := _package(record):
        return "your code", words("owner.why.called", package=name)
    return "your code", words("owner.why.raised")


def _reads_data(record: Record) -> bool:
    exceptions = {str(record.fields.get(name, "")).rpartition(".")[2] for name in ("exception", "inner")}
    calls = str(record.fields.get("frames", "")).lower()
    return not exceptions.isdisjoint(WRONG_VALUES) and any(call in calls for call in CALLS_OF_DATA)


def _own_frame(record: Record) -> str:
    """Return ``file:line`` of the innermost frame of the user's own code."""
    frame = str(record.fields.get("own_frame", "")).partition(" ")[0]
    script = frame.rpartition(":")[0]
    return "" if script.startswith("<") or script.endswith(NATIVE_SOURCES) else frame


def _package(record: Record) -> str:
    """Return the Python package or the native library in which the failure was raised."""
    library = str(record.fields.get("library", "")).rpartition("/")[2]
    known = find_package(library)
    native = known.package if known else library if ".so" in library else ""
    return str(record.fields.get("package", "")) or native
