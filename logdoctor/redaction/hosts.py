"""Host names, found by shape, by context or from the diagnosis."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.pack.regexes import later
from logdoctor.redaction.spans import Span, group_span

_H = r"(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)"
_LABELS = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,10}"
_FQDN = later(rf"(?<![\w.%@-]){_LABELS}(?P<last>[a-z]{{2,11}})(?![\w(-]|\.[\w])")
_CLOUD = later(r"(?<![\w-])ip-\d{1,3}(?:-\d{1,3}){3}(?:\.[a-z0-9-]{1,40}){0,5}(?![\w-])")

CERTAIN = (
    later(rf"(?<![\w.-]){_H}:\d{{1,8}}:\d{{1,8}} \[-?\d{{1,3}}\] "),
    later(rf"^(?:<\d{{1,3}}>)?[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? {_H} [\w./()-]{{1,60}}(?:\[\d+\])?:"),
    later(rf"\b(?:srun|salloc|sbatch|slurmstepd)(?:-[\w.-]+)?: (?:error: )?{_H}: tasks?\b"),
    later(rf"\bslurmstepd-{_H}:"),
    later(rf"\bON {_H} CANCELLED"),
    later(rf"^\[{_H}:\d{{2,8}}\] "),
    later(
        rf"\b(?:SLURMD_NODENAME|HOSTNAME|MASTER_ADDR|MASTER_HOST|NODE_NAME|SLURM_LAUNCH_NODE_NAME"
        rf"|BatchHost)[\"']?\s{{0,3}}[=:]\s{{0,3}}[\"']?{_H}"
    ),
)
"""Patterns whose ``host`` is a host, whatever its shape."""

LIKELY = (
    later(rf"^\d{{4}}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)? {_H} [\w./-]{{1,60}}(?:\[\d+\])?: "),
    later(
        rf"(?i)\b(?:hostname|host|node|nodename|node_?list|peer|server|machine|nodeaddr)(?:[ _](?:name"
        rf"|addr(?:ess)?))?[\"']?\s{{0,8}}[=:]\s{{0,4}}[\"']?{_H}"
    ),
    later(
        rf"\b(?:[Oo]n|[Ff]rom|[Tt]o|[Aa]t|[Oo]f|for) (?:the )?(?:remote )?(?:host|node|machine|hosts"
        rf"|nodes|server|peer) ['\"]?{_H}"
    ),
    later(
        rf"\b(?:Node|Host|node|host) ['\"]?{_H}['\"]? (?:is|has|was|failed|went|not|down|unreachable"
        rf"|rebooted|requeued)\b"
    ),
    later(rf"\(['\"]?{_H}['\"]?, \d{{2,5}}\)"),
    later(rf"(?<![\w.)]) ?\[{_H}\]:\d{{2,5}}\b"),
    later(
        rf"(?i)\b(?:tcp|https?|grpc|hdfs|redis|amqp|postgres(?:ql)?|mysql|mongodb|ssh|nfs|ws|ldaps?"
        rf"|git)://(?:[^/\s@'\"]{{0,200}}@)?{_H}"
    ),
    later(
        rf"(?:connect(?:ed|ing|ion)?|listen(?:ing)?|bind|bound|lost|closed?)(?: back)? (?:to|from|on|at"
        rf"|by|with) (?:remote |peer )?['\"]?{_H}[:<]\d{{2,5}}\b"
    ),
    later(
        rf"(?<![\w.@/+:-])(?!(?:buildd|mockbuild)@)[A-Za-z_][\w-]{{1,31}}@(?!sha\d|md5|v\d|ffff)(?=[A-Za-z]){_H}(?=[:\s'\"),]|$)"
    ),
    later(rf"\bssh: connect to host {_H}|\b(?:ssh|scp|rsync)\b[^\n]{{0,80}}@{_H}"),
)
"""Patterns whose ``host`` is a host if `is_host_shaped`."""

_HOST_OPTION = later(
    r"(?<!\S)(?<!sysctl )--?(?:hosts?|H|w|nodelist|master[_-]addr|rdzv[_-]endpoint)[ =](?P<hosts>[\w.:,\[\]-]{1,2000})"
)
_LIST_ITEM = later(rf"(?<![\w.:\[-]){_H}")

_DOMAINS = frozenset("com org edu gov mil".split())
_AMBIGUOUS_DOMAINS = frozenset(
    "net local internal lan corp intranet cluster localdomain svc cloud io ai dev tech de cn uk fr ch jp kr eu "
    "us ca au nl se fi es pl cz dk ru br tw sg sa ae hk za arpa".split()
)
"""Top-level names that are also words of code, as in ``self.net``.

