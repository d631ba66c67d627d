r"""Last words of programs for trees of life and sequences.

Kinds and their fields, as in `simulation`:

- ``simulation.fatal`` message: the program found an error and ends
- ``simulation.input`` message: the same, and the program says that a command of its input is wrong
- ``simulation.signal`` message: a handler of the program caught a signal

Sources: MrBayes 3.2 (command.c), IQ-TREE 2 (main.cpp, tools.cpp), RAxML-NG 1.
"""

from __future__ import annotations

from logdoctor.logs.record_pattern import RecordPattern

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern("simulation.input", r"^\s*(?P<message>Error in command \"\w{2,20}\")\s*$", "fatal",
           note="MrBayes cannot carry out a command of its input; why stands above.",
           scan=r"Error in command \"\w{2,20}\""),
    RecordPattern("simulation.signal", r"^ERROR: \*{3} (?P<message>IQ-TREE CRASHES WITH SIGNAL [A-Z ]{3,40})", "fatal",
           note="A handler of IQ-TREE caught a signal of its own process."),
    RecordPattern("simulation.fatal", r"^ERROR: (?P<message>STACK TRACE FOR DEBUGGING:)", "fatal", priority=-1,
           note="IQ-TREE ends with an error; what it is stands above."),
)  # fmt: skip
