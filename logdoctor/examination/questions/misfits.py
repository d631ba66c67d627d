"""Questions over arguments and names that a function or object does not have.

Either two packages do not fit each other, or the arguments are the keys of a settings file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

import regex

from logdoctor.examination.frames import Stack, stack_of
from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.frames import Frame
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_WORDS = ("argument", "has no attribute")
_UNEXPECTED = later(r"(?P<callee>[\w.<>]{1,200})\(\) got an unexpected keyword argument (?P<unexpected>'\w{1,100}')")
_MISFITS = (
    later(
        r"(?P<callee>[\w.<>]{1,200})\(\) missing (?P<count>\d{1,2}) required (?:positional|keyword-only) arguments?: "
        r"(?P<argument>'[^\n]{1,200})"
    ),
    _UNEXPECTED,
    later(
        r"(?P<callee>[\w.<>]{1,200})\(\) takes (?P<takes>(?:from )?\d{1,2}(?: to \d{1,2})?) positional arguments? "
        r"but (?P<given>\d{1,2})"
    ),
    later(r"\bmodule '(?P<module>[\w.]{1,200})' has no attribute '(?P<attribute>\w{1,200})'"),
)
_PASSES_ON = later(r"\(\s*(?:[^*()=]{1,80},\s*)*\*{1,2}(?:\w+\.)*\w*(?:args|kwargs|kwds|argv|arguments)\b")
"""A call that hands on arguments that it was given: ``forward_call(*args, **kwargs)``."""
_OF_DATA = later(r"\(\s*(?:[^*()]{1,80},\s*)*\*{1,2}\w")
"""A call with unpacked data: ``model(**batch)``. Names in the data decide over its arguments."""
_HANDS_ON = later(
    r"_?(?:wrapped_)?call_impl$|_?wrap(?:per|ped)?\w*$|_?inner$|decorate_context$|_?run$|__call__$|_fn$|apply$"
)
"""Functions that hand on arguments, for frames without a source line."""
_GIVEN_BY_USERS = later(
    r"(?:^|\.)(?:__(?:getitem|iter|len|next)__|collate\w*|on_\w+|\w+_(?:hook|fn|step|callback)|main\w*|train\w*|worker\w*"
    r"|<lambda>|compute_\w+|configure_\w+|setup|prepare_data)$|<locals>"
)
"""Functions that users write and libraries call."""
_SETTINGS = r"\w*(?:conf|cfg|setting|yaml|toml|hparam|hyper_?param)\w*"
_FROM_SETTINGS = later(rf"(?i)\*\*(?:\w+\.)*{_SETTINGS}\b")
"""A call whose arguments are settings that were read: ``cls(**config_dict)``."""
_READS_FILE = later(r"(?i)(?:from|load|read|parse)_\w*(?:yaml|json|toml|file|conf|pretrained|peft_type)\w*$")
"""Functions that make an object of what a file holds."""
_HOLDS_SETTINGS = later(r"(?:Config(?:uration)?|Settings|Arguments|Args|Options)\w{0,20}(?:\.__init__)?$")


@asks
def unknown_key(scene: Scene) -> Iterator[Answer]:
    """Tell the key of a settings file that the class or function made of it does not take.

    Kind ``unknown-key`` (callee, key, package, where).
    """
    proof = scene.quoted
    found = _UNEXPECTED.search(proof.text) if "argument" in proof.text else None
    stack = stack_of(scene) if found else None
    frame = stack.innermost if stack else None
    if found is None or stack is None or frame is None or not _is_of_settings(stack.frames, found):
        return
    callee = str(found["callee"]).removesuffix(".__init__").replace("__init__", "")
    fields = {"callee": callee, "key": found["unexpected"].strip("'"), "package": frame.package, "where": frame.told}
    yield Answer("unknown-key", proof, fields, tuple(said.line for said in stack.lines), silent=True)


def _is_of_settings(frames: Sequence[Frame], found: regex.Match[str]) -> bool:
    """Return whether the arguments that a function refused were read from a file of settings."""
    if not frames or not frames[0].is_python:
        return False
    if _FROM_SETTINGS.search(frames[0].code):
        return True
    nearest = takewhile(lambda frame: frame.package == frames[0].package, frames)
    is_read = any(_READS_FILE.match(frame.function) for frame in nearest)
    return bool(frames[0].package) and is_read and _HOLDS_SETTINGS.search(found["callee"]) is not None


@asks
def misfit(scene: Scene) -> Iterator[Answer]:
    """Tell that a package calls a function of another package with arguments that this one does not take.

    The caller is the innermost frame that does not only hand on its arguments. In a wrapper's message the frames of the
    call are gone; then all frames are of libraries. It says nothing of a call in the user's own code.
    Kind ``misfit`` (callee, argument, unexpected, takes, given, module, attribute, package, where).
    """
    proof = scene.quoted
    if not any(word in proof.text for word in _WORDS):
        return
    found = next((match for pattern in _MISFITS if (match := pattern.search(proof.text))), None)
    stack = stack_of(scene) if found else None
    if found is None or stack is None:
        return
    if found.groupdict().get("unexpected") and _is_of_settings(stack.frames, found):
        return
    told: dict[str, Value] = {name: str(value).strip() for name, value in found.groupdict().items() if value}
    is_direct = proof.text.lstrip().startswith(("TypeError", "AttributeError"))
    caller = _caller(stack.frames) if is_direct else _wrapper(stack)
    if (
        caller is None
        or not caller.package
        or caller.package == "python"
        or _GIVEN_BY_USERS.search(str(told.get("callee", "")))
    ):
        return
    if str(told.get("module", "")).partition(".")[0] == caller.package:
        return
    fields = {**told, "package": caller.package, "where": caller.told}
    yield Answer("misfit", proof, fields, tuple(said.line for said in stack.lines), tuple(stack.facts()), silent=True)


def _caller(frames: Sequence[Frame]) -> Frame | None:
    """Return the innermost frame whose own arguments or names were refused."""
    for frame in frames:
        if not frame.is_python:
            return None
        if _PASSES_ON.search(frame.code) or (not frame.code and _HANDS_ON.match(frame.function)):
            continue
        return None if _OF_DATA.search(frame.code) else frame
    return None


def _wrapper(stack: Stack) -> Frame | None:
    """Return the frame that raised the wrapper, if no frame is of the user's own code."""
    innermost = stack.innermost
    return innermost if innermost and innermost.is_python and stack.own is None else None