A host under one of them needs a digit, a hyphen or more than three labels.
"""

PUBLIC = tuple(
    "arxiv.org paperswithcode.com wikipedia.org huggingface.co hf.co github.com githubusercontent.com "
    "gitlab.com pytorch.org nvidia.com wandb.ai googleapis.com docker.io docker.com gcr.io nvcr.io ghcr.io "
    "x-k8s.io vpc.amazonaws.com "
    "quay.io k8s.io kubernetes.io kubeflow.org python.org anaconda.org anaconda.com readthedocs.io openai.com "
    "apache.org kernel.org ubuntu.com debian.org redhat.com schedmd.com open-mpi.org mpich.org openucx.org "
    "google.com stackoverflow.com ray.io lightning.ai deepspeed.ai microsoft.com azure.com amd.com intel.com "
    "openfabrics.org tensorflow.org volcano.sh systemd.io freedesktop.org gnu.org llvm.org apple.com "
    "cloudflare.com mlflow.org comet.com neptune.ai modelscope.cn aliyun.com tuna.tsinghua.edu.cn "
    "aws.amazon.com opensource.org w3.org".split()
)
"""Public services and projects. Their names do not identify a user."""

_NO_HOST = frozenset(
    "localhost localhost.localdomain ipv4 ipv6 node nodes host hosts hostname master worker workers head server client "
    "login peer rank none null unknown info warn warning error debug fatal critical notice trace stdin stdout "
    "stderr all any the a an is was not failed default kernel local remote this self other each every same "
    "address name gpu cpu cuda mpi nccl tcp udp ib eth auto true false and or for with in on at to of".split()
)
_FILE_NAME = later(
    r"(?i)\.(?:py|pyc|log|out|err|sh|so|json|ya?ml|toml|txt|c|cc|cpp|cxx|h|hpp|cu|cuh|rs|go|md|gz|pt"
    r"|pth|bin|safetensors|cfg|conf|ini)(?:\.\d+)*$"
)
_NUMBERED_WORD = later(
    r"[vV]?\d+(?:[.,-]\d+)*|0x[0-9a-fA-F]+|[0-9a-f]{12,}|(?:rank|cuda|step|epoch|device|dev|mlx\d_|ib|eth|eno|ens|bond"
    r"|docker|virbr|veth|cni|flannel|br|port|local_?rank|tid|pid|sm|numa|node_?rank|stage|seq|dp|tp|pp|id|default|slot)"
    r"[_-]?\d+"
)
_NUMBERED_PART = later(r"(?:gpu|cpu|worker|pod|task|group)[_-]?\d+")
"""Names of hosts that may also be parts of a job."""


def find_hosts_by_shape(text: str) -> Iterator[Span]:
    """Yield full names with a domain, and cloud names such as ``ip-10-0-3-7.ec2.internal``."""
    for match in _CLOUD.finditer(text):
        yield group_span(match, "host", match.group())
    if "." not in text:
        return
    for match in _FQDN.finditer(text):
        name, last = match.group(), match["last"]
        labels = name.split(".")
        marked = any(c.isdigit() or c == "-" for c in name)
        fits = last in _DOMAINS or (last in _AMBIGUOUS_DOMAINS and (marked or (len(labels) > 3 and last != "net")))
        if (
            fits
            and not is_public(name)
            and labels[0] not in {"self", "torch", "nn", "model", "module", "os", "np", "logging"}
        ):
            yield group_span(match, "host", name)


def find_hosts_by_context(text: str) -> Iterator[Span]:
    """Yield hosts by the text around them: ``n07`` of ``n07:71:71 [0] NCCL``."""
    for patterns, fits in ((CERTAIN, is_host), (LIKELY, is_host_shaped)):
        for pattern in patterns:
            for match in pattern.finditer(text):
                if fits(match["host"]):
                    yield group_span(match, "host", match["host"], "host")
    for option in _HOST_OPTION.finditer(text):
        for match in _LIST_ITEM.finditer(text, *option.span("hosts")):
            if is_host_shaped(match["host"]):
                yield group_span(match, "host", match["host"], "host")


def is_public(name: str) -> bool:
    """Return True for names of public services, such as ``github.com``."""
    name = name.lower().removeprefix("outof")  # Kubernetes prints OutOfnvidia.com/gpu
    return any(name == public or name.endswith("." + public) for public in PUBLIC)


def is_distinct(name: str) -> bool:
    """Return True if ``name`` identifies a host. Common words such as ``master`` do not."""
    return name.lower() not in _NO_HOST and any(c.isalpha() for c in name)


def is_host(word: str) -> bool:
    """Return True if ``word`` can be a host's name. ``rank3``, ``train.py`` and ``github.com`` cannot."""
    return (
        is_distinct(word) and not is_public(word) and not _NUMBERED_WORD.fullmatch(word) and not _FILE_NAME.search(word)
    )


