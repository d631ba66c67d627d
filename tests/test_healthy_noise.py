"""Loud lines of healthy jobs are no failures.  Each piece of noise stands alone between two steps of a run."""

from __future__ import annotations

import textwrap

import pytest

from logdoctor.authoring.rule_check import diagnose_text, first_signature
from logdoctor.render import render

NCCL_NOISE = [
    "gx3:811:902 [0] NCCL INFO NET/Plugin : No plugin found (libnccl-net.so), using internal implementation",
    "gx3:811:902 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal net plugin.",
    "gx3:811:902 [0] NCCL INFO NET/Plugin : Plugin load returned 11 : libnccl-net.so: cannot open shared object file: No such file or directory : when loading libnccl-net.so",
    "gx3:811:902 [0] NCCL INFO NET/Plugin: Failed to find ncclNetPlugin_v8 symbol.",
    "gx3:811:902 [0] NCCL INFO NET/Plugin: Failed to find ncclCollNetPlugin symbol (>= v5). ncclCollNetPlugin symbols v4 and lower are not supported.",
    "gx3:811:902 [0] NCCL INFO TUNER/Plugin: Could not find: libnccl-tuner.so libnccl-net.so. Using internal tuner plugin.",
    "gx3:811:902 [0] NCCL INFO Failed to open libibverbs.so[.1]",
    "gx3:811:902 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]",
    "gx3:811:902 [0] NCCL INFO NET/IB : No device found.",
    "gx3:811:931 [2] transport/net_ib.cc:95 NCCL WARN NET/IB : Got async event : GID table change",
    "[2025-07-01 10:11:12] gx3:811:931 [2] net_ib/common.cc:77 NCCL WARN NET/IB : mlx5_2:1 Got non-fatal async event: client reregistration(17)",
    "gx3:811:931 [2] NCCL INFO RAS client listening socket at ::1<28028> is already in use, RAS will not answer here",
    "gx3:811:902 [0] NCCL INFO NVLS multicast support is not available on dev 0 (NVLS_NCHANNELS 0)",
    "gx3:811:902 [0] NCCL INFO P2P is disabled between connected GPUs 1 and 0. You can repress this message with NCCL_IGNORE_DISABLED_P2P=1.",
    "gx3:811:902 [0] NCCL INFO cudaDriverVersion 12040",
    "gx3:811:955 [0] NCCL INFO [Service thread] Connection closed by localRank 3",
    "gx3:811:811 [0] NCCL INFO comm 0x55d01 rank 0 nranks 8 cudaDev 0 busId 1a000 - Abort COMPLETE",
    "gx3:811:902 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 23.",
    "gx3:811:902 [0] NCCL INFO MNNVL 0 (fabric error: not supported)",
    "gx3:811:902 [0] NCCL INFO Could not enable P2P between dev 0(=1a000) and dev 1(=3d000)",
]

TORCH_NOISE = [
    "[W socket.cpp:426] [c10d] The server socket cannot be initialized on [::]:29500 (errno: 97 - Address family not supported by protocol).",
    "[W socket.cpp:601] [c10d] The client socket cannot be initialized to connect to [gx3.cluster]:29500 (errno: 97 - Address family not supported by protocol).",
    "[W socket.cpp:601] [c10d] The IPv6 network addresses of (gx3, 29500) cannot be retrieved (gai error: -2 - Name or service not known).",
    "[W socket.cpp:663] [c10d] The client socket has failed to connect to [gx3]:29500 (errno: 99 - Cannot assign requested address).",
    "[rank0]:[W703 09:10:11.123456789 ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources. For more info, please see https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())",
    "[rank2]:[W703 09:10:11.123456789 ProcessGroupNCCL.cpp:4561] [PG ID 0 PG GUID 0 Rank 2]  using GPU 2 to perform barrier as devices used by this process are currently unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect.",
    "W0703 09:10:11.123000 5210 torch/distributed/run.py:793] Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded, please further tune the variable for optimal performance in your application as needed.",
    "*****************************************\nSetting OMP_NUM_THREADS environment variable for each process to be 1 in default\n*****************************************",
    "/opt/venv/lib/python3.11/site-packages/torch/distributed/launch.py:207: FutureWarning: The module torch.distributed.launch is deprecated",
    "[I ProcessGroupNCCL.cpp:844] [Rank 1] NCCL watchdog thread terminated normally",
    "[W reducer.cpp:1346] Warning: find_unused_parameters=True was specified in DDP constructor, but did not find any unused parameters in the forward pass. (function operator())",
    "[W CUDAGuardImpl.h:46] Warning: CUDA warning: driver shutting down (function uncheckedGetDevice)",
    "[W CudaIPCTypes.cpp:15] Producer process has been terminated before all shared CUDA tensors released. See Note [Sharing CUDA tensors]",
    "[W NNPACK.cpp:64] Could not initialize NNPACK! Reason: Unsupported hardware.",
    "[rank0]:W0703 09:10:11.123000 5210 torch/_dynamo/convert_frame.py:844] [0/8] torch._dynamo hit config.cache_size_limit (8)",
    "W0703 09:10:11.123000 5210 torch/_inductor/utils.py:977] [0/0] Not enough SMs to use max_autotune_gemm mode",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING=1 TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=600",
    "INFO:torch.distributed.elastic.agent.server.api:[default] worker group successfully finished. Waiting 300 seconds for other agents to finish.",
]

