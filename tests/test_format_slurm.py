from __future__ import annotations

import pytest
from format_probe import PRINTABLE, kinds, read, read_record, records
from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor.logs.host_lists import MAX_NAMES, expand_hosts, expand_numbers
from logdoctor.matcher import scan_form

RECORDS = (*records("slurm"), *records("batch"), *records("container"), *records("container_clients"), *records("ssh"))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ("n1",)),
        ("gn[07-09,12],login2", ("gn07", "gn08", "gn09", "gn12", "login2")),
        ("rack[1-2]n[1-2]-ib", ("rack1n1-ib", "rack1n2-ib", "rack2n1-ib", "rack2n2-ib")),
        ("gn[9-11]", ("gn9", "gn10", "gn11")),
        ("", ()),
    ],
)
def test_host_lists_are_expanded_in_order(text, names):
    assert expand_hosts(text) == names


def test_huge_lists_are_cut():
    assert len(expand_hosts("n[0-99999999]")) == MAX_NAMES
    assert len(expand_hosts("n[1,1,1,1][1-5000]" * 3)) <= MAX_NAMES
    assert len(expand_numbers("0-99999999,3")) == MAX_NAMES


@settings(max_examples=60, deadline=None)
@given(st.text(st.sampled_from("n1,[]-0:"), max_size=80))
def test_lists_of_any_form_are_read_without_error(text):
    assert len(expand_hosts(text)) <= MAX_NAMES
    assert len(expand_numbers(text)) <= MAX_NAMES


@pytest.mark.parametrize(
    ("due", "reason"),
    [
        ("", "none"),
        (" DUE TO TIME LIMIT", "time limit"),
        (" DUE TO PREEMPTION", "preemption"),
        (" DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS", "node failure"),
        (" DUE TO JOB REQUEUE", "requeue"),
        (" DUE to SIGNAL Terminated", "signal"),
        (" DUE TO TASK FAILURE", "task failure"),
    ],
)
@pytest.mark.parametrize("what", ["STEP 551.0", "JOB 551"])
def test_cancelled_job_or_step_has_its_reason(what, due, reason):
    record = read_record(RECORDS, f"slurmstepd: error: *** {what} ON gn7 CANCELLED AT 2024-03-01T10:11:12{due} ***")
    assert (record.kind, record.level, record.fields["reason"]) == ("slurm.cancelled", "fatal", reason)
    assert "host" not in record.fields  # the node that printed it is not the one to blame
    assert record.fields["by_host"] == "gn7"
    assert not str(record.fields.get("due", "")).endswith("*")


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (
            "gn[07-08]: tasks 0-3,7: Exited with exit code 1",
            {"hosts": ("gn07", "gn08"), "ranks": (0, 1, 2, 3, 7), "exit_code": 1},
        ),
        ("gn7: task 3: Killed", {"host": "gn7", "ranks": (3,), "signal": 9}),
        ("gn7: task 3: Segmentation fault (core dumped)", {"signal": 11}),
        ("gn7: task 3: Out Of Memory", {"reason": "oom"}),
    ],
)
def test_srun_lines_have_tasks_and_their_ends(line, fields):
    record = read_record(RECORDS, f"srun: error: {line}")
    assert (record.kind, record.level) == ("slurm.task_exit", "error")
    assert fields.items() <= record.fields.items()


@pytest.mark.parametrize(
    ("words", "step"),
    [
        (
            "1 oom-kill event(s) in step 551.batch cgroup. Some of your processes may have been killed by the cgroup out-of-memory handler.",
            "551.batch",
        ),
        ("2 oom-kill event(s) in StepId=551.0 cgroup. Some of your processes may have been killed", "551.0"),
        ("1 oom-kill event(s) in StepId=551.0. Some of your processes may have been killed", "551.0"),
        ("3 oom_kill events in StepId=551.0. Some of the step tasks have been OOM Killed.", "551.0"),
    ],
)
def test_every_era_of_the_memory_killer_line(words, step):
    record = read_record(RECORDS, f"slurmstepd: error: Detected {words}")
    assert (record.kind, record.level, record.fields["step"]) == ("slurm.oom", "fatal", step)


