"""Jobs that end well, with the warnings, retries and frightening words of real ones."""

from __future__ import annotations

import signal

from bench import Bench
from experiment import Experiment, Needs
from launchers import TORCH, node, shell, simply, torchrun, wait_for

DATA = "for i in $(seq {count}); do echo '{{\"text\": \"line '$i' error fatal\", \"label\": '$((i % 4))'}}'; done > train.jsonl\n"


def finetune(ranks: int, *options: str, count: int = 64, flags: str = "") -> tuple[str, ...]:
    """Write data and fine-tune."""
    return shell(
        DATA.format(count=count)
        + " ".join(torchrun(ranks, "finetune.py", "--train_file", "train.jsonl", *options, flags=flags))
    )


def two_nodes(bench: Bench) -> None:
    """Two nodes, a log each."""
    hosts = [bench.host("gpu-e01"), bench.host("gpu-e02")]
    jobs = [
        h.start(*node(i, 2, 2, "train.py", "--eval-every", "4", master="gpu-e01"), log=f"{h.name}.log")
        for i, h in enumerate(hosts)
    ]
    for job in jobs:
        job.wait()


def late_node(bench: Bench) -> None:
    """The second node comes eight seconds after the first."""
    hosts = [bench.host("gpu-e03"), bench.host("gpu-e04")]
    first = hosts[0].start(*node(0, 2, 1, "train.py", master="gpu-e03"), log="gpu-e03.log")
    second = hosts[1].start(
        *shell("sleep 8; exec " + " ".join(node(1, 2, 1, "train.py", master="gpu-e03"))), log="gpu-e04.log"
    )
    first.wait()
    second.wait()


def late_master(bench: Bench) -> None:
    """Rank 0 is started after rank 1, which tries to connect in the meantime."""
    job = "python pipeline.py --init tcp://gpu-a01:29500 --timeout 60"
    bench.run(*shell(f"RANK=1 WORLD_SIZE=2 {job} & sleep 6; RANK=0 WORLD_SIZE=2 {job}; wait"))


def resumed(bench: Bench) -> None:
    """A job that saves, and the one that goes on from there."""
    bench.run(*torchrun(2, "train.py", "--steps", "4", "--save-every", "2"))
    bench.run(*torchrun(2, "train.py", "--steps", "8", "--resume", "checkpoints/step_000004.pt"), append=True)


def paused(bench: Bench) -> None:
    """A rank is stopped for three seconds and goes on."""

    def stop_and_go(job) -> None:
        job.host.kill(1, signal.SIGSTOP)
        bench.run("sleep", "3", log="")
        job.host.kill(1, signal.SIGCONT)

    bench.run(*torchrun(2, "train.py", "--steps", "10"), on={"step 3/": stop_and_go})


def tidied(bench: Bench) -> None:
    """The job is over; the script then ends its monitor with SIGTERM."""
    script = 'python -m http.server 9090 & m=$!; sleep 1; torchrun --nproc-per-node 2 train.py --steps 4; kill -TERM $m; wait $m; echo "monitor stopped, status $?"; exit 0'
    bench.run(*shell(script))


def still_running(bench: Bench) -> None:
    """Take the log while the job goes on."""
    job = bench.host().start(*torchrun(2, "train.py", "--steps", "60"))
    wait_for(job, "step 6/")
    text = job.log.read_bytes()
    job.stop()
    job.wait(5)
    job.log.write_bytes(text)


def healthy(case: str, title: str, story: str, run, needs: Needs = TORCH) -> Experiment:
    """A job that ends well."""
    return Experiment(case=case, label="healthy", title=title, story=story, run=run, needs=needs)


