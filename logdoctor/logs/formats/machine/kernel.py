"""Linux kernel messages about processes, memory and the kernel itself.

They come from dmesg, syslog or the journal.

Kinds and their fields:

- ``kernel.oom_invoked`` a process asked for memory and the OOM killer began: process
- ``kernel.oom_kill`` the OOM killer chose or killed a process: pid, process; constraint, cgroup, scope, total_vm_kb,
  anon_rss_kb as far as the line has them (``constraint`` CONSTRAINT_MEMCG: a cgroup's limit, CONSTRAINT_NONE: the host)
- ``kernel.oom_group`` a whole cgroup or unit is killed: cgroup or unit
- ``kernel.oom_reaped``, ``kernel.memcg_usage`` (usage_kb, limit_kb, failcnt) facts that come with it
- ``kernel.segfault`` process, pid, library; ``kernel.trap`` process, pid, trap, library
- ``kernel.mce`` severity (corrected, uncorrected, fatal ...); ``kernel.edac`` severity (CE, UE), device
- ``kernel.memory_failure`` process, pid, outcome
- ``kernel.hung_task`` process, pid, seconds, frames (functions, innermost first), message (one line of them)
- ``kernel.lockup`` cpu, seconds, process, pid; ``kernel.panic`` message; ``kernel.oops`` message
- ``kernel.alloc_failure`` process: no memory in one piece; ``kernel.sel`` message: a memory error in the board's log
- ``kernel.thermal``, ``kernel.boot`` version, ``kernel.shutdown``, ``kernel.harmless`` what healthy boots print
- ``kernel.pids_limit`` cgroup; ``kernel.file_limit`` limit

GPU lines stand in ``kernel_gpu``, devices, links and file systems in ``kernel_io``.  Shapes: mm/oom_kill.c (4.x-6.x),
arch/x86/mm/fault.c, arch/x86/kernel/traps.c, mm/memory-failure.c, drivers/edac, kernel/hung_task.c, kernel/watchdog.c.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.record_pattern import LifecycleSigns, Message, Multiline, RecordPattern
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_MAX_FRAMES = 24
_FRAME = later(r"(?P<function>[A-Za-z_][\w.]*)\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[(?P<module>\w+)\])?")
_STACK = later(
    r"Call Trace:|^(?:\[[^\]]*\]\s?)*\s*(?:task:\S.{0,60}state:|</?TASK>|R[A-Z0-9]{2}: |\"echo 0 > |"
    r"(?:Not tainted|Tainted:)|Workqueue: |\S.{0,20}? +[DRSI] +(?:[0-9a-f]{8,16}|running(?: task)?|\d{1,7}) +\d+ +\d+ |"
    r"(?:[0-9a-f]{16} ?){2,4}$)"
)
"""Lines between the frames. Until Linux 5.x the state of the task and words of its stack in hex follow its name."""


def read_stack(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the kernel stack below the head.

    The field ``frames`` holds its functions, innermost first.
    """
    del fields
    frames: list[str] = []
    taken: list[int] = []
    for message in below:
        frame = _FRAME.search(message.text)
        if frame is None and _STACK.search(message.text) is None:
            break
        taken.append(message.below)
        if frame is not None and len(frames) < _MAX_FRAMES:
            frames.append(frame["function"])
    more: dict[str, Value] = {"frames": tuple(frames), "message": " < ".join(frames)} if frames else {}
    return Multiline(head.text, more, tuple(taken))


_KILLED = (
    r"Kill(?:ed)? process (?P<pid>\d+)(?:, UID \d+,)?,? \((?P<process>[^)]{0,64})\)"
    r"(?:.{0,80}?total-vm:(?P<total_vm_kb>\d+)kB, anon-rss:(?P<anon_rss_kb>\d+)kB)?"
)

