r"""Last words of more simulation codes: quantum chemistry, ocean, climate and air, fire, structures.

Kinds and their fields, as in `simulation`:

- ``simulation.fatal`` message, rank, function, place, code: the program found an error and ends
- ``simulation.input`` message, rank: the same, and the program says that its input is wrong

Sources: ORCA 5 and 6 (qcmsg), Gaussian 16 (l9999, QPErr), Q-Chem 5, GAMESS (ABRT), Global Arrays 5 (comex_error) and
NWChem 7, Molpro, OpenMolcas 24 (xQuit, warnings.h), Turbomole 7, xTB 6, Psi4 1, Siesta 4 (die), exciting and Elk,
Dalton, MCNP 6; NEMO 4 (ctl_stop), ROMS 4 (exit_flag), ICON and ECHAM (mo_exception), CESM 2 (shr_abort), CMAQ and
SMOKE (I/O API m3exit), MITgcm (ALL_PROC_DIE), FMS (mpp_error), WAVEWATCH III 6 (w3servmd), FDS 6 (SHUTDOWN), SU2
(CSysSolve, Error Exit), deal.II 9 (base/exceptions), SPECFEM3D (exit_MPI), DL_POLY 4 (error), AMBER 22 (mexit,
MMPBSA), Abaqus and LS-DYNA (their last line).
"""

from __future__ import annotations

from logdoctor.parsers.blocks.simulation_frames import message_below, read_dealii_error
from logdoctor.parsers.record import Record

_RULER = r"^[-=*!#]{8,}"

CHEMISTRY = (
    Record("simulation.input", r"^ *INPUT ERROR\s*$", "fatal", message_below(rf"{_RULER}|^\[file ", alone=True),
           "ORCA cannot use its input."),
    Record("simulation.fatal", r"^\s*(?P<message>ORCA finished by error termination in .+)", "fatal",
           note="A program of ORCA ended with an error."),
    Record("simulation.fatal", r"^\s*Error +\((?P<function>ORCA_\w{2,30})\): (?P<message>.+)", "fatal",
           note="ORCA ends with an error.", scan=r"\(ORCA_[A-Z]+\): "),
    Record("simulation.fatal", r"^\s*(?P<message>Error termination (?:via \w+ in (?P<place>\S+) at|request processed "
           r"by link|in NtrErr).*)", "fatal", scan=r"Error termination (?:via|request processed by link|in NtrErr)",
           note="Gaussian ends with an error; what it is stands above."),
    Record("simulation.input", r"^\s*(?P<message>QPErr --- .+|The combination of multiplicity +\d+ and +\d+ electrons "
           r"is impossible.*)", "fatal", scan=r"QPErr --- |electrons is impossible",
           note="Gaussian cannot use its input."),
    Record("simulation.fatal", r"^\s*Q-Chem fatal error occurred in module (?P<place>\S.*?):?\s*$", "fatal",
           message_below(r"^Please submit a crash report", alone=True), "Q-Chem ends with an error."),
    Record("simulation.fatal", r"^\s*(?P<message>EXECUTION OF GAMESS TERMINATED -ABNORMALLY-.*|"
           r"ddikick\.x: (?:application process \d+ quit unexpectedly|Fatal error detected).*)", "fatal",
           note="GAMESS ended with an error."),
    Record("simulation.fatal", r"^\[(?P<by_rank>\d{1,7})\] Received an Error in Communication: \(-?\d+\) ?"
           r"(?P<message>.*)|^(?:\d{1,7}|(?P<message>.{3,200})):Received an Error in Communication\s*$", "fatal",
           note="A program on Global Arrays (NWChem, Molpro) ends with an error."),
    Record("simulation.input", r"^\s*(?P<message>There is an error in the input file)\s*$", "fatal",
           note="NWChem cannot use its input."),
    Record("simulation.fatal", r"^\s*GLOBAL ERROR (?P<message>\w.{0,80}?) on processor +(?P<rank>\d+)\s*$", "fatal",
           note="Molpro ends with an error."),
    Record("simulation.input", r"^\s*#{3} +ERROR: (?P<message>.*\binput\b.*?) +#{3}\s*$|"
           r"\brc ?= ?_(?:RC_)?(?P<message>INPUT(?:_EMIL)?_ERROR)_", "fatal",
           scan=r"### +ERROR: |_INPUT_(?:EMIL_)?ERROR_",
           note="OpenMolcas cannot use its input."),
    Record("simulation.fatal", r"^--- Stop Module: .{0,200}/rc ?= ?_(?!(?:RC_)?(?:ALL_IS_WELL|CONTINUE|INVOKED))"
           r"(?P<message>[A-Z_]{3,40})_ ---", "fatal", scan=r"--- Stop Module: .{0,200}/rc ?= ?_",
           note="A module of OpenMolcas ends with an error.", priority=-1),
    Record("simulation.fatal", r"^\s*(?P<message>(?:\w{2,12} ended abnormally|abnormal termination of \w{2,30}|"
           r"\[ERROR\] Program stopped due to fatal error))\s*$", "fatal",
           note="A program of Turbomole or xTB ends with an error."),
    Record("simulation.fatal", r"^\s*(?P<message>Psi4 encountered an error\. Buy a developer more coffee!)", "fatal",
           note="Psi4 ends with an error."),
    Record("simulation.fatal", r"^\s*(?P<message>(?:Stopping|Terminating|Aborting) Program) from Node: +(?P<rank>\d+)",
           "fatal", note="Siesta ends with an error on this rank.", scan=r"ing Program from Node: "),
    Record("simulation.fatal", r"^\s*Error\((?P<function>[a-z]\w{2,30})\): ?(?P<message>\S.*)", "fatal",
           note="Elk or exciting ends with an error.", scan=r"Error\([a-z]\w{2,30}\): ", priority=-2),
    Record("simulation.fatal", r"^\s*--- (?P<message>SEVERE ERROR, PROGRAM WILL BE ABORTED) ---", "fatal",
           note="Dalton ends with an error."),
    Record("simulation.fatal", r"^\s*(?P<message>bad trouble in (?:subroutine \w+|imcn|mcrun|xact)\b.*)", "fatal",
           note="MCNP ends with an error."),
    Record("simulation.fatal", r"(?P<message>DL_POLY(?:_\w)? terminated due to error +(?P<code>\d+)|"
           r"(?:sander|SANDER|PMEMD) (?:bomb in subroutine .+|Terminated Abnormally!))", "fatal",
           note="DL_POLY or AMBER ends with an error."),
    Record("simulation.fatal", r"^(?P<message>Error occurr?ed on rank (?P<rank>\d+))\.\s*$", "fatal",
           note="MMPBSA of AMBER ends with an error on this rank.", scan=r"Error occurr?ed on rank \d"),
)  # fmt: skip

