r"""Signs of life of simulation codes under MPI: steps with residuals or energies, and what a step took.

- ``progress.step`` unit (step | iteration), value, total: as for training programs (see `progress`)
- ``progress.done`` the program says that it came to its end

Ends from LAMMPS (`lammps.cpp`), GROMACS, Quantum ESPRESSO, WRF, Gaussian, CP2K, NAMD, Psi4, ORCA, NWChem, Nek5000,
AMBER, HPL, HPCG, LS-DYNA, FEBio.
Shapes from OpenFOAM (`ExecutionTime = ... ClockTime = ...` after each time step), WRF (`Timing for main`), PETSc's
KSP monitor and the usual `step N ... residual R` of hand-written solvers.
"""

from __future__ import annotations

from logdoctor.logs.multiline.progress_lines import read_step
from logdoctor.logs.record_pattern import RecordPattern

_NUMBER = r"(?P<value>\d[\d,]*)(?: ?(?:/|of) *(?P<total>\d[\d,]*))?"
_NOTE = "A sign of progress of a simulation."

RECORDS = (
    RecordPattern("progress.step", rf"\b[Ss]tep ?[:=#]? *{_NUMBER}\b.{{0,120}}?\b(?:[Rr]esiduals?|[Ee]nergy)\b", "info",
           read_step("step"), _NOTE, -3, often=True, scan="esidual|nergy"),
    RecordPattern("progress.step", rf"\b[Ii]ter(?:ation)? ?[:=#]? *{_NUMBER}\b.{{0,120}}?\b(?:[Rr]esiduals?|[Ee]nergy)\b",
           "info", read_step("iteration"), _NOTE, -3, often=True, scan="esidual|nergy"),
    RecordPattern("progress.step", r"^ *(?P<value>\d+) KSP (?:(?:un)?preconditioned )?[Rr]esid(?:ual)? norm ", "info",
           read_step("iteration"), _NOTE, -3, often=True),
    RecordPattern("progress.step", r"^ExecutionTime = [\d.]+ s +ClockTime = \d+ s|^Timing for main: time \S+ on domain +\d+:",
           "info", read_step("step"), _NOTE, -3, often=True),
    RecordPattern("progress.done", r"^Total wall time: \d+:\d\d:\d\d|^Finished mdrun on rank \d+ |^ +JOB DONE\.|"
           r"\bSUCCESS COMPLETE WRF|^ *Normal termination of Gaussian|\bPROGRAM ENDED AT  |"
           r"^WallClock: +[\d.]+ +CPUTime: |\*\*\* Psi4 exiting successfully|ORCA TERMINATED NORMALLY|"
           r"^ Total times  cpu: |^run successful: dying|^\|  Final Performance Info:|^End of Tests\.$|"
           r"HPCG result is VALID|^Finalising parallel run$|^ *N o r m a l +t e r m i n a t i o n|"
           r"^ *N O R M A L +T E R M I N A T I O N", "info",
           note="A simulation says that it came to its end.", priority=-3),
)  # fmt: skip
