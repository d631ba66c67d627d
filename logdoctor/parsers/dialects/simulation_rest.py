r"""Last words of still more simulation codes and benchmarks, most of which do not look like an error to anybody else.

Kinds and their fields, as in `simulation`:

- ``simulation.fatal`` message, rank, function, place: the program found an error and ends
- ``simulation.input`` message: the same, and the program says that its input or the number of processes is wrong

Sources: Nek5000 19 (comm_mpi), SCHISM 5 (schism_msgp), Gadget 2-4 and AREPO (endrun, terminate), FLASH 4
(Driver_abort), Athena++ 21, Enzo 2 (main), Cactus 4 (WarnLevel), MPAS 8 (mpas_log), PIO 2, CAM 6 and CLM 5 (endrun),
COSMO 5 (model_abort), GEOS-Chem 14 (error_mod), TELEMAC v8 (plante), VASP 5 and 6 (vtutor), Octopus 14 (messages),
WIEN2k 23 (run_lapw), QMCPACK 3 (APP_ABORT), DFTB+ 24, CHARMM c47 (WRNDIE), TeraChem 1.9, Global Arrays 5 (MA), NAMD 2
and 3, MOOSE (mooseError), MFEM 4 (MFEM_VERIFY), DOLFIN 2019, Teuchos, Nektar++ 5 (ErrorUtil), Smilei 5 (Tools.h),
code_saturne 8 (bft_error), CalculiX 2.21, Elmer 9 (Messages), OSU 7, NAS 3.4, libgfortran 13.
"""

from __future__ import annotations

from logdoctor.parsers.blocks.simulation_frames import message_below, read_arrow, read_vasp_box
from logdoctor.parsers.record import Record

SKY = (
    Record("simulation.fatal", r"^\s*(?:[Tt]ask (?P<rank>\d+): ?)?"
           r"(?P<message>endrun called with an error level of \d+)", "fatal",
           note="Gadget ends with an error; what it is stands above."),
    Record("simulation.fatal", r"[Cc]ode termination on task=(?P<rank>\d+), function '?(?P<function>\w+)\(\)'?, file "
           r"'?(?P<place>[^\s',]{1,200})'?, line \d+: (?P<message>.+)", "fatal",
           note="AREPO or Gadget ends with an error on this rank.", scan=r"ode termination on task=\d"),
    Record("simulation.fatal", r"^\s*Driver_abort(?:Flash)? called\. See log files? for details|"
           r"\[DRIVER_ABORT\] Driver_abort(?:Flash)?\(\) called by PE +(?P<rank>\d+)", "fatal",
           message_below(r"^Calling MPI_Abort", alone=True), "FLASH ends with an error.",
           scan=r"Driver_abort\w{0,5} called|Driver_abort\w{0,5}\(\) called"),
    Record("simulation.fatal", r"^#{3} FATAL ERROR in (?:(?:function|file) )?\[?(?P<function>[\w:.<>~/ -]{2,120})\]?",
           "fatal", message_below(r"^#{3}", alone=True), "Athena++ ends with an error.", scan="### FATAL ERROR in "),
    Record("simulation.fatal", r"^\s*Caught fatal exception:\s*$", "fatal", message_below(r"^(?:at \S+:\d|Backtrace)"),
           "Enzo ends with an error."),
    Record("simulation.fatal", r"^\s*WARNING level 0 (?:from|in|on) .{0,200}?\bprocess(?:or)? (?P<rank>\d+)|"
           r"^\s*WARNING\[L0,P(?P<rank>\d+)\] \((?P<function>[\w:]{1,80})\): ?(?P<message>.*)", "fatal",
           message_below(r"^(?:cactus_|WARNING)", skip="^in thorn ", alone=True),
           "Cactus ends: a warning of level 0 is an error.", scan=r"WARNING level 0 |WARNING\[L0,P\d"),
)  # fmt: skip

EARTH = (
    Record("simulation.fatal", r"^\s*CRITICAL ERROR: (?P<message>\S.*)", "fatal", note="MPAS ends with an error."),
    Record("simulation.fatal", r"PIO: FATAL ERROR: (?:Aborting\.{3} )?(?P<message>\S.{0,600})", "fatal",
           note="The parallel input and output library of an earth model ends the program."),
    Record("simulation.fatal", r"^\s*ENDRUN: ?(?P<message>\S.*)", "fatal", note="CAM or CLM ends with an error."),
    Record("simulation.fatal", r"PROGRAM TERMINATED BECAUSE OF ERRORS DETECTED", "fatal",
           message_below(r"^\*-{8}", alone=True), "COSMO ends with an error."),
    Record("simulation.fatal", r"^\s*GEOS-C(?:HEM|hem) ERROR: (?P<message>\S.*)", "fatal",
           note="GEOS-Chem ends with an error.", scan="GEOS-C(?:HEM|hem) ERROR: "),
    Record("simulation.fatal", r"(?P<message>PLANTE ?: (?:PROGRAM STOPPED AFTER AN ERROR|ARRET DU PROGRAMME APRES "
           r"ERREUR))", "fatal", note="TELEMAC ends with an error; what it is stands above."),
    Record("simulation.fatal", r"^\s*(?:(?P<rank>\d{1,7}): )?ABORT: (?P<message>(?:n\w+>l\w+! +(?P<rank>\d+)|"
           r"[A-Za-z]).{2,300})", "fatal", note="SCHISM or Nek5000 ends with an error.", priority=-2),
    Record("simulation.fatal", r"^\s*(?P<message>an error occured: dying \.\.\.)", "fatal", priority=-2,
           note="Nek5000 ends with an error; what it is stands above."),
)  # fmt: skip

