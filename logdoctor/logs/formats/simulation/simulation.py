r"""Last words of simulation codes and of the run-time of Fortran: why the program itself gave up.

Kinds and their fields:

- ``simulation.fatal`` message, rank, function, place: the program found an error and ends, usually by MPI_Abort
- ``simulation.input`` message, rank: the same, and the program says that its input or decomposition is wrong
- ``simulation.fortran`` code, message: the run-time of Fortran gave up; ``simulation.signal`` signal, message: a
  run-time or library caught a signal; ``simulation.trace``: the stack under such a line; ``simulation.stack``:
  OpenFOAM prints where it ends
- ``simulation.no_memory`` message: an allocation was refused
- ``simulation.file`` message, rank: HDF5 could not do with a file what it was asked for; by itself that ends nothing
- fact: ``simulation.rank`` (who is where)

Sources: OpenFOAM v2406 and 12 (db/error), GROMACS 2016-2024 (utility/errorformat.cpp), LAMMPS (src/error.cpp), WRF 4
(share/wrf_fatal_error), PETSc 3.20 (sys/error), Quantum ESPRESSO 7 (UtilXlib/error_handler.f90), CP2K 2024
(common/cp_error_handling), VASP 5 and 6, HPL 2.3 (HPL_pwarn, HPL_pabort), IOR 4 (aiori), FMS (mpp), AMReX
(Base/AMReX.cpp), Charm++ 7 (conv-core) and NAMD, ARMCI-MPI, ComEx and GA 5.8 (NWChem), HDF5 1.14 (H5E), libgfortran
13, the run-times of Intel, NVIDIA and Cray Fortran, LLVM flang.
"""

from __future__ import annotations

from logdoctor.logs.multiline.crash_stacks import read_signal
from logdoctor.logs.multiline.simulation_frames import (
    message_reader,
    ranked_message_reader,
    read_charm_end,
    read_foam_stack,
    read_hdf5_stack,
)
from logdoctor.logs.record_pattern import LifecycleSigns, RecordPattern

_RANK = r"^\s*(?:\[(?P<by_rank>\d{1,7})\] ?)?"
_FOAM_ENDS = r"^(?:From (?:static |function |\w)|in file |file: |FOAM (?:parallel run )?(?:exiting|aborting)|#0 )"
_GROMACS_ENDS = r"^(?:For more information and tips|website at |https?://|\(?gcq)"
_GROMACS_INPUT = r"^(?:Error in user input|Inconsistency in user input|File input/output error):\s*$"
_GROMACS_FATAL = (
    r"^(?:Fatal error|Software inconsistency error|Feature not implemented|Simulation instability detected|"
    r"(?:Internal|API|Standard library (?:logic|runtime)|Range checking|Communication) error "
    r"\((?:possible )?bug\)|Requested tolerance cannot be achieved|System I/O error|Assertion failed):\s*$"
)
_read_gromacs = message_reader(_GROMACS_ENDS, skip=r"^(?:Condition|Requirement): ")
_SIGNAL = r"SIG(?:SEGV|ABRT|BUS|ILL|FPE|TERM|INT)"

_PETSC = r"(?:\[(?P<by_rank>\d{1,7})\] ?)?PETSC ERROR: "
_PETSC_REST = (
    r"-{4}|\s|\[|#\d|[Ss]ee |Try option|or (?:see|try)|to (?:get|find|allocate)|likely location|Note: |INSTEAD|"
    r"[Pp]etsc (?:Release|Development)|.{0,200} on a .{0,80} named |No error traceback|[Ss]ignal received|[Cc]onfigur|"
    r"is given|WARNING!|Libraries linked|User provided function|Run with|too large an|destroying|"
    r"Memory (?:allocated|requested|used)"
)
"""Lines of PETSc's report that only help to find the place."""

FACTS = (
    RecordPattern("simulation.rank", r"^\s*taskid: +(?P<by_rank>\d+) hostname: +(?P<by_host>[\w.-]+)", "info",
           note="Which host a rank of WRF runs on."),
)  # fmt: skip

