r"""R, Julia, MATLAB and Octave: the error that ended a script.

Kinds and their fields:

- ``script.error`` message, call (R: what was called; MATLAB: the function): nobody caught an error; level error
- ``script.import`` message, module: what it wanted to load is not installed
- ``simulation.no_memory`` message: an allocation was refused

R prints ``Error in CALL : TEXT`` (TEXT on the next line where both are long) or ``Error: TEXT``, and where it was not
interactive ``Execution halted``.  Julia prints ``ERROR: [LoadError: ]TEXT`` and ``Stacktrace:``.
Sources: R 4.4 (src/main/errors.c, unix/sys-std.c), Julia 1.10 (base/client.jl, errorshow.jl, stdlib Test), MATLAB
R2023b.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.record_pattern import Message, Multiline, MultilineReader, RecordPattern
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_NO_MEMORY = later(r"cannot allocate (?:vector of size|memory block|buffer)|OutOfMemoryError\(\)|^Out of memory\b")
_MISSING = (
    r"there is no package called .(?P<module>[\w.]{1,80})|\bPackage (?P<module>\w{1,80}) (?:\[[0-9a-f-]{8,36}\] )?"
    r"(?:not found in current path|is required but|does not seem to be installed)"
)
_STACKTRACE = r"Stacktrace:$"
_HALTED = r"Execution halted$"


def script_error(*, under: str = "") -> MultilineReader:
    """Build a reader of an error whose text goes on below.

    The text goes on if the head ends in a colon, ends in a comma or is empty. With ``under`` the reader returns None
    unless a line below matches ``under``.
    """
    seal = later(under) if under else None

    def read(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
        lines = [(line.below, line.text.strip()) for line in islice(below, 12)]
        if seal and not any(seal.match(text) for _, text in lines):
            return None
        message, taken = str(fields.get("message", "")).strip(), list[int]()
        silent = not message
        for number, text in lines[:2]:
            if (message and message[-1] not in ":,") or not text:
                break
            message = f"{message} {text}".strip()
            taken.append(number)
        kind = "simulation.no_memory" if _NO_MEMORY.search(message) else ""
        text = head.text if not taken else f"{head.text}\n{message}"
        return Multiline(text, {"message": message}, tuple(taken), taken[0] if silent and taken else 0, kind=kind)

    return read


RECORDS = (
    RecordPattern("script.import", _MISSING, "error", note="A package that a script wants is not installed.", priority=2),
    RecordPattern("script.error", r"^ ?Error in (?P<call>[\w.:<>$@'`% ]{0,80}[({].{0,200}?) : ?(?P<message>.*)$", "error",
           script_error(), "An error ended a script in R.", scan=r"Error in [^\n]{0,80}[({][^\n]{0,200} :"),
    RecordPattern("script.error", r"^Error: (?P<message>.+)", "error", script_error(under=_HALTED),
           "An error ended a script in R."),
    RecordPattern("script.error", r"^ERROR: LoadError: (?P<message>.+)", "error", script_error(),
           "An error ended a script in Julia.", 1),
    RecordPattern("script.error", r"^ERROR: (?P<message>.+)", "error", script_error(under=_STACKTRACE),
           "An error ended a program in Julia."),
    RecordPattern("script.error", r"(?:^|: )(?P<message>Test Failed) at (?P<call>\S{1,300}:\d+)\s*$", "error",
           note="A test of a program in Julia failed."),
    RecordPattern("script.error", r"^\{?[\x08]?Error using (?P<call>[\w./>]{1,120})(?: \(line \d+\))?\s*$", "error",
           script_error(), "An error ended a script in MATLAB."),
    RecordPattern("script.error", r"^(?P<message>(?:Undefined function(?: or variable)?|Unrecognized function or "
           r"variable|Index exceeds|Array indices must be|Matrix dimensions must agree|Arrays have incompatible sizes|"
           r"Not enough input arguments|Reference to non-existent field|Unable to perform assignment)\b.*)", "error",
           script_error(under=r"Error in [\w./>]+ \(line \d+\)$"), "An error ended a script in MATLAB."),
    RecordPattern("script.error", r"^\{[\x08]?(?P<message>(?:Error: |Undefined (?:function|variable|operator)|"
           r"Output argument \"|Index exceeds |Not enough input arguments|Out of memory|Reference to non-existent "
           r"field |Unable to (?:open|read|find) ).*)", "error",
           note="An error in MATLAB without its desktop, which sets it in braces.",
           scan=r"\{.{0,2}(?:Error: |Undefined (?:function|variable|operator)|Output argument |Index exceeds |"
           r"Not enough input arguments|Out of memory|Reference to non-existent field |Unable to (?:open|read|find) )"),
    RecordPattern("script.error", r"^error: (?P<message>.+)", "error", script_error(under=r"error: called from$"),
           "An error ended a script in Octave."),
)  # fmt: skip
