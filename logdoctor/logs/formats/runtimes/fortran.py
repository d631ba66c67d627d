r"""Run-times of further Fortran compilers: NAG, IBM XL, Fujitsu, Absoft, and array bounds of NVIDIA's.

Kinds are those of `simulation`, which reads GNU's, Intel's, Cray's and LLVM's: ``simulation.fortran`` message, place,
rank; ``simulation.signal`` signal; ``simulation.no_memory`` message.

Sources: NAG Fortran 7 (compiler manual, Runtime Error), XL Fortran 16 (1525-, 1501- messages), Fujitsu Technical
Computing Suite V4.0 (Fortran run-time messages jweNNNNi-x), Absoft Pro Fortran 20, NVHPC 24 (-Mbounds), libgfortran.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.multiline.crash_stacks import read_signal
from logdoctor.logs.multiline.simulation_frames import message_reader
from logdoctor.logs.record_pattern import Message, Multiline, RecordPattern
from logdoctor.model import Value
from logdoctor.pack.regexes import later

MAX_BELOW = 8
_PLACE_ONLY = later(r"\s*$|At line \d{1,7} of file |Error termination\.|#\d")
"""Lines that may follow a place of libgfortran whose message is cut off: places of other ranks, and the stack."""


def read_place(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the place of an error, if its message is missing below.

    With a message below return None, because the message has a record of its own.
    """
    cut = all(_PLACE_ONLY.match(message.text) for message in islice(below, MAX_BELOW))
    return Multiline(head.text, fields) if cut else None


_NAG = r"^\s*Runtime Error: (?P<place>[\w./-]{1,200}, line \d+): "
_NO_MEMORY = r"(?:ALLOCATE failed:? ?Out of memory|Insufficient memory .{0,80})"

_TELLS = (
    "(?i:error|fail|cannot|can't|could not|unable|invalid|illegal|not found|missing|wrong|too (?:small|large|many|few)|"
    "exceed|must|mismatch|inconsisten|negative|not (?:supported|implemented|enough|allowed|converge)|abort|problem|"
    "unknown|undefined|out of|abnormal|incorrect|incompatib|insufficient)"
)
"""Words of trouble. Many programs end well with `STOP` alone or with a calm text."""

RECORDS = (
    RecordPattern("simulation.no_memory", _NAG + rf"(?P<message>{_NO_MEMORY})", "fatal", priority=2,
           note="The run-time of NAG Fortran got no memory.", scan=r"Runtime Error: [\w./-]{1,200}, line \d"),
    RecordPattern("simulation.fortran", _NAG + r"(?P<message>\S.+)", "fatal", priority=1,
           note="The run-time of NAG Fortran ended the program."),
    RecordPattern("simulation.fortran",
           r"^\s*Runtime Error: \*\*\* (?P<message>Arithmetic +exception: .+?|[A-Z].{3,200}?)[- ]+aborting\s*$",
           "fatal", note="The run-time of NAG Fortran ended the program.", scan=r"Runtime Error: \*\*\* "),
    RecordPattern("simulation.fortran",
           r"^\s*(?P<code>15(?:25|01|24|14)-\d{3}) +(?P<message>\S.+?The program (?:will stop|is stopped).*)", "fatal",
           note="The run-time of IBM XL Fortran ended the program.", scan=r"\b15\d\d-\d{3} +\S.+The program "),
    RecordPattern("simulation.signal",
           r"^\s*(?P<code>jwe00(?:17|18|19)i-u) (?P<message>The program was terminated abnormally with signal number "
           r"(?P<signal_text>SIG[A-Z]{2,6}))", "fatal", read_signal, "The run-time of Fujitsu Fortran caught a signal.",
           1, scan=r"jwe00\d\di-u The program was"),
    RecordPattern("simulation.fortran", r"^\s*(?P<code>jwe\d{4}i-[su]) (?P<message>\S.+)", "fatal",
           note="The run-time of Fujitsu Fortran ended the program.", scan=r"jwe\d{4}i-[su] "),
    RecordPattern("simulation.fortran", r"^\s*\?FORTRAN Runtime Error:", "fatal", message_reader(r"^(?!\?)"),
           "The run-time of Absoft Fortran ended the program."),
    RecordPattern("simulation.fortran", r"^\s*(?P<message>At line \d{1,7} of file [\w./+-]{1,300}(?: \(unit = .{0,400})?)\s*$",
           "fatal", read_place, "The run-time of GNU Fortran names the place of an error; what it says is cut off.", -1,
           scan=r"At line \d{1,7} of file "),
    RecordPattern("simulation.fortran",
           r"^\s*(?:\d{1,7}: )?(?P<message>(?:Subscript out of range for array|Null pointer for) \w.{0,200})",
           "fatal", note="The run-time of NVIDIA Fortran found an index outside of its array.",
           scan=r"(?:Subscript out of range for array|Null pointer for) "),
    RecordPattern("simulation.fortran",
           rf"^\s*(?:\[?\d{{1,6}}[\]:] ?)?(?P<message>STOP (?=[\"'A-Z]?.{{0,160}}\b{_TELLS}).{{3,200}})", "error",
           priority=-3, note="A Fortran program stopped itself and says why.", scan=r"\bSTOP [\"'A-Za-z]"),
    RecordPattern("simulation.fatal",
           rf"^\W{{0,6}}(?P<message>(?:ABORTING|Aborting|aborting|ABORT|Abort)(?: (?:the )?(?:run|program|execution|job"
           rf"|simulation))?(?:[:!] ?|\.{{3}} )(?=.{{0,200}}\b{_TELLS})[A-Za-z].{{4,200}})", "error", priority=-14,
           note="A program says that it aborts, and why.",
           scan=r"(?:ABORTING|[Aa]borting|ABORT|Abort)(?: [a-z ]{3,13})?(?:[:!] ?|\.{3} )[A-Za-z]"),
    RecordPattern("simulation.fatal",
           rf"^\W{{0,6}}(?P<message>(?:[Pp]rogram|PROGRAM|[Cc]alculation|[Ee]xecution|EXECUTION|[Ss]imulation) "
           rf"(?:(?:is|was|has been|will be) )?(?:stopped|terminated|aborted|halted|STOPPED|TERMINATED|ABORTED)\b"
           rf"(?=.{{0,160}}\b{_TELLS}).{{3,200}})", "error", priority=-14,
           note="A program says that it ended abnormally.",
           scan=r"(?:rogram|PROGRAM|alculation|xecution|EXECUTION|imulation) .{0,10}(?:stopped|terminated|aborted|"
           r"halted|STOPPED|TERMINATED|ABORTED)[ :,]"),
)  # fmt: skip
