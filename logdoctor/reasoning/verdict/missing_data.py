"""Commands that gather the data which would decide an open case, for the job, the hosts and the tools at hand.

They only read. A name in a command comes from a log, so only names that a shell takes as they are get into one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from logdoctor.model import Diagnosis, Step
from logdoctor.model.catalogue import Catalogue
from logdoctor.reasoning.job_state import JobState
from logdoctor.reasoning.verdict.next_data import is_given

MOST_HOSTS = 8
CERTAIN = 0.9
"""Confidence from which a cause that names somebody needs nothing more."""
STAND_STILL = ("collective", "nccl", "net", "rdzv")
"""Families of causes that show in one process and begin in another."""
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9._/-]+")
_CONTAINER = re.compile(r"[0-9a-f]{12}(?:[0-9a-f]{52})?")
"""The name that Docker gives a host: nobody can log in there."""
_JOB_ID = re.compile(r"\d+(?:_\d+)?")
_EACH_PROCESS = 'for p in $(pgrep -u "$USER" python); do py-spy dump --pid $p; done'
_RECORDER_SETTINGS = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
_RECORDER_FILES = ("/tmp/nccl_trace_rank_", ".cache/torch/comm_lib_trace_rank_")  # noqa: S108 - read only
"""Beginnings of the files in which older and newer versions of PyTorch write the dumps, unless a setting says it.

Source: PyTorch, torch/csrc/distributed/c10d/FlightRecorderDetail.hpp, ProcessGroupNCCL.cpp."""


def find_missing_data(diagnosis: Diagnosis, state: JobState, words: Catalogue) -> tuple[Step, ...]:
    """Return what to gather, most useful first, with the commands. Nothing for a case that is decided."""
    return tuple(_Gatherer(diagnosis, state, words).steps()) if _is_open(diagnosis) else ()


def _is_open(diagnosis: Diagnosis) -> bool:
    cause = diagnosis.answer
    if cause is None:
        return diagnosis.verdict in ("unknown", "no-end-seen")
    nobody_named = cause.culprit.scope not in ("one", "some") and cause.signature.startswith(STAND_STILL)
    return cause.confidence < CERTAIN or nobody_named


class _Gatherer:
    """The questions to each tool of a job."""

    def __init__(self, diagnosis: Diagnosis, state: JobState, words: Catalogue) -> None:
        self.words, self.state, self.job = words, state, diagnosis.job
        self.kinds = {source.kind for source in diagnosis.coverage.inputs}
        self.stands_still = diagnosis.decision.running or diagnosis.verdict == "no-end-seen"
        cause = diagnosis.answer
        self.of_group = self.stands_still or (cause is not None and cause.signature.startswith(STAND_STILL))
        named = (*(s.host for s in diagnosis.suspects), *(cause.culprit.hosts if cause else ()), *diagnosis.job.hosts)
        plain = (host for host in named if host and _PLAIN.fullmatch(host) and not _CONTAINER.fullmatch(host))
        self.hosts = [*dict.fromkeys(plain)][:MOST_HOSTS]
        if "kubernetes" in state.formats:
            self.hosts = []  # nobody logs in to a pod
        number = diagnosis.job.id or ""
        self.slurm_job = number if diagnosis.job.scheduler == "slurm" and _JOB_ID.fullmatch(number) else ""

    def steps(self) -> Iterator[Step]:
        for name in ("stacks", "ras", "recorder", "slurm", "nodes", "kubernetes", "kernel", "gpus"):
            if commands := tuple(getattr(self, f"_{name}")()):
                yield Step(self.words(f"gather.{name}"), commands)

    def _stacks(self) -> Iterator[str]:
        if not self.stands_still or is_given("stacks", self.state):
            return
        for host in self.hosts:
            yield f"ssh {host} '{_EACH_PROCESS}' > stacks-{host}.txt"
        if self.slurm_job and not self.hosts:
            yield (
                f"srun --jobid={self.slurm_job} --overlap --ntasks-per-node=1 --output=stacks-%N.txt"
                f" sh -c '{_EACH_PROCESS}'"
            )

    def _ras(self) -> Iterator[str]:
        if self.stands_still and "nccl" in self.state.formats and "nccl-ras" not in self.kinds:
            yield from (f"ssh {host} ncclras -f json > ras.json" for host in self.hosts[:1])

    def _recorder(self) -> Iterator[str]:
        if self.of_group and "c10d" in self.state.formats and "flight-recorder" not in self.kinds:
            told = (value for name, value in self.state.environment if name in _RECORDER_SETTINGS)
            files = [path for path in told if _PLAIN_PATH.fullmatch(path)] or _RECORDER_FILES
            for host in self.hosts:
                yield "scp " + " ".join(f"'{host}:{path}*'" for path in files) + " ."

    def _slurm(self) -> Iterator[str]:
        if self.slurm_job and not is_given("slurm", self.state):
            yield f"sacct -j {self.slurm_job} --json > sacct.json"

    def _nodes(self) -> Iterator[str]:
        if self.slurm_job and self.hosts:
            yield f"scontrol show node {','.join(self.hosts)} --json > nodes.json"

    def _kubernetes(self) -> Iterator[str]:
        if "kubernetes" in self.state.formats and not self.kinds & {"kubernetes"}:
            yield "kubectl get pods,events,nodes -o json > kubernetes.json"

    def _kernel(self) -> Iterator[str]:
        if not is_given("kernel", self.state):
            yield from (f"ssh {host} dmesg -T > dmesg-{host}.txt" for host in self.hosts)

    def _gpus(self) -> Iterator[str]:
        if not any(kind.startswith(("nvidia-smi", "dcgm")) for kind in self.kinds):
            yield from (f"ssh {host} nvidia-smi -q > nvidia-smi-{host}.txt" for host in self.hosts)