MEMORY = (
    RecordPattern(
        "kernel.oom_invoked",
        r"(?P<process>\S{1,64}) invoked oom-killer:",
        level="error",
        note="The kernel ran out of memory, for the host or for a cgroup, and started to look for a process to kill.",
    ),
    RecordPattern(
        "kernel.oom_kill",
        r"oom-kill:constraint=(?P<constraint>\w+),.{0,600}?task_memcg=(?P<cgroup>[^,]*),task=(?P<process>[^,]*),"
        r"pid=(?P<pid>\d+)",
        level="fatal",
        scan=r"oom-kill:constraint=",
        note="The kernel's OOM killer chose this process.",
    ),
    RecordPattern(
        "kernel.oom_kill",
        r"(?P<scope>Memory cgroup out|Out) of memory(?: \(oom_kill_allocating_task\))?: " + _KILLED,
        level="fatal",
        scan=r"ut of memory(?: \(oom_kill_allocating_task\))?: Kill",
        note="The kernel's OOM killer killed this process.",
    ),
    RecordPattern(
        "kernel.oom_kill",
        r"(?<!memory: )(?<!task\): )" + _KILLED + r"(?<=kB)",
        level="fatal",
        scan=r"Killed process \d+",
        note="The kernel's OOM killer killed this process.",
        priority=-1,
    ),
    RecordPattern(
        "kernel.oom_group",
        r"Tasks in (?P<cgroup>\S{1,400}) are going to be killed due to memory\.oom\.group set",
        level="fatal",
        note="The kernel kills every process of this cgroup because one of them ran it out of memory.",
    ),
    RecordPattern(
        "kernel.oom_group",
        r"(?P<unit>[\w@.:\\-]{1,200}): (?:A process of this unit has been killed by the OOM killer|"
        r"The kernel OOM killer killed some processes in this unit|Failed with result 'oom-kill')",
        level="fatal",
        scan=r"has been killed by the OOM killer|kernel OOM killer killed some processes|Failed with result 'oom-kill'",
        note="systemd reports that the OOM killer ended a process of this unit.",
    ),
    RecordPattern(
        "kernel.oom_group",
        r"(?:systemd-oomd.{0,40}?)?Killed (?P<cgroup>/\S{1,400}) due to memory (?:used|pressure)",
        level="fatal",
        scan=r"Killed /\S{1,200} due to memory ",
        note="systemd-oomd killed this cgroup because of memory pressure.",
    ),
    RecordPattern(
        "kernel.oom_group",
        r"Task in \S{1,400} killed as a result of limit of (?P<cgroup>\S{1,400})",
        level="fatal",
        note="The kernel kills a process because this cgroup reached its memory limit.",
    ),
    RecordPattern(
        "kernel.alloc_failure",
        r"(?P<process>[^\n]{1,64}): page allocation failure: order:(?P<order>\d+), "
        r"mode:\S{1,20}\((?!GFP_ATOMIC)[^)]{1,200}\)",
        level="error",
        scan=r": page allocation failure: order:",
        note="The kernel had no free memory in one piece of the size it needed.",
    ),
    RecordPattern(
        "kernel.alloc_failure",
        r"vm_enough_memory: pid: (?P<pid>\d+), comm: (?P<process>[^,]{1,64}), (?:bytes: \d+ )?not enough memory for "
        r"the "
        r"allocation",
        level="error",
        scan=r"not enough memory for the allocation",
        note="The host's overcommit limit refused memory to a process (vm.overcommit_memory=2).",
    ),
    RecordPattern(
        "kernel.oom_reaped",
        r"oom_reaper: reaped process (?P<pid>\d+) \((?P<process>[^)]*)\)",
        level="error",
        note="The memory of a process that the OOM killer had killed was taken back.",
    ),
    RecordPattern(
        "kernel.memcg_usage",
        r"memory: usage (?P<usage_kb>\d+)kB, limit (?P<limit_kb>\d+)kB, failcnt (?P<failcnt>\d+)",
        level="info",
        note="How full the memory cgroup was when the OOM killer ran.",
    ),
)