def is_host_shaped(word: str) -> bool:
    """Return True for ``node07`` and ``gpu-a.example.com``, and False for ``master`` and ``worker-0``."""
    if not is_host(word) or ".." in word or _NUMBERED_PART.fullmatch(word):
        return False
    parts = word.split(".")
    return (
        any(c.isdigit() for c in parts[0])
        if len(parts) == 1
        else any(c.isdigit() or c == "-" for c in word) or parts[-1] in _DOMAINS
    )


_WORD = later(r"(?<![A-Za-z0-9])[A-Za-z0-9](?:[A-Za-z0-9-]{0,100}[A-Za-z0-9])?(?![A-Za-z0-9])")
_LIST = later(r"(?<![\w-])(?P<prefix>[A-Za-z][\w-]{0,60})\[\d[\d,-]{0,400}\](?:-\w{1,20})?")
_MOST_PARTS = 8
_DIGITS = "0123456789"


class KnownHosts:
    """Finder for the hosts of a diagnosis, also with other numbers: ``gpu-b12`` beside ``gpu-b01``."""

    def __init__(self, names: set[str]) -> None:
        short = {name.partition(".")[0].lower() for name in names}
        self._names = {name.lower() for name in names} | {name for name in short if is_host(name)}
        self._families = {
            prefix
            for name in short
            if is_host(name)
            and len(prefix := name.rstrip(_DIGITS)) > 1
            and prefix != name
            and not _NUMBERED_PART.fullmatch(name)
        }

    def __call__(self, text: str) -> Iterator[Span]:
        if not self._names:
            return
        for match in _LIST.finditer(text):
            if match["prefix"].lower() in self._families:
                yield group_span(match, "hosts", match.group())
        for match in _WORD.finditer(text):
            yield from self._find_in_word(match.group(), match.start())

    def _find_in_word(self, word: str, at: int) -> Iterator[Span]:
        """Yield the longest host in ``word``: ``node07`` of ``node07-ib0``."""
        if self._is_known(word):
            yield Span(at, at + len(word), "host", word)
            return
        parts = word.split("-")
        if not 1 < len(parts) <= _MOST_PARTS:
            return
        for size in range(len(parts) - 1, 0, -1):
            for first in range(len(parts) - size + 1):
                piece = "-".join(parts[first : first + size])
                if any(c.isdigit() for c in piece) and self._is_known(piece):
                    start = at + len("-".join(parts[:first])) + (1 if first else 0)
                    yield Span(start, start + len(piece), "host", piece)
                    return

    def _is_known(self, word: str) -> bool:
        word = word.lower()
        return word in self._names or (word[-1:].isdigit() and word.rstrip(_DIGITS) in self._families)
