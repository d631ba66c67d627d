"""Names of machines: by their shape, by what stands beside them, and by what the diagnosis calls a host."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.redaction.found import Found, within
from logdoctor.regexes import later

_H = r"(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)"
_LABELS = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,10}"
_FQDN = later(rf"(?<![\w.%@-]){_LABELS}(?P<last>[a-z]{{2,11}})(?![\w(-]|\.[\w])")
_CLOUD = later(r"(?<![\w-])ip-\d{1,3}(?:-\d{1,3}){3}(?:\.[a-z0-9-]{1,40}){0,5}(?![\w-])")

SURE = (
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
"""Beside these stands the name of a host, whatever it looks like."""

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
"""Beside these stands a host if it looks like one."""

_HOST_OPTION = later(
    r"(?<!\S)(?<!sysctl )--?(?:hosts?|H|w|nodelist|master[_-]addr|rdzv[_-]endpoint)[ =](?P<hosts>[\w.:,\[\]-]{1,2000})"
)
_ONE_OF_LIST = later(rf"(?<![\w.:\[-]){_H}")

_DOMAINS = frozenset("com org edu gov mil".split())
_INNER = frozenset(
    "net local internal lan corp intranet cluster localdomain svc cloud io ai dev tech de cn uk fr ch jp kr eu "
    "us ca au nl se fi es pl cz dk ru br tw sg sa ae hk za arpa".split()
)
"""Last names that are words elsewhere too (``self.net``): a host needs a number, a hyphen or three names then."""

PUBLIC = tuple(
    "arxiv.org paperswithcode.com wikipedia.org huggingface.co hf.co github.com githubusercontent.com "
    "gitlab.com pytorch.org nvidia.com wandb.ai googleapis.com docker.io docker.com gcr.io nvcr.io ghcr.io "
    "quay.io k8s.io kubernetes.io kubeflow.org python.org anaconda.org anaconda.com readthedocs.io openai.com "
    "apache.org kernel.org ubuntu.com debian.org redhat.com schedmd.com open-mpi.org mpich.org openucx.org "
    "google.com stackoverflow.com ray.io lightning.ai deepspeed.ai microsoft.com azure.com amd.com intel.com "
    "openfabrics.org tensorflow.org volcano.sh systemd.io freedesktop.org gnu.org llvm.org apple.com "
    "cloudflare.com mlflow.org comet.com neptune.ai modelscope.cn aliyun.com tuna.tsinghua.edu.cn "
    "aws.amazon.com opensource.org w3.org".split()
)
"""Services and projects that everybody uses."""

_NO_HOST = frozenset(
    "localhost localhost.localdomain ipv4 ipv6 node nodes host hosts hostname master worker workers head server client "
    "login peer rank none null unknown info warn warning error debug fatal critical notice trace stdin stdout "
    "stderr all any the a an is was not failed default kernel local remote this self other each every same "
    "address name gpu cpu cuda mpi nccl tcp udp ib eth auto true false and or for with in on at to of".split()
)
_FILE = later(
    r"(?i)\.(?:py|pyc|log|out|err|sh|so|json|ya?ml|toml|txt|c|cc|cpp|cxx|h|hpp|cu|cuh|rs|go|md|gz|pt"
    r"|pth|bin|safetensors|cfg|conf|ini)(?:\.\d+)*$"
)
_NUMBERS = later(
    r"[vV]?\d+(?:[.,-]\d+)*|0x[0-9a-fA-F]+|[0-9a-f]{12,}|(?:rank|cuda|step|epoch|device|dev|mlx\d_|ib|eth|eno|ens|bond"
    r"|docker|virbr|veth|cni|flannel|br|port|local_?rank|tid|pid|sm|numa|node_?rank|stage|seq|dp|tp|pp|id|default|slot)"
    r"[_-]?\d+"
)
_PARTS = later(r"(?:gpu|cpu|worker|pod|task|group)[_-]?\d+")
"""Hosts are called so, and parts of a host or of a job too."""


def hosts_by_shape(text: str) -> Iterator[Found]:
    """What only a host is called: full names with a domain, and the names that clouds make of addresses."""
    for found in _CLOUD.finditer(text):
        yield within(found, "host", found.group())
    if "." not in text:
        return
    for found in _FQDN.finditer(text):
        name, last = found.group(), found["last"]
        labels = name.split(".")
        telling = any(c.isdigit() or c == "-" for c in name)
        fits = last in _DOMAINS or (last in _INNER and (telling or (len(labels) > 3 and last != "net")))
        if (
            fits
            and not is_public(name)
            and labels[0] not in {"self", "torch", "nn", "model", "module", "os", "np", "logging"}
        ):
            yield within(found, "host", name)


def hosts_by_place(text: str) -> Iterator[Found]:
    """What stands where the name of a host stands."""
    for forms, fits in ((SURE, is_host), (LIKELY, looks_like_a_host)):
        for form in forms:
            for found in form.finditer(text):
                if fits(found["host"]):
                    yield within(found, "host", found["host"], "host")
    for option in _HOST_OPTION.finditer(text):
        for found in _ONE_OF_LIST.finditer(text, *option.span("hosts")):
            if looks_like_a_host(found["host"]):
                yield within(found, "host", found["host"], "host")


def is_public(name: str) -> bool:
    """Whether the name says nothing about whose it is."""
    name = name.lower().removeprefix("outof")  # how Kubernetes says that a resource ran out
    return any(name == known or name.endswith("." + known) for known in PUBLIC)


def is_known_by(name: str) -> bool:
    """Whether a host that is surely called ``name`` is known by it."""
    return name.lower() not in _NO_HOST and any(c.isalpha() for c in name)


def is_host(word: str) -> bool:
    """Whether a host can be called so, and is known by it."""
    return is_known_by(word) and not is_public(word) and not _NUMBERS.fullmatch(word) and not _FILE.search(word)


def looks_like_a_host(word: str) -> bool:
    """Whether it looks like one even in a place where other things may stand."""
    if not is_host(word) or ".." in word or _PARTS.fullmatch(word):
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
    """The hosts that a diagnosis names, and those that are called like them but for the number."""

    def __init__(self, names: set[str]) -> None:
        """Whole names in lower case; of a name with a domain also its first part."""
        short = {name.partition(".")[0].lower() for name in names}
        self._names = {name.lower() for name in names} | {name for name in short if is_host(name)}
        self._families = {
            prefix
            for name in short
            if is_host(name)
            and len(prefix := name.rstrip(_DIGITS)) > 1
            and prefix != name
            and not _PARTS.fullmatch(name)
        }

    def __call__(self, text: str) -> Iterator[Found]:
        """Where ``text`` names one of them."""
        if not self._names:
            return
        for found in _LIST.finditer(text):
            if found["prefix"].lower() in self._families:
                yield within(found, "hosts", found.group())
        for found in _WORD.finditer(text):
            yield from self._within(found.group(), found.start())

    def _within(self, word: str, at: int) -> Iterator[Found]:
        """The word itself, or the longest stretch between its hyphens that is a host: ``node07-ib0``."""
        if self._is_one(word):
            yield Found(at, at + len(word), "host", word)
            return
        parts = word.split("-")
        if not 1 < len(parts) <= _MOST_PARTS:
            return
        for size in range(len(parts) - 1, 0, -1):
            for first in range(len(parts) - size + 1):
                piece = "-".join(parts[first : first + size])
                if any(c.isdigit() for c in piece) and self._is_one(piece):
                    start = at + len("-".join(parts[:first])) + (1 if first else 0)
                    yield Found(start, start + len(piece), "host", piece)
                    return

    def _is_one(self, word: str) -> bool:
        word = word.lower()
        return word in self._names or (word[-1:].isdigit() and word.rstrip(_DIGITS) in self._families)
