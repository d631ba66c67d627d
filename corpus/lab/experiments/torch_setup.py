"""Torch jobs that do not start: rendezvous, ports, addresses, arguments, imports."""

from __future__ import annotations

from bench import Bench
from experiment import Experiment
from launchers import TORCH, node, shell, simply, torchrun, wait_for

IMPORT_NATIVE = """mkdir -p fused_ops && cat > ops.c <<'C'
#include <Python.h>
extern PyObject *c10_cuda_check_implementation(int);
PyMODINIT_FUNC PyInit__C(void) { return c10_cuda_check_implementation(0); }
C
gcc -shared -fPIC -I/usr/include/python3.11 ops.c -o fused_ops/_C.so
echo 'from fused_ops import _C' > fused_ops/__init__.py
sed -i 's/^import torch$/import torch\\nimport fused_ops/' train.py
torchrun --nproc-per-node 2 train.py"""


def port_in_use(bench: Bench) -> None:
    """A job that was left running holds the port of the next one."""
    left = bench.host().start("python", "-m", "http.server", "29500", log="")
    bench.run("sleep", "2", log="")
    bench.run(*torchrun(2, "train.py", flags="--master-port 29500"))
    left.stop()


def second_job(bench: Bench) -> None:
    """The same job is started a second time beside the first."""
    first = bench.host().start("python", "images.py", "-w", "2", "--epochs", "200", log="first.txt")
    wait_for(first, "Epoch")
    bench.run("python", "images.py", "-w", "2")
    first.stop()


def silent_master(bench: Bench) -> None:
    """Packets to the master are thrown away, as by a firewall."""
    bench.host("gpu-a01", address="10.20.0.11")
    second = bench.host("gpu-a02")
    second.sh("ip neigh replace 10.20.0.11 lladdr 02:00:00:00:00:99 dev eth0")
    second.run(
        "python",
        "pipeline.py",
        "--init",
        "tcp://gpu-a01:29500",
        "--timeout",
        "8",
        env={"RANK": "1", "WORLD_SIZE": "2"},
        timeout=40,
    )


def wrong_interface(bench: Bench) -> None:
    """Two hosts with a docker0 of the same address; gloo is told to use it."""
    hosts = [bench.host("gpu-c01"), bench.host("gpu-c02")]
    for host in hosts:
        host.sh("ip link add docker0 type bridge && ip addr add 172.17.0.1/16 dev docker0 && ip link set docker0 up")
    jobs = [
        h.start(
            *node(i, 2, 1, "train.py", "--timeout", "8", master="gpu-c01"),
            log=f"{h.name}.log",
            env={"GLOO_SOCKET_IFNAME": "docker0"},
        )
        for i, h in enumerate(hosts)
    ]
    for job in jobs:
        job.wait()


PIPE = "python pipeline.py --init tcp://gpu-a01:29500 --timeout 8"

