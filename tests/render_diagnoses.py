"""Handmade diagnoses for the tests of `logdoctor.render`."""

from __future__ import annotations

from logdoctor.model import (
    Cause,
    Coverage,
    Culprit,
    Decision,
    Diagnosis,
    Evidence,
    JobSummary,
    Line,
    Owner,
    Problem,
    Progress,
    RankRow,
    Run,
    Step,
    SymptomSeen,
)

T0 = 1_741_053_600.0  # 2025-03-04T02:00:00


def make_steps(*texts):
    return tuple(map(Step, texts))


def make_evidence(place, text, why="", rank=None, host=None, time=None):
    file, _, number = place.rpartition(":")
    return Evidence(Line(file, int(number), text), rank, host, time, why)


OOM = Diagnosis(
    name="llm-pretrain-71920",
    verdict="failed",
    decision=Decision(
        "resubmit-with-changes",
        "RESUBMIT WITH MORE MEMORY",
        "Change the settings first. Then start the job again.",
        because="The same command would meet the same limit or setting.",
    ),
    causes=(
        Cause(
            signature="host.oom-kill",
            owner=Owner("your code", "train.py:88", "loader = make()", "torch", "This is usual for host.oom-kill."),
            title="The kernel killed a training process for memory",
            summary="At 02:14:07, after step 4,210, the memory limit of the job step on tc-node07 was reached and the "
            "kernel killed rank 12. All that follows is fallout.",
            confidence=0.968,
            by="rule",
            culprit=Culprit(ranks=(12,), hosts=("tc-node07",), scope="one"),
            action="stop",
            steps=make_steps(
                "See who used the memory: `sacct -j 71920 --format=JobID,MaxRSS,MaxRSSNode,MaxRSSTask`; on the node `dmesg -T | grep -i oom` lists every process at that moment.",
                "Lower `num_workers` or `prefetch_factor` of the data loader (each worker holds its own copy of what the data set keeps in Python lists), or ask for more with `--mem`.",
                "Check it: watch `memory.peak` of the step's cgroup through one epoch; it must level off below the limit.",
            ),
            references=("https://slurm.schedmd.com/cgroups.html",),
            evidence=(
                make_evidence(
                    "slurm-71920.out:90412",
                    "slurmstepd: error: Detected 1 oom_kill event in StepId=71920.0. Some of the step tasks have been OOM Killed.",
                ),
                make_evidence(
                    "slurm-71920.out:90377", "[rank12]: step 4210/20000 loss 2.113", "last sign of life of rank 12", 12
                ),
                make_evidence(
                    "slurm-71920.out:90498",
                    "  rank      : 12 (local_rank: 4)   exitcode  : -9 (pid: 31877)",
                    "killed from outside, not by itself",
                    12,
                ),
            ),
            explains=("collective.timeout", "elastic.worker-failed"),
            rule="host.oom-kill",
        ),
    ),
    symptoms=(
        SymptomSeen(
            "collective.timeout",
            "A collective ran out of time",
            "host.oom-kill",
            (*range(12), 13, 14, 15),
            15,
            (
                make_evidence(
                    "slurm-71920.out:90420",
                    "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4211",
                ),
                make_evidence(
                    "slurm-71920.out:90466",
                    "[Rank 15] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4211",
                ),
            ),
        ),
        SymptomSeen(
            "elastic.worker-failed",
            'The launcher\'s "Root Cause" names rank 3: a victim that its watchdog ended',
            "host.oom-kill",
            (),
            1,
            (make_evidence("slurm-71920.out:90490", "Root Cause (first observed failure):"),),
        ),
    ),
    job=JobSummary(
        ranks_expected=16,
        ranks_seen=tuple(range(16)),
        hosts=("tc-node06", "tc-node07"),
        versions=(("torch", "2.4.1"), ("NCCL", "2.20.5")),
        launcher="torchrun under Slurm",
        last_progress=Progress(
            "step",
            "4210",
            make_evidence("slurm-71920.out:90377", "step 4210/20000", rank=12, host="tc-node07", time=T0 + 841),
        ),
    ),
    coverage=Coverage(1, 118_204_118, 412_903, 2_114),
)