FRAMES = (
    RecordPattern("simulation.input", _RANK + r"--> FOAM FATAL IO ERROR: ?(?:\(openfoam-\d+\w*\))?(?P<message>.*)", "fatal",
           message_reader(_FOAM_ENDS, alone=True), "OpenFOAM cannot use an input file of the case."),
    RecordPattern("simulation.fatal", _RANK + r"--> FOAM FATAL ERROR: ?(?:\(openfoam-\d+\w*\))?(?P<message>.*)", "fatal",
           message_reader(_FOAM_ENDS, alone=True), "OpenFOAM ends with an error."),
    RecordPattern("simulation.signal",
           r"(?:^|\[(?P<by_rank>\d{1,7})\] ?)\s*(?:#\d+ +)?Foam::(?P<message>sig(?:Fpe|Segv)::sigHandler)", "fatal",
           note="A rank of OpenFOAM crashed and prints its stack."),
    RecordPattern("simulation.stack", r"^=== If no file names and line numbers are shown below, one can run\s*$", "error",
           note="AMReX prints the stack of a rank that aborts or that a signal ended."),
    RecordPattern("simulation.stack", r"(?:^|\[(?P<by_rank>\d{1,7})\] ?)\s*(?:#\d+ *)?Foam::error::printStack\(", "fatal",
           read_foam_stack, "OpenFOAM prints the stack of a rank that ends.", -1),
    RecordPattern("simulation.input", _GROMACS_INPUT, "fatal", _read_gromacs, "GROMACS cannot use its input.", -5),
    RecordPattern("simulation.fatal", _GROMACS_FATAL, "fatal", _read_gromacs, "GROMACS ends with an error.", -5),
    RecordPattern("simulation.fatal", r"^MPI rank: +(?P<rank>\d+) \(out of \d+\)\s*$", "fatal",
           ranked_message_reader(rf"{_GROMACS_INPUT}|{_GROMACS_FATAL}", _GROMACS_INPUT, _read_gromacs),
           "A rank of GROMACS ends with an error."),
    RecordPattern("simulation.fatal", r"-+ ?FATAL CALLED ?-+", "fatal",
           message_reader(r"^-{5,}", skip=r"FATAL CALLED FROM FILE", alone=True), "WRF ends with an error."),
    RecordPattern("simulation.fatal", r"FATAL CALLED FROM FILE: +(?P<place>\S+ +LINE: +\d+)", "fatal",
           message_reader(r"^-{5,}", alone=True), "WRF ends with an error."),
    RecordPattern("simulation.fatal",
           r"^\s*(?:Error in routine (?P<function>\w+) \((?P<code>-?\d+)\):?|"
           r"from +(?P<function>\w+) *: error # *(?P<code>\d+))\s*$", "fatal", message_reader(r"^stopping", alone=True),
           "Quantum ESPRESSO ends with an error.", scan=r"Error in routine |: error #"),
    RecordPattern("simulation.fatal", r"^\s*\*? ?\[ABORT\](?P<message>.*?)[ *]*$", "fatal", message_reader(r"^[*]{8}"),
           "CP2K ends with an error.", scan=r"\* \[ABORT\]"),
    RecordPattern("simulation.input", r"HPL ERROR from process # (?P<rank>\d+), on line \d+ of function (?P<function>\w+):",
           "fatal", message_reader(r"^$|HPL ERROR", alone=True),
           "HPL cannot use its input or the number of processes."),
    RecordPattern("simulation.fatal", r"^-{3} !(?:ERROR|BUG)\s*$", "fatal",
           message_reader(r"^\.\.\.", skip=r"^(?:src_|message: |mpi_rank)"), "ABINIT ends with an error."),
)  # fmt: skip

