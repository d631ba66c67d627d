r"""Last words of programs and libraries for flow, structures, fire and waves, and of benchmarks.

Kinds and their fields, as in `simulation`:

- ``simulation.fatal`` message, rank, function, place, code: the program found an error and ends
- ``simulation.input`` message, rank: the same, and the program says that its input or the number of processes is wrong

Sources: FDS 6 (SHUTDOWN), SU2 (CSysSolve, Error Exit), SPECFEM3D (exit_MPI), Abaqus, LS-DYNA, FEBio 4 (last line),
deal.II 9 (base/exceptions), MOOSE (mooseError), MFEM 4 (MFEM_VERIFY), DOLFIN 2019, Teuchos, Nektar++ 5 (ErrorUtil),
Smilei 5 (Tools.h), code_saturne 8 (bft_error), CalculiX 2.21, Elmer 9 (Messages), BLACS, OSU 7, NAS 3.4,
libgfortran 13, CFX 2023, Code_Aster 15, PIConGPU 0.6, OSIRIS 4, RELION 4 (error.cpp), LAPACK (xerbla),
Nastran 2020, ANSYS 2022, Fluent 2022, OpenGeoSys 6, CaNS 2 (sanity), Xcompact3d 4, code_saturne 7 (cs_run),
HiFiLES 0.1, OPM Flow 2020.
"""

from __future__ import annotations

