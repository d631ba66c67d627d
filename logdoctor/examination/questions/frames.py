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
CRASHES = ("crash", "ucx", "gasnet")
"""Formats whose stacks are of crashes."""
_EXCEPTION = later(
    r"(?:^|\s)(?P<exception>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Failure|Timeout|Interrupt)): "
    r"(?P<message>\S.*)$"
)

_COMPLAINS = later(r"(?i)\b(?:error|fail(?:ed|ure)|cannot|could not|unable|invalid|no such|not found|missing|out of)\b")


@asks
def frames(scene: Scene) -> Iterator[Answer]:
    """Tell the innermost frame of the failure's stack and its caller.

    Kinds ``frames`` (where, function, called_by, entry, own_frame, package; of a crash also crashed_in, hook) and
    ``owner`` (who, package, frame).
    """
    stack = stack_of(scene)
    if stack is None or stack.innermost is None or (len(stack.frames) < 2 and not stack.is_above):
        return
    innermost, caller, entry, own = stack.innermost, stack.caller, stack.entry, stack.own
    base = stack.line_of(innermost)
    fields: dict[str, Value] = {
        "where": innermost.told,
        "function": innermost.function,
        "called_by": caller.told if caller else "",
        "entry": entry.told if entry and entry != caller else "",
        "own_frame": own.told if own and own not in (innermost, caller) else "",
        "package": stack.library.package if stack.library else "",
    }
    form, hook = _form(scene, stack, fields), stack.hook
    if form.startswith("crashed"):
        fields |= {"crashed_in": innermost.told, "hook": hook.function if hook else ""}
    lines = tuple(stack.line_of(frame).line for frame in (caller, entry) if frame)
    is_told = "where" in scene.record.fields
    yield Answer("frames", base, fields, lines, tuple(stack.facts()), form, silent=is_told)
    if form.startswith("crashed") and (reason := _reason(scene, innermost)):
        text = reason.text.strip()
        fact = Fact("reason", "above", text, reason.line, said=text)
        yield Answer("reason-above", reason, {"reason": text}, facts=(fact,))
    who, package = _owner(stack)
    if who:
        frame = own.told if own else ""
        facts = (Fact("frame", "owner", who, base.line, of=package),)
        yield Answer("owner", base, {"who": who, "package": package, "frame": frame}, lines, facts, silent=True)


@asks
def inner_reason(scene: Scene) -> Iterator[Answer]:
    """Tell the line that holds the inner reason of a wrapped exception, also that of another process.

    The message of the wrapper ends with the whole message of the inner exception.
    Kind ``inner`` (exception, message, wrapper, rank).
    """
    proof = next((said for said in scene.block() if said.place == "proof"), None)
    wrapper = _EXCEPTION.search(proof.text) if proof else None
    if proof is None or wrapper is None:
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


def _form(scene: Scene, stack: Stack, fields: dict[str, Value]) -> str:
    """Return the form of the sentence: how the stack came about, and what of it is known."""
    record = scene.record
    if "threads" in record.fields and record.format == "python" and "exception" not in record.fields:
        verb = "stood" if record.level in ("info", "warning") or record.kind.startswith("python.stack") else "crashed"
    elif stack.is_above or "exception" in record.fields:
        verb = "raised"
    else:
        verb = "crashed" if record.format in CRASHES or "signal" in record.fields else "stood"
    further = ("called" if fields["called_by"] else "", "for" if fields["entry"] else "")
    return "-".join((verb, *filter(None, further)))


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
