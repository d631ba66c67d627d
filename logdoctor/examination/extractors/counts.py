"""Counts: what was expected and what came, what was wanted and what exists; shapes of tensors."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.examination.extractors import Found, extracts
from logdoctor.pack.regexes import later

_N = r"(?<![\w.])-?\d{1,15}(?![\w%]|[.:]\d|[ ]?(?:[KMGTkmgt]i?B|bytes|ms|s|sec|seconds|minutes)\b)"
_GAP = r"[^\d\n]{0,40}?"
_THINGS = (
    r"(?:MPI[ ]|available[ ]|worker[ ]|compute[ ]|total[ ]|local[ ]|free[ ]|idle[ ]|more[ ])?"
    r"(?:ranks?|tasks?|nodes?|processes|procs|workers?|slots?|GPUs?|gpus?|hosts?|daemons?|devices?|members?|pods?"
    r"|replicas?|executors?"
    r"|participants?|peers?|CPUs?|cpus?|cores?|processors?|threads|NICs?|HCAs?|ports|sockets|keys|tokens|elements"
    r"|columns|fields"
    r"|arguments|experts|layers|heads|stages|clients?|servers?|agents?|machines|instances|licenses)\b"
)
_GOT = r"(?:got|received|read|found|was given|given|actual(?:ly)?|returned|saw|have|has)"
_SHORT = r"[^\d\n]{0,40}?"
_PAIRS = tuple(
    (tuple(hints.split("|")), later(rf"(?ix){pattern}"))
    for hints, pattern in (
        (
            "expect",
            rf"\bexpect(?:ed|s|ing)?\b {_GAP} (?P<expected>{_N}) {_SHORT} \b{_GOT}\b {_GAP} (?P<got>{_N})",
        ),
        (
            "expect|instead|should be",
            (
                rf"\b{_GOT}\b {_GAP} (?P<got>{_N}) {_SHORT} \b(?:expect(?:ed|s|ing)?|instead\ of|should\ be)\b"
                rf" {_GAP} (?P<expected>{_N})"
            ),
        ),
        (
            "need|require|want|request|asked for",
            (
                rf"\b(?:needs?|needed|requires?|required|wants?|requested|asked\ for)\b {_GAP} (?P<wanted>{_N}) "
                rf"{_SHORT}"
                rf" \b(?:{_GOT}|only|but|available|exist(?:s|ing)?)\b {_GAP} (?P<free>{_N})"
            ),
        ),
        (
            "only",
            (
                rf"\bonly\b {_GAP} (?P<free>{_N}) {_SHORT}"
                rf" \b(?:asked\ for|requested|needed|needs?|required|requires?|wanted)\b {_GAP} (?P<wanted>{_N})"
            ),
        ),
        (
            "maximum",
            (
                rf"\bmaximum\b {_SHORT} \b(?:is|of)\b [ ] (?P<limit>{_N}) [^\d\n]{{0,60}}?"
                rf" \b(?:requested|asked\ for|got|needs?|has)\b {_GAP} (?P<wanted>{_N})"
            ),
        ),
        (
            "index ",
            (
                rf"\bindex\ (?P<got>{_N})\ (?:is\ )?out\ of\ (?:bounds|range)\b [^\n]{{0,60}}?"
                rf" \b(?:size|length|count)\ (?P<limit>{_N})"
            ),
        ),
    )
)
_DIGIT = later(rf"{_N}|\d/\d")
_THING = later(rf" ({_THINGS})")
_OF_ALL = later(rf"(?i)(?<![\w.:/-])(\d{{1,9}}) ?(?:of|out of|/) ?(?:the )?(\d{{1,9}})(?![\w.:/]) ((?:{_THINGS}))")
_ALONE = later(
    rf"""(?ix)
    (?P<wanted>{_N})\ (?P<thing>{_THINGS})\ (?:(?:that|which)\ )?(?:(?:are|is|was|were|be)\ )?(?:requested|needed
      |required|wanted)\b
    |\b(?:requested|request(?:s|ing)?|asked\ for|needs|needed|requires|required
    |wants)\ (?:for\ )?(?:at\ least\ )?(?P<wanted>{_N})\ (?P<thing>{_THINGS})
    |\b(?:only|has|have|are|is|of)\ (?P<free>{_N})\ (?P<thing>{_THINGS})\ (?:(?:are|is|was|were)\ )?(?:available
    |free|visible|idle|detected|left)\b
    |\bonly\ (?P<free>{_N})\ (?P<thing>{_THINGS})
    |\bexpect(?:ed|s|ing)\ (?:at\ least\ |exactly\ )?(?P<expected>{_N})\ (?P<thing>{_THINGS})
    """
)
_NUMBERED = later(r"(?: of size| is)? ?\((\d{1,15})\)")
_NAME_BEFORE = later(r"(?<!\w)[A-Za-z_][\w.-]*(?: [A-Za-z_][\w.-]*)*$")
_COMPARED = later(
    r"(?i)\b(?:must|cannot|not (?:divisible|match|equal|the same)|larger|greater|bigger|less|smaller|more|exceeds?"
    r"|does not|do not|mismatch)\b"
)
_UNEQUAL = later(r"(?<![\w.])(\d{1,15}) (?:vs\.?|!=|≠) (\d{1,15}(?: \* \d{1,15}){0,5})(?![\w.]*\w)")
_SHAPE = later(
    r"torch\.Size\((\[[\d, ]{0,60}\])\)|(?<![\w\])])(\[\d{1,9}(?:, ?\d{1,9}){1,7}\]|\(\d{1,9}(?:, ?\d{1,9}){1,7}\))"
)
_MATRICES = later(r"\b(\w{1,20}) and (\w{1,20}) shapes cannot be multiplied \((\d+x\d+) and (\d+x\d+)\)")
_PARAMETER = later(r"size mismatch for ([\w.]{1,120})")
_LEADING_WORDS = later(
    r"(?i)^(?:(?:the|of|by|than|number|is|a|an|and|but|be|in|with|must|to|match|not|divisible|larger|greater|less"
    r"|equal)\b ?)+"
)
_OF_AVAILABLE = later(r"(?i)\b(?:available|visible|free|existing)\b")
_OF_LIMIT = later(r"(?i)\b(?:max|maximum|limit|allowed|at most)\b")
_PROGRESS = later(r"(?i)\b(?:step|epoch|iter(?:ation)?|batch|page|part|line|attempt|retry|try)s?\b")
SAMPLES = {
    "world size mismatch: expected 4, got 3": ("count.expected=4", "count.got=3"),
    "the job needs 4 GPUs, found 2": ("count.wanted=4 (GPUs)", "count.free=2"),
    "Read -1, expected 65536, errno = 1": ("count.got=-1", "count.expected=65536"),
    "Timed out: 8 of 16 ranks joined": ("count.n of m=8,16 (ranks)",),
    "0/8 nodes are available: 3 Insufficient nvidia.com/gpu.": ("count.n of m=0,8 (nodes)",),
    "There are not enough slots available in the system to satisfy the 16 slots that were requested by the "
    "application:": ("count.wanted=16 (slots)",),
    "srun: error: Only allocated 2 nodes asked for 4": ("count.free=2 (nodes)", "count.wanted=4"),
    "Requested 8 GPUs but only 4 are available": ("count.wanted=8 (GPUs)", "count.free=4"),
    "World size (8) is larger than the number of available GPUs (4) in this node.": (
        "count.wanted=8 (World size)",
        "count.free=4 (available GPUs)",
    ),
    "Total number of attention heads (40) must be divisible by tensor parallel size (3).": (
        "count=40 (Total number of attention heads)",
        "count=3 (tensor parallel size)",
    ),
    "The size of tensor a (4) must match the size of tensor b (5) at non-singleton dimension 1": (
        "count=4 (size of tensor a)",
        "count=5 (size of tensor b)",
    ),
    "train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size 32 != 4 * 2 * 2": (
        "count=32 != 4 * 2 * 2",
    ),
    "size mismatch for head.weight: copying a param with shape torch.Size([50257, 64]) from checkpoint, the shape "
    "in current "
    "model is torch.Size([50304, 64]).": (
        "count.got=[50257, 64] (head.weight)",
        "count.expected=[50304, 64] (head.weight)",
    ),
    "mat1 and mat2 shapes cannot be multiplied (4x512 and 256x10)": ("count=4x512 (mat1)", "count=256x10 (mat2)"),
    "operands could not be broadcast together with shapes (3, 4) and (5, 4)": ("count=(3, 4)", "count=(5, 4)"),
    "index 9 is out of bounds for dimension 0 with size 8": ("count.got=9", "count.limit=8"),
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens": (
        "count.limit=4096 (tokens)",
        "count.wanted=5000 (tokens)",
    ),
    "forward() takes 2 positional arguments but 3 were given": (),
    "manifest-2.json has version 3, this reader needs 4": (),
    "step 8 of 16": (),
    "Loading checkpoint shards: 2/4": (),
    "got 3.5, expected 4.5": (),
    "killed (9) by signal (15)": (),
    "found 4 GPUs": (),
}


@extracts(
    "count",
    "expected expects expecting instead need needs needed require required requires request requests requested "
    "requesting asked only nodes"
    " wants maximum index ranks tasks processes workers slots gpus daemons members pods replicas executors "
    "participants peers",
)
def extract(text: str) -> Iterator[Found]:
    """Yield counts that belong together, else each with its thing."""
    if not _DIGIT.search(text):
        return
    low = text.lower()
    asked = () if "version" in low else (p for hints, p in _PAIRS if any(hint in low for hint in hints))
    found = next((match for pattern in asked if (match := pattern.search(text))), None)
    if found:
        roles = [(role, count) for role, count in found.groupdict().items() if count]
        for role, count in sorted(roles, key=lambda group: found.span(group[0])):
            thing = _THING.match(text, found.end(role))
            yield Found(role, int(count), of=thing[1] if thing else "", said=found[0])
        return
    for match in _OF_ALL.finditer(text):
        if not _PROGRESS.search(text, max(0, match.start() - 16), match.start()):
            yield Found("n of m", (int(match[1]), int(match[2])), of=match[3], said=match[0])
    for match in _ALONE.finditer(text):
        for role, count in match.groupdict().items():
            if count and role != "thing":
                yield Found(role, int(count), of=match["thing"], said=match[0])


@extracts("count", "must cannot not larger greater bigger less smaller more exceed exceeds mismatch batch")
def extract_compared(text: str) -> Iterator[Found]:
    """Yield numbers in brackets behind their names, where a word compares them; and ``3 != 4``."""
    numbers = [*_NUMBERED.finditer(text)] if "(" in text else []
    if len(numbers) > 1 and _COMPARED.search(text):
        named = [
            (name[0], n) for n in numbers if (name := _NAME_BEFORE.search(text, max(0, n.start() - 50), n.start()))
        ]
        roles = [_role_in(name) for name, _ in named]
        for (name, number), role in zip(named, roles, strict=True):
            of = _LEADING_WORDS.sub("", name)
            yield Found(role or ("wanted" if any(roles) else ""), int(number[1]), of=of, said=name + number[0])
    for match in _UNEQUAL.finditer(text) if "!=" in text or " vs" in text or "≠" in text else ():
        yield Found("", match[0], said=match[0])


@extracts("count", "shape shapes size sizes")
def extract_shapes(text: str) -> Iterator[Found]:
    """Yield two shapes that do not fit each other."""
    matrices = _MATRICES.search(text)
    if matrices:
        yield Found("", matrices[3], of=matrices[1], said=matrices[0])
        yield Found("", matrices[4], of=matrices[2], said=matrices[0])
        return
    shapes = [*_SHAPE.finditer(text)]
    if len(shapes) == 2:
        parameter = _PARAMETER.search(text)
        for role, match in zip(("got", "expected") if parameter else ("", ""), shapes, strict=True):
            yield Found(role, match[1] or match[2], of=parameter[1].rstrip(".") if parameter else "", said=match[0])


def _role_in(name: str) -> str:
    return "free" if _OF_AVAILABLE.search(name) else "limit" if _OF_LIMIT.search(name) else ""
