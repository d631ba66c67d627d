"""Reads the exception line that ends a Python traceback, and the further lines of its message.

One that carries another's (a loader's worker, Ray's task, ``torch.multiprocessing``) holds that one's traceback in its
message.  A line of somebody else ends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex
from msgspec.structs import replace

from logdoctor.model import Value
from logdoctor.parsers.blocks.python_reading import Reading
from logdoctor.parsers.record import Bare, Block
from logdoctor.regexes import compiled, later

MAX_MESSAGE_LINES = 30
MAX_STRANGE = 8
"""So many lines of a message without a known shape are kept where no rank tag tells whose they are."""

EXCEPTION = (
    r"(?P<exception>(?:[A-Za-z_][\w<>]*\.)+\w*(?:[Ee]rror|Exception|Interrupt|Exit|Failure|Failed|[Tt]imeout|Iteration"
    r"|Empty|Full|Abort|ExceptionGroup|NotFound|Conflict|TimeoutExpired|Disconnected|IncompleteRead|ProcessPool"
    r"|ArrowInvalid|BadZipFile|EnforceNotMet)|(?:[a-z_]\w*\.)+(?:exceptions?|errors?|exc)\.[A-Z]\w*"
    r"|_{0,2}[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure|Timeout|Iteration|ExceptionGroup)|Exception(?:Group)?)"
    r"(?:\((?P<inner>[\w.]+)\))?(?: \(see above for traceback\))?(?:: ?(?P<message>.*))?$"
)
"""An exception line whose type is known by its name."""

IN_FRONT = r"E {2,}|[|>] | {1,8}|[-*•] {1,4}|\d{1,2}[.)] |[`*]{1,3}"
"""What stands before an exception line: pytest's mark, a ruler, a ticket's mark of a list, of code, of bold words."""

EXCEPTION_LINE = later(EXCEPTION)
_ANY_TYPE = later(r"(?P<exception>(?:[A-Za-z_][\w<>]*\.)*[A-Z]\w*)(?P<inner>\b)(?:: (?P<message>.*)|:?\s*$)")
FRAME = later(r'\s*File "(?P<path>[^"]*)", line (?P<line>\d+)(?:, in (?P<function>.*))?')
HEAD = later(r"^(?P<prefix>.*?)(?:Exception Group |Original )?Traceback \(most recent call last\)(?P<rest>.*)")
_FRESH = later(
    r"""^\s*(?:
        (?:Exception[ ]Group[ ])?Traceback[ ]\(|During[ ]handling[ ]of[ ]the[ ]above|The[ ]above[ ]exception[ ]was
      |Exception[ ]ignored[ ]|Exception[ ]in[ ]thread[ ]|Process[ ]\w+-\d|---[ ]Logging|\"{3}\s*$
      |\[?\d{4}[-/]\d\d[-/]\d\d[ T]|\[?\d\d:\d\d:\d\d|\[?(?:INFO|WARN(?:ING)?|ERROR|DEBUG|CRITICAL|FATAL)\b
      |\[?[IWEF]\d{4}[ ]|\[[IWEF][ ]|\[rank\d|\([\w.:]+[ ]pid=\d|\S+:\d+:\d+[ ]\[\d+\][ ]|\[[\w.-]+:\d+\][ ]
      |(?:srun|slurmstepd|mpirun|mpiexec|prterun|orterun|wandb|ninja|make|bash)(?:\[\d+\])?:[ ]
      |\S{1,200}:[ ]line[ ]\d{1,5}:[ ]|\S{0,200}(?:slurm_script|\.(?:sh|bash|sbatch|slurm|pbs|lsf)):[ ](?:\d{1,5}:[ ])?
      |(?:/bin/)?(?:rm|mv|cp|cat|ls|mkdir|rmdir|ln|tar|grep|sed|awk|scp|rsync|gzip|unzip|tee|kill):[ ]
      |terminate[ ]called|what\(\):|Fatal[ ]Python[ ]error|Aborted|Segmentation[ ]fault|Killed$|Bus[ ]error
      |={10}|-{20}|[+][ ]Exception[ ]Group|[╭┌├]|[+]-{4}|\*{3}|\#{3}|NCCL[ ]version|[^|]{0,60}\d+%\|
      |\S+\.py:\d+:[ ]|\S.{0,200}?:\d+:[ ](?:WARNING|ERROR|SEVERE|CRITICAL):[ ]|warnings\.warn\(
      |Killing[ ]subprocess|Sending[ ]process[ ]|failed[ ]\(exitcode|Epoch[ ]|Loading[ ]|step[ ]?[:=\d]|\{'loss'
    )""",
    regex.VERBOSE,
)
_KNOWN = later(
    r"CUDA kernel errors might|For debugging consider passing|Compile with .TORCH_USE|Device-side assert|nccl\w+: "
    r"|Last error:|Exception raised from|Set TORCH|You can suppress|In addition, you can|Parameter indices|Missing key"
    r"|Unexpected key|size mismatch|PID\tMEM|from user code|Search for .cuda"
)
_INNER = later(
    r"^\s*(?:Original Traceback \(most recent call last\)|-- Process (?P<process>\d{1,6}) terminated with the "
    r"following)"
)
_HEAD_ALONE = later(r"^\w[\w.]*: Traceback \(most recent call last\):\s*$")
"""What a worker of PyTorch's loader raised, before 1.2: its whole traceback is the message."""
_ASCEND = later(r"^E[A-Z]\d{4}: (?!Inner Error)")
_NPU = later(r"^\(PID:\d{1,9}, Device:-?\d{1,4}, RankID:-?\d{1,7}\) ERR\d")
"""The second line of each message of torch_npu has a prefix of its own."""
_STACK_FRAME = later(r"^\s*frame #\d+: ")


def ends(reading: Reading, bare: Bare, indent: int, *, loose: bool) -> bool:
    """Whether ``bare`` is the exception line; a type with an unusual name counts only right after a frame."""
    text = bare.text
    if text[:1] == " " and len(text) - len(text.lstrip()) > indent:
        return False
    text = text.strip()
    found = EXCEPTION_LINE.match(text) or (_ANY_TYPE.match(text) if loose and not _FRESH.match(text) else None)
    if found is None:
        return False
    note_exception(reading, found, bare)
    return True


def note_exception(reading: Reading, found: regex.Match[str], bare: Bare) -> None:
    """Start the message of ``reading`` with its exception line; what only carries another's exception is that one."""
    _note_type(reading, found)
    if found["inner"]:
        reading.fields["inner"] = found["inner"]
    if found["inner"] and _carries(found):
        reading.fields["exception"] = found["inner"]
    reading.lines.append(bare.text.strip())
    reading.taken.append(bare.below)
    reading.evidence = bare.below
    reading.level = bare.speaker.level or reading.level


def _note_type(reading: Reading, found: regex.Match[str]) -> None:
    reading.fields["exception"] = found["exception"]
    reading.fields.pop("message", None)
    if found["message"]:
        reading.fields["message"] = found["message"].strip()[:1_000]


def _carries(found: regex.Match[str]) -> bool:
    """Whether an exception is Ray's envelope around the one that a task raised."""
    return str(found["exception"]).endswith("RayTaskError")


def read_further(reading: Reading, first: Bare, lines: Iterator[Bare]) -> None:
    """Add the further lines of the message: up to a line of somebody else, within the bounds."""
    if first.text.strip() == "KeyboardInterrupt":  # Python's own has no message
        return
    blank, carried, strange = False, "RayTaskError" in first.text, 0
    passed_on = first.text.rstrip().endswith(" raised:")  # torch._dynamo.exc.BackendCompilerFailed
    old = _HEAD_ALONE.search(first.text) is not None
    caught = ": Caught " in first.text  # torch._utils.ExceptionWrapper: a loader's worker, a replica of DataParallel
    nested = carried or passed_on or old
    for bare in lines:
        text = bare.text
        if _torn(reading, text):
            reading.taken.append(bare.below)
            continue
        if not text.strip():
            blank = True
            continue
        if reading.got_over(text):
            return
        inner, ends = _INNER.match(text), EXCEPTION_LINE.match(text)
        if inner or (nested and _inside(text)):
            nested = True
            _take_inner(reading, bare, inner)
            continue
        if nested and ends:
            reading.fields["inner"] = ends["exception"]
            if carried or old or "local_rank" in reading.fields:
                _note_type(reading, ends)
            elif passed_on or caught:
                reading.fields["message"] = text.strip()[:1_000]
            reading.evidence = bare.below
            nested = False
        elif _STACK_FRAME.match(text):
            reading.taken.append(bare.below)
            continue
        elif ends or not _goes_on(bare, first, blank=blank):
            return
        strange += _add_line(reading, bare, alone=not strange)
        if len(reading.lines) >= MAX_MESSAGE_LINES or strange > MAX_STRANGE:
            return


def _torn(reading: Reading, text: str) -> bool:
    """Whether ``text`` is what stood behind the type of the exception.

    Python writes the type, ``: `` and the message one by one, and ``srun --label`` makes lines of them.
    """
    if "message" in reading.fields or len(reading.lines) != 1:
        return False
    if text.startswith(": ") or text == ":":
        rest = text[1:].strip()
        reading.lines[0] = f"{reading.lines[0].removesuffix(':')}: {rest}"
    elif reading.lines[0].endswith(": ") and text.strip():
        rest = text.strip()
        reading.lines[0] += rest
    else:
        return False
    if rest:
        reading.fields["message"] = rest[:1_000]
    return True


def _inside(text: str) -> bool:
    """Whether a line below ``Original Traceback`` is a head, a frame or a source line."""
    return bool(FRAME.match(text) or HEAD.match(text)) or text.startswith("    ")


def _take_inner(reading: Reading, bare: Bare, inner: regex.Match[str] | None) -> None:
    """Take a line of the traceback that another process sent along with its exception."""
    reading.taken.append(bare.below)
    if inner and inner["process"]:
        reading.fields["local_rank"] = int(inner["process"])
        reading.lines.append(bare.text.strip())
    frame = FRAME.match(bare.text)
    if frame:
        reading.add_frame(frame["path"], frame["line"], frame["function"] or "")


def _goes_on(bare: Bare, first: Bare, *, blank: bool) -> bool:
    """Whether a line is more of the message: no known start of another record, the same prefix."""
    if _NPU.match(bare.text):
        return True
    if _FRESH.match(bare.text) or (bare.speaker.level, bare.speaker.source) != (
        first.speaker.level,
        first.speaker.source,
    ):
        return False
    return not blank or bare.text[:1] in " \t" or _KNOWN.search(bare.text) is not None


def _add_line(reading: Reading, bare: Bare, *, alone: bool) -> bool:
    """Keep a line of the message; only what surely belongs to it is withheld from other readers.

    ``alone``: all so far did; an indented line below another's is theirs.  True for a line that may be such a one.
    """
    if reading.lines[-1].strip() == "Last error:" or _ASCEND.match(bare.text):
        reading.evidence = bare.below  # NCCL's own words, and HCCL's, say more than the exception line
    elif reading.lines == [f"{reading.fields['exception']}:"]:  # a logger broke the line behind the type
        reading.fields["message"] = bare.text.strip()[:1_000]
        reading.evidence = bare.below
    reading.lines.append(bare.text.rstrip())
    sure = (
        (alone and bare.text[:1] in " \t")
        or _NPU.match(bare.text)
        or _ASCEND.match(bare.text)
        or _KNOWN.search(bare.text)
        or EXCEPTION_LINE.match(bare.text)
    )
    if sure:
        reading.taken.append(bare.below)
    return not sure and bare.speaker.rank is None


def read_message(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """Read on from a bare exception line whose traceback is not in view; a spawned process' own may be its message."""
    del fields
    text = compiled(f"^(?:{IN_FRONT}| +)").sub("", head.text).strip().rstrip("`*")
    found = EXCEPTION_LINE.match(text)
    if found is None:
        return None
    reading = Reading()
    note_exception(reading, found, Bare(text, head.speaker, head.below))
    read_further(reading, head, below)
    block = reading.close()
    kind = "python.traceback" if reading.frames else ""
    return replace(block, taken=tuple(n for n in block.taken if n), level=None, kind=kind)