@pytest.mark.parametrize(
    ("line", "kind", "level", "fields"),
    [
        (
            "srun: error: Unable to create step for job 551: Requested node configuration is not available",
            "slurm.refused",
            "fatal",
            {},
        ),
        (
            "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
            "slurm.refused",
            "fatal",
            {},
        ),
        (
            "slurmstepd: error: execve(): ./solve: No such file or directory",
            "slurm.exec_failed",
            "fatal",
            {"file": "./solve"},
        ),
        (
            "srun: error: Task launch for StepId=551.0 failed on node gn8: Socket timed out on send/recv operation",
            "slurm.launch_error",
            "error",
            {"host": "gn8"},
        ),
        ("srun: error: Node failure on gn8", "slurm.node", "fatal", {"hosts": ("gn8",)}),
        ("srun: error: Zero Bytes were transmitted or received", "slurm.comm", "error", {}),
        ("srun: error: nobody has ever seen these words", "slurm.error", "error", {}),
        ("slurmctld: fatal: can not open the state file", "slurm.fatal", "fatal", {}),
        (
            "551.0       python             team         64 OUT_OF_ME+    0:125 ",
            "slurm.job_state",
            "error",
            {"state": "OUT_OF_MEMORY", "reason": "oom"},
        ),
        (
            "551|solve|gpu|team|64|NODE_FAIL|0:0",
            "slurm.job_state",
            "error",
            {"state": "NODE_FAIL", "reason": "node failure"},
        ),
        (
            "551.batch    batch              team          8  CANCELLED     0:15 ",
            "slurm.job_state",
            "error",
            {"signal": 15},
        ),
        ("   JobState=TIMEOUT Reason=TimeLimit Dependency=(null)", "slurm.job_state", "error", {"state": "TIMEOUT"}),
        (
            "Not responding       root      2024-03-01T10:11:12 gn[03,05]",
            "slurm.node_state",
            "error",
            {"hosts": ("gn03", "gn05")},
        ),
        (
            "srun: error: Couldn't find the specified plugin name for mpi/pmix looking at all files",
            "slurm.pmi",
            "error",
            {},
        ),
        ("slurmstepd: error: pyxis: couldn't start container", "container.pyxis", "fatal", {}),
        (
            "slurmstepd: error: pyxis:     nvidia-container-cli: initialization error: driver error",
            "container.nvidia",
            "fatal",
            {},
        ),
        (
            "slurmstepd: error: pyxis:     [ERROR] URL https://reg.example.org/v2/x returned error code: 401 Unauthorized",
            "container.image",
            "fatal",
            {"code": 401},
        ),
        ('FATAL:   "solve": executable file not found in $PATH', "container.apptainer", "fatal", {}),
        (
            "FATAL   [U=0,P=412]        Master()                      container creation failed: mount /scratch failed",
            "container.apptainer",
            "fatal",
            {"message": "container creation failed: mount /scratch failed"},
        ),
        ("docker: open ./site.env: no such file or directory", "container.client", "fatal", {"program": "docker"}),
        ("BIND MOUNT FAILED from /scratch/a to /var/udiMount/a", "container.shifter", "fatal", {}),
        ("srun: error: Failed to lookup image.  Aborting.", "container.shifter", "fatal", {}),
        (
            "[88.120] [nid07-4411] [MountHook] [ERROR] no such source",
            "container.sarus",
            "fatal",
            {"host": "nid07", "pid": 4411, "message": "no such source"},
        ),
        ("ssh: Could not resolve hostname gn9: Name or service not known", "ssh.resolve", "error", {"peer": "gn9"}),
        ("ssh: connect to host gn4 port 22: No route to host", "ssh.connect", "error", {"peer": "gn4", "errno": 113}),
        ("connect to address 10.4.0.9 port 22: Connection refused", "ssh.connect", "error", {"peer": "10.4.0.9"}),
        ("gn4: Permission denied (publickey,password).", "ssh.auth", "error", {}),
        (
            "=>> PBS: job killed: walltime 3633 exceeded limit 3600",
            "batch.killed",
            "fatal",
            {"reason": "time limit", "limit": 3600},
        ),
        ("=>> PBS: job killed: mem 85899kb exceeded limit 42949kb", "batch.killed", "fatal", {"reason": "memory"}),
        (
            "TERM_RUNLIMIT: job killed after reaching LSF run time limit.",
            "batch.killed",
            "fatal",
            {"reason": "time limit"},
        ),
        (
            "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.",
            "batch.killed",
            "fatal",
            {"reason": "memory"},
        ),
        ("TERM_OWNER: job killed by owner.", "batch.killed", "fatal", {"reason": "owner"}),
        ("Exited with exit code 137.", "batch.exit", "error", {"exit_code": 137}),
        (
            "ERROR:  One or more process (first noticed rank 3) terminated with signal 9",
            "batch.rank_died",
            "fatal",
            {"rank": 3, "signal": 9},
        ),
        (
            "failed   37 : qmaster enforced h_rt, h_cpu, or h_vmem limit",
            "batch.killed",
            "fatal",
            {"reason": "time limit"},
        ),
        (
            "12.345s: job.exception type=timeout severity=0 resource allocation expired",
            "flux.exception",
            "fatal",
            {"type": "timeout"},
        ),
        ("flux-job: task(s) exited with exit code 1", "flux.exit", "error", {"exit_code": 1}),
        (
            "submitit WARNING (2024-03-01 10:11:12,345) - Caught signal SIGUSR2 on gn7: this job is timed-out.",
            "submitit.signal",
            "fatal",
            {"signal": 12},
        ),
    ],
)
def test_lines_of_schedulers_and_containers(line, kind, level, fields):
    record = read_record(RECORDS, line)
    assert (record.kind, record.level) == (kind, level)
    assert fields.items() <= record.fields.items()