UNKNOWN = Diagnosis(
    name="sft-qa",
    verdict="unknown",
    unexplained=(
        make_evidence(
            "logs/rank0.log:8812",
            "[rank0]:[E304 02:31:44.110270133 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation "
            "timeout: WorkNCCL(SeqNum=1882, OpType=_ALLGATHER_BASE, NumelIn=2097152, NumelOut=16777216, "
            "Timeout(ms)=1800000) ran for 1800044 milliseconds before timing out.",
            "waited 30 minutes for a rank that never came",
            0,
        ),
        make_evidence(
            "logs/rank0.log:8840",
            "RuntimeError: NCCL Error 6: remote process exited or there was a network error",
            "rank 0 ended itself after the watchdog",
            0,
        ),
    ),
    symptoms=(
        SymptomSeen(
            "collective.timeout",
            "A collective ran out of time",
            None,
            (0, 1, 2, 4, 5, 6),
            6,
            (
                make_evidence("logs/rank0.log:8812", "Watchdog caught"),
                make_evidence("logs/rank4.log:8799", "Watchdog caught"),
            ),
        ),
    ),
    decision=Decision(
        do="investigate",
        headline="INVESTIGATE FIRST",
        sentence="Look for the cause before you start the job again.",
        because="The cause is not known.",
        collect=(
            "The own log of rank 3 and of rank 7: they print nothing here after 01:58:20, the others waited for them.",
            "`dmesg -T` of ml-gpu-02 from 01:55 to 02:35 (Xid, OOM, link down).",
            "If it comes again: set `TORCH_NCCL_TRACE_BUFFER_SIZE=2000` and `NCCL_DEBUG=INFO`, and keep the dumps.",
        ),
    ),
    job=JobSummary(
        ranks_expected=8,
        ranks_seen=(0, 1, 2, 4, 5, 6),
        hosts=("ml-gpu-01", "ml-gpu-02"),
        versions=(("torch", "2.5.1+cu124"),),
        launcher="torchrun",
        last_progress=Progress("step", "1881", make_evidence("logs/rank0.log:8790", "step 1881", rank=0, time=T0)),
        attempts=2,
        truncated=True,
    ),
    coverage=Coverage(7, 4_812_337, 61_204, 311),
    problems=(
        Problem(
            "the archive ends early",
            "logs/rank7.log.gz",
            "unexpected end of data after 1.2 MB",
            "Copy the file again; what could be read of it was used.",
        ),
    ),
    runs=(
        Run(
            kind="job",
            verdict="failed",
            signature="cuda.oom",
            title="Rank 5 ran out of GPU memory",
            file="logs/agent.log",
            first_line=1,
            last_line=214,
            told=False,
            evidence=(make_evidence("logs/agent.log:188", "torch.OutOfMemoryError: CUDA out of memory.", rank=5),),
        ),
        Run("attempt", "unknown", None, "", "logs/agent.log", 215, None, told=True),
    ),
)

FINISHED = Diagnosis(
    name="resnet-ddp",
    verdict="finished",
    verdict_known_by=Line("out.log", 70112, "Epoch 90 done"),
    decision=Decision("do-nothing", "NOTHING TO DO", "There is nothing to do."),
    job=JobSummary(
        ranks_expected=8,
        ranks_seen=tuple(range(8)),
        last_progress=Progress("epoch", "90", make_evidence("out.log:70112", "Epoch 90 done")),
    ),
    coverage=Coverage(1, 9_114_220, 70_131, 96),
)

STOPPED = Diagnosis(
    name="sweep-12",
    verdict="stopped",
    causes=(
        Cause(
            signature="job.preempted",
            title="The job was preempted or taken off its nodes",
            summary="The scheduler took the resources away (preemption).",
            confidence=0.99,
            by="rule",
            culprit=Culprit(scope="nobody"),
            action="retry",
            steps=make_steps("Start it again from the last checkpoint."),
            references=(),
            evidence=(
                make_evidence("slurm-12.out:44", "slurmstepd: error: *** JOB 12 CANCELLED DUE TO PREEMPTION ***"),
            ),
            explains=(),
            rule="job.preempted",
        ),
    ),
    verdict_known_by=Line("slurm-12.out", 44, "slurmstepd: error: *** JOB 12 CANCELLED DUE TO PREEMPTION ***"),
    decision=Decision(
        "requeue",
        "REQUEUE AS IT IS",
        "Start the job again as it is.",
        attempts_left=1,
        because="This failure often passes.",
    ),
    coverage=Coverage(1, 8_120, 44, 9),
)

