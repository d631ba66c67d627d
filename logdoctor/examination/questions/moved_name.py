"""Question over a name that a class or module of a known library does not have: in which version it came or went."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.codes.moved_names import ANY, UNKNOWN, find_moved
from logdoctor.examination.frames import stack_of
from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_WORDS = ("argument", "has no attribute")
_CALL = r"\b(?P<of>[A-Za-z]\w{1,80})(?:\.\w{1,80})?\(\) "
_NAME = r"'(?P<name>\w{1,80})'"
_REFUSED = (
    later(rf"{_CALL}got an unexpected keyword argument {_NAME}"),
    later(rf"{_CALL}missing \d{{1,2}} required [\w-]{{4,12}} arguments?: {_NAME}"),
    later(rf"\b(?:module|type object) '(?P<of>[\w.]{{1,80}})' has no attribute {_NAME}"),
    later(rf"'(?P<of>[A-Z]\w{{1,80}})' object has no attribute {_NAME}"),
)
_HOLDERS = later(r"(?:Arguments|Args|Config|Configuration|Trainer|Params|Plugin|State|Cache|Accelerator)$")
"""Classes whose attributes a library defines. A model may lack what the user's own code wants of it."""


@asks
def moved_name(scene: Scene) -> Iterator[Answer]:
    """Tell the library of a name that is not there, and the version that took it away or added it.

    Kind ``moved`` (library, thing, missing, gone, since, instead; or needed: an argument that was not given; inside:
    the library itself asks for an attribute of an object that another package may have made; outside: other code asks;
    own_frame, own_code).
    """
    text = scene.quoted.text
    if not any(word in text for word in _WORDS):
        return
    found = next((match for pattern in _REFUSED if (match := pattern.search(text))), None)
    moved = find_moved(found["of"], found["name"]) if found else None
    if found is None or moved is None:
        return
    if moved.name == ANY and "attribute" in text and not _HOLDERS.search(found["of"]):
        return
    fields: dict[str, Value] = {"library": moved.library, "thing": found["of"]}
    if "required" in text:
        fields["needed"] = found["name"]
    else:
        told = {"missing": found["name"], "gone": moved.gone, "since": moved.since, "instead": moved.instead}
        fields |= {name: value for name, value in told.items() if value != UNKNOWN}
    stack = stack_of(scene)
    innermost = stack.innermost if stack else None
    if innermost and innermost.package.replace("_", "-") == moved.library:
        fields["inside"] = "yes"
    elif innermost or "' object has" not in text:
        fields["outside"] = "yes"
    if stack and stack.own:
        fields |= {"own_frame": stack.own.told, "own_code": stack.own.code}
    lines, facts = (tuple(said.line for said in stack.lines), tuple(stack.facts())) if stack else ((), ())
    yield Answer("moved", scene.quoted, fields, lines, facts, silent=True)
