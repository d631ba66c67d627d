r"""Last words of programs for particles, plasmas and lattices, and of couplings between programs.

Kinds and their fields, as in `simulation`:

- ``simulation.fatal`` message, rank, host, function, place: the program found an error and ends
- ``simulation.partner_gone`` message, error: the program that this one is coupled to closed the connection

Sources: QUDA 1.1 (util_quda errorQuda_), QDP++ and QMP, MILC 7 (terminate), VPIC 1 (util_base ERROR), Geant4 11
(G4ExceptionHandler), Serpent 2 (die), preCICE 1 to 3 (logging, SocketCommunication, utils/assertion), ParFlow 3,
BOUT++ 5 (boutexception).
"""

from __future__ import annotations

from logdoctor.logs.multiline.simulation_frames import message_reader
from logdoctor.logs.record_pattern import RecordPattern

_PRECICE = (
    r"(?:^-{3}\[precice\] +|^\s*preCICE: ?|\((?P<by_rank>\d{1,7})\) (?:\d\d:\d\d:\d\d |  )\[[\w:]{2,60}\]:\d+ in "
    r"~?\w{1,60}: +|^[ |\d:]{0,24}\| precice::[\w:()]{3,160} +\| (?:\((?P<by_rank>\d{1,7})\) +)?(?:\[PRECICE\] +)?)"
    r"ERROR: +"
)

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern("simulation.partner_gone",
           _PRECICE + r"(?P<message>(?:Send|Receiv)(?:e|ing)?\w{0,3} .{0,60}?using sockets\)? failed with (?:a |the )?"
           r"system error: (?:read: |write: |receive: )?(?P<error>[A-Z][\w ]{2,60}).*)", "error", priority=1,
           note="The program that this one is coupled to closed the connection.",
           scan=r"using sockets\)? failed with (?:a |the )?system error"),
    RecordPattern("simulation.fatal", _PRECICE + r"(?P<message>\S.+)", "fatal", note="preCICE ends the program.",
           scan=r"(?:\[precice\]|preCICE:|\]:\d+ in ~?\w+:|precice::.+\|) {0,8}(?:\(\d+\) +)?(?:\[PRECICE\] )?ERROR: "),
    RecordPattern("simulation.fatal", r"^\s*ASSERTION FAILED\s*$", "fatal", message_reader(r"^(?:Stack|Argument|\d+\.?\s)",
           skip=r"^(?:Location|File|Rank|Arguments?):"), "A check of preCICE failed."),
    RecordPattern("simulation.fatal",
           r"ERROR: (?P<message>.{2,400}?) \(rank (?P<rank>\d{1,7}), host (?P<host>[\w.-]{1,255}), "
           r"(?P<place>[\w./+-]{1,300}:\d+) in (?P<function>~?\w{1,100})\(\)\)", "fatal",
           note="QUDA ends with an error on this rank.", scan=r"\(rank \d+, host [\w.-]+, .{3,300}:\d+ in ~?\w+\(\)\)"),
    RecordPattern("simulation.fatal", r"^(?P<message>QDP error: .+|QMP(?: on \S+)? error: .+)", "fatal",
           note="A program on QDP++ ends with an error.", scan=r"^(?:QDP|QMP.{0,60}) error: "),
    RecordPattern("simulation.fatal", r"^\s*(?P<message>Termination: node (?P<rank>\d{1,7}), status = [1-9]\d*)", "fatal",
           priority=-1, note="MILC ends with an error; what it is stands above."),
    RecordPattern("simulation.fatal",
           r"^\s*Error at (?P<place>[\w./-]{1,200}\.(?:cc?|cxx|cpp|hh?)\(\d+\))\[(?P<rank>\d{1,7})\]:\s*$", "fatal",
           message_reader(r"^(?:Error|Warning) at "), "VPIC ends with an error on this rank."),
    RecordPattern("simulation.fatal", r"^\s*\*{3} (?P<message>Fatal (?:Exception|Error In Argument) \*{3} core dump) \*{3}",
           "fatal", note="Geant4 ends with an exception; what it is stands above.",
           scan=r"\*{3} Fatal (?:Exception|Error In Argument) \*{3} core dump"),
    RecordPattern("simulation.input", r"^Input error in (?:parameter|input option|card) (?P<message>\"?[\w ]{1,40}\"? on line "
           r"\d{1,7} in file .{1,200})$", "fatal", note="Serpent cannot use its input.",
           scan=r"Input error in .{3,60} on line \d"),
    RecordPattern("simulation.fatal", r"^\s*={6} Exception thrown ={6}\s*$", "fatal", message_reader(r"^==="),
           "BOUT++ ends with an exception."),
    RecordPattern("simulation.fatal", r"^Fatal error in function (?P<function>\w{2,60}):\s*$", "fatal",
           message_reader(r"^Simulation aborted"), "Serpent ends with an error."),
)  # fmt: skip