NO_END = Diagnosis(
    name="cut-9",
    verdict="no-end-seen",
    job=JobSummary(last_progress=Progress("step", "299/20000", make_evidence("cut.log:299", "step 299/20000"))),
    decision=Decision(
        "investigate",
        "NO END SEEN",
        "Find out whether the job still runs.",
        collect=("If the job still runs and prints nothing more, ask again with --hung.",),
        because="No line says how the job ended.",
    ),
    coverage=Coverage(1, 9_120, 304, 299),
)

NOTHING = Diagnosis(
    name="empty.log",
    verdict="nothing-to-judge",
    decision=Decision("investigate", "NOTHING TO JUDGE", "Give the output of the job.", because="The log is empty."),
    coverage=Coverage(1, 0, 0, 0),
)

TWO_CAUSES = Diagnosis(
    name="vit-8n",
    verdict="failed",
    decision=Decision(
        "requeue-without-host",
        "REQUEUE WITHOUT HOST",
        "Start the job again without hx-0413.",
        ("hx-0413",),
        because="The fault is in the host, so the next job there would fail too.",
    ),
    causes=(
        Cause(
            signature="gpu.off-the-bus",
            owner=Owner("gpu-or-driver"),
            title="GPU 0000:9c:00 of hx-0413 fell off the bus",
            summary="The kernel of hx-0413 reports Xid 79 for GPU 0000:9c:00, 4 seconds before rank 27 lost its device.",
            confidence=0.94,
            by="rule",
            culprit=Culprit((27,), ("hx-0413",), ("0000:9c:00",)),
            action="exclude",
            steps=make_steps(
                "Drain the host: `scontrol update nodename=hx-0413 state=drain reason=xid79`.",
                "Power-cycle it (a reset of the GPU isn't enough) and run `dcgmi diag -r 3` before it takes jobs again.",
            ),
            references=("https://docs.nvidia.com/deploy/xid-errors/",),
            evidence=(
                make_evidence(
                    "kern-hx-0413.log:2207",
                    "Mar  4 02:11:52 hx-0413 kernel: [81244.118203] NVRM: Xid (PCI:0000:9c:00): 79, pid=20417, name=python, GPU has fallen off the bus.",
                    host="hx-0413",
                ),
                make_evidence(
                    "vit-8n.log:40118",
                    "[rank27]: RuntimeError: CUDA error: unspecified launch failure",
                    "the device was gone",
                    27,
                ),
            ),
            explains=("net.peer-closed",),
        ),
        Cause(
            signature="host.disk-full",
            title="No space left on the checkpoint volume",
            summary="Rank 0 could not write /ckpt/vit/step_9000.pt: no space left on device.",
            confidence=0.88,
            by="rule",
            culprit=Culprit((0,), ("hx-0410",)),
            action="stop",
            steps=make_steps(
                "See what fills it: `df -h /ckpt; du -xsh /ckpt/vit/*`.", "Keep fewer checkpoints, then restart."
            ),
            references=(),
            evidence=(
                make_evidence(
                    "vit-8n.log:39870",
                    "[rank0]: OSError: [Errno 28] No space left on device: '/ckpt/vit/step_9000.pt'",
                    rank=0,
                ),
            ),
            explains=(),
        ),
        Cause(
            signature="net.ib-link-down",
            title="An InfiniBand port went down",
            summary="mlx5_2 of hx-0412 reported a port error 40 s earlier and recovered.",
            confidence=0.05,
            by="classifier",
            culprit=Culprit((), ("hx-0412",)),
            action="exclude",
            steps=(),
            references=(),
            evidence=(
                make_evidence(
                    "vit-8n.log:39012", "hx-0412:1203:1288 [2] NCCL WARN NET/IB : mlx5_2:1 Got async event : port error"
                ),
            ),
            explains=(),
        ),
    ),
    symptoms=(
        SymptomSeen(
            "net.peer-closed",
            "A peer closed the connection",
            "gpu.off-the-bus",
            (*range(27), *range(28, 64)),
            126,
            (make_evidence("vit-8n.log:40130", "x"), make_evidence("vit-8n.log:41207", "x")),
        ),
        SymptomSeen(
            "checkpoint.failed",
            "A checkpoint was not written",
            "host.disk-full",
            (0,),
            1,
            (make_evidence("vit-8n.log:39874", "x"),),
        ),
    ),
    job=JobSummary(
        ranks_expected=64,
        ranks_seen=tuple(range(64)),
        hosts=tuple(f"hx-04{n}" for n in range(10, 18)),
        versions=(("torch", "2.3.0"), ("NCCL", "2.21.5"), ("CUDA", "12.4")),
        launcher="srun",
        last_progress=Progress("iteration", "9000", make_evidence("vit-8n.log:39860", "iteration 9000", time=T0 + 660)),
    ),
    coverage=Coverage(9, 41_220_000, 190_442, 901),
)

