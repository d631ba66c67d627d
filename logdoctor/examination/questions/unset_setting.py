"""Question over a setting that has no value: the source line of an exception about None names it."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.examination.frames import stack_of
from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.pack.regexes import later

_ABOUT_NONE = later(
    r"'NoneType' object (?:has no attribute '(?P<attribute>\w{1,100})'|is not (?:subscriptable|iterable|callable))"
    r"|(?:argument|object)\b[^\n]{0,80}\bnot '?NoneType'?"
)
_SETTING = later(
    r"\b(?:self\.)?_?(?:\w*args|arguments|flags|FLAGS|opts?|options|\w*config|conf|cfg|\w*settings|h?params)"
    r"(?:\.(?P<name>[A-Za-z]\w{0,60})|\[(?P<quote>['\"])(?P<name>[\w.-]{1,60})(?P=quote)\])"
    r"(?!\w)(?:\.(?P<then>\w{1,100}))?(?P<called>\()?"
)
"""A value of the settings: ``args.mixed_precision``, ``self.config["path"]``."""


@asks
def unset_setting(scene: Scene) -> Iterator[Answer]:
    """Tell the setting that is None, if the innermost source line holds exactly one that may be.

    Kind ``unset`` (setting, package, where).
    """
    proof = scene.quoted
    found = _ABOUT_NONE.search(proof.text) if "NoneType" in proof.text else None
    stack = stack_of(scene) if found else None
    frame = next((frame for frame in stack.frames if frame.package != "python"), None) if stack else None
    if found is None or stack is None or frame is None or not frame.is_python:
        return
    names = {
        str(match["name"])
        for match in _SETTING.finditer(frame.code)
        if (match["then"] == found["attribute"] if found["attribute"] else not match["then"] and not match["called"])
    }
    if len(names) == 1:
        fields = {"setting": names.pop(), "package": frame.package, "where": frame.told}
        yield Answer("unset", proof, fields, tuple(said.line for said in stack.lines), silent=True)