PYTHON_NOISE = [
    "/opt/venv/lib/python3.11/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 6 leaked semaphore objects to clean up at shutdown\n  warnings.warn('resource_tracker: There appear to be %d '",
    """\
    Exception ignored in: <function _MultiProcessingDataLoaderIter.__del__ at 0x7f01>
    Traceback (most recent call last):
      File "/opt/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py", line 1479, in __del__
        self._shutdown_workers()
      File "/opt/venv/lib/python3.11/multiprocessing/process.py", line 160, in is_alive
        assert self._parent_pid == os.getpid(), 'can only test a child process'
    AssertionError: can only test a child process""",
    """\
    Exception ignored in atexit callback: <function shutdown at 0x7f55>
    Traceback (most recent call last):
      File "/opt/app/close.py", line 12, in shutdown
        writer.flush()
    ValueError: I/O operation on closed file""",
    "/opt/app/data.py:31: DeprecationWarning: invalid escape sequence '\\d'\n  pattern = re.compile('\\d+')",
    "/opt/venv/lib/python3.11/site-packages/torchvision/io/image.py:13: UserWarning: Failed to load image Python extension: 'libjpeg.so.8: cannot open shared object file: No such file or directory'If you don't plan on using image functionality from `torchvision.io`, you can ignore this warning.",
    "Failed to import flash_attn, falling back to the eager attention",
    "WARNING: apex not found: No module named 'apex'; using torch.optim.AdamW instead",
    "No module named 'triton'; A matching Triton is not available, some optimizations will not be enabled.",
    "Could not load dynamic library 'libnvinfer.so.7'; dlerror: libnvinfer.so.7: cannot open shared object file: No such file or directory",
    "W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not find TensorRT",
    "2024-07-03 09:10:11.120000: E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered",
    "2024-07-03 09:10:11.120000: E tensorflow/compiler/xla/stream_executor/cuda/cuda_blas.cc:2981] Unable to register cuBLAS factory: Attempting to register factory for plugin cuBLAS when one has already been registered",
    "2024-07-03 09:10:11.120000: E tensorflow/stream_executor/cuda/cuda_driver.cc:271] failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",
    "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\nE0000 00:00:1720000000.123456  5210 cuda_dnn.cc:8310] Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered",
    "I tensorflow/core/platform/cpu_feature_guard.cc:210] This TensorFlow binary is optimized to use available CPU instructions in performance-critical operations.",
    "Skipping import of cpp extensions due to incompatible torch version 2.8.0 for torchao version 0.13.0",
    "Error in cpuinfo: prctl(PR_SVE_GET_VL) failed",
    'Xlib:  extension "NV-GLX" missing on display ":1".',
    "Unable to detect NVLink: NVML Shared Library Not Found",
]

TRACKER_NOISE = [
    "wandb: WARNING Failed to connect to W&B servers after 10 seconds: retrying",
    "wandb: Network error (ConnectionError), entering retry loop.",
    "wandb: ERROR Error while calling W&B API: internal database error (<Response [500]>)",
    "wandb: 429 encountered (Filestream rate limit exceeded, retrying in 2.3 seconds.), retrying request",
    "Retrying (Retry(total=4, connect=None, read=None, redirect=None, status=None)) after connection broken by 'ConnectTimeoutError': /v1/events",
    "urllib3.connectionpool - WARNING - Retrying (Retry(total=2)) after connection broken by 'NewConnectionError: Failed to establish a new connection: [Errno 101] Network is unreachable': /usage",
    "'(MaxRetryError(\"HTTPSConnectionPool(host='hub.example.org', port=443)\"), '(Request ID: 1)')' thrown while requesting HEAD https://hub.example.org/m/config.json\nRetrying in 1s [Retry 1/5].",
    "2024/07/03 09:10:11 WARNING mlflow.utils.autologging_utils: Encountered unexpected error during autologging: timed out",
    "TensorBoard not found, logging disabled: No module named 'tensorboard'",
    "(raylet) [2024-07-03 09:10:11,120 E 5210 5260] agent_manager.cc: The usage stats report failed, it is retried later",
]

TRAINING_NOISE = [
    "[deepspeed] [Rank 0] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
    "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0",
    "step 2 word error rate: 0.213 wer/fatal: 0 errors: 0",
    "val metrics: {'error_rate': 0.02, 'exception_count': 0, 'map_small': nan, 'loss': 1.2}",
    "on_error: raise, max_errors: 10, fail_on_nan: true, nccl_timeout: 1800, kill_timeout: 30",
    "usage: fit.py [--error-on-nan] [--timeout SECONDS] [--kill-on-oom] [--ignore-errors]\n  --ignore-errors       go on after an error; fatal errors still abort",
    "loading /data/corpus/segfault_errors_2021.jsonl and /data/corpus/killed_by_oom.txt",
    "Token indices sequence length is longer than the specified maximum sequence length for this model (1300 > 1024). Running this sequence through the model will result in indexing errors",
    "Some weights of LlamaForX were not initialized from the model checkpoint at base-7b and are newly initialized: ['score.weight']",
    "Error: 0 warnings: 3",
    "lr scheduler: skipped, found inf grads: 1, total inf steps: 1",
    "WARNING:root:NaN values in column age were replaced by the mean",
    "huggingface/tokenizers: The current process just got forked, after parallelism has already been used. Disabling parallelism to avoid deadlocks...",
    "Caught exception while probing flash attention, using math kernel",
]