LINES = (
    RecordPattern("simulation.fatal", r"(?:^\s*|\bMPIAbortException: ')ERROR on proc (?P<rank>\d+): (?P<message>.+)", "fatal",
           note="LAMMPS ends with an error on this rank."),
    RecordPattern("simulation.fatal",
           r"^\s*(?:(?:ior|mdtest) )?ERROR: (?P<message>.{3,400}?) "
           r"\((?P<place>[\w./-]{1,200}\.(?:cpp|h|cxx|cc|c):\d+)\)\s*$", "fatal",
           scan=r"ERROR: .{3,500}\.(?:cpp|h|cxx|cc|c):\d+\)",
           note="The program ends with an error, and says where in its source."),
    RecordPattern("simulation.signal", _PETSC + r"Caught signal number (?P<signal>\d+) (?P<message>.+)", "fatal",
           note="PETSc caught a signal of its own process.", priority=2),
    RecordPattern("simulation.signal", _PETSC + r"(?P<message>Signal received)", "fatal",
           note="PETSc ends because a signal was caught.", priority=2),
    RecordPattern("simulation.no_memory", _PETSC + r"(?P<message>Out of memory\..*)", "fatal", note="PETSc got no memory.",
           priority=2),
    RecordPattern("simulation.fatal", _PETSC + rf"(?!{_PETSC_REST})(?P<message>\S.*)", "fatal",
           note="PETSc reports an error.", priority=1),
    RecordPattern("simulation.fatal",
           r"(?P<message>VERY BAD NEWS! internal error in subroutine \w+|Error EDDDAV: .*|ERROR FEXC[PF]: .*|"
           r"I REFUSE TO CONTINUE WITH THIS SICK JOB|ZBRENT: fatal (?:internal )?(?:error )?in .*|"
           r"LAPACK: Routine \w+ failed!?.*)", "fatal", note="VASP ends with an error."),
    RecordPattern("simulation.fatal", r"^SYSTEM ABORT: (?:proc=(?P<rank>\d+) )?(?P<message>\S.*)", "fatal",
           note="QUIP (libAtoms) ends with an error."),
    RecordPattern("simulation.fatal", r"^Error at (?:Node (?P<by_rank>\d+)|[Hh]ost): (?P<message>\S.+)", "fatal",
           note="A process of ANSYS Fluent reports the error that stops the run."),
    RecordPattern("simulation.fatal", r"FATAL from PE +(?P<rank>\d+): (?P<message>.+)", "fatal",
           note="A model built on FMS ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*pe=(?P<by_rank>\d+) FAIL at line=\d+ +(?P<place>\S+) +<(?P<message>.+)>", "fatal",
           note="A model built on MAPL (GEOS) tells where it failed; the first line is the cause."),
    RecordPattern("simulation.fatal", r"(?:amrex|BoxLib)::(?:Abort|Error)::(?P<rank>\d+)::(?P<message>.*?)(?: !!!)?\s*$",
           "fatal", note="AMReX ends the program."),
    RecordPattern("simulation.signal", r"^(?P<message>Segfault|Erroneous arithmetic operation)\s*$", "fatal",
           note="AMReX caught a signal of its own process.", scan=r"^Segfault\s*$|^Erroneous arithmetic operation"),
    RecordPattern("simulation.fatal", r"^\[file (?P<place>[\w./-]{1,200}, line \d+)(?:, Process (?P<by_rank>\d+))?\]:\s*"
           r"(?P<message>[. ]*aborting the run)?", "fatal", message_reader(r"^-{8,}|^$", alone=True),
           "A program of ORCA ends.", scan=r"\[file [\w./-]{1,200}, line \d+"),
    RecordPattern("simulation.fatal", r"ORCA finished by (?P<message>error termination in .+)", "fatal",
           note="ORCA says which of its programs ended."),
    RecordPattern("simulation.fatal", r"^Reason: (?:REPLICA \d+ )?(?P<message>FATAL ERROR: .+)", "fatal",
           note="NAMD (Charm++) ends with an error."),
)  # fmt: skip

_CHARM = r"-{5,} (?:Partition \d+ )?Processor (?P<by_rank>\d+) Exiting: (?P<how>"
LIBRARIES = (
    RecordPattern("simulation.signal", _CHARM + r"Caught Signal) -{3,}", "fatal", read_charm_end,
           "Charm++ caught a signal of its own process.", scan="Processor \\d+ Exiting: Caught Signal"),
    RecordPattern("simulation.fatal", _CHARM + r"Called C\w{1,4}Abort) -{3,}", "fatal", read_charm_end,
           "A program built on Charm++ ends itself.", scan="Processor \\d+ Exiting: Called C"),
    RecordPattern("simulation.fatal", r"^Fatal error on PE (?P<processor>\d+)> (?P<message>.+)", "fatal",
           note="A program built on Charm++ ends itself."),
    RecordPattern("simulation.signal",
           r"^\s*(?P<by_rank>\d{1,7}): ?(?P<message>(?:Segmentation Violation|Floating Point Exception|"
           r"Illegal Instruction|Bus) error), status=: ?(?P<signal>\d{1,2})\s*$", "fatal",
           note="A program built on Global Arrays caught a signal of its own process.", scan=r" error, status=: ?\d"),
    RecordPattern("simulation.fatal", r"^\(rank:(?P<by_rank>\d{1,7}) hostname:(?P<by_host>[\w.-]{1,255}) "
           r"pid:(?P<by_pid>\d{1,10})\):(?P<message>ARMCI DASSERT fail\. .+)", "fatal",
           note="A program built on Global Arrays ends itself.", priority=-1),
    RecordPattern("simulation.fatal", r"^(?:\[(?P<by_rank>\d{1,7})\] )?(?P<message>ARMCI assert fail in .+)", "fatal",
           note="A check inside ARMCI failed."),
    RecordPattern("simulation.fatal", r"^(?:\[(?P<by_rank>\d{1,7})\] ?)?ARMCI Error: (?:\d{1,7}: ?)?(?P<message>.+)", "fatal",
           note="A program built on Global Arrays ends itself."),
    RecordPattern("simulation.fatal", r"^(?:\[(?P<by_rank>\d{1,7})\] ?)?Received an Error in Communication: \(-?\d+\) "
           r"(?:\d{1,7}: ?)?(?P<message>.+)", "fatal", note="A program built on Global Arrays ends itself."),
    RecordPattern("simulation.fatal", r"^\s*(?P<by_rank>\d{1,7}):(?P<message>.{3,300}?):? ?Received an Error in Communication",
           "fatal", note="A program built on Global Arrays ends itself."),
    RecordPattern("simulation.file", r"HDF5-DIAG: Error detected in HDF5 \([\w.-]{1,40}\)(?: (?:MPI-process (?P<by_rank>\d+)|"
           r"thread \d+))?", "error", read_hdf5_stack, "HDF5 could not do what it was asked for."),
    RecordPattern("simulation.file",
           r"^\s*(?:[\w.]{1,40}: ){0,2}NetCDF: (?P<message>HDF error|I/O failure|Unknown file format|"
           r"File likely truncated or possibly corrupted|Can't (?:read|write|create|open) .{2,60})\s*$", "error",
           note="netCDF could not do what it was asked for.", scan=r"NetCDF: (?:HDF|I/O|Unk|File|Can't)"),
)  # fmt: skip

