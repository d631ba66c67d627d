"""Names of things that were not found or not known, of those that exist, and of the call that failed."""

from __future__ import annotations

from collections.abc import Iterator
from re import Match

from logdoctor.examination.extractors import Found, extracts
from logdoctor.pack.regexes import later

_Q = r"[`'\"‘“]"
_END = r"['\"’”]"
_WORD = r"-{0,2}[\w$@][\w.$@/*:+-]{0,120}"
_NAME = rf"(?:{_Q}(?P<quoted>[^'\"`\n]{{1,120}}){_END}|(?P<bare>{_WORD}))"
_QUOTED = rf"{_Q}(?P<quoted>[^'\"`\n]{{1,120}}){_END}"
_SORT = (
    r"(?P<of>(?:network[ ]|fabric[ ]|output[ ]|IB[ ]|HCA[ ]|keyword[ ]|command[ ]|shared[ ]|python[ ]|data[ ])?"
    r"(?:interface|device|plugin|module|symbol|option|command|argument|attribute|key|parameter|provider|component"
    r"|transport|package|library"
    r"|backend|model|partition|account|queue|host|node|file|function|field|flag|variable|port|class|operator"
    r"|kernel|type|choice|image|user"
    r"|dataset|column|layer|resource|subcommand|nic|adapter|service|constraint|feature|license|reservation|qos"
    r"|gres|program|executable))s?"
)
_WANTED = tuple(
    (tuple(hints.split("|")), later(rf"(?ix){pattern}"))
    for hints, pattern in (
        (
            "missing",
            rf"\bmissing[ ]\d{{1,3}}[ ]required[ ](?:positional|keyword-only)[ ](?P<of>argument)s?:[ ]{_QUOTED}",
        ),
        (
            "keyword argument",
            rf"\b(?:unexpected|invalid)[ ]keyword[ ](?P<of>argument):?[ ]{_QUOTED}",
        ),
        (
            "has no ",
            rf"\bhas[ ]no[ ](?P<of>attribute|method|member|field)[ ]{_QUOTED}",
        ),
        (
            "undefined ",
            rf"\bundefined[ ](?P<of>symbol|reference)(?:[ ]to)?:?[ ]{_NAME}",
        ),
        (
            "no module|no package|import name",
            rf"\b(?:no[ ](?P<of>module|package)[ ]named|cannot[ ]import[ ]name)[ ]{_NAME}",
        ),
        (
            "name ",
            rf"\bname[ ]{_QUOTED}[ ]is[ ]not[ ](?:defined|found|known)\b",
        ),
        (
            "command not found",
            rf"(?P<bare>(?<![\w./]){_WORD}):[ ](?P<of>command)[ ]not[ ]found\b",
        ),
        (
            "no such",
            rf"\bno[ ]such[ ]{_SORT}(?:[ ]found)?:[ ]{_NAME}",
        ),
        (
            "unknown|unrecogni|invalid|illegal|unsupported|nonexistent|undefined|bad",
            (
                rf"\b(?:unknown|unrecognized|unrecognised|invalid|illegal|unsupported|nonexistent|undefined"
                rf"|bad)[ ]{_SORT}(?:[ ](?:name|specified|requested|value))?"
                rf"[ ]?[:=]?[ ]{_NAME}"
            ),
        ),
        (
            "find|locate|load|open|resolve|recogni",
            (
                rf"\b(?:could[ ]?n[o']t|could[ ]not|can(?:not|'t)|unable[ ]to|failed[ ]to|did[ ]not|does[ ]not)[ ]"
                rf"(?:find|locate|load|open|resolve|recogni[sz]e|dlopen)[ ]"
                rf"(?:the[ ]|a[ ]|an[ ]|any[ ]|suitable[ ]|specified[ ]|requested[ ]|named[ ]"
                rf"){{0,3}}(?:\w{{1,20}}[ ])?{_SORT}(?:[ ](?:name|named|called|for|with[ ]name)){{0,3}}:?[ ]{_NAME}"
            ),
        ),
        (
            "could not find '",
            r"\bcould[ ]not[ ]find[ ]'(?P<quoted>[\w-][\w.@-]{0,60}(?:/[\w.@-]{1,60}){1,4})'",
        ),
        (
            "not |n't",
            (
                rf"\b{_SORT}[ ](?:named[ ]|called[ ])?{_QUOTED}[ ](?:was[ ]|is[ ]|were[ ]|could[ ]|does[ ]|has[ ]"
                rf"|did[ ])?(?:not|n't)[ ]"
                rf"(?:be[ ])?(?:found|exist|available|known|supported|recogni[sz]ed|present|valid|loaded|defined"
                rf"|installed)\b"
            ),
        ),
        (
            "not ",
            (
                rf"\b{_SORT}[ ](?P<bare>{_WORD})[ ](?:was[ ]|is[ ]|does[ ]|could[ ])?not[ ](?:be[ ])?(?:found"
                rf"|exist|available|recogni[sz]ed|installed)\b"
            ),
        ),
        (
            "not found:|missing:|available:",
            rf"\b{_SORT}[ ](?:not[ ]found|missing|not[ ]available|unavailable):[ ]{_NAME}",
        ),
        (
            "keyerror",
            rf"\bKeyError:[ ]{_QUOTED}",
        ),
        (
            "not ",
            (
                rf"{_QUOTED}[ ](?:is[ ]not[ ](?:a[ ](?:valid|known|supported)|valid|known|in[ ](?:list|the))"
                rf"|not[ ]found|does[ ]not[ ]exist|is[ ]not[ ]available)"
            ),
        ),
        (
            "classnotfound|noclassdef",
            rf"\b(?:ClassNotFoundException|NoClassDefFoundError):[ ](?P<bare>{_WORD})",
        ),
        (
            "match|found",
            (
                rf"\b(?:no|none[ ]of[ ]the)[ ]{_SORT}[ ](?:matching|match(?:es)?|found[ ](?:with[ ]name|for"
                rf"|named))[ ]{_NAME}"
            ),
        ),
        (
            "unable to locate",
            rf"\bUnable[ ]to[ ]locate[ ](?:a[ ])?(?P<of>Java[ ]Runtime|package)[ ]{_NAME}",
        ),
    )
)
_NEAREST = later(rf"(?i)\b(?:did|do) you mean:? ?(?:to (?:use|set|call) )?{_Q}?(?P<name>{_WORD}){_END}?")
_EXISTING = later(
    r"""(?ix)\b(?:(?:available|existing|valid|supported|known|possible|allowed|registered
      |detected|visible)\b[^:\n]{0,40}?(?:[ ]are:?|[ ]is:?|:)
    |(?:choose|chosen|select|one|pick)[ ](?:from|of|one[ ]of):?|(?:must|should)[ ]be[ ](?:one[ ]of|in):?)[ ]?
    (?P<names>[(\[{]?['"`]?[A-Za-z_$][\w.$/*-]{0,60}['"`]?(?:(?:,[ ]?|[ ]or[ ]|[ ]and[ ]|,[ ]or[ ]|,[ ]and[ ]
      |[ ]?\|[ ]?)['"`]?[A-Za-z_$][\w.$/*-]{0,60}['"`]?){1,40})(?![\w ]*:)"""
)
_PART = later(r"[A-Za-z_$][\w.$/*-]*[\w$*]|[A-Za-z_$]")
_JOINT = frozenset({"and", "or"})
_CALL = later(
    r"""(?ix)
    \bcall[ ]to[ ](?P<name>[a-z_]\w{1,60})(?:\(\))?[ ](?:failed|returned|timed)
    |\b(?:library|system|API|runtime|driver)[ ]call[ ]\(?(?P<name>[a-z]\w*_\w{1,60}|(?<=\()\w{2,60})\)?
    |\b(?P<name>[a-z_]\w{1,60})\([^()\n]{0,160}\)[ ]?(?::[ ])?(?:failed|returned[ ](?:error|-\d))
    |\b(?P<name>(?:fi|ibv|cu|cuda|nccl|ucp|ucs|uct|rdma|gdr|nvml|hip|rccl|MPI|PMIx?|shm|mem|rt|acl
    |hccl)_?\w{2,60})(?:[ ]execute)?[ ](?:failed|returned[ ]error)
    """
)
_NO_NAMES = frozenset(
    "the a an to of in on at for and or is was not file that this which it with by from as any all your argument "
    "arguments"
    " specified given found error or name value".split()
)
"""Words that may stand behind such a phrase and are no name."""
SAMPLES = {
    "In 'train': Could not find 'optim/adamq'": ("name.wanted=optim/adamq",),
    "Could not find '/data/set' on this host": (),
    "TypeError: encode() missing 1 required positional argument: 'layout'": ("name.wanted=layout (argument)",),
    "TypeError: save() got an unexpected keyword argument 'fmt'": ("name.wanted=fmt (argument)",),
    "AttributeError: module 'torch.x' has no attribute 'shard'": ("name.wanted=shard (attribute)",),
    "ImportError: /opt/t.so: undefined symbol: ncclCommWindowRegister": (
        "name.wanted=ncclCommWindowRegister (symbol)",
    ),
    "ModuleNotFoundError: No module named 'apex.norm'": ("name.wanted=apex.norm (module)",),
    "ImportError: cannot import name 'Shard' from 'ckpt.io'": ("name.wanted=Shard",),
    "NameError: name 'rnak' is not defined. Did you mean: 'rank'?": ("name.wanted=rnak", "name.nearest=rank"),
    "/var/spool/script: line 14: tourchrun: command not found": ("name.wanted=tourchrun (command)",),
    "KeyError: 'optimizer.state'": ("name.wanted=optimizer.state",),
    "no such device: bond1": ("name.wanted=bond1 (device)",),
    "train.py: error: unrecognized arguments: --tensor-paralel": ("name.wanted=--tensor-paralel (argument)",),
    "unknown option '--nperf'": ("name.wanted=--nperf (option)",),
    "error: Couldn't find the specified plugin name for proctrack/cgroup looking at all files": (
        "name.wanted=proctrack/cgroup (plugin)",
    ),
    "error: cannot find auth plugin for auth/munge": ("name.wanted=auth/munge (plugin)",),
    "error: invalid partition specified: gpu-long": ("name.wanted=gpu-long (partition)",),
    "RuntimeError: Invalid backend: 'ncll', choose from gloo, nccl, mpi": (
        "name.wanted=ncll (backend)",
        "name.existing=gloo,nccl,mpi",
    ),
    "Unknown interface: bond1; available interfaces: ens3, ib1": (
        "name.wanted=bond1 (interface)",
        "name.existing=ens3,ib1",
    ),
    "error: argument --dtype: invalid choice: 'fp61' (choose from 'fp16', 'bf16')": (
        "name.wanted=fp61 (choice)",
        "name.existing=fp16,bf16",
    ),
    "Open MPI failed an OFI Libfabric library call (fi_domain).  This is highly": ("name.component=fi_domain",),
    "NCCL WARN Call to ibv_reg_dmabuf_mr failed with error Cannot allocate memory": (
        "name.component=ibv_reg_dmabuf_mr",
    ),
    "UCX  ERROR open(file_name=/proc/702/fd/33 flags=0x0) failed: No such file or directory": ("name.component=open",),
    "rtMalloc execute failed, reason=[driver error:out of memory]": ("name.component=rtMalloc",),
    "Error: ucp_ep_create(proc=1) failed: Shared memory error": ("name.component=ucp_ep_create",),
    "java.lang.ClassNotFoundException: org.rapids.Plugin": ("name.wanted=org.rapids.Plugin",),
    "cannot find the end of the header": (),
    "no such file or directory": (),
    "module loaded, option set, key 'a' found": (),
    "the device is available: yes": (),
    "train.py failed (exit 1)": (),
}