THOUSAND = Diagnosis(
    name="moe-1024",
    verdict="failed",
    decision=Decision(
        "resubmit-with-changes",
        "RESUBMIT WITH OTHER SETTINGS",
        "Change the settings first. Then start the job again.",
        because="The same command would meet the same limit or setting.",
    ),
    causes=(
        Cause(
            signature="collective.straggler",
            title="One rank kept the others waiting",
            summary="Rank 512 was still saving a checkpoint when ALLREDUCE 77,120 of the other 1,023 ranks ran out of time.",
            confidence=0.91,
            by="rule",
            culprit=Culprit((512,), ("pod-d1-r04-n08",)),
            action="stop",
            steps=make_steps(
                "See why rank 512 writes slowly: `lfs getstripe` of its checkpoint folder, `iostat -x 5` on pod-d1-r04-n08.",
                "Save with the async checkpoint writer, or give `init_process_group(timeout=...)` more than the 600 s it has.",
            ),
            references=(),
            evidence=(
                make_evidence(
                    "/lustre/scratch/teams/moe/runs/2025-03-04/moe-1024/logs/rank_0512/stdout.log:66120",
                    "[2025-03-04 02:40:11,114] [INFO] saving checkpoint to /lustre/scratch/teams/moe/ckpt/step_77119/mp_rank_00_model_states.pt ...",
                    "begun, and never finished",
                    512,
                ),
                make_evidence(
                    "/lustre/scratch/teams/moe/runs/2025-03-04/moe-1024/logs/rank_0000/stdout.log:66190",
                    "[rank0]:[E304 02:50:12.000410221 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=77120, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600021 milliseconds before timing out.",
                    "the first to give up",
                    0,
                ),
            ),
            explains=("collective.timeout", "net.peer-closed"),
        ),
    ),
    symptoms=(
        SymptomSeen(
            "collective.timeout",
            "A collective ran out of time",
            "collective.straggler",
            (*range(512), *range(513, 1024)),
            1023,
            tuple(
                make_evidence(
                    f"/lustre/scratch/teams/moe/runs/2025-03-04/moe-1024/logs/rank_{n:04}/stdout.log:{66190 + n}",
                    "x",
                    rank=n,
                )
                for n in (0, 1, 2)
            ),
        ),
        SymptomSeen(
            "net.peer-closed",
            "A peer closed the connection",
            "collective.straggler",
            tuple(range(0, 1024, 3)),
            2_051,
            (
                make_evidence(
                    "/lustre/scratch/teams/moe/runs/2025-03-04/moe-1024/logs/rank_0003/stdout.log:66231", "x", rank=3
                ),
            ),
        ),
    ),
    job=JobSummary(
        ranks_expected=1024,
        ranks_seen=tuple(range(1024)),
        hosts=tuple(f"pod-d1-r{r:02}-n{n:02}" for r in range(16) for n in range(8)),
        versions=(("torch", "2.5.0"), ("NCCL", "2.21.5")),
        launcher="torchrun under Slurm",
        attempts=3,
        rank_table=tuple(
            RankRow(
                512, "culprit", "pod-d1-r08-n00", 0, 4107, 0, "0000:1a:00", "step 77119", busy_with="saving checkpoint"
            )
            if rank == 512
            else RankRow(rank, "missing")
            if rank in range(736, 744)
            else RankRow(
                rank,
                "victim",
                f"pod-d1-r{rank // 64:02}-n{rank // 8 % 8:02}",
                rank % 8,
                last_progress="step 77119" if rank % 100 else "step 77118",
                failure="collective.timeout",
                first_failure=make_evidence(
                    f"logs/rank_{rank:04}/stdout.log:{66190 + rank}", "Watchdog caught ...", rank=rank
                ),
                waits_for="ALLREDUCE 77120",
            )
            for rank in range(1024)
        ),
    ),
    coverage=Coverage(1024, 12_400_118_000, 71_904_233, 88_120),
)

ALL = {
    "oom-kill": OOM,
    "unknown": UNKNOWN,
    "finished": FINISHED,
    "stopped": STOPPED,
    "no-end-seen": NO_END,
    "nothing-to-judge": NOTHING,
    "two-causes": TWO_CAUSES,
    "thousand-ranks": THOUSAND,
}