CRASHES = (
    RecordPattern(
        "kernel.segfault",
        r"(?P<process>\S{1,64})\[(?P<pid>\d+)\]: segfault at \S+ ip \S+ sp \S+ error \d+"
        r"(?: in (?P<library>[^\s\[]{1,200})\[)?",
        level="fatal",
        scan=r"\]: segfault at [0-9a-f]+ ip ",
        note="The kernel saw this process access memory that it does not own and killed it (SIGSEGV).",
    ),
    RecordPattern(
        "kernel.segfault",
        r"(?P<process>\S{1,64})\[(?P<pid>\d+)\]: (?:unhandled signal 11, code|unhandled exception: .{1,60}\(SIGSEGV\)|"
        r"unhandled level \d translation fault \(11\))",
        level="fatal",
        scan=r"\]: unhandled (?:signal 11, code|exception: |level \d translation fault)",
        note="The kernel saw this process access memory that it does not own and killed it (SIGSEGV).",
    ),
    RecordPattern(
        "kernel.trap",
        r"(?P<process>[^\s\[]{1,64})\[(?P<pid>\d+)\] (?:trap )?"
        r"(?P<trap>general protection(?: fault)?|invalid opcode|divide error|int3|stack segment|bounds) "
        r"ip:\S+ sp:\S+ error:\S+(?: in (?P<library>[^\s\[]{1,200})\[)?",
        level="fatal",
        scan=r"(?:general protection|general protection fault|invalid opcode|divide error|int3|stack segment) ip:",
        note="The kernel saw this process run an instruction that the CPU refused and killed it.",
    ),
    RecordPattern(
        "kernel.hung_task",
        r"INFO: task (?P<process>[^\n]{1,64}?):(?P<pid>\d+) (?:is )?blocked (?:on \S+ )?for more than "
        r"(?P<seconds>\d+) seconds",
        level="error",
        read_lines=read_stack,
        scan=r"blocked (?:on \S+ )?for more than \d+ seconds",
        note="A process has been stuck inside the kernel for this long; its stack says on what it waits.",
    ),
    RecordPattern(
        "kernel.lockup",
        r"BUG: soft lockup - CPU#(?P<cpu>\d+) stuck for (?P<seconds>\d+)s! \[(?P<process>[^\]]{1,64}?):(?P<pid>\d+)\]",
        level="error",
        read_lines=read_stack,
        note="A CPU was held by one process for this long without a break.",
    ),
    RecordPattern(
        "kernel.lockup",
        r"Watchdog detected hard LOCKUP on cpu ?(?P<cpu>\d+)",
        level="error",
        read_lines=read_stack,
        note="A CPU stopped answering interrupts.",
    ),
    RecordPattern(
        "kernel.lockup",
        r"rcu\w{0,12}:? ?(?:INFO: )?rcu_\w{1,12} (?:(?:self-)?detected (?:expedited )?stalls?|kthread starved for)",
        level="error",
        scan=r"rcu_\w{1,12} (?:(?:self-)?detected (?:expedited )?stall|kthread starved for)",
        note="A CPU did not pass a quiescent point for a long time.",
    ),
    RecordPattern(
        "kernel.panic",
        r"Kernel panic - not syncing: (?P<message>.{0,300})",
        level="fatal",
        note="The kernel stopped the whole host.",
    ),
    RecordPattern(
        "kernel.oops",
        r"(?P<message>(?:BUG: (?:unable to handle|kernel NULL pointer dereference)|Unable to handle kernel|"
        r"kernel BUG at|Internal error: Oops|Oops: (?:\w+: )?[0-9a-f]{4,16} \[#|(?:general protection fault|"
        r"divide error|invalid opcode|stack segment|double fault)(?:, (?:probably|maybe) for [^\n]{0,80})?: "
        r"[0-9a-f]{4} \[#|"
        r"kernel tried to execute NX-protected page).{0,200})",
        level="error",
        read_lines=read_stack,
        scan=r"(?:BUG: (?:unable to handle |kernel NULL pointer)|Unable to handle kernel |kernel BUG at |"
        r"Internal error: Oops|Oops: (?:\w{2,12}: )?[0-9a-f]{4,16} \[#|(?:general protection fault|divide error|"
        r"invalid opcode|stack segment|double fault)[^\n]{0,120}: [0-9a-f]{4} \[#|"
        r"kernel tried to execute NX-protected page)",
        note="The kernel itself made an illegal access; the host may not work correctly any more.",
    ),
)

