r"""Cloud training services: SageMaker, Vertex AI (CloudML), Azure ML, SkyPilot.

These lines are about a job as a whole.

- ``cloud.exit`` replica, exit_code, reason: how one replica of the job ended
- ``cloud.failed`` message, reason: the service calls the job failed; ``cloud.time_limit``, ``cloud.interrupted``: and
  why

Sources: SageMaker's secondary status and failure reasons (DescribeTrainingJob), Vertex AI's CustomJob errors, Azure
ML's run errors of the classic compute; SkyPilot's task code generation and job driver (0.5 to 0.10).
"""

from __future__ import annotations

from logdoctor.logs.record_pattern import LifecycleSigns, RecordPattern

_STAMP = r"(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +)?"

_CODES = (
    r"\bJob \S{1,40} failed with return code list: {0,4}\[(?:0\b[, ]+|137\b[, ]+(?=[^\]\n]{0,4000}\b(?!0\b|137\b)\d))*"
    r"(?P<exit_code>-?[1-9]\d{0,9})\b"
)
"""The first code of a node that failed by itself: 137 only where there is no other."""

RECORDS = (
    RecordPattern("cloud.exit",
           r"The replica (?P<replica>[\w-]+(?: \d+)?) exited with a non-zero status of (?P<exit_code>\d+)"
           r"(?:\(\w+\))?\.(?: Termination reason: (?P<reason>\w+))?", "error",
           note="How one replica of the job ended."),
    RecordPattern("cloud.failed",
           r"(?P<message>AzureMLCompute job failed\.?(?:\s{0,4}(?P<reason>[A-Z]\w{3,60}):)?.{0,200}|"
           r"Submitted script failed with a non-zero exit code.{0,80})",
           "error", note="Azure ML calls the job failed."),
    RecordPattern("cloud.failed", rf"^{_STAMP}Failed - (?P<message>Training job failed.{{0,120}})", "error",
           note="SageMaker calls the job failed."),
    RecordPattern("cloud.failed", r"\b(?P<message>[Jj]ob \S{1,40} is already in terminal state (?P<reason>FAILED\w*).{0,120})",
           "error", note="SkyPilot calls the job failed."),
    RecordPattern("cloud.failed", r"\bJob finished \(status: (?P<reason>FAILED\w*)\)", "error",
           note="SkyPilot calls the job failed."),
    RecordPattern("cloud.failed", r"\b(?P<message>Job \S{1,40} setup failed\b.{0,200})", "error",
           note="SkyPilot: the commands that prepare the nodes failed.", scan=r"Job \S{1,20}'s setup failed"),
    RecordPattern("cloud.exit", _CODES, "error", note="How the nodes of the job ended; where one failed, SkyPilot ends the "
           "others with 137.", scan="failed with return code list"),
    RecordPattern("cloud.time_limit", rf"^{_STAMP}MaxRuntimeExceeded - .{{0,120}}|exceeded MaxRuntimeInSeconds provided",
           "fatal", note="SageMaker ended the job, for it ran as long as it was allowed to."),
    RecordPattern("cloud.time_limit", rf"^{_STAMP}MaxWaitTimeExceeded - .{{0,120}}", "fatal",
           note="SageMaker ended the job, for it waited and ran as long as it was allowed to."),
    RecordPattern("cloud.interrupted", rf"^{_STAMP}Interrupted - .{{0,120}}", "fatal",
           note="SageMaker's spot capacity was taken away."),
)  # fmt: skip

SIGNS: LifecycleSigns = {
    "cloud.failed": ("last words",),
    "cloud.interrupted": ("job ends", "why ended", "last words"),
    "cloud.time_limit": ("job ends", "why ended", "last words"),
}