MATTER = (
    Record("simulation.fatal", r"^[\s|]*E{7}  R{6}   R{6}   O{7}  R{6} ", "fatal", read_vasp_box,
           "VASP ends with an error.", scan="EEEEEEE  RRRRRR   RRRRRR   OOOOOOO"),
    Record("simulation.fatal", r"(?P<message>\b[A-Z][A-Z0-9_]{3,20}: +internal (?:ERROR|error)\b.{0,200}|"
           r"\binternal (?:ERROR|error) in (?:SUBROUTINE |subroutine )?[A-Z][A-Z0-9_]{3,20}\b.{0,200})", "fatal",
           note="VASP finds itself in a state that it does not know.", scan=r"internal (?:ERROR|error)[: ]"),
    Record("simulation.fatal", r"\*{2,3} Fatal Error \(description follows\)", "fatal",
           message_below(r"^\*{8}", skip=r"^\* (?:From node|In namespace)|^\*-{8}", alone=True),
           "Octopus ends with an error."),
    Record("simulation.fatal", r"^\s*\*\* +(?P<message>testerror: Error in .+|[A-Za-z]\w{2,12} crashed!)", "fatal",
           note="A program of WIEN2k ends with an error.", scan=r"\*\* +testerror: |\w crashed!"),
    Record("simulation.fatal", r"^Fatal Error\. Aborting at (?P<message>\S.*)", "fatal",
           note="QMCPACK ends with an error."),
    Record("simulation.fatal", r"^ERROR!\s*$", "fatal", read_arrow, "DFTB+ ends with an error."),
    Record("simulation.fatal", r"^\s*\*{3} (?P<message>LEVEL +-[1-5] WARNING) \*{3} BOMLEV IS +-?\d+\. TERMINATING",
           "fatal", note="CHARMM ends with an error.", scan=r"BOMLEV IS +-?\d+\. TERMINATING"),
    Record("simulation.fatal", r"^DIE called at line number \d+ in file (?P<place>\S+)", "fatal",
           message_below(r"^$", alone=True), "TeraChem ends with an error."),
    Record("simulation.fatal", r"^\s*MA error: (?P<message>MA_\w+: .+)", "fatal", priority=-1,
           note="The memory that a program on Global Arrays (NWChem) set aside is too small."),
    Record("simulation.fatal", r"^FATAL ERROR: (?P<message>[A-Za-z].{2,300})", "fatal", priority=-4,
           note="NAMD or another program ends with an error."),
)  # fmt: skip

SOLVERS = (
    Record("simulation.fatal", r"^\s*\*{3} ERROR \*{3}\s*$", "fatal", message_below(r"^(?:Stack frames:|\*{3} )"),
           "An application of MOOSE ends with an error."),
    Record("simulation.fatal", r"^(?:MFEM abort: (?P<message>\S.*)|(?:Verification|Assertion) failed: "
           r"\((?P<message>.{1,300})\) is false:)", "fatal", note="A check of MFEM failed.",
           scan=r"MFEM abort: |\) is false:"),
    Record("simulation.fatal", r"^\*{3} Error: {2,}(?P<message>\S.*)", "fatal",
           message_below(r"^\*{3} (?:Where|Process)", skip=r"^\*{3} -"), "DOLFIN (FEniCS) ends with an error."),
    Record("simulation.fatal", r"^\s*p=(?P<rank>\d+): \*{3} Caught (?:standard|an unknown) (?P<function>[\w:]+)",
           "fatal", message_below(r"^p=\d", alone=True), "A program on Trilinos ends with an exception.",
           scan=r"p=\d+: \*\*\* Caught "),
    Record("simulation.fatal", r"^\s*Fatal +: (?P<message>Level 0 assertion violation)", "fatal",
           message_below(r"^$", alone=True), "Nektar++ ends with an error."),
    Record("simulation.fatal", r"\[ERROR\]\((?P<rank>\d+)\) (?P<place>\S{1,200}:\d+) \((?P<function>[^)]{0,80})\) "
           r"(?P<message>\S.*)", "fatal", note="Smilei ends with an error on this rank.", scan=r"\[ERROR\]\(\d+\) "),
    Record("simulation.fatal", r"^(?P<place>\S{1,200}\.(?:c|h|cpp|cxx|f90):\d+): Fatal error\.\s*$", "fatal",
           message_below(r"^Call stack:", alone=True), "code_saturne ends with an error.", scan=r":\d+: Fatal error\."),
    Record("simulation.fatal", r"^\s*\*ERROR in (?P<function>\w{2,40}): ?(?P<message>\S.*)|"
           r"^ERROR:: (?P<function>\w[\w ]{1,40}): (?P<message>\S.*)", "fatal", scan=r"\*ERROR in \w+: |^ERROR:: ",
           note="CalculiX or Elmer reports an error."),
    Record("simulation.fatal", r"^\s*BLACS ERROR '(?P<message>[^']{3,300})'", "fatal",
           note="BLACS, under ScaLAPACK, ends the program."),
    Record("simulation.input", r"^\s*(?P<message>This test requires (?:exactly|at least) (?:two|\d+) processes)",
           "fatal", note="A benchmark of OSU was started with another number of processes than it needs."),
    Record("simulation.input", r"^\s*ERROR: (?P<message>compiled for +\d+ processes)", "fatal",
           note="A NAS benchmark was built for another number of processes.", scan=r"ERROR: compiled for +\d"),
    Record("simulation.fortran", r"^\s*(?P<message>STOP (?P<code>[1-9]\d{0,2}))\s*$", "error", priority=-3,
           note="A Fortran program ended itself with an exit code.", scan=r"^\s*STOP [1-9]"),
)  # fmt: skip

RECORDS: tuple[Record, ...] = (*SKY, *EARTH, *MATTER, *SOLVERS)