HARDWARE = (
    RecordPattern(
        "kernel.mce",
        r"\[Hardware Error\]: .{0,40}?severity: (?P<severity>fatal|recoverable|uncorrected)",
        level="error",
        scan=r"\[Hardware Error\]: .{0,40}severity: (?:fatal|recoverable|uncorrected)",
        note="The firmware reports a hardware error that it could not correct.",
    ),
    RecordPattern(
        "kernel.mce",
        r"\[Hardware Error\]: (?:\S{1,40}: )?(?P<severity>Uncorrected|System Fatal|Deferred|Fatal)\b",
        level="error",
        scan=r"\[Hardware Error\]: .{0,40}(?:Uncorrected|System Fatal|Deferred|Fatal)",
        note="The CPU reports a hardware error that it could not correct.",
    ),
    RecordPattern(
        "kernel.mce",
        r"(?P<severity>Uncorrected) hardware memory error in (?:user|kernel)-access",
        level="error",
        note="A process touched memory with an error that could not be corrected.",
    ),
    RecordPattern(
        "kernel.mce",
        r"\[Hardware Error\]: (?:CPU \d+: )?Machine Check Exception: ",
        level="error",
        scan=r"Machine Check Exception: ",
        note="The CPU raised a machine check exception.",
    ),
    RecordPattern(
        "kernel.mce",
        r"\[Hardware Error\]: .{0,60}?(?P<severity>[Cc]orrected)\b",
        level="warning",
        scan=r"\[Hardware Error\]: .{0,60}[Cc]orrected",
        note="A hardware error was found and corrected.",
    ),
    RecordPattern(
        "kernel.mce",
        r"\[Hardware Error\]: (?:Machine check events logged|Hardware error from APEI|CPU \d+: Machine Check: )",
        level="warning",
        note="The CPU or firmware logged a hardware event.",
        priority=-1,
    ),
    RecordPattern(
        "kernel.edac",
        r"EDAC (?:\S+ )?(?P<device>MC#?\d+): (?:\d+ )?(?P<severity>UE)\b",
        level="error",
        scan=r"EDAC .{0,40}MC#?\d+: (?:\d+ )?UE",
        note="Host memory had an error that could not be corrected.",
    ),
    RecordPattern(
        "kernel.edac",
        r"EDAC (?:\S+ )?(?P<device>MC#?\d+): (?:\d+ )?(?P<severity>CE)\b",
        level="warning",
        scan=r"EDAC .{0,40}MC#?\d+: (?:\d+ )?CE",
        note="Host memory had an error that was corrected.",
    ),
    RecordPattern(
        "kernel.memory_failure",
        "(?:Memory failure: 0x[0-9a-f]+: (?:Sending SIGBUS to|Killing)|"
        r"MCE: Killing) (?P<process>[^\s:]{1,64}):(?P<pid>\d+) "
        r"due to hardware memory corruption",
        level="fatal",
        scan=r"due to hardware memory corruption",
        note="The kernel killed this process because the memory it used is defective.",
    ),
    RecordPattern(
        "kernel.memory_failure",
        r"Memory failure: 0x[0-9a-f]+: recovery action for (?:clean|free|huge free) .{0,40}?(?P<outcome>Recovered|"
        r"Delayed)\b",
        level="warning",
        scan=r"Memory failure: 0x[0-9a-f]+: recovery action for (?:clean|free|huge free) ",
        priority=1,
        note="The kernel took a page with a hardware error out of use.",
    ),
    RecordPattern(
        "kernel.memory_failure",
        r"Memory failure: 0x[0-9a-f]+: .{0,80}?(?P<outcome>Recovered|Failed|Ignored|Delayed)\b",
        level="error",
        scan=r"Memory failure: 0x[0-9a-f]+: ",
        note="The kernel took a page with a hardware error out of use.",
    ),
    RecordPattern(
        "kernel.sel",
        r"Memory #?0x[0-9a-fA-F]{1,4} \| (?P<message>Uncorrectable ECC[^|\n]{0,60})",
        level="error",
        scan=r"\| Uncorrectable ECC",
        note="The board's event log has a memory error that could not be corrected.",
    ),
    RecordPattern(
        "kernel.thermal",
        r"(?:critical temperature reached|temperature above critical).{0,60}",
        level="fatal",
        scan=r"critical temperature reached|temperature above critical",
        note="The host got too hot and switches itself off.",
    ),
    RecordPattern(
        "kernel.thermal",
        r"[Tt]emperature above threshold, cpu clock throttled",
        level="warning",
        note="A CPU got hot and runs slower.",
    ),
)

HOST = (
    RecordPattern(
        "kernel.harmless",
        r"module verification failed: signature and/or required key missing|"
        r"RAS: Correctable Errors collector initialized|Driver '[^']{1,60}' is already registered, aborting",
        level="info",
        priority=1,
        note="The kernel prints this when a healthy host boots.",
    ),
    RecordPattern(
        "kernel.boot",
        r"\bLinux version (?P<version>\d+\.\d+\S*) \(",
        level="info",
        scan=r"Linux version \d",
        note="The host booted.",
    ),
    RecordPattern(
        "kernel.boot",
        r"^-- (?:Reboot|Boot [0-9a-f]{32}) --",
        level="info",
        scan=r"-- (?:Reboot|Boot [0-9a-f]{32}) --",
        note="The journal shows that the host was started again here.",
    ),
    RecordPattern(
        "kernel.shutdown",
        r"reboot: (?:Restarting system|Power down|System halted)|The system will (?:reboot|power off|halt) now|"
        r"The system is going down for (?:reboot|power-?off|system halt) |systemd-logind\S*:? (?:Power key pressed|"
        r"System is (?:rebooting|powering down))|systemd-shutdown\[1\]: ",
        level="warning",
        note="The host is shut down or restarted.",
    ),
    RecordPattern(
        "kernel.pids_limit",
        r"cgroup: fork rejected by pids controller in (?P<cgroup>\S+)",
        level="error",
        note="A process could not be started because its cgroup may hold no more processes or threads.",
    ),
    RecordPattern(
        "kernel.file_limit",
        r"VFS: file-max limit (?P<limit>\d+) reached",
        level="error",
        note="The host has as many open files as it allows.",
    ),
)

RECORDS: tuple[RecordPattern, ...] = (*MEMORY, *CRASHES, *HARDWARE, *HOST)

SIGNS: LifecycleSigns = {
    "kernel.oom_kill": ("end told",),
    "kernel.segfault": ("end told",),
    "kernel.trap": ("end told",),
}
