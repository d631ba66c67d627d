r"""The log of Flux's brokers and the records of its jobs: ``overlay.crit[802]: ...``, ``flux job eventlog``.

A line of the log is ``module.level[rank of the broker]: text``, after ``flux: [time]`` or a name in versions of 2015.

- ``flux.node`` message, host: a broker lost its parent, or the instance gave one up; or a job met a lost node
- ``flux.exception`` type, severity, message: an exception in the eventlog of a job
- ``flux.exit`` exit_code: the initial program of an instance ended; ``flux.finished``: it ended well
- ``progress.done`` a job's own eventlog says that all of its tasks ended with 0
- ``flux.log`` message: anything else that a broker logs as an error

Sources: flux-core 0.49 to 0.78: broker/log.c, broker/state_machine.c, broker/runat.c, modules/overlay/overlay.c,
modules/heartbeat/heartbeat.c, modules/job-manager/raise.c, RFC 21 (events of a job); 0.1 (2015-2016).
"""

from __future__ import annotations

from logdoctor.logs.multiline.batch_ends import read_end
from logdoctor.logs.record_pattern import RecordPattern

_HEAD = r"^(?:[\w-]{1,40}: )?(?:\[[A-Za-z\d .:+]{1,24}\] )?"
_EVENT = r"\bexception type=\"(?P<type>[\w-]+)\" severity=(?P<severity>0)(?: userid=\d+)? note=\""

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern("flux.node", _HEAD + r"overlay\.\w+\[\d+\]: (?P<message>disconnecting: no heartbeat.*)", "error",
           note="This broker heard nothing from its parent for minutes and leaves the instance."),
    RecordPattern("flux.node",
           _HEAD + r"broker\.\w+\[\d+\]: (?P<message>dead to Flux: (?P<host>[\w-]+)\S* \(rank [\d,-]+\).*)",
           "error", note="Flux gave up a node."),
    RecordPattern("flux.node", r"\b(?P<message>node failure on (?P<host>[\w-]+) \((?:shell )?rank \d+\))", "error",
           note="Flux says that a job lost a node.", priority=1),
    RecordPattern("flux.exit", _HEAD + r"broker\.\w+\[\d+\]: rc2\.\d+: .{1,300} [A-Z][\w ]{2,24}? \(rc="
           r"(?P<exit_code>[1-9]\d*)\)", "error", read_end, "The initial program of a Flux instance ended."),
    RecordPattern("flux.finished", _HEAD + r"broker\.\w+\[\d+\]: rc2\.\d+: .{1,300} Exited \(rc=0\)", "info",
           note="The initial program of a Flux instance ended well."),
    RecordPattern("progress.done",
           r"^\{\"timestamp\": ?[\d.]+, ?\"name\": ?\"(?:complete|finish)\", ?\"context\": ?\{\"status\": ?0\}\}|"
           r"^(?:[\d.]+s: |\[[^\]]{1,40}\] |\d+\.\d+ )(?:job\.)?(?:complete|finish) status=0\s*$", "info",
           note="The eventlog of a job of Flux says that it ended well.",
           scan=r"\"status\": ?0\}\}|(?:complete|finish) status=0"),
    RecordPattern("flux.exception", _EVENT + r"(?P<message>[^\"]*)", "fatal", note="Flux raised an exception for the job."),
    RecordPattern("flux.log", _HEAD + r"(?P<module>[a-z][\w-]{1,30})\.(?:emerg|alert|crit)\[\d+\]: (?P<message>.+)", "error",
           note="A broker of Flux reports a failure.", priority=-2,
           scan=r"\.(?:emerg|alert|crit)\[\d{1,6}\]: "),
)  # fmt: skip