MPI_NOISE = [
    """\
    --------------------------------------------------------------------------
    WARNING: No preset parameters were found for the device that Open MPI
    detected:

      Local host:            nd07
      Device name:           mlx5_0
      Device vendor ID:      0x02c9

    Default device parameters will be used, which may result in lower performance.
    --------------------------------------------------------------------------""",
    """\
    --------------------------------------------------------------------------
    By default, for Open MPI 4.0 and later, infiniband ports on a device
    are not used by default.  The intent is to use UCX for these devices.

      Local host:              nd07
      Local adapter:           mlx5_0
      Local port:              1
    --------------------------------------------------------------------------""",
    """\
    --------------------------------------------------------------------------
    WARNING: There was an error initializing an OpenFabrics device.

      Local host:   nd07
      Local device: mlx5_0
    --------------------------------------------------------------------------""",
    """\
    --------------------------------------------------------------------------
    [[40211,1],0]: A high-performance Open MPI point-to-point messaging module
    was unable to find any relevant network interfaces:

    Module: OpenFabrics (openib)
      Host: nd07

    Another transport will be used instead, although this may result in
    lower performance.
    --------------------------------------------------------------------------""",
    """\
    --------------------------------------------------------------------------
    WARNING: Linux kernel CMA support was requested via the
    btl_vader_single_copy_mechanism MCA variable, but CMA support is
    not available due to restrictive ptrace settings.

      Local host: nd07
    --------------------------------------------------------------------------""",
    "[nd07:04410] mca_base_component_repository_open: unable to open mca_btl_openib: librdmacm.so.1: cannot open shared object file: No such file or directory (ignored)",
    "[nd07:04410] 7 more processes have sent help message help-mpi-btl-openib.txt / no device params found",
    '[nd07:04410] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help / error messages',
    "[1720000000.120000] [nd07:4410 :0]          parser.c:2036 UCX  WARN  unused environment variables: UCX_VERSION (set UCX_WARN_UNUSED_ENV_VARS=n to suppress this warning)",
    "[1720000000.120000] [nd07:4410 :0]     ucp_context.c:1079 UCX  WARN  network device 'mlx5_1:1' is not available, please use one or more of: 'mlx5_0:1'(IB)",
    "libibverbs: Warning: couldn't load driver 'libhfi1verbs-rdmav34.so': libhfi1verbs-rdmav34.so: cannot open shared object file: No such file or directory",
    "slurmstepd: error: couldn't chdir to `/home/ann/exp': No such file or directory: going to /tmp instead",
    "srun: warning: can't run 1 processes on 2 nodes, setting nnodes to 1",
    "nohup: ignoring input",
    "mkdir: cannot create directory '/scratch/exp/out': File exists",
    "bash: module: command not found",
    "job.sh: line 31: --learning_rate: command not found",
    "rm: cannot remove '/dev/shm/ray_old': No such file or directory",
    "tput: No value for $TERM and no -T specified",
    "bash: cannot set terminal process group (-1): Inappropriate ioctl for device\nbash: no job control in this shell",
    "Warning: Permanently added 'nd08,10.8.0.8' (ED25519) to the list of known hosts.",
    "INFO:    Could not find any nv files on this host!",
    "WARNING: underlay of /etc/localtime required more than 50 (83) bind mounts",
    "systemd[1]: Received SIGTERM from PID 1 (systemd-shutdow).",
    "INFO - Installed a handler for SIGTERM; press Ctrl-C to stop",
]

ALL = [*NCCL_NOISE, *TORCH_NOISE, *PYTHON_NOISE, *TRACKER_NOISE, *TRAINING_NOISE, *MPI_NOISE]


@pytest.mark.parametrize("noise", ALL, ids=lambda text: " ".join(text.split())[:60])
def test_noise_of_healthy_jobs_is_no_failure(noise, knowledge):
    log = f"step 1 loss: 2.51\n{textwrap.dedent(noise)}\nstep 2 loss: 2.40\n"
    assert first_signature(diagnose_text(log, knowledge)) == "healthy"


def test_calm_answer_tells_which_alarming_line_is_harmless(knowledge):
    slip = "run.sh: line 19: d: command not found"
    diagnosis = diagnose_text(
        f"step 1/2 loss 2.2\nstep 2/2 loss 2.1\ntraining finished after 2 steps\n{slip}\n", knowledge
    )
    assert (diagnosis.verdict, [seen.rule for seen in diagnosis.harmless]) == ("finished", ["benign.shell-went-on"])
    assert "These lines are harmless" in render(diagnosis, "text")
