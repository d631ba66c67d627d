r"""Last words of programs for quantum chemistry, molecules and solids, most of which do not look like an error.

Kinds and their fields, as in `simulation`:

- ``simulation.fatal`` message, rank, function, place, code: the program found an error and ends
- ``simulation.input`` message, rank: the same, and the program says that its input or the number of processes is wrong

Sources: ORCA 5 and 6 (qcmsg), Gaussian 16 (l9999, QPErr), Q-Chem 5, GAMESS (ABRT), Global Arrays 5 (comex_error, MA)
and NWChem 7, Molpro, OpenMolcas 24 (xQuit, warnings.h), Turbomole 7, xTB 6, Psi4 1, Siesta 4 (die), exciting and Elk,
Dalton, MCNP 6, DL_POLY 4 (error), AMBER 22 (mexit, MMPBSA), VASP 5 and 6 (vtutor), Octopus 14 (messages), WIEN2k 23
(run_lapw), QMCPACK 3 (APP_ABORT), DFTB+ 24, CHARMM c47 (WRNDIE), TeraChem 1.9, NAMD 2 and 3, MRCC 2023, CPMD 4
(stopgm), GAMESS (ddi), FHI-aims, Wannier90 3 (io_error), ABACUS 3
(WARNING_QUIT), FLEUR 6 (juDFT_error), Tinker 8 (fatal), CRYSTAL 17 (errvrs), CASTEP 20 (io_abort).
"""

from __future__ import annotations

from logdoctor.logs.multiline.simulation_frames import message_reader, read_arrow, read_vasp_box
from logdoctor.logs.record_pattern import RecordPattern

