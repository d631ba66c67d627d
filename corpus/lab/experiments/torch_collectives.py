"""Collectives that do not fit together, and wrong use of process groups."""

from __future__ import annotations

from experiment import Experiment
from launchers import TORCH, simply, torchrun

DETAIL = {"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}

EXPERIMENTS = (
    Experiment(
        case="segfault-ddp-info-logs",
        label="app.segfault",
        title="DistributedDataParallel of torch 2.13.0 (CPU) crashes when all its logs are on",
        story="""Two ranks train with TORCH_DISTRIBUTED_DEBUG=DETAIL and TORCH_CPP_LOG_LEVEL=INFO. Both die of SIGSEGV right after
        the reducer was made, before the first step: nothing else was done to them.""",
        run=simply(
            *torchrun(2, "train.py", flags="--tee 3"),
            env={**DETAIL, "TORCH_CPP_LOG_LEVEL": "INFO", "TORCH_SHOW_CPP_STACKTRACES": "1"},
        ),
        needs=TORCH,
        evidence=("SIGSEGV",),
    ),
    Experiment(
        case="eval-on-main-only",
        label="collective.desync",
        title="Only rank 0 evaluates, and the evaluation holds an all-reduce",
        story="""The evaluation is called on rank 0 only but reduces its loss over all ranks. Rank 0's all-reduce meets the gradients of the
        others, whose sizes differ.""",
        run=simply(*torchrun(2, "train.py", "--eval-every", "2", "--eval-on", "main", "--timeout", "8")),
        needs=TORCH,
        also=("collective.timeout", "net.size-mismatch"),
        evidence=("Timed out waiting", "op.preamble.length", "mismatch"),
    ),
    Experiment(
        case="segfault-ddp-detail-faulthandler",
        label="app.segfault",
        title="The same crash on four ranks with Python's fault handler on",
        story="""DistributedDataParallel of torch 2.13.0 (CPU) crashes when TORCH_DISTRIBUTED_DEBUG=DETAIL is set. Four ranks with
        PYTHONFAULTHANDLER=1 print where they were: in _ddp_init_helper.""",
        run=simply(*torchrun(4, "train.py", flags="--tee 3"), env={**DETAIL, "PYTHONFAULTHANDLER": "1"}),
        needs=TORCH,
        evidence=("SIGSEGV", "Segmentation fault"),
    ),
    Experiment(
        case="skipped-all-reduce-experts",
        label="collective.desync",
        title="Ranks reduce the balance of their experts only when their own data are skewed",
        story="""A mixture of experts reduces its load balance under a condition that depends on the rank's own data. Some ranks run the
        all-reduce, others are already in the next all-to-all.""",
        run=simply(*torchrun(4, "experts.py", "--log-balance", "when-skewed", "--timeout-s", "8")),
        needs=TORCH,
        also=("collective.timeout", "net.size-mismatch"),
        evidence=("Timed out waiting", "op.preamble.length", "mismatch"),
    ),
    Experiment(
        case="skipped-all-reduce-experts-detail",
        label="collective.desync",
        title="A conditional all-reduce, seen with TORCH_DISTRIBUTED_DEBUG=DETAIL",
        story="""The same conditional all-reduce on two ranks, with fingerprints of collectives compared: the log names both collectives.""",
        run=simply(
            *torchrun(2, "experts.py", "--num-experts", "2", "--log-balance", "when-skewed", "--timeout-s", "8"),
            env=DETAIL,
        ),
        needs=TORCH,
        evidence=("Detected mismatch between collectives",),
    ),
    Experiment(
        case="capacity-mismatch-all-to-all",
        label="collective.desync",
        title="One rank sends another number of tokens than the others expect",
        story="""From the fifth iteration on rank 1 has a capacity of 6 tokens, the others 8. The all-to-all of rank 1 has other sizes than
        that of its peers.""",
        run=simply(
            *torchrun(2, "experts.py", "--num-experts", "2", "--capacity-of-rank", "1", "6", "--timeout-s", "8")
        ),
        needs=TORCH,
        also=("net.size-mismatch", "collective.timeout"),
        evidence=("op.preamble.length", "mismatch", "Timed out waiting"),
    ),
    Experiment(
        case="capacity-mismatch-all-to-all-detail",
        label="collective.desync",
        title="The same with shapes compared beforehand",
        story="""The same difference of capacities on four ranks with TORCH_DISTRIBUTED_DEBUG=DETAIL: rank 1 is named with its shape.""",
        run=simply(
            *torchrun(4, "experts.py", "--capacity-of-rank", "1", "6", "--timeout-s", "8", flags="--tee 3"), env=DETAIL
        ),
        needs=TORCH,
        evidence=("Detected mismatch between collectives", "op.preamble.length"),
    ),
    Experiment(
        case="ragged-all-gather",
        label="collective.desync",
        title="Ranks gather tensors of different lengths",
        story="""At the end of an epoch every rank tells the scores of its part of the validation set; the parts differ in length by rank and
        all_gather wants them equal.""",
        run=simply("python", "images.py", "-w", "2", "--epochs", "1", "--gather", "100", "--ragged", "--timeout", "8"),
        needs=TORCH,
        also=("app.exception", "net.size-mismatch", "collective.misuse", "collective.timeout"),
        evidence=("tensor", "size", "op.preamble.length", "Timed out waiting"),
    ),
    Experiment(
        case="model-differs-by-rank",
        label="collective.desync",
        title="The last rank builds a model with another number of classes",
        story="""The last rank reads another class list and builds a model of 12 outputs in place of 10. DistributedDataParallel compares the
        shapes of parameters over the ranks when it is built.""",
        run=simply("python", "images.py", "-w", "3", "--classes-last", "12", "--timeout", "10"),
        needs=TORCH,
        also=("app.exception", "collective.replica-divergence"),
        evidence=("DDP expects same model across all ranks", "shape", "param"),
    ),
    Experiment(
        case="unused-parameters-ddp",
        label="collective.unused-params",
        title="An auxiliary head takes no part in the loss",
        story="The model has an auxiliary head that the forward pass does not use. DDP raises at the second step on every rank.",
        run=simply(*torchrun(2, "train.py", "--aux-head")),
        needs=TORCH,
        evidence=("Expected to have finished reduction in the prior iteration",),
    ),
    Experiment(
        case="unused-parameters-ddp-info",
        label="collective.unused-params",
        title="The same with the names of the parameters",
        story="""The unused auxiliary head on four ranks with TORCH_DISTRIBUTED_DEBUG=INFO, which names the parameters that got no gradient;
        every line bears the name of its rank.""",
        run=simply(*torchrun(4, "train.py", "--aux-head", flags="--tee 3"), env={"TORCH_DISTRIBUTED_DEBUG": "INFO"}),
        needs=TORCH,
        evidence=("Expected to have finished reduction in the prior iteration", "did not receive grad"),
    ),
    Experiment(
        case="destroyed-group-used-again",
        label="collective.misuse",
        title="A collective is called after the process group was destroyed",
        story="""A refresh in the middle of training destroys the process group; the next all-to-all finds no default group.""",
        run=simply(*torchrun(2, "experts.py", "--num-experts", "2", "--recompute")),
        needs=TORCH,
        evidence=("Default process group has not been initialized",),
    ),
    Experiment(
        case="router-weights-diverge",
        label="collective.replica-divergence",
        title="The weights of the router differ from rank to rank",
        story="""Each rank initialises its router from a seed of its own. The check of the replicas after five iterations raises on every rank.""",
        run=simply(*torchrun(2, "experts.py", "--num-experts", "2", "--sync-router", "0", "--check-every", "5")),
        needs=TORCH,
        also=("app.exception",),
        evidence=("replica check failed",),
    ),
    Experiment(
        case="narrower-stage-pipeline",
        label="collective.desync",
        title="The second half of a pipeline expects narrower activations",
        story="""The later stages of a pipeline are configured 16 columns narrower than the first. Stage 2 posts a receive of a smaller size than stage 1
        sends.""",
        run=simply(*torchrun(4, "pipeline.py", "--wider", "-16", "--timeout", "8")),
        needs=TORCH,
        also=("net.size-mismatch", "collective.timeout"),
        evidence=("op.preamble.length", "Timed out waiting", "size"),
    ),
    Experiment(
        case="wrong-tag-pipeline",
        label="collective.desync",
        title="Stage 1 waits for messages of a tag that nobody sends",
        story="""Stage 1 counts its micro batches one ahead and so posts its receives with other tags than stage 0 sends. The first
        message with tag 0 is never received; both wait until their timeout.""",
        run=simply(*torchrun(2, "pipeline.py", "--tags-off", "1", "--timeout", "8")),
        needs=TORCH,
        also=("collective.timeout",),
        evidence=("Timed out waiting",),
    ),
)