EXPERIMENTS = (
    healthy(
        "healthy-torchrun-2",
        "Two ranks train to the end",
        "A plain run of two ranks under torchrun, with the warning about OMP_NUM_THREADS and those of the sockets.",
        simply(*torchrun(2, "train.py")),
    ),
    healthy(
        "healthy-torchrun-8-tee",
        "Eight ranks train to the end, lines with ranks",
        "Eight ranks with --tee 3: each line bears its rank, also those of libraries that start up.",
        simply(*torchrun(8, "train.py", "--steps", "4", flags="--tee 3")),
    ),
    healthy(
        "healthy-two-nodes-gloo",
        "Two nodes train and evaluate to the end",
        "Two nodes with two ranks each, one log a node, evaluation in between.",
        two_nodes,
    ),
    healthy(
        "healthy-late-second-node",
        "The second node joins eight seconds late",
        "The first node waits in the rendezvous until the second comes; then they train to the end.",
        late_node,
    ),
    healthy(
        "healthy-late-master-retries",
        "A rank retries its connection until the master is up",
        """Rank 1 is started six seconds before rank 0 and prints failed connections in the meantime. Then both run to the end.""",
        late_master,
    ),
    healthy(
        "healthy-spawn-images",
        "Four spawned ranks classify images",
        "torch.multiprocessing.spawn, print lines of a classic example program, gather of equal parts at the end of each epoch.",
        simply("python", "images.py", "--gather", "50"),
    ),
    healthy(
        "healthy-finetune-progress-bars",
        "Fine-tuning with progress bars and loader workers",
        "tqdm writes its bar with carriage returns; the texts themselves say 'error fatal' but are not printed.",
        simply(*finetune(2, "--epochs", "2")),
    ),
    healthy(
        "healthy-finetune-join",
        "Uneven inputs under the Join context manager",
        "Ranks have different numbers of batches; model.join() shadows the collectives of those that are through.",
        simply(*finetune(2, "--uneven", "--join", "--num_workers", "0", count=65)),
    ),
    healthy(
        "healthy-many-loader-workers-warning",
        "More loader workers than the machine suggests",
        "Sixteen loader workers on a small node: a UserWarning says that this might get slow or even freeze, and nothing comes of it.",
        simply(*finetune(2, "--num_workers", "16")),
    ),
    healthy(
        "healthy-early-stopping",
        "Training stops early because the loss does not fall",
        "Evaluation after every second step; after two without a better loss training stops on purpose.",
        simply(
            *torchrun(
                2, "train.py", "--steps", "40", "--eval-every", "2", "--patience", "2", "--lr", "0.05", "--pause", "0.1"
            )
        ),
    ),
    healthy(
        "healthy-save-and-resume",
        "A job saves and a second one resumes, in one log",
        "Four steps with two checkpoints; the second job resumes at step 4 and trains to step 8, appending to the same log.",
        resumed,
    ),
    healthy(
        "healthy-paused-rank",
        "A rank stands still for three seconds and goes on",
        "Rank 1 is stopped with SIGSTOP and continued three seconds later, within the timeout. One step takes longer, that is all.",
        paused,
    ),
    healthy(
        "healthy-detail-debug",
        "All debug output of c10d, no fault",
        "TORCH_DISTRIBUTED_DEBUG=DETAIL: each collective is compared over the ranks beforehand, in a run without a fault.",
        simply(
            *torchrun(2, "experts.py", "--num-experts", "2", "--timeout-s", "60", flags="--tee 3"),
            env={"TORCH_DISTRIBUTED_DEBUG": "DETAIL", "TORCH_CPP_LOG_LEVEL": "INFO"},
        ),
    ),
    healthy(
        "healthy-no-destroy-warning",
        "The program forgets to destroy its process group",
        "destroy_process_group is never called; the run ends well all the same.",
        simply(
            *shell("sed -i '/dist.destroy_process_group/d' train.py; torchrun --nproc-per-node 2 train.py --steps 4")
        ),
    ),
    healthy(
        "healthy-monitor-ended-by-sigterm",
        "The script ends its monitor with SIGTERM after the job",
        "A monitoring server runs beside the job; the script ends it with SIGTERM when training is done and prints its status 143.",
        tidied,
    ),
    healthy(
        "healthy-scary-words",
        "The program speaks of errors, none of which is one",
        """The log lines tell '0 errors', 'error rate 0.021', 'no NaN in gradients', 'failed files: none', 'retrying (1/3) … ok' and a data set called
        exception-reports; training ends well.""",
        simply(
            *shell(
                "sed -i 's|^            if self.args.monitored:|            self.main(\"errors 0, error rate %.3f, timeout budget 40 s, no NaN or Inf in 12 "
                "gradients\", 0.5 / self.step)\\n            if self.args.monitored:|' train.py; "
                "echo 'staging exception-reports-2021.tar (failed files: none)'; echo 'copy: connection reset, retrying (1/3) ... ok'; "
                "torchrun --nproc-per-node 2 train.py; echo 'post-mortem hooks: nothing to do'"
            )
        ),
    ),
    healthy(
        "healthy-warnings-everywhere",
        "Deprecation and user warnings of a run that ends well",
        """Python warnings of several kinds at each step (deprecated scheduler call, non-writable array, resource warning) are printed by both ranks;
        training ends well.""",
        simply(
            *shell(
                "sed -i 's|^            if self.args.monitored:|            import warnings, numpy; warnings.warn(\"lr_scheduler.step() was called before "
                'optimizer.step(); the first value of the schedule is lost"); torch.from_numpy(numpy.frombuffer(bytes(8), numpy.int64))\\n'
                "            if self.args.monitored:|' train.py; PYTHONWARNINGS=always torchrun --nproc-per-node 2 train.py --steps 4"
            )
        ),
    ),
    healthy(
        "healthy-nonfinite-steps-skipped",
        "A gradient scaler skips its first steps",
        "An amp run in which the trainer reports that steps were skipped while the loss scale was found.",
        simply(*torchrun(2, "train.py", "--amp", "--steps", "6")),
    ),
    healthy(
        "healthy-caught-exceptions",
        "Exceptions that the program catches and prints",
        """While looking for optional packages the program prints two caught exceptions with their tracebacks ('falling back'); training ends
        well.""",
        simply(
            *shell(
                "sed -i 's|^    trainer = Trainer(args)|    try:\\n        import apex\\n    except ImportError:\\n        "
                'log.warning("apex not found, falling back to torch.optim", exc_info=True)\\n    trainer = Trainer(args)|\' train.py; '
                "torchrun --nproc-per-node 2 train.py --steps 5"
            )
        ),
    ),
    healthy(
        "healthy-pipeline-heartbeats",
        "Four pipeline stages with heartbeats in the store",
        "Stages send activations by send and recv and write heartbeats; all say bye at the end.",
        simply(*torchrun(4, "pipeline.py", "--heartbeat", "0.5", "--timeout", "40")),
    ),
    healthy(
        "healthy-experts-all-to-all",
        "A mixture of experts runs to its end",
        "All-to-all and balance over four ranks; the log tells iterations with milliseconds.",
        simply(*torchrun(4, "experts.py", "--timeout-s", "40")),
    ),
    healthy(
        "healthy-stamped-by-ts",
        "A log whose lines were stamped by ts",
        "Two ranks train, and all output goes through ts, so that each line begins with its own time.",
        simply(*shell("torchrun --nproc-per-node 2 train.py --steps 5 2>&1 | ts '%Y-%m-%dT%H:%M:%SZ'")),
        Needs(environment="torch-2.13", programs=("ts",), packages=("moreutils",)),
    ),
    healthy(
        "healthy-cut-in-the-middle",
        "The log of a job that still runs",
        "The log is taken while the job runs: it ends after the sixth step and holds no failure.",
        still_running,
    ),
)