_RULER = r"^[-=*!#]{8,}"

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern("simulation.input", r"^ *INPUT ERROR\s*$", "fatal", message_reader(rf"{_RULER}|^\[file ", alone=True),
           "ORCA cannot use its input."),
    RecordPattern("simulation.fatal", r"^\s*(?P<message>ORCA finished by error termination in .+)", "fatal",
           note="A program of ORCA ended with an error."),
    RecordPattern("simulation.fatal", r"^\s*Error +\((?P<function>ORCA_\w{2,30})\): (?P<message>.+)", "fatal",
           note="ORCA ends with an error.", scan=r"\(ORCA_[A-Z]+\): "),
    RecordPattern("simulation.fatal", r"^\s*(?P<message>Error termination (?:via \w+ in (?P<place>\S+) at|request processed "
           r"by link|in NtrErr).*)", "fatal", scan=r"Error termination (?:via|request processed by link|in NtrErr)",
           note="Gaussian ends with an error; what it is stands above."),
    RecordPattern("simulation.input", r"^\s*(?P<message>QPErr --- .+|The combination of multiplicity +\d+ and +\d+ electrons "
           r"is impossible.*)", "fatal", scan=r"QPErr --- |electrons is impossible",
           note="Gaussian cannot use its input."),
    RecordPattern("simulation.fatal", r"^\s*Q-Chem fatal error occurred in module (?P<place>\S.*?):?\s*$", "fatal",
           message_reader(r"^Please submit a crash report", alone=True), "Q-Chem ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*(?P<message>EXECUTION OF GAMESS TERMINATED -ABNORMALLY-.*|"
           r"ddikick\.x: (?:application process \d+ quit unexpectedly|Fatal error detected).*)", "fatal",
           note="GAMESS ended with an error."),
    RecordPattern("simulation.fatal", r"^\[(?P<by_rank>\d{1,7})\] Received an Error in Communication: \(-?\d+\) ?"
           r"(?P<message>.*)|^(?:\d{1,7}|(?P<message>.{3,200})):Received an Error in Communication\s*$", "fatal",
           note="A program on Global Arrays (NWChem, Molpro) ends with an error."),
    RecordPattern("simulation.input", r"^\s*(?P<message>There is an error in the input file)\s*$", "fatal",
           note="NWChem cannot use its input."),
    RecordPattern("simulation.fatal", r"^\s*GLOBAL ERROR (?P<message>\w.{0,80}?) on processor +(?P<rank>\d+)\s*$", "fatal",
           note="Molpro ends with an error."),
    RecordPattern("simulation.input", r"^\s*#{3} +ERROR: (?P<message>.*\binput\b.*?) +#{3}\s*$|"
           r"\brc ?= ?_(?:RC_)?(?P<message>INPUT(?:_EMIL)?_ERROR)_", "fatal",
           scan=r"### +ERROR: |_INPUT_(?:EMIL_)?ERROR_",
           note="OpenMolcas cannot use its input."),
    RecordPattern("simulation.fatal", r"^--- Stop Module: .{0,200}/rc ?= ?_(?!(?:RC_)?(?:ALL_IS_WELL|CONTINUE|INVOKED))"
           r"(?P<message>[A-Z_]{3,40})_ ---", "fatal", scan=r"--- Stop Module: .{0,200}/rc ?= ?_",
           note="A module of OpenMolcas ends with an error.", priority=-1),
    RecordPattern("simulation.fatal", r"^\s*(?P<message>(?:\w{2,12} ended abnormally|abnormal termination of \w{2,30}|"
           r"\[ERROR\] Program stopped due to fatal error))\s*$", "fatal",
           note="A program of Turbomole or xTB ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*(?P<message>Psi4 encountered an error\. Buy a developer more coffee!)", "fatal",
           note="Psi4 ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*(?P<message>(?:Stopping|Terminating|Aborting) Program) from Node: +(?P<rank>\d+)",
           "fatal", note="Siesta ends with an error on this rank.", scan=r"ing Program from Node: "),
    RecordPattern("simulation.fatal", r"^\s*Error\((?P<function>[a-z]\w{2,30})\): ?(?P<message>\S.*)", "fatal",
           note="Elk or exciting ends with an error.", scan=r"Error\([a-z]\w{2,30}\): ", priority=-2),
    RecordPattern("simulation.fatal", r"^\s*--- (?P<message>SEVERE ERROR, PROGRAM WILL BE ABORTED) ---", "fatal",
           note="Dalton ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*(?P<message>bad trouble in (?:subroutine \w+|imcn|mcrun|xact)\b.*)", "fatal",
           note="MCNP ends with an error."),
    RecordPattern("simulation.fatal", r"(?P<message>DL_POLY(?:_\w)? terminated due to error +(?P<code>\d+)|"
           r"(?:sander|SANDER|PMEMD) (?:(?:bomb|BOMB) in subroutine .+|Terminated Abnormally!))", "fatal",
           note="DL_POLY or AMBER ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*Coordinate resetting (?:\(SHAKE\) )?(?P<message>cannot be accomplished),?\s*$",
           "fatal", message_reader(r"^$", alone=True), "SHAKE of AMBER fails: the system is unstable."),
    RecordPattern("simulation.input", r"^\s*Unit +\d{1,3} (?P<message>Error on OPEN: +\S.*)", "fatal",
           note="AMBER cannot open a file.", scan=r"Unit +\d{1,3} Error on OPEN: "),
    RecordPattern("simulation.fatal", r"^\s*(?P<message>convergence NOT achieved after +\d{1,5} iterations: stopping)",
           "fatal", note="Quantum ESPRESSO ends: its electrons do not converge."),
    RecordPattern("simulation.fatal", r"^\| ERROR: {2,}(?P<message>\S.*)", "fatal", note="PMEMD of AMBER ends with an error."),
    RecordPattern("simulation.fatal", r"^\*\*ERROR\*\*: (?P<message>\S.*)", "fatal", note="HOOMD-blue ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*siesta: ERROR: (?P<message>\S.*)", "fatal", note="Siesta ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*\[ERROR\] ?(?P<message>STOP signal received while in.*)", "fatal",
           message_reader(r"^\[(?!ERROR)", skip=r"^$"), "Yambo ends with an error.",
           scan="STOP signal received while in"),
    RecordPattern("simulation.fatal", r"^(?P<message>Error occurr?ed on rank (?P<rank>\d+))\.\s*$", "fatal",
           note="MMPBSA of AMBER ends with an error on this rank.", scan=r"Error occurr?ed on rank \d"),
    RecordPattern("simulation.fatal", r"^[\s|]*E{7}  R{6}   R{6}   O{7}  R{6} ", "fatal", read_vasp_box,
           "VASP ends with an error.", scan="EEEEEEE  RRRRRR   RRRRRR   OOOOOOO"),
    RecordPattern("simulation.fatal", r"(?P<message>\b[A-Z][A-Z0-9_]{3,20}: +internal (?:ERROR|error)\b.{0,200}|"
           r"\binternal (?:ERROR|error) in (?:SUBROUTINE |subroutine )?[A-Z][A-Z0-9_]{3,20}\b.{0,200})", "fatal",
           note="VASP finds itself in a state that it does not know.", scan=r"internal (?:ERROR|error)[: ]"),
    RecordPattern("simulation.fatal", r"\*{2,3} Fatal Error \(description follows\)", "fatal",
           message_reader(r"^\*{8}", skip=r"^\* (?:From node|In namespace)|^\*-{8}", alone=True),
           "Octopus ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*\*\* +(?P<message>testerror: Error in .+|[A-Za-z]\w{2,12} crashed!)", "fatal",
           note="A program of WIEN2k ends with an error.", scan=r"\*\* +testerror: |\w crashed!"),
    RecordPattern("simulation.fatal", r"^Fatal Error\. Aborting at (?P<message>\S.*)", "fatal",
           note="QMCPACK ends with an error."),
    RecordPattern("simulation.fatal", r"^ERROR!\s*$", "fatal", read_arrow, "DFTB+ ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*\*{3} (?P<message>LEVEL +-[1-5] WARNING) \*{3} BOMLEV IS +-?\d+\. TERMINATING",
           "fatal", note="CHARMM ends with an error.", scan=r"BOMLEV IS +-?\d+\. TERMINATING"),
    RecordPattern("simulation.fatal", r"^DIE called at line number \d+ in file (?P<place>\S+)", "fatal",
           message_reader(r"^$", alone=True), "TeraChem ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*MA error: (?P<message>MA_\w+: .+)", "fatal", priority=-1,
           note="The memory that a program on Global Arrays (NWChem) set aside is too small."),
    RecordPattern("simulation.fatal", r"^\s*(?P<message>(?:Fatal error in|Error at the termination of) "
           r"(?:exec )?[a-z]\w{2,15})\.\s*$", "fatal",
           note="MRCC ends with an error.", scan=r"Fatal error in |Error at the termination of "),
    RecordPattern("simulation.fatal", r"^\s*PROGRAM STOPS IN SUBROUTINE (?P<function>\w{1,40})\| *(?P<message>\S.*)", "fatal",
           note="CPMD ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*(?P<message>DDI Process (?P<rank>\d{1,7}): error code [1-9]\d*)", "fatal",
           priority=-1, note="GAMESS ends with an error on this rank; what it is stands above."),
    RecordPattern("simulation.fatal", r"^\s*\* (?:Warning|Error)?[^*\n]{0,80}\*{3} Aborting\.\s*$", "fatal", priority=-1,
           note="FHI-aims ends with an error; what it is stands above.", scan=r"\*{3} Aborting\.\s*$"),
    RecordPattern("simulation.fatal", r"^ ?Exiting\.{7}\s*$", "fatal", message_reader(r"^Exiting\."),
           "Wannier90 ends with an error."),
    RecordPattern("simulation.fatal", r"^ {20,28}(?:NOTICE|!ERROR!) {0,28}$", "fatal",
           message_reader(r"^(?:CHECK IN FILE|For detailed manual)", skip=r"^!{8,}$"), "ABACUS ends with an error.",
           scan=r"^ {20,28}(?:NOTICE|!ERROR!) {0,28}$"),
    RecordPattern("simulation.fatal", r"^[\s\d]*\*{10,}juDFT-Error\*{10,}\s*$", "fatal",
           message_reader(r"^(?:\d+)?(?:Error occurred|Hint)"), "FLEUR ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*(?:Tinker|TINKER) is (?P<message>Unable to Continue; Terminating)", "fatal",
           note="Tinker ends with an error; what it is stands above.", scan="is Unable to Continue; Terminating"),
    RecordPattern("simulation.fatal", r"^\s*ERROR \*{4} (?P<function>\w{2,20}) \*{4} (?P<message>\S.*)", "fatal",
           note="CRYSTAL ends with an error.", scan=r"ERROR \*{4} \w{2,20} \*{4} "),
    RecordPattern("simulation.fatal", r"^(?P<message>Current trace stack:)\s*$", "fatal",
           note="CASTEP ends with an error; what it is stands above."),
    RecordPattern("simulation.fatal", r"^FATAL ERROR: (?P<message>[A-Za-z].{2,300})", "fatal", priority=-4,
           note="NAMD or another program ends with an error."),
)  # fmt: skip
