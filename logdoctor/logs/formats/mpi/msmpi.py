r"""Microsoft MPI: what its mpiexec and process managers on Windows say when a job ends badly or cannot start.

Kinds are those of `mpich`, from which it comes: ``mpich.rank_died`` rank, host, signal | exit_code; ``mpich.abort``
rank, host, exit_code, communicator; ``mpich.interrupt``; ``mpich.connect`` peer, message; ``mpich.exec_failed``
message, file.  An exit code like 0xc0000005 by which Windows means a crash becomes the signal it would be elsewhere.

Source: Microsoft MPI 10.1 (src/mpi/mpiexec/mpiexec_handle_command.cpp, mpiexec_rpc_util.cpp, src/mpi/pmilib).
"""

from __future__ import annotations

from logdoctor.logs.multiline.msmpi_blocks import read_job_aborted, read_process_end
from logdoctor.logs.record_pattern import RecordPattern

_ENDED = r"(?P<ended>-?\d{1,10}|0x[0-9a-f]{1,8})\s*$"
_UNREACHED = r"(?:is unable to connect to the smpd (?:manager|service)|failed to communicate with smpd manager) on"

RECORDS = (
    RecordPattern("mpich.rank_died", r"^\[ranks\] message\s*$", "fatal", read_job_aborted,
           "mpiexec says which ranks ended, and how."),
    RecordPattern("mpich.rank_died", r" ended (?:before calling init|prematurely) and may have crashed\. exit code " + _ENDED,
           "fatal", read_process_end, "mpiexec says how a process ended."),
    RecordPattern("mpich.abort", r"^aborting (?P<communicator>[\w ]{1,80}) \(comm=0x[0-9A-Fa-f]+\), error "
           r"(?P<exit_code>-?\d+), comm rank (?P<rank>\d+)", "fatal",
           note="A rank called MPI_Abort, which ends the job.", scan=r"\), error -?\d+, comm rank \d"),
    RecordPattern("mpich.interrupt", r"^(?P<message>ctrl-c was hit\. job aborted by the user)", "info",
           note="mpiexec was interrupted from the keyboard."),
    RecordPattern("mpich.connect", r"(?P<message>\S{1,80} on \S{1,255} " + _UNREACHED + r" (?P<peer>[\w.-]{1,255}).*)",
           "error", note="The process managers could not reach each other.", scan=_UNREACHED),
    RecordPattern("mpich.connect", r"(?P<message>Failed RpcCli(?:CreateContext|StartMgr) error \d+.*)", "error",
           note="mpiexec could not start its process manager on another host."),
)  # fmt: skip
