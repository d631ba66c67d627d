"""systemd's word about services and mounts, and what catches core dumps.

Kinds and their fields:

- ``systemd.failed`` unit, message, exit_code | signal_text: a service, mount or scope ended badly or could not start
- ``systemd.timeout`` unit, message: a service did not start, answer or stop in time
- ``systemd.upstart`` unit, message: an older init tells how a job of the machine's start ended; many fail harmlessly
- ``crash.signal`` pid, process, signal: a process died and left a core dump

Sources: systemd 245 to 255 (src/core/unit.c, service.c, mount.c; src/coredump), abrt 2.14, the kernel's audit records;
upstart 1.13 (init/job_process.c).
"""

from __future__ import annotations

from logdoctor.logs.record_pattern import RecordPattern

_UNIT = r"(?P<unit>[\w@.:\\-]{1,200}\.(?:service|scope|mount|socket|slice|swap))"

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "systemd.failed",
        _UNIT + r": (?P<message>(?:Main|Control|Mount) process exited, code=(?:exited, status=(?P<exit_code>[1-9]\d*)|"
        r"(?:killed|dumped), status=(?P<signal>\d+)/(?P<signal_text>\w+)).{0,40})",
        level="error",
        scan=r"process exited, code=(?:exited, status=[1-9]|killed, status=|dumped, status=)",
        note="systemd says how a service ended.",
    ),
    RecordPattern(
        "systemd.failed",
        _UNIT + r": (?P<message>Failed with result '(?:exit-code|signal|core-dump|resources|protocol|"
        r"start-limit-hit)'.{0,20}|"
        r"Start request repeated too quickly.{0,20}|Failed to (?:run|set up|spawn|execute|load|open) .{1,120}|"
        r"Failed at step \w+ spawning.{1,160})",
        level="error",
        scan=r"Failed with result '(?:exit-code|signal|core-dump|resources|protocol|start-limit-hit)'|"
        r"Start request repeated too quickly|Failed at step \w+ spawning|\.service: Failed to ",
        note="systemd says that a service failed.",
        priority=-1,
    ),
    RecordPattern(
        "systemd.timeout",
        _UNIT + r": (?P<message>(?:start|stop|reload|watchdog)\w* operation timed out.{0,60}|"
        r"State '[\w-]+' timed out.{0,60}|Watchdog timeout \(limit .{1,40})",
        level="error",
        scan=r" operation timed out\. Terminating|: State '[\w-]+' timed out|Watchdog timeout \(limit",
        note="A service did not start, answer or stop in time.",
    ),
    RecordPattern(
        "systemd.failed",
        r"\bsystemd\[\d+\]: (?P<message>Failed to (?:start|mount|listen on) .{1,160}|Dependency failed for .{1,160})",
        level="error",
        scan=r"systemd\[\d+\]: (?:Failed to (?:start|mount|listen on) |Dependency failed for )",
        note="systemd could not start something.",
    ),
    RecordPattern(
        "systemd.upstart",
        r"(?:^|\s)init: (?P<unit>[\w./-]{1,80}(?: \([^)]{0,80}\))?) (?P<message>(?:[\w-]{1,20} )?process \(\d+\) "
        r"(?:terminated with status|killed by) .{1,20})",
        level="info",
        scan=r"process \(\d+\) (?:terminated with status|killed by) ",
        note="init says how a process of the machine's start ended.",
    ),
    RecordPattern(
        "crash.signal",
        r"systemd-coredump\[\d+\]: (?:\[\S+\] )?Process (?P<pid>\d+) \((?P<process>[^)]{1,64})\) of user \S+ "
        r"(?:dumped core|terminated abnormally with signal (?P<signal>\d+)/\w+).{0,60}",
        level="fatal",
        scan=r"systemd-coredump\[\d+\]: .{0,12}Process \d+ ",
        note="A process died of a signal; its core dump was kept (coredumpctl info PID).",
        priority=2,
    ),
    RecordPattern(
        "crash.signal",
        r"abrt-hook-ccpp(?:\[\d+\])?: Process (?P<pid>\d+) \((?P<process>[^)]{1,64})\) of user \S+ killed by "
        r"(?P<signal_text>SIG\w+).{0,40}",
        level="fatal",
        note="A process died of a signal; its core dump was kept.",
    ),
    RecordPattern(
        "crash.signal",
        r"audit: type=17(?:01|26)? .{0,160}?\bpid=(?P<pid>\d+) "
        r"comm=\"(?P<process>[^\"]{1,64})\".{0,160}?\bsig=(?P<signal>\d+)",
        level="error",
        scan=r"audit: type=1701 ",
        note="The audit log shows that a process ended on a signal.",
    ),
    RecordPattern(
        "crash.signal",
        r"audit: type=1326 .{0,160}?\bpid=(?P<pid>\d+) "
        r"comm=\"(?P<process>[^\"]{1,64})\".{0,160}?\bsig=(?P<signal>[1-9]\d*)",
        level="error",
        scan=r"audit: type=1326 ",
        note="A process was killed because seccomp did not allow a system call.",
    ),
)
