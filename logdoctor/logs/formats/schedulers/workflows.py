r"""Nextflow, Snakemake and Kaldi: which step of a workflow failed, and what they try once more.

Kinds and their fields:

- ``script.error`` message, call (the process, or the place in the workflow): the workflow ends because of this
- ``slurm.job_state`` as in `slurm`: how Slurm ended the job of a step that is not tried again
- ``workflow.jobs_failed`` failed, all, log: of the parts of a step so many failed (Kaldi, ESPnet); level error
- ``workflow.step_failed`` call: a step failed; it is tried again, left out, or the workflow says later that it ends

Sources: Nextflow 23 to 25 (TaskProcessor.resumeOrDie, TaskErrorFormatter), Snakemake 5 to 9 (logging, scheduler,
`format_error` in exceptions.py), Kaldi (egs/wsj/s5/utils/parallel: run.pl, queue.pl, slurm.pl, pbs.pl).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.multiline.slurm_lines import read_state
from logdoctor.logs.record_pattern import Message, Multiline, RecordPattern
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_BY_SIGNAL = later(r"exit status \((?:129|1[345]\d)\)")


def read_cause(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the line under ``Caused by:``, without taking it.

    Return None if it names an exit by a signal, because that line has a record of its own.
    """
    del fields
    lines = [line.text.strip() for line in islice(below, 6)]
    caused = next((number for number, text in enumerate(lines) if text.startswith("Caused by:")), len(lines))
    message = next((text for text in lines[caused + 1 :] if text), "")
    if _BY_SIGNAL.search(message):
        return None
    return Multiline(head.text, {"message": message} if message else {})


def read_exception(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read an exception of Snakemake, its place, and the message below.

    Return None if Snakemake restarts the job.
    """
    del head
    lines = list(islice(below, 60))
    if any(line.text.lstrip().startswith("Trying to restart job") for line in lines):
        return None
    message = lines[0].text.strip() if lines else ""
    place = fields.get("in_file") or fields.get("of_file", "")
    text = f"{fields['exception']}: {message}" if message else str(fields["exception"])
    values: dict[str, Value] = {"message": text, "call": f"line {fields['at']} of {place}"}
    return Multiline(text, values, (lines[0].below,) if message else (), lines[0].below if message else 0)


def read_last_state(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the final state of a job, unless Snakemake restarts the job."""
    again = any(line.text.lstrip().startswith("Trying to restart job") for line in islice(below, 60))
    return None if again else read_state(head, fields, below)


RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern("script.error", r"^\s*(?:\[[A-Z]+\] )?(?:ERROR ~ )?Error executing process > '(?P<call>[^'\n]{1,200})'",
           "error", read_cause, "A workflow of Nextflow ends: this process failed.", 1,
           scan=r"Error executing process > '"),
    RecordPattern("workflow.step_failed", r"\bNOTE: (?P<call>Process `[^`\n]{1,200}`) .{3,200} -- (?:Execution is retried|"
           r"Error is ignored)", "warning", note="A process of Nextflow failed and is tried again, or left out.",
           priority=3, scan=r" -- (?:Execution is retried|Error is ignored)"),
    RecordPattern("workflow.step_failed", r"^\s*Error (?:in|executing) (?P<call>(?:rule|group) [\w-]{1,80})(?: on cluster \(|"
           r"[:,])", "warning", priority=3, scan=r"Error (?:in|executing) (?:rule|group) ",
           note="A rule of Snakemake failed; it is tried again, or Snakemake says further below that it ends."),
    RecordPattern("slurm.job_state", r"SLURM-job '(?P<step>\d+)' failed, SLURM status is: '(?P<state>NODE_FAIL|TIMEOUT|"
           r"PREEMPTED|OUT_OF_MEMORY|BOOT_FAIL)'", "error", read_last_state,
           "Snakemake says how Slurm ended a job of its own.", 1),
    RecordPattern("script.error", r"^\s*Exiting because (?P<message>a job execution failed)\.", "error",
           note="A workflow of Snakemake ends; which rule failed stands above."),
    RecordPattern("script.error", r"^\s*(?P<exception>(?!CalledProcess)[A-Z]\w{2,60}(?:Error|Exception))"
           r"(?: in rule \w{1,80})? in (?:line (?P<at>\d{1,6}) of (?P<of_file>[^\n:]{1,300})|"
           r"file \"?(?P<in_file>[^\n\"]{1,300}?)\"?, line (?P<at>\d{1,6}))[:.]\s*$", "fatal", read_exception,
           "Snakemake ends: its workflow, or the code of a rule, raised this.", 1,
           scan=r"(?:Error|Exception)(?: in rule \w{1,80})? in (?:line \d{1,6} of |file )"),
    RecordPattern("script.error", r"^\s*Error: (?P<message>Directory cannot be locked)\. Please make sure that no other "
           r"Snakemake", "error", note="Another Snakemake works in this directory, or a killed one left its lock.",
           scan=r"Error: Directory cannot be locked\. Please make sure"),
    RecordPattern("workflow.jobs_failed", r"^(?:run|queue|slurm|pbs|ssh|limit_num_gpus)\.pl: (?:(?P<failed>\d{1,6}) / "
           r"(?P<all>\d{1,6}) failed|job failed(?: with status -?\d{1,5})?), log is in (?P<log>\S{1,300})", "error",
           note="Parts of a step of Kaldi or ESPnet failed; their own logs say why.", priority=3,
           scan=r"failed(?: with status -?\d+)?, log is in "),
)  # fmt: skip