FORTRAN = (
    RecordPattern("simulation.signal",
           r"^\s*forrtl: (?:severe|error) \((?P<code>174|157|168|65|7[1-5]|78|69|76|154)\): (?P<message>.+)", "fatal",
           note="The run-time of Intel Fortran caught a signal.", priority=1),
    RecordPattern("simulation.no_memory", r"^\s*forrtl: severe \((?P<code>41|179)\): (?P<message>.+)", "fatal",
           note="The run-time of Intel Fortran got no memory.", priority=1),
    RecordPattern("simulation.fortran", r"^\s*forrtl: (?:severe|error) \((?P<code>\d+)\): (?P<message>.+)", "fatal",
           note="The run-time of Intel Fortran ended the program."),
    RecordPattern("simulation.no_memory",
           r"^(?:\d+: )?(?:DE)?ALLOCATE: (?P<message>\d+ bytes requested; not enough memory)|"
           r"^(?:Operating system error: Cannot allocate memory|Error allocating \d+ bytes|"
           r"Error: allocatable? .{0,80}(?:memory|allocat).*)", "fatal",
           note="The run-time of Fortran got no memory.", scan=r"bytes requested; not enough memory|"
           r"Operating system error: Cannot allocate memory|Error allocating \d"),
    RecordPattern("simulation.fatal", r"^# ERROR IN: (?P<function>iotk_\w+) \((?P<place>\S+)\)\s*$", "fatal",
           note="Quantum ESPRESSO could not read or write one of its XML files.", scan=r"# ERROR IN: iotk_"),
    RecordPattern("simulation.fortran", r"^Fortran runtime error: (?P<message>.+)", "fatal",
           note="The run-time of GNU Fortran ended the program."),
    RecordPattern("simulation.fortran", r"^(?P<message>ERROR STOP\b.*|Error termination\.(?: Backtrace:)?)\s*$", "fatal",
           note="The program ended itself by ERROR STOP, or the run-time of GNU Fortran ended it.", priority=-1),
    RecordPattern("simulation.fortran", r"fatal Fortran runtime error\((?P<place>[^)]{1,300})\): (?P<message>.+)", "fatal",
           note="The run-time of LLVM Fortran ended the program."),
    RecordPattern("simulation.fortran", r"^(?P<message>(?:PG)?FIO-[FS]-\d*/.+)|"
           r"^ *lib-\d{4} : UNRECOVERABLE library error",
           "fatal", message_reader(r"^(?:Encountered during|In source file|\S+ terminated)"),
           "The run-time of Fortran could not read or write."),
    RecordPattern("simulation.trace", r"^\s*Backtrace for this error:\s*$", "fatal",
           note="The run-time of GNU Fortran prints the stack of a process that a signal ended."),
    RecordPattern("simulation.signal",
           rf"Program received signal (?P<signal>\d+) \((?P<signal_text>{_SIGNAL})\): (?P<message>.+)", "fatal",
           read_signal, "The run-time of Fortran caught a signal.", 1),
)  # fmt: skip

RECORDS: tuple[RecordPattern, ...] = (*FACTS, *FRAMES, *LINES, *LIBRARIES, *FORTRAN)

SIGNS: LifecycleSigns = {
    "simulation.fatal": ("own end",),
    "simulation.fortran": ("own end",),
    "simulation.input": ("own end",),
    "simulation.signal": ("own end",),
}