@extracts(
    "name",
    "missing unexpected invalid no undefined import not unknown unrecognized unrecognised illegal unsupported "
    "nonexistent bad cannot"
    " couldn unable keyerror classnotfoundexception noclassdeffounderror none find",
)
def extract_wanted(text: str) -> Iterator[Found]:
    """Yield the name of what was not found, not known or not given."""
    low = text.lower()
    for hints, pattern in _WANTED:
        found = pattern.search(text) if any(hint in low for hint in hints) else None
        if found:
            groups = found.groupdict()
            name = groups.get("quoted") or groups.get("bare") or ""
            name = name if groups.get("quoted") else name.rstrip(".:,/")
            if name and name.lower() not in _NO_NAMES and not ({"invalid", "find"} & {*hints} and _is_prose(found)):
                yield Found("wanted", name, of=(groups.get("of") or "").lower(), said=found[0])
                return


def _is_prose(found: Match[str]) -> bool:
    """Return whether a bare name is an everyday word that no colon sets apart: "invalid device ordinal"."""
    name, start = found["bare"], found.start("bare")
    return bool(name and name.isalpha()) and found.string[start - 2 : start].strip() not in (":", "=")


@extracts(
    "name",
    "available existing valid supported known possible allowed registered detected visible choose chosen select "
    "one pick must mean",
)
def extract_existing(text: str) -> Iterator[Found]:
    """Yield the names that exist, and the one that the program takes for the nearest."""
    nearest = _NEAREST.search(text)
    if nearest:
        yield Found("nearest", nearest["name"].rstrip(".?"), said=nearest[0])
    existing = _EXISTING.search(text)
    if existing:
        names = tuple(name for name in _PART.findall(existing["names"]) if name not in _JOINT)
        yield Found("existing", names, said=existing[0])


@extracts("name", "failed returned call")
def extract_component(text: str) -> Iterator[Found]:
    """Yield the function whose call failed."""
    found = _CALL.search(text)
    if found:
        yield Found("component", found["name"], said=found[0])
