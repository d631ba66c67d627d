r"""Last words of programs for stars, galaxies and space-time.

Kinds and their fields, as in `simulation`:

- ``simulation.fatal`` message, rank, function, place, code: the program found an error and ends
- ``simulation.input`` message, rank: the same, and the program says that its input or the number of processes is wrong

Sources: Gadget 2-4 and AREPO (endrun, terminate), FLASH 4 (Driver_abort), Athena++ 21, Enzo 2 (main), Cactus 4
(WarnLevel), SWIFT 2023 (error.h), Phantom (io_messages), SpECTRE 2024 (ErrorHandling/AbortWithErrorMessage.cpp).
"""

from __future__ import annotations

from logdoctor.logs.multiline.simulation_frames import message_reader
from logdoctor.logs.record_pattern import RecordPattern

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern("simulation.fatal",
           r"^(?:\[(?P<rank>\d{4})\] )?\[?\d{5}\.\d\]? (?P<place>[\w/]{1,80}\.[ch]):(?P<function>\w+)\(\)"
           r":\d+: (?P<message>\S.*)", "fatal", note="SWIFT ends with an error.",
           scan=r"\d{5}\.\d\]? [\w/]+\.[ch]:\w+\(\):\d+: "),
    RecordPattern("simulation.fatal", r"^Line: (?P<line>\d{1,7}) of (?P<place>\S{3,300}\.[cht]pp)\s*$", "fatal",
           message_reader(r"^#{8,}", skip=r"^Function: "), "SpECTRE ends with an error.",
           scan=r"Line: \d{1,7} of \S{3,300}\.[cht]pp"),
    RecordPattern("simulation.fatal", r"^\s*FATAL ERROR! (?P<function>\w{2,40}): (?P<message>\S.*)", "fatal",
           note="Phantom ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*(?:[Tt]ask (?P<rank>\d+): ?)?"
           r"(?P<message>endrun called with an error level of \d+)", "fatal",
           note="Gadget ends with an error; what it is stands above."),
    RecordPattern("simulation.fatal", r"[Cc]ode termination on task=(?P<rank>\d+), function '?(?P<function>\w+)\(\)'?, file "
           r"'?(?P<place>[^\s',]{1,200})'?, line \d+: (?P<message>.+)", "fatal",
           note="AREPO or Gadget ends with an error on this rank.", scan=r"ode termination on task=\d"),
    RecordPattern("simulation.fatal", r"^\s*Driver_abort(?:Flash)? called\. See log files? for details|"
           r"\[DRIVER_ABORT\] Driver_abort(?:Flash)?\(\) called by PE +(?P<rank>\d+)", "fatal",
           message_reader(r"^Calling MPI_Abort", alone=True), "FLASH ends with an error.",
           scan=r"Driver_abort\w{0,5} called|Driver_abort\w{0,5}\(\) called"),
    RecordPattern("simulation.fatal", r"^#{3} FATAL ERROR in (?:(?:function|file) )?\[?(?P<function>[\w:.<>~/ -]{2,120})\]?",
           "fatal", message_reader(r"^#{3}", alone=True), "Athena++ ends with an error.", scan="### FATAL ERROR in "),
    RecordPattern("simulation.fatal", r"^\s*Caught fatal exception:\s*$", "fatal", message_reader(r"^(?:at \S+:\d|Backtrace)"),
           "Enzo ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*WARNING level 0 (?:from|in|on) .{0,200}?\bprocess(?:or)? (?P<rank>\d+)|"
           r"^\s*WARNING\[L0,P(?P<rank>\d+)\] \((?P<function>[\w:]{1,80})\): ?(?P<message>.*)", "fatal",
           message_reader(r"^(?:cactus_|WARNING)", skip="^in thorn ", alone=True),
           "Cactus ends: a warning of level 0 is an error.", scan=r"WARNING level 0 |WARNING\[L0,P\d"),
)  # fmt: skip
