"""Settings: variables of the environment, options of commands, arguments of calls."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.examination.extractors import Found, extracts
from logdoctor.pack.regexes import later

_NAME = r"(?<![\w.$/-])(?:[A-Z][A-Z0-9]{1,20}(?:_[A-Z0-9]{1,30}){1,8}|LD_LIBRARY_PATH|PYTHONPATH)(?![\w(])"
_VALUE = r"""(?:"[^"\n]{0,200}"|'[^'\n]{0,200}'|(?:[^\s"'`,;)\]}]|,(?=\w)(?![\w.]{0,60}=)){1,200})"""
_SET = later(
    rf"""(?x)
    (?P<name>{_NAME})
    (?: [ ]?=[ ]?(?!=)
      | [ ](?:is[ ]|was[ ]|has[ ]been[ ])?set[ ](?:by[ ](?:the[ ])?environment[ ](?:variable[ ])?
      |explicitly[ ])?(?:to|as|=)[ ]
      | [ ]?:[ ](?!\w+[ ]\w)
      | [ ](?:is|has[ ](?:the[ ])?value)[ ](?=[\d"'`]) )
    [`]?(?P<value>{_VALUE})"""
)
_BY_ENVIRONMENT = later(rf"(?P<name>{_NAME}) set by environment(?: variable)? to (?P<value>\S[^\n,;=]{{0,80}}?)\.?\s*$")
"""The end of a line of NCCL, whose value may hold spaces."""
_FLAG = later(
    rf"(?<![\w-])(?P<name>--[a-z][\w-]{{1,60}})(?:=|[ ](?=\S*[\d/=:]|\S{{0,60}}\w(?:[ ]--"
    rf"|$))(?!-))(?P<value>{_VALUE})"
)
_ARGUMENT = later(
    r"""(?x)[(,]\s?(?P<name>[a-z_]\w{1,60})=(?P<value>"[^"\n]{0,120}"|'[^'\n]{0,120}'|-?\d[\w.]{0,30}|True|False|None)(?=\s?(?:,|\)|$))"""
)
_ADVISED = later(
    r"(?i)\b(?:please|try|consider|should|could|can|must|may|to use [\w-]{1,30})[, ]{1,3}"
    r"(?:set|use|export)(?:ting|ing)? `?$"
)
"""Words before a setting that somebody is to make."""
_UPPER = later(r"[A-Z0-9]_[A-Z]")
_CALL = later(r"\w\(")
SAMPLES = {
    "Setting CUDA_VISIBLE_DEVICES=0,1": ("setting.set=0,1 (CUDA_VISIBLE_DEVICES)",),
    "UCX_TLS=tcp,UCX_LOG_LEVEL=info": ("setting.set=tcp (UCX_TLS)", "setting.set=info (UCX_LOG_LEVEL)"),
    "--use-hwthread-cpus option.": (),
    "NCCL INFO NCCL_BUFFSIZE set by environment to 1073741824.": ("setting.set=1073741824 (NCCL_BUFFSIZE)",),
    "NCCL INFO NCCL_NET set by environment to AWS Libfabric.": ("setting.set=AWS Libfabric (NCCL_NET)",),
    "NCCL INFO NCCL_IB_DISABLE set by environment to 1": ("setting.set=1 (NCCL_IB_DISABLE)",),
    "Setting OMP_NUM_THREADS environment variable for each process to be 1": (),
    "UCX_TLS=^cma is used with FI_PROVIDER = efa": ("setting.set=^cma (UCX_TLS)", "setting.set=efa (FI_PROVIDER)"),
    "export CUDA_VISIBLE_DEVICES='0,1'": ("setting.set=0,1 (CUDA_VISIBLE_DEVICES)",),
    "FI_EFA_USE_DEVICE_RDMA: 1": ("setting.set=1 (FI_EFA_USE_DEVICE_RDMA)",),
    "MASTER_ADDR is set to node-a, MASTER_PORT is 29500": (
        "setting.set=node-a (MASTER_ADDR)",
        "setting.set=29500 (MASTER_PORT)",
    ),
    "+ srun --mem=64G --gpus-per-node 8 python train.py --tp-size 3": (
        "setting.flag=64G (--mem)",
        "setting.flag=8 (--gpus-per-node)",
        "setting.flag=3 (--tp-size)",
    ),
    '    jax.distributed.initialize(coordinator_address="node-a:1234", num_processes=4, process_id=0)': (
        "setting.argument=node-a:1234 (coordinator_address)",
        "setting.argument=4 (num_processes)",
        "setting.argument=0 (process_id)",
    ),
    "    dist.init_process_group(backend='nccl', timeout=timeout)": ("setting.argument=nccl (backend)",),
    "configure OMPI with --enable-orterun-prefix-by-default": (),
    "start it with --verbose to see more": (),
    "tcp has been skipped. To use tcp, please, set FI_PROVIDER=tcp": (),
    "STATUS_CODE == 4, DEADLINE_EXCEEDED: Barrier timed out.": (),
    "HTTP: 200 OK, ERROR: 4": (),
    "ncclSystemError: System call failed; x=1, loss=2.0": (),
}


@extracts("setting")
def extract(text: str) -> Iterator[Found]:
    """Yield settings with their value."""
    if "_" in text and _UPPER.search(text):
        whole = _BY_ENVIRONMENT.search(text)
        for match in (whole,) if whole else _SET.finditer(text):
            if not _ADVISED.search(text, max(0, match.start() - 40), match.start()):
                yield _found("set", match[0], match["name"], match["value"])
    if "--" in text:
        for match in _FLAG.finditer(text):
            yield _found("flag", match[0], match["name"], match["value"])
    if "=" in text and "(" in text and _CALL.search(text):
        for match in _ARGUMENT.finditer(text):
            yield _found("argument", match[0].lstrip("(, "), match["name"], match["value"])


def _found(role: str, said: str, name: str, value: str) -> Found:
    return Found(role, value.strip("\"'").rstrip(".:"), of=name, said=said)
