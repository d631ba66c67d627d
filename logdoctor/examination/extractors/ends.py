"""Ends of processes: exit codes, signals, and who says so."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.examination.extractors import Found, extracts
from logdoctor.pack.regexes import later

_SIGNALS = r"SIG(?:KILL|TERM|SEGV|ABRT|BUS|FPE|INT|HUP|ILL|USR1|USR2|XCPU|PIPE|QUIT|TRAP|SYS|STOP|ALRM)"
_END = later(
    rf"""(?x)
    (?i:\bexit(?:ed)?[ _-]?(?:with[ ])?(?:non-?zero[ ])?(?:code|status|value)[ ]{{0,8}}[:=]?[ ]{{0,2}}\(?
      |\bexited[ ]with[ ](?:exit[ ])?(?:code|status)[: ]{{1,2}}
      |\breturned[ ](?:a[ ])?non-zero[ ]exit[ ]status[ ]|\b(?:terminated|died|finished
      |exited)[ ]with[ ](?:exit[ ])?(?:code|status)[ ]|\breturn(?:ed)?[ ]code[ ]?[:=]?[ ]
      |\bcode=exited,[ ]status=|\bcalling[ ]exit\(|\bexit\()(?P<exit>-?\d{{1,6}})(?!\w|\.\d)
    |(?i:\bsignal[ ]?(?:code)?[: =]{{1,2}}(?:number[ ])?)(?P<signal>\d{{1,2}})(?!\w|\.\d)
    |(?<![A-Za-z_])(?P<name>{_SIGNALS})(?![A-Za-z_])
    |\b(?i:killed|terminated)[ ]by[ ]signal[ :]+(?P<name>[A-Z]\w{{2,20}})
    """
)
_BY = later(
    r"(?i)(?:^|[\s\[(])(?P<by>srun|slurmstepd|sbatch|slurmctld|torchrun|mpirun|mpiexec|orterun|prterun|prted|orted"
    r"|systemd|kernel|kubelet|raylet"
    r"|torch[\w./]{0,80}elastic|hydra\w{0,20}|deepspeed|horovodrun|accelerate|bash|sh|jsrun)\b"
)
SAMPLES = {
    "srun: error: n04: tasks 2-3: Exited with exit code 7": ("end.exit code=7 (srun)",),
    "failed (exitcode: 7) local_rank: 1 (pid: 13561) of binary: /opt/env/bin/python": ("end.exit code=7",),
    "  exitcode  : -15 (pid: 13560)  (SIGTERM)": ("end.exit code=-15", "end.signal=SIGTERM"),
    "traceback : Signal 9 (SIGKILL) received by PID 13560": ("end.signal=9",),
    "mpirun noticed that process rank 3 with PID 0 on node n2 exited on signal 11 (Segmentation fault).": (
        "end.signal=11 (mpirun)",
    ),
    "[mpiexec@c1] unable to run proxy on c1 (pid 9917, exit code 256)": ("end.exit code=256 (mpiexec)",),
    "subprocess.CalledProcessError: Command '['x']' returned non-zero exit status 137.": ("end.exit code=137",),
    "systemd[1]: slurmd.service: Main process exited, code=exited, status=1/FAILURE": ("end.exit code=1 (systemd)",),
    "The process has received a SIGTERM": ("end.signal=SIGTERM",),
    "exit code 0 means that it ended well": ("end.exit code=0",),
    "the signal is strong": (),
    "CODE: 4 status: 200 error code 5": (),
    "trap handler installed, exit in 5 s": (),
}


@extracts(
    "end",
    "exit exited exitcode signal signaled killed terminated died returned return status sigkill sigterm sigsegv "
    "sigabrt sigbus sigfpe sigint sighup sigill sigusr sigxcpu sigpipe sigquit sigtrap sigsys",
)
def extract(text: str) -> Iterator[Found]:
    """Yield the exit code and the signal; the name of a signal only if its number is not told."""
    by = _BY.search(text)
    of = by["by"] if by else ""
    told: set[str] = set()
    for match in _END.finditer(text):
        role = "exit code" if match["exit"] else "signal"
        if role in told:
            continue
        told.add(role)
        value = match["exit"] or match["signal"]
        yield Found(role, int(value) if value else match["name"], of=of, said=match[0].strip())