from logdoctor.logs.multiline.simulation_frames import message_reader, read_dealii_error
from logdoctor.logs.record_pattern import RecordPattern

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern("simulation.fatal", r"^[\s_*]*(?:STOP|ERROR(?:\(\d{1,4}\))?): (?P<message>(?:Numerical [Ii]nstability|"
           r"Unrealizable mass density|Combustion ODE solver fail|An MPI exchange timed out|External program failure)"
           r".*)", "fatal", note="FDS ends with an error while it runs.",
           scan=r"(?:Numerical [Ii]nstability|Unrealizable mass density|solver failure|solver failed|timed out|"
           r"program failure) (?:- FDS stopped|\(CHID: )"),
    RecordPattern("simulation.input", r"^\s*(?:STOP|ERROR(?:\(\d{1,4}\))?): (?P<message>FDS was improperly set-up.*)", "fatal",
           note="FDS cannot use its input.", scan="FDS was improperly set-up", priority=-1),
    RecordPattern("simulation.input", r"^\s*ERROR(?:\(\d{1,4}\))?: (?!FDS was|Numerical|Unrealizable|Combustion ODE|"
           r"An MPI|External)(?P<message>\S.{2,400}?) \(CHID: [^)\n]{1,80}\)", "fatal",
           note="FDS cannot use its input, or the number of processes.",
           scan=r"ERROR.{3,500} \(CHID: "),
    RecordPattern("simulation.fatal", r"^-+ (?P<message>Error Exit) -+\s*$", "fatal", note="SU2 ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*An error occurred in line <\d+> of file <(?P<place>[^>]{1,400})> in function",
           "fatal", read_dealii_error, "A check of deal.II failed, or the program on it threw an exception."),
    RecordPattern("simulation.fatal", r"^\s*(?P<message>Error detected, aborting MPI)\.\.\. proc +(?P<rank>\d+)", "fatal",
           note="SPECFEM3D ends with an error on this rank."),
    RecordPattern("simulation.fatal", r"^\s*(?P<message>Abaqus/\w+(?: \w+)? exited with (?:an )?errors?|Abaqus Error: .+|"
           r"E r r o r +t e r m i n a t i o n|E R R O R +T E R M I N A T I O N|"
           r"\*{3} Error \d{5} \([A-Z]{3}\+\d{1,4}\).*)", "fatal",
           scan=r"Abaqus/\w+.{0,12} exited with |Abaqus Error: |E r r o r +t e r m i n a t i o n|"
           r"E R R O R +T E R M I N|\*{3} Error \d{5} \([A-Z]{3}\+",
           note="Abaqus, LS-DYNA or FEBio ends with an error."),
    RecordPattern("simulation.fatal", r"^[\s*0]*(?P<message>(?:USER|SYSTEM) FATAL (?:MESSAGE|ERROR) +\d{1,6}[, ]?.*)", "fatal",
           note="Nastran ends with an error.", scan=r"(?:USER|SYSTEM) FATAL (?:MESSAGE|ERROR) +\d"),
    RecordPattern("simulation.fatal", r"^\s*\*{3} ERROR \*{3} +CP = +[\d.]+ +TIME= ", "fatal",
           message_reader(r"^$|^\*{3} ", alone=True), "ANSYS reports an error.", scan=r"\*{3} ERROR \*{3} +CP = "),
    RecordPattern("simulation.fatal", r"^(?:\d+: )?Error: +(?P<message>(?:Divergence detected in AMG solver|"
           r"[Ff]loating point (?:error|exception))\b.*)", "fatal", note="ANSYS Fluent diverges.",
           scan=r"Error: +(?:Divergence detected in AMG|[Ff]loating point e)"),
    RecordPattern("simulation.fatal", r"^(?:Error: )?(?P<message>Fatal error in one of the compute processes|Cortex received "
           r"a fatal signal\b.{0,60})", "fatal", priority=-1,
           note="A process of ANSYS Fluent ended; what it is stands above.",
           scan=r"Fatal error in one of the compute proc|Cortex received a fatal signal"),
    RecordPattern("simulation.fatal", r"^\s*(?P<message>solver script exited with status [1-9]\d*)", "fatal", priority=-1,
           note="code_saturne's solver ended with an error; what it is stands in its own logs."),
    RecordPattern("simulation.fatal", r"(?P<message>OGS terminated with error)\b", "fatal", priority=-1,
           note="OpenGeoSys ends with an error; what it is stands above."),
    RecordPattern("simulation.input", r"^\s*\*{3} (?P<message>Simulation aborted due to errors in the (?:input|case) file)",
           "fatal", note="CaNS, or a program made from it, refuses its input; why stands above."),
    RecordPattern("simulation.fatal", r"^Fatal error '(?P<message>[^'\n]{3,300})' at (?P<place>[\w./-]{1,200}:\d+)", "fatal",
           note="HiFiLES or Flurry ends with an error.", scan=r"Fatal error '.{3,300}' at \S{1,200}:\d"),
    RecordPattern("simulation.fatal", r"(?P<message>Solver failed to converge after cutting timestep \d+ times)", "fatal",
           note="OPM Flow ends: no time step is small enough."),
    RecordPattern("simulation.fatal", r"^\s*(?P<message>Velocity diverged! SIMULATION IS STOPPED!)", "fatal",
           note="Xcompact3d ends: the flow diverged."),
    RecordPattern("simulation.fatal", r"^\s*\*{3} ERROR \*{3}\s*$", "fatal", message_reader(r"^(?:Stack frames:|\*{3} )"),
           "An application of MOOSE ends with an error."),
    RecordPattern("simulation.fatal", r"^(?:MFEM abort: (?P<message>\S.*)|(?:Verification|Assertion) failed: "
           r"\((?P<message>.{1,300})\) is false:)", "fatal", note="A check of MFEM failed.",
           scan=r"MFEM abort: |\) is false:"),
    RecordPattern("simulation.fatal", r"^\*{3} Error: {2,}(?P<message>\S.*)", "fatal",
           message_reader(r"^\*{3} (?:Where|Process)", skip=r"^\*{3} -"), "DOLFIN (FEniCS) ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*p=(?P<rank>\d+): \*{3} Caught (?:standard|an unknown) (?P<function>[\w:]+)",
           "fatal", message_reader(r"^p=\d", alone=True), "A program on Trilinos ends with an exception.",
           scan=r"p=\d+: \*\*\* Caught "),
    RecordPattern("simulation.fatal", r"^\s*Fatal +: (?P<message>Level 0 assertion violation)", "fatal",
           message_reader(r"^$", alone=True), "Nektar++ ends with an error."),
    RecordPattern("simulation.fatal", r"\[ERROR\]\((?P<rank>\d+)\) (?P<place>\S{1,200}:\d+) \((?P<function>[^)]{0,80})\) "
           r"(?P<message>\S.*)", "fatal", note="Smilei ends with an error on this rank.", scan=r"\[ERROR\]\(\d+\) "),
    RecordPattern("simulation.fatal", r"^(?P<place>\S{1,200}\.(?:c|h|cpp|cxx|f90):\d+): Fatal error\.\s*$", "fatal",
           message_reader(r"^Call stack:", alone=True), "code_saturne ends with an error.",
           scan=r":\d+: Fatal error\."),
    RecordPattern("simulation.fatal", r"^\s*\*ERROR in (?P<function>\w{2,40}): ?(?P<message>\S.*)|"
           r"^ERROR:: (?P<function>\w[\w ]{1,40}): (?P<message>\S.*)", "fatal", scan=r"\*ERROR in \w+: |^ERROR:: ",
           note="CalculiX or Elmer reports an error."),
    RecordPattern("simulation.fatal", r"^\s*BLACS ERROR '(?P<message>[^']{3,300})'", "fatal",
           note="BLACS, under ScaLAPACK, ends the program."),
    RecordPattern("simulation.input", r"^\s*(?P<message>This test requires (?:exactly|at least) (?:two|\d+) processes)",
           "fatal", note="A benchmark of OSU was started with another number of processes than it needs."),
    RecordPattern("simulation.input", r"^\s*ERROR: (?P<message>compiled for +\d+ processes)", "fatal",
           note="A NAS benchmark was built for another number of processes.", scan=r"ERROR: compiled for +\d"),
    RecordPattern("simulation.fatal", r"^[\s|]*ERROR #\d{9} has occurred in subroutine (?P<function>\w+)", "fatal",
           note="CFX ends with an error.", scan=r"ERROR #\d{9} has occurred in subroutine"),
    RecordPattern("simulation.fatal",
           r"^[\s!]*<(?:F|S|EXCEPTION)> (?:<EXCEPTION> )?<(?P<message>[A-Z][A-Z0-9]{2,30}_\d{1,4})>",
           "fatal", note="Code_Aster ends with this message.", scan=r"<(?:F|S|EXCEPTION)> .{0,12}<[A-Z0-9]+_\d+>"),
    RecordPattern("simulation.fatal", r"^Unhandled exception of type '[^']{1,200}' with message '(?P<message>.{1,300})', "
           r"terminating", "fatal", note="PIConGPU ends with an error."),
    RecordPattern("simulation.fatal", r"^\s*\(\*error\*\) +(?P<message>\S.*)", "fatal", note="OSIRIS ends with an error."),
    RecordPattern("simulation.fatal", r"^in: (?P<place>/?[\w./-]{3,200}\.(?:cpp|h), line \d+)\s*$", "fatal",
           message_reader(r"^(?:===|in: )", skip=r"^ERROR:\s*$"), "RELION ends with an error.",
           scan=r"^in: .{3,220}\.(?:cpp|h), line \d"),
    RecordPattern("simulation.fatal",
           r"^\{ *(?P<row>\d{1,5}), *\d{1,5}\}: +(?P<message>On entry to +(?P<function>\w+) parameter "
           r"number +-?\d+ had an illegal value)|^ *\*\* (?P<message2>On entry to +(?P<function2>\w+) parameter number "
           r"+\d+ had an illegal value)", "error", note="LAPACK or ScaLAPACK was called wrongly.",
           scan=r"On entry to +\w+ +parameter number"),
    RecordPattern("simulation.fortran", r"^\s*(?P<message>STOP (?P<code>[1-9]\d{0,2}))\s*$", "error", priority=-3,
           note="A Fortran program ended itself with an exit code.", scan=r"^\s*STOP [1-9]"),
)  # fmt: skip