@pytest.mark.parametrize(
    "line",
    [
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        "srun: launch/slurm: _step_signal: Terminating StepId=551.0",
        "srun: Terminating StepId=551.0",
        "srun: First task exited 60s ago",
        "srun: step:551.0 task 3: exited abnormally",
    ],
)
def test_a_step_that_srun_cuts_short_is_an_error(line):
    assert read_record(RECORDS, line).level == "error"


@pytest.mark.parametrize(
    "line",
    [
        "srun: forcing job termination",
        "srun: step:551.0 tasks 0-6: running",
        "srun: got SIGCONT",
        "srun: job 551 queued and waiting for resources",
        "srun: job 551 has been allocated resources",
        "Submitted batch job 551",
        "srun: Warning: can't honor --ntasks-per-node set to 8 which doesn't match the requested tasks 16",
        "slurmstepd: error: couldn't chdir to `/scratch/x': No such file or directory: going to /tmp instead",
        "slurmstepd: error: Failed to send MESSAGE_TASK_EXIT: Connection refused",
        "pyxis: importing docker image: reg.example.org/x",
        "slurmstepd: error: pyxis:     [INFO] Querying registry for permission grant",
        "submitit WARNING (2024-03-01 10:11:12,345) - Bypassing signal SIGTERM",
        "Successfully completed.",
    ],
)
def test_consequences_and_notes_are_never_errors(line):
    assert {s.level for s in read(RECORDS, line)} <= {"info", "warning"}


@pytest.mark.parametrize(
    "line",
    [
        "551         solve       gpu    team         64  COMPLETED      0:0 ",
        "task 3: Killed time 0.4",
        "ExitCode of the tool was fine",
        "#SBATCH --time=1:00:00",
    ],
)
def test_similar_healthy_lines_give_no_record(line):
    assert kinds(RECORDS, line) == []


def test_every_pattern_can_be_scanned_for():
    assert all(record.scan or scan_form(record.pattern) for record in RECORDS)


WORDS = st.sampled_from(
    [
        "srun: error: ",
        "slurmstepd: error: *** STEP ",
        "gn[1-",
        ": tasks 0-",
        "Exited with exit code",
        "pyxis: ",
        "=>> PBS: ",
        "TERM_",
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(WORDS, st.text(st.sampled_from(PRINTABLE), max_size=60)), max_size=8))
def test_garbage_around_known_words_never_raises(parts):
    read(RECORDS, "".join(parts))


@pytest.mark.parametrize(
    ("pointer", "expected"), [("See 'docker run --help'.", ["container.client"]), ("See 'kubectl get --help'.", [])]
)
def test_unknown_option_with_a_hint_to_container_help_is_the_containers(pointer, expected):
    assert kinds(RECORDS, f"unknown flag: --gpus\n{pointer}") == expected


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Subject: Job 71[3]: <fit> in cluster <c1> Exited", "batch.report"),
        ("The output (if any) is above this job summary.", "batch.reported"),
        ("The output (if any) follows:", "batch.follows"),
        ("failed       26  : opening input/output file", "batch.start"),
        (
            "failed changing into working directory:05/04/2025 20:42:12 [1001:88]: error: can't chdir to /data",
            "batch.start",
        ),
    ],
)
def test_reports_of_lsf_and_jobs_that_grid_engine_cannot_start_are_read(line, kind):
    assert kinds(RECORDS, line) == [kind]


@pytest.mark.parametrize(
    "message", ["Dispatched to <gx07>, Effective RES_REQ", "Dispatched 1 Task(s) on Host(s) <gx07>, Allo"]
)
def test_lsf_with_a_single_host_gives_the_host(message):
    assert read_record(RECORDS, f"Fri Feb 13 09:35:31: {message}").fields["host"] == "gx07"


def test_lsf_with_several_hosts_gives_no_host():
    assert kinds(RECORDS, "Dispatched 2 Task(s) on Host(s) <gx07> <gx08>, Allocated 2 Slot(s)") == []


@pytest.mark.parametrize(
    "line",
    [
        '{"timestamp":1741078290.02,"name":"complete","context":{"status":0}}',
        "1741078290.02140 finish status=0",
    ],
)
def test_eventlog_of_flux_has_the_good_end_of_a_job(line):
    assert read_record(records("flux_broker"), line).kind == "progress.done"
    assert not kinds(records("flux_broker"), line.replace("0}}", "256}}").replace("status=0", "status=256"))
