"""Warnings after which NCCL, RCCL and their plugins go on.

Sources: NCCL 2.3.5 to 2.30.7, RCCL 2.18 to 2.27, aws-ofi-nccl 1.1 to 1.21: each message was read where it is printed.
"""

from __future__ import annotations

from logdoctor.pack.regexes import later

_HARMLESS = (
    r"Missing \S+ from (?:kernel command line|environment which can lead)",
    r"NUMA (?:auto )?balancing",
    r"GID table change",
    r"[nN]on-fatal async event(?!: port error)",
    r"async (?:error )?event ?: ?(?:port active|client reregistration|GID table|LID change|SM change|P_Key table)",
    r"async (?:error )?event ?: ?(?:communication established|last WQE reached|path migrated|SRQ limit)",
    r"nvmlDevice(?:Set|Clear)CpuAffinity\(\) failed",
    r"Cannot initialize CollNet, using",
    r"No NVML device handle\. Skipping",
    r"Could not find real path of",
    r"/Plugin ?:? [^\n]{0,40}?(?:[Cc]ould not find|Failed to find|No plugin found|not supported|dlopen|symbol)",
    r"lib\w+-\w+\.so\S*: cannot open shared object file",
    r"\bACS (?:is )?(?:enabled|redirect)",
    r"IOMMU (?:is )?enabled",
    r"Could not open kernel conf",
    r"SHARP coll init error",
    r"NET/OFI Attempt to call \w+_close\w* with outstanding requests|Turning off TX zero copy",
    r"NET/OFI (?:CUDA flush enabled|Closing (?:send|recv)_comm \S+ with inflight|Could not capture a CUDA context)",
    r"NET/OFI [^\n]{0,40}(?:Failed to close \w+|was already closed|freelist: there are \d+ in-use)",
    r"NET/OFI (?:MR cache destroyed while|Cannot (?:register|aggregate|print) histogram)",
    r"NET/OFI (?:\d+ \w+(?: \w+)? still (?:active|open)|AWS platform priority|[^\n]{0,40}leaking key)",
    r"NET/OFI No eligible providers were found",  # for its first protocol; if no protocol fits, another line says so
    r"NET/OFI [^\n]{0,80}Not configuring NCCL_TUNER|NET/OFI Could not find \w+ symbol",
    r"Cannot get incoming CPU|Maximum retry reached for (?:accept|connect) \d",
    r"failure (?:\d+ )?'(?:CUDA )?driver shutting down'",
    r"\b[fF]alling (?:back|to)\b|\busing [^\n]{1,60} instead\b|\b(?:is|be|being) ignored\b|\b[iI]gnoring\b",
    r"^(?!MemManager)[^\n]*\b[sS]kipping\b",
    # values that NCCL corrects
    r"\b(?:[lL]imiting(?: it| value)?|setting(?: it| NCCL_\w+)?|cap it|set (?:it|both)|defaulting) to \w",
    r"Unsetting POLICY_\w+",
    r"Invalid NCCL_\w*NTHREADS \d|\busing default$|\blimit reached$",
    # parts that NCCL does without
    r"[dD]isabling (?:CollNet|other rings|MSCCL|clique-based)|, disabling\.$|\bContinue(?:\.$| without)|not using it$",
    r"\bnot dumping\b|NPKIT_DUMP_DIR is empty|NPKit currently does not|rocprofiler-register failed|as fallback$",
    r"Could not open XML topology file|No NVML, trying|Failed to open libgdrapi|dlvsym failed on",
    r"CollNet currently only supports|fails to share parent comms",
    r"Failed to find CUDA library (?:in )?\S{0,120} \(NCCL_CUDA_PATH=",  # the CUDA runtime loads libcuda.so.1 itself
    r"^Failed to load (?:CUDA|ROCr) missing symbol|^(?:CUDA|ROCr) Driver version found is|PFN functions not found in",
    r"^Retrieve cu\w+ (?:version \d+ )?failed|^(?:cuDriverGetVersion|pfn_hsa_system_get_info) failed with",
    r"^Failed to find ROCm runtime|^Could not read node # \d+$",  # nodes of GPUs that a container does not get
    r"MSCCL Internal Scheduler: (?:Unable to find|open) algo",
    r"MSCCL\+\+: (?:Cannot enable|Feature not enabled)|PCI relaxed order memory access requested",
    r"cuMem support requires VMM",
    r"^NET/IB ?: No device found|failed to (?:IPC|NET|NVLS|CollNet) register (?:user|send|recv) ?buff",
    r"^Empty sink for dataset|^Failed to create scuba file|^Could not find table name",  # NCCLX: its statistics
    r"CC On, Multi-GPU CC Off|unknown event type|Encountered a stale CQE|Duplicate registration for key",
    r"\(shim\) mismatch recommended: |^No NCCL_TUNER_CONFIG_PATH provided|^Call to ibv_query_port_speed failed",
    r"marked as failed\. Initiating recovery\?|outstanding recovery operations on|^NET/IB: Resiliency is enabled",
    r"\bdeprecated\b|\bis not recommended\b|\bmay (?:impact|affect|reduce|degrade)\b|\bcan lead to variability\b",
)
"""Advice about the system, announced fallbacks, changes of a port that lose nothing. NCCL goes on after each."""

_HARMLESS_MESSAGE = later("|".join(_HARMLESS))
_MAX_SEARCHED = 400
"""Characters that are searched. The words of `_HARMLESS` stand at the start of a message."""


def is_harmless(message: str) -> bool:
    """Return True if NCCL goes on after this warning. Only the start of ``message`` is searched."""
    return _HARMLESS_MESSAGE.search(message[:_MAX_SEARCHED]) is not None