EXPERIMENTS = (
    Experiment(
        case="port-in-use-torchrun",
        label="rdzv.port-in-use",
        title="The master port is held by another server",
        story="A web server listens on port 29500 of the node; torchrun is told to put its store there and cannot bind.",
        run=port_in_use,
        needs=TORCH,
        evidence=("EADDRINUSE", "Address already in use"),
    ),
    Experiment(
        case="port-in-use-spawn",
        label="rdzv.port-in-use",
        title="The same spawned job is started twice on one node",
        story="""A job of torch.multiprocessing.spawn with a fixed MASTER_PORT runs on the node when it is started a second time. Rank 0 of the
        second cannot bind the port. (The log is that of the second.)""",
        run=second_job,
        needs=TORCH,
        evidence=("EADDRINUSE", "Address already in use"),
    ),
    Experiment(
        case="master-does-not-resolve-torchrun",
        label="net.dns",
        title="MASTER_ADDR is a name that nothing resolves",
        story="The second node is told a master address with a typing error. The name does not resolve and the agent gives up.",
        run=simply(*node(1, 2, 2, "train.py", master="gpu-a0l", flags="--rdzv-conf timeout=8")),
        needs=TORCH,
        also=("rdzv.config", "rdzv.timeout"),
        evidence=("Name or service not known", "Temporary failure in name resolution", "gai error", "gpu-a0l"),
    ),
    Experiment(
        case="master-refuses-static",
        label="rdzv.timeout",
        title="Rank 1 looks for the master on a port where nobody listens",
        story="""Rank 1 of two is started with the wrong port (29501 for 29500) and tries to connect until its timeout of eight seconds.
        The log is that of rank 1.""",
        run=simply(*shell("RANK=1 WORLD_SIZE=2 python pipeline.py --init tcp://gpu-a01:29501 --timeout 8")),
        needs=TORCH,
        also=("net.socket-connect",),
        evidence=("failed to connect", "timed out", "timeout"),
    ),
    Experiment(
        case="master-behind-firewall-static",
        label="rdzv.timeout",
        title="Packets to the master go nowhere",
        story="""Rank 1 runs on a second node whose packets to the master are dropped. It tries to connect until its timeout of eight seconds.
        The log is that of rank 1.""",
        run=silent_master,
        needs=TORCH,
        also=("net.socket-connect",),
        evidence=("failed to connect", "timed out", "timeout"),
    ),
    Experiment(
        case="node-missing-torchrun",
        label="rdzv.timeout",
        title="The second node is never started",
        story="""torchrun is told of two nodes of two ranks and only the first is started. Its agent waits ten seconds for the
        other one.""",
        run=simply(*node(0, 2, 2, "train.py", flags="--rdzv-conf timeout=10")),
        needs=TORCH,
        evidence=("Timed out", "timed out", "clients joined", "timeout"),
    ),
    Experiment(
        case="world-too-large-static",
        label="rdzv.timeout",
        title="Two processes are started, WORLD_SIZE says three",
        story="""A shell script starts two processes with WORLD_SIZE=3. Both wait for a third that nobody starts and time out after eight
        seconds.""",
        run=simply(*shell(f'for r in 0 1; do RANK=$r WORLD_SIZE=3 {PIPE} 2>&1 | sed -u "s/^/$r: /" & done; wait')),
        needs=TORCH,
        also=("rdzv.config",),
        evidence=("Timed out", "timed out", "clients joined", "timeout"),
    ),
    Experiment(
        case="rank-twice-static",
        label="rdzv.config",
        title="Two processes call themselves rank 1, none rank 2",
        story="""A start script gives RANK=1 to two of three processes. The full mesh of gloo never completes: rank 2 does not exist.
        All time out after eight seconds.""",
        run=simply(*shell(f'for r in 0 1 1; do RANK=$r WORLD_SIZE=3 {PIPE} 2>&1 | sed -u "s/^/$r: /" & done; wait')),
        needs=TORCH,
        also=("rdzv.timeout", "collective.timeout"),
        evidence=("Timed out", "timed out", "timeout", "wait timeout"),
    ),
    Experiment(
        case="no-rank-variable-plain-python",
        label="rdzv.config",
        title="A distributed program is started by plain python",
        story="Somebody starts the trainer with python in place of torchrun: RANK and the rest are not set.",
        run=simply("python", "train.py"),
        needs=TORCH,
        evidence=("environment variable RANK expected, but not set",),
    ),
    Experiment(
        case="rank-outside-world",
        label="rdzv.config",
        title="RANK is 2 in a world of 2",
        story="Ranks are counted from one by mistake: the second process of two has RANK=2.",
        run=simply(*shell("RANK=2 WORLD_SIZE=2 MASTER_ADDR=gpu-a01 MASTER_PORT=29500 python train.py --timeout 8")),
        needs=TORCH,
        also=("app.exception", "rdzv.timeout", "app.config"),
        evidence=("rank", "Rank", "timed out"),
    ),
    Experiment(
        case="no-interface-gloo",
        label="net.no-interface",
        title="GLOO_SOCKET_IFNAME names an interface that does not exist",
        story="The job script exports GLOO_SOCKET_IFNAME=ib0; the node has only eth0 and lo. Both ranks fail in init_process_group.",
        run=simply(*torchrun(2, "train.py"), env={"GLOO_SOCKET_IFNAME": "ib0"}),
        needs=TORCH,
        evidence=("Unable to find address for: ib0",),
    ),
    Experiment(
        case="wrong-interface-gloo-docker0",
        label="net.wrong-interface",
        title="gloo is bound to docker0, which has the same address on both nodes",
        story="""Two nodes, one rank each, with GLOO_SOCKET_IFNAME=docker0. Each announces 172.17.0.1 and so reaches only its own bridge; the
        full mesh never completes.""",
        run=wrong_interface,
        needs=TORCH,
        also=("net.socket-connect", "rdzv.timeout"),
        evidence=("connectFullMesh failed", "172.17.0.1"),
    ),
    Experiment(
        case="more-ranks-than-gpus-nccl",
        label="cuda.driver",
        title="A node without a GPU is asked for the nccl backend",
        story="The trainer is started for a GPU (--device cuda) with a torch that was built without CUDA.",
        run=simply(*torchrun(2, "train.py", "--device", "cuda")),
        needs=TORCH,
        also=("app.config", "app.exception", "collective.misuse"),
        evidence=("Torch not compiled with CUDA enabled",),
    ),
    Experiment(
        case="unknown-option-argparse",
        label="app.config",
        title="An option is misspelt on the command line",
        story="The job script passes --learning-rate, the program knows --lr: argparse prints its usage and leaves with status 2 on every rank.",
        run=simply(*torchrun(2, "train.py", "--learning-rate", "0.01")),
        needs=TORCH,
        evidence=("unrecognized arguments",),
    ),
    Experiment(
        case="invalid-choice-argparse-tee",
        label="app.config",
        title="An option has a value that the program does not know",
        story="The schedule is given as 'linear'; the program knows constant and cosine. Four ranks say so, each line with the name of its rank.",
        run=simply(*torchrun(4, "train.py", "--schedule", "linear", flags="--tee 3")),
        needs=TORCH,
        evidence=("invalid choice",),
    ),
    Experiment(
        case="missing-key-yaml",
        label="app.config",
        title="The configuration file lacks a key",
        story="The YAML file says layers where the program reads num_layers: KeyError on every rank, before anything is distributed.",
        run=simply(
            *shell(
                "printf 'model:\\n  hidden_size: 64\\n  layers: 2\\noptimizer:\\n  lr: 0.001\\n' > base.yaml; "
                "torchrun --nproc-per-node 2 train.py --config base.yaml"
            )
        ),
        needs=TORCH,
        also=("app.exception",),
        evidence=("KeyError: 'num_layers'",),
    ),
    Experiment(
        case="broken-yaml-config",
        label="app.config",
        title="The configuration file is no valid YAML",
        story="A tab stands in the indentation of the YAML file: the scanner of PyYAML raises on every rank.",
        run=simply(
            *shell(
                "printf 'model:\\n\\thidden_size: 64\\n' > base.yaml; torchrun --nproc-per-node 2 train.py --config base.yaml"
            )
        ),
        needs=TORCH,
        also=("app.exception",),
        evidence=("ScannerError", "found character"),
    ),
    Experiment(
        case="missing-config-file",
        label="app.config",
        title="The configuration file does not exist",
        story="The job script names configs/7b.yaml, which is not in the working directory: FileNotFoundError on every rank.",
        run=simply(*torchrun(2, "train.py", "--config", "configs/7b.yaml")),
        needs=TORCH,
        also=("app.exception",),
        evidence=("FileNotFoundError",),
    ),
    Experiment(
        case="indivisible-batch-world",
        label="app.config",
        title="The global batch size is not divisible by the number of ranks",
        story="A job made for four ranks is started with three; the trainer refuses a global batch of 16 on every rank.",
        run=simply(*torchrun(3, "train.py")),
        needs=TORCH,
        also=("app.exception",),
        evidence=("is not divisible by the data-parallel size",),
    ),
    Experiment(
        case="assert-experts-world",
        label="app.config",
        title="Four experts cannot be spread over three ranks",
        story="A mixture of experts is started with three ranks; an assertion on the number of experts fails on every rank.",
        run=simply(*torchrun(3, "experts.py")),
        needs=TORCH,
        also=("app.exception",),
        evidence=("cannot be spread over",),
    ),
    Experiment(
        case="missing-module-torchrun",
        label="app.import",
        title="A package is not installed in the environment",
        story="The trainer imports flash_attn, which the environment has not: ModuleNotFoundError on both ranks.",
        run=simply(
            *shell(
                "sed -i 's/^import torch$/import torch\\nimport flash_attn/' train.py; torchrun --nproc-per-node 2 train.py"
            )
        ),
        needs=TORCH,
        evidence=("No module named 'flash_attn'",),
    ),
    Experiment(
        case="undefined-symbol-extension",
        label="app.import",
        title="A C extension was built against another torch",
        story="""A compiled extension (fused_ops) refers to a symbol that this torch does not export. Importing it fails on both ranks with
        'undefined symbol'.""",
        run=simply(*shell(IMPORT_NATIVE)),
        needs=TORCH,
        evidence=("undefined symbol",),
    ),
    Experiment(
        case="removed-name-import",
        label="app.import",
        title="A name was removed from the library that the program imports it from",
        story="The trainer imports a helper that this numpy no longer has: ImportError, cannot import name.",
        run=simply(
            *shell(
                "sed -i 's/^import yaml$/import yaml\\nfrom numpy import float_ as real/' train.py; torchrun --nproc-per-node 2 --tee 3 train.py"
            )
        ),
        needs=TORCH,
        evidence=("cannot import name", "float_"),
    ),
    Experiment(
        case="no-such-script-torchrun",
        label="job.launch",
        title="torchrun is given a script that does not exist",
        story="The script is called pretrain.py in the job file and train.py on the disk: python cannot open it, with status 2 on every rank.",
        run=simply(*torchrun(2, "pretrain.py")),
        needs=TORCH,
        also=("app.config", "app.exception"),
        evidence=("can't open file",),
    ),
    Experiment(
        case="no-compiler-torch-compile",
        label="app.compile",
        title="torch.compile finds no C++ compiler",
        story="The trainer compiles its model on a node whose image has no compiler: Inductor fails on the first forward pass of both ranks.",
        run=simply(
            *shell(
                "mkdir bin; for t in gcc g++ cc c++ clang clang++ x86_64-linux-gnu-g++; do :; done; PATH=$(dirname $(command -v torchrun)):$PWD/bin "
                "CXX=/opt/rh/devtoolset/bin/g++ torchrun --nproc-per-node 2 train.py --compile"
            )
        ),
        needs=TORCH,
        evidence=("InvalidCxxCompiler", "No working C++ compiler", "compiler"),
    ),
)
