"""Codes of drivers, libraries and the system that stand in a catalogue of `logdoctor.codes`."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.codes import catalogue
from logdoctor.examination.extractors import Found, extracts
from logdoctor.model.numbers import code_number
from logdoctor.pack.regexes import later

_CODES = {
    "cuda": later(
        r"""(?x)\b(?i:cuda(?:[ ](?:driver|runtime|API))?
          [ ](?:error|failure|code)(?:[ ](?:code|number))?[ ]?[:=]?[ ]?\(?)(?P<code>\d{1,3})(?![\w.])
        |\b(?P<code>CUDA_ERROR_\w{3,50}|cudaError[A-Z]\w{2,50})\b
        |\bcu(?:da)?[A-Z]\w{2,40}(?:\([^()\n]{0,80}\))?[ ](?:failed[ ]with[ ](?:error[ ])?
        |returned[ ](?:error[ ])?)(?P<code>\d{1,3})(?![\w.])"""
    ),
    "errno": later(
        r"""(?x)\berrno(?:[ ]?[:=][ ]?|[ ])(?P<code>-?\d{1,3})(?![\w.])
          |\[Errno[ ](?P<code>\d{1,3})\]|\bcode:[ ](?P<code>-\d{1,3}),[ ]name:
        |(?P<bracket>[ ]?[(\[])(?P<code>-?\d{1,3})[)\]]"""
    ),
    "xid": later(r"(?<!S)\bXid(?: ?\(PCI:[^)\n]{1,40}\))?:? (?P<code>\d{1,3})\b"),
    "sxid": later(r"\bSXid(?: ?\(PCI:[^)\n]{1,40}\))?:? (?P<code>\d{4,6})\b"),
    "nccl-result": later(
        r"\b(?P<code>nccl(?:UnhandledCudaError|SystemError|InternalError|Invalid\w{4,20}|RemoteError|Timeout))\b"
    ),
    "ib-status": later(
        r"\bstatus=(?:IBV_WC_\w{3,40}\()?(?P<code>\d{1,2})\b(?=\)? opcode)|\bGot completion with error "
        r"(?P<code>\d{1,2})\b"
    ),
    "ib-vendor": later(
        r"\bvendor[ _]err(?:or)?[ =](?P<code>\d{1,3}|0x[0-9a-fA-F]{1,2})\b|\bvend (?P<code>0x[0-9a-fA-F]{1,2})\b"
    ),
    "libfabric": later(r"\b(?P<code>FI_E[A-Z]{2,20})\b"),
    "efa": later(r"\bprov_errno:? ?(?P<code>\d{1,5})\b"),
    "cann": later(
        r"\b(?P<code>E[EIJL]\d{4})\b|\b(?i:error|code|ret|retcode|result)\w{0,8}[ :=]{1,3}(?P<code>[15]07\d{3}"
        r"|2070\d\d)\b"
    ),
    "slurm-reason": later(r"\bReason=(?P<code>[A-Z]\w{3,50})\b"),
    "kubernetes": later(
        r"\b(?P<code>OOMKilled|CrashLoopBackOff|ImagePullBackOff|ErrImagePull|InvalidImageName"
        r"|CreateContainerConfigError)\b"
    ),
}
"""The catalogue of each sort of code, and how programs print it."""
_HINTS = {
    "cuda": ("cu", "CU", "Cu"),
    "errno": ("rrno", ")", "]", "code:"),
    "xid": ("Xid",),
    "sxid": ("SXid",),
    "nccl-result": ("nccl",),
    "ib-status": ("status=", "completion"),
    "ib-vendor": ("vend",),
    "libfabric": ("FI_E",),
    "efa": ("prov_errno",),
    "cann": ("EI", "EJ", "EL", "EE", "07"),
    "slurm-reason": ("Reason=",),
    "kubernetes": ("OOMKilled", "Crash", "ImagePull", "InvalidImage", "CreateContainer"),
}
"""For each catalogue: a line without any of these holds none of its codes."""
SAMPLES = {
    "Cuda driver error 999 in call at file '/build/lib/gpu/device.h' in line 214.": ("code.told=999 (cuda)",),
    "CUDA error 804: forward compatibility was attempted on non supported HW": ("code.told=804 (cuda)",),
    "cuInit failed with error 803; CUDA_ERROR_SYSTEM_NOT_READY": ("code.told=803 (cuda)", "code.told=802 (cuda)"),
    "Read -1, expected 65536, errno = 1": ("code.told=1 (errno)",),
    "OSError: [Errno 28] No space left on device": ("code.told=28 (errno)",),
    "  Error: Function not implemented (38)": ("code.told=38 (errno)",),
    "UCX ERROR bind failed: Address already in use [98]": ("code.told=98 (errno)",),
    "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.": ("code.told=79 (xid)",),
    "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 22013, Fatal": ("code.told=22013 (sxid)",),
    "ncclSystemError: System call (e.g. socket, malloc) failed": ("code.told=2 (nccl-result)",),
    "from peer 10.0.0.2<3> with status=12 opcode=0 len=0 vendor err 129 (Recv)": (
        "code.told=12 (ib-status)",
        "code.told=129 (ib-vendor)",
    ),
    "EL0004: Failed to allocate memory.": ("code.told=EL0004 (cann)",),
    "acl error code: 507015": ("code.told=507015 (cann)",),
    "JobId=5 JobState=PENDING Reason=QOSMaxGRESPerUser": ("code.told=QOSMaxGRESPerUser (slurm-reason)",),
    "Last State: Terminated, Reason: OOMKilled": ("code.told=OOMKilled (kubernetes)",),
    "Connection refused (104), Loss at step (12)": (),
    "error 42 in line 999": (),
    "World size (8) is fine": (),
    "cuda 12 errors 3": (),
}


@extracts(
    "code",
    "cuda errno xid sxid ncclsystemerror ncclunhandledcudaerror ncclinternalerror ncclinvalidargument "
    "ncclinvalidusage ncclremoteerror"
    " nccltimeout status vendor vend fi prov el ei ee ej acl reason oomkilled crashloopbackoff imagepullbackoff "
    "errimagepull error failed"
    " invalidimagename createcontainerconfigerror cuinit code ret retcode result",
)
def extract(text: str) -> Iterator[Found]:
    """Yield codes that have an entry. A number in brackets counts only behind the text of its own entry."""
    asked = [name for name, hints in _HINTS.items() if any(hint in text for hint in hints)]
    for name in asked:
        for match in _CODES[name].finditer(text):
            entry = catalogue(name).find(match["code"])
            if entry is None or entry.code == "0":
                continue
            said = match[0].strip()
            if match.groupdict().get("bracket"):
                words = _words_before(text[: match.start()], match["code"])
                if not words:
                    continue
                said = text[match.start() - len(words) : match.end()]
            number = code_number(entry.code.lstrip("-"))
            yield Found("told", entry.code if number is None else number, of=name, said=said)


def _words_before(text: str, errno: str) -> str:
    """Return the text of the system for ``errno`` if ``text`` ends with it, else ""."""
    entry = catalogue("errno").find(errno.lstrip("-"))
    says = catalogue("errno").texts(entry) if entry else ()
    return next((words for words in says if text.lower().endswith(words.lower())), "")