EARTH = (
    Record("simulation.fatal", r"^\s*={3}>{3} : E R R O R\s*$", "fatal",
           message_below(r"^={3}>{3}", skip=r"^=+$|^STOP$", alone=True), "NEMO ends with an error."),
    Record("simulation.fatal", r"^\s*ROMS(?:/TOMS)? - (?P<message>\S.{0,60}?) *\.{2,} *exit_flag: +(?P<code>[1-9]\d?)",
           "fatal", note="ROMS ends with an error.", scan=r"ROMS(?:/TOMS)? - .{3,90}exit_flag: "),
    Record("simulation.fatal", r"^\s*(?:FATAL ERROR in (?P<function>\w{2,60})(?: \(-?\d+\))?: +(?P<message>\S.*)|"
           r"(?P<message>FINISH called) from PE: *(?P<rank>\d+))\s*$", "fatal",
           scan=r"FATAL ERROR in \w{2,60}(?: \(-?\d+\))?: |FINISH called from PE: ",
           note="ICON or ECHAM ends with an error."),
    Record("simulation.fatal", r"^\s*(?:ERROR: ?)?\((?P<function>shr_(?:sys|abort|mpi)_abort)\):?(?: ERROR:)? ?"
           r"(?P<message>.*)", "fatal", scan=r"\(shr_(?:sys|abort|mpi)_abort\)",
           note="A model of CESM ends with an error."),
    Record("simulation.fatal", r"^\s*\*{3} ERROR ABORT in subroutine (?P<function>\w+)(?: \*{3}| on PE (?P<rank>\d+))?",
           "fatal", message_below(r"^Date and time", alone=True), "A program on the I/O API (CMAQ, SMOKE) ends with an "
           "error."),
    Record("simulation.fatal", r"(?P<message>ABNORMAL END: (?:PROGRAM|S/R) .+|PROGRAM MAIN: ends with fatal Error)",
           "fatal", note="MITgcm ends with an error."),
    Record("simulation.fatal", r"^\s*FATAL: (?P<message>(?P<place>(?:mpp|fms|diag|horiz_interp|time_interp)\w{0,40}"
           r"(?:\.\w{2,4})?): .+)", "fatal", scan=r"FATAL: (?:mpp|fms|diag|horiz_interp|time_interp)",
           note="A model built on FMS ends with an error; where FMS names no PE, it knows of one only."),
    Record("simulation.fatal", r"^\s*\*{3} WAVEWATCH[- ]III ERROR IN (?P<function>\w+)\b.*", "fatal",
           message_below(r"^EXTCDE", alone=True), "WAVEWATCH III ends with an error."),
    Record("simulation.fatal", r"^\s*(?P<message>EXTCDE MPI_ABORT, IEXIT=.*)", "fatal",
           note="WAVEWATCH III ends the job; what it is stands above.", priority=-1),
)  # fmt: skip

ENGINEERING = (
    Record("simulation.fatal", r"^\s*STOP: (?P<message>(?:Numerical [Ii]nstability|FDS was improperly set-up).*)",
           "fatal", note="FDS ends with an error."),
    Record("simulation.fatal", r"^-+ (?P<message>Error Exit) -+\s*$", "fatal", note="SU2 ends with an error."),
    Record("simulation.fatal", r"^\s*An error occurred in line <\d+> of file <(?P<place>[^>]{1,400})> in function",
           "fatal", read_dealii_error, "A check of deal.II failed, or the program on it threw an exception."),
    Record("simulation.fatal", r"^\s*(?P<message>Error detected, aborting MPI)\.\.\. proc +(?P<rank>\d+)", "fatal",
           note="SPECFEM3D ends with an error on this rank."),
    Record("simulation.fatal", r"^\s*(?P<message>Abaqus/\w+ exited with errors|Abaqus Error: .+|"
           r"E r r o r +t e r m i n a t i o n)", "fatal", scan=r"Abaqus/\w+ exited with errors|Abaqus Error: |"
           r"E r r o r +t e r m i n a t i o n", note="Abaqus or LS-DYNA ends with an error."),
)  # fmt: skip

RECORDS: tuple[Record, ...] = (*CHEMISTRY, *EARTH, *ENGINEERING)
