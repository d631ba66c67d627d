"""Questions over stacks: the frames of a failure, their owner, and the inner reason of a wrapped exception."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.examination.frames import Stack, stack_of
from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.frames import Frame
from logdoctor.model import Fact, Said, Value, Who
from logdoctor.pack.regexes import later

MIN_REASON = 12
"""Characters of an inner message. Shorter ones are equal by chance."""
OF_PROGRAMS = ("program fails", "process crashes", "input bad", "not set up", "wrong values")
"""Failure classes of which the innermost frame is where the failure took place."""
KNOWN = frozenset({"where", "frames", "library", "threads"})
"""Fields of records that hold their frames."""
_EXCEPTION = later(
    r"(?:^|\s)(?P<exception>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Failure|Timeout|Interrupt)): "
    r"(?P<message>\S.*)$"
)

_COMPLAINS = later(r"(?i)\b(?:error|fail(?:ed|ure)|cannot|could not|unable|invalid|no such|not found|missing|out of)\b")


@asks
def frames(scene: Scene) -> Iterator[Answer]:
    """Tell the innermost frame of the failure's stack and its caller, unless the record holds them.

    Only of failures of a program's own: an exception, a crash. Elsewhere the stack shows which call noticed it.
    Kinds ``frames`` (where, function, called_by, entry, package; of a crash also crashed_in, hook) and ``owner`` (who,
    package, frame).
    """
    verb, is_fallback = _verb(scene), scene.rule is not None and scene.rule.role == "fallback"
    stack = stack_of(scene) if verb else None
    if stack is None or stack.innermost is None or (verb == "raised") != stack.is_above:
        return
    innermost, own, hook = stack.innermost, stack.own, stack.hook
    is_known = not KNOWN.isdisjoint(scene.record.fields)
    if is_known and not (verb == "crashed" and (innermost.path or hook)):
        return
    reached = verb == "raised" and own is not None and own not in stack.named[:2]
    caller, entry = own if reached else stack.caller, None if verb == "raised" else stack.entry
    fields: dict[str, Value] = {
        "where": innermost.told,
        "function": innermost.function,
        "called_by": caller.told if caller else "",
        "entry": entry.told if entry and entry != caller else "",
        "package": stack.library.package if stack.library else "",
    }
    if verb == "crashed":
        fields |= {"crashed_in": innermost.told, "hook": hook.function if hook else ""}
    further = ("reached" if reached else "called" if caller else "", "for" if fields["entry"] else "")
    base = stack.line_of(innermost)
    lines = tuple(stack.line_of(frame).line for frame in (caller, entry) if frame)
    form, is_telling = "-".join((verb, *filter(None, further))), verb == "crashed" or own is not None
    yield Answer("frames", base, fields, lines, tuple(stack.facts()), form, silent=not is_telling and not is_fallback)
    if verb == "crashed" and (reason := _reason(scene, innermost)):
        text = reason.text.strip()
        fact = Fact("reason", "above", text, reason.line, said=text)
        yield Answer("reason-above", reason, {"reason": text}, facts=(fact,))
    who, package = _owner(stack)
    if who and scene.rule and scene.rule.failure_class in ("program fails", "process crashes"):
        facts = (Fact("frame", "owner", who, base.line, of=package),)
        told = {"who": who, "package": package, "frame": own.place if own else ""}
        yield Answer("owner", base, told, lines, facts, silent=True)


@asks
def inner_reason(scene: Scene) -> Iterator[Answer]:
    """Tell the line that holds the inner reason of a wrapped exception, also that of another process.

    The message of the wrapper ends with the whole message of the inner exception.
    Kind ``inner`` (exception, message, wrapper, rank).
    """
    proof = scene.quoted
    wrapper = _EXCEPTION.search(proof.text)
    if wrapper is None:
        return
    for said in scene.around():
        inner = _EXCEPTION.search(said.text) if ": " in said.text else None
        if inner is None or not _wraps(wrapper["message"], inner["message"]):
            continue
        fields: dict[str, Value] = {
            "exception": inner["exception"],
            "message": inner["message"].strip(),
            "wrapper": wrapper["exception"],
        }
        if said.source.rank is not None and said.source.rank != proof.source.rank:
            yield Answer("inner", said, {**fields, "rank": said.source.rank}, (said.line,), form="rank")
        else:
            yield Answer("inner", said, fields, (said.line,))
        return


def _wraps(outer: str, inner: str) -> bool:
    """Return whether a message ends with the whole of another one, behind words of its own."""
    outer, inner = outer.strip(), inner.strip()
    before = outer.removesuffix(inner).rstrip(" '\"(")
    return len(inner) >= MIN_REASON and outer != inner and outer.endswith(inner) and before.endswith((":", "-", ">"))


def _reason(scene: Scene, innermost: Frame) -> Said | None:
    """Return the nearest line above in which the source of the innermost frame reports an error."""
    source = innermost.place.partition(":")[0]
    if "." not in source or ".so" in source:
        return None
    return next((s for s in scene.above() if f"{source}:" in s.text and _COMPLAINS.search(s.text)), None)


def _verb(scene: Scene) -> str:
    """Return how the stack of such a failure came about, "" if its frames say nothing of the failure."""
    rule, record = scene.rule, scene.record
    if rule is None or rule.failure_class not in OF_PROGRAMS:
        return ""
    if rule.failure_class != "process crashes":
        return "raised"
    return "crashed" if record.kind != "crash.backtrace" and "threads" not in record.fields else ""


def _owner(stack: Stack) -> tuple[Who | None, str]:
    """Return who has to change something, by the innermost frame that tells it, and the library.

    A library that stands in for the CUDA driver was put there by who runs the host.
    """
    innermost, own, library, hook = stack.innermost, stack.own, stack.library, stack.hook
    if innermost is None:
        return None, ""
    if hook is not None and own is None:
        return "host", hook.package or innermost.package
    if innermost.is_own:
        return "your code", ""
    if library is None:
        return None, ""
    owner = library.owner
    if own is not None:
        return (
            owner.owner if owner and owner.owner in ("your data", "your settings") else "your code"
        ), library.package
    return (owner.owner if owner else "framework"), library.package
