"""Reads Python tracebacks: the interpreter's, exception groups, rich's boxes and notebook frames.

Shapes: CPython `Lib/traceback.py` and `Python/traceback.c` (3.6 to 3.14), `rich/traceback.py`, IPython `ultratb.py`.
A traceback is often torn: other processes print between its lines, its head or its end may be missing.  So the reader
skips what is no part of it and takes the first exception line that follows frames.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex

from logdoctor.model import Value
from logdoctor.parsers.blocks.python_reading import Reading
from logdoctor.parsers.blocks.unknown_prefixes import bears, behind
from logdoctor.parsers.record import Bare, Block
from logdoctor.regexes import compiled, later

MAX_MESSAGE_LINES = 30
MAX_STRANGE = 8
"""So many lines of a message without a known shape are kept where no rank tag tells whose they are."""
MAX_NOISE = 25
"""After so many foreign lines between its frames a traceback counts as cut."""

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

_EXCEPTION = later(EXCEPTION)
_ANY_TYPE = later(r"(?P<exception>(?:[A-Za-z_][\w<>]*\.)*[A-Z]\w*)(?P<inner>\b)(?:: (?P<message>.*)|:?\s*$)")
_FRAME = later(r'\s*File "(?P<path>[^"]*)", line (?P<line>\d+)(?:, in (?P<function>.*))?')
_TORN_FRAME = later(r'\s{2,}F(?:i(?:l(?:e(?: "[^"]*"?)?)?)?)?(?:, l[^:]{0,20})?$')
"""The last line of a paste that ends in a frame."""
_FLAT_FRAME = later(r'File ["“”](?P<path>[^"“”]*)["“”], line (?P<line>\d+)(?:, in (?P<function><?[\w.]+>?))?')
_BOX_FRAME = later(r"(?P<path>[^\s:]*):(?P<line>\d+)(?: in(?: (?P<function>\S+))?)?\s*$")
_CELL_FRAME = later(
    r"(?:File )?(?P<path>~?/[^\s:]+|<[\w-]+>|Cell In ?\[\d+\])(?::(?P<line>\d+)"
    r"|, line \d+)?,? in (?P<function>[\w<>.]+)"
)
_HEAD = later(r"^(?P<prefix>.*?)(?:Exception Group |Original )?Traceback \(most recent call last\)(?P<rest>.*)")
_TOLD_OF = later(r":? ?\(RANK (?P<rank>\d{1,7})\)")
"""A distributed checkpoint's exception quotes that of another rank so (`torch/distributed/checkpoint/api.py`)."""
_RULER = later(r"^\s*[|+](?:-\+-+.*$| ?)")
_BOX_LINE = later(r"^\s*[│|┃] ?(?P<inside>.*?)\s*[│|┃]?\s*$")
_NUMBERED = later(r"^\s*(?:❱|>|[-]+>)?\s*\d+ ")
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


def read_traceback(head: Bare, _: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """Read on from the line that says ``Traceback (most recent call last)``; a traceback without its end is one too."""
    found = _HEAD.search(head.text)
    if found is None:
        return None
    if _is_box(found):
        return _read_box(head, below).close()
    name = found["prefix"].strip()
    if _FLAT_FRAME.match(found["rest"].lstrip(": ")):
        return _read_flat(head, found["rest"], found).close()
    if compiled(r"[A-Z]\w+").fullmatch(name) and not found["rest"].startswith(":"):
        return _read_cell(head, name, below).close()
    reading = _read_plain(head, found["prefix"], below)
    if name.strip("|+ ") and "%|" not in name:
        reading.fields["context"] = name[-600:]
    if told := _TOLD_OF.match(found["rest"]):
        reading.fields["rank"] = int(told["rank"])
    return None if _of_a_signal(reading) else reading.close()


def _of_a_signal(reading: Reading) -> bool:
    """Paddle's handler of signals draws its C++ stack as a traceback: what it caught is no exception."""
    return any("` is detected by the operating system" in line for line in reading.lines[:1])


def _is_box(found: regex.Match[str]) -> bool:
    return any(mark in found["prefix"] for mark in ("─", "━", "---")) or "─" in found["rest"]


def _read_flat(head: Bare, rest: str, found: regex.Match[str]) -> Reading:
    """Read a traceback that a service put on one line: its frames, and the exception behind the last of them."""
    reading, end = Reading(level=head.speaker.level), 0
    for frame in _FLAT_FRAME.finditer(rest):
        reading.add_frame(frame["path"], frame["line"], frame["function"] or "")
        end = frame.end()
    if last := _EXCEPTION.search(rest, end):
        note_exception(reading, last, Bare(last[0], head.speaker, head.below))
    reading.taken.clear()  # the head's own line
    reading.fields["context"] = found["prefix"].strip()[-600:]
    return reading


# ── the interpreter's own shape ─────────────────────────────────────────────────────────────────────────────────────


def _read_plain(head: Bare, prefix: str, below: Iterator[Bare]) -> Reading:
    reading = Reading(level=head.speaker.level)
    grouped = bool(prefix.strip()) and not prefix.strip("|+ ")  # else a collector's prefix that ends in a bar
    lines = (_without_ruler(bare) for bare in below) if grouped else _without_prefix(prefix, below)
    indent = 0 if grouped or prefix.strip() else len(prefix)
    first = _read_frames(reading, lines, indent)
    if first is not None:
        reading.relayed = reading.relayed or (not reading.frames and _relayed(first))
        _read_message(reading, first, lines)
    return reading


def _without_ruler(bare: Bare) -> Bare:
    return Bare(_RULER.sub("", bare.text, count=1), bare.speaker, bare.below)


def _without_prefix(prefix: str, below: Iterator[Bare]) -> Iterator[Bare]:
    """The lines without what stands before the head, where frames bear it too: a collector that no wrapper knows."""
    borne = False
    for bare in below:
        if prefix.strip() and bears(bare, prefix):
            rest = behind(bare, prefix)
            borne = borne or (_FRAME.match(rest.text) or _TORN_FRAME.match(rest.text)) is not None
            yield rest if borne else bare
        else:
            yield bare


def _read_frames(reading: Reading, lines: Iterator[Bare], indent: int) -> Bare | None:
    """Take frames and their source lines; gives the exception line (already noted in ``reading``) or None."""
    noise, after_frame = 0, False
    for bare in lines:
        frame = _FRAME.match(bare.text)
        if frame:
            reading.add_frame(frame["path"], frame["line"], frame["function"] or "")
            reading.taken.append(bare.below)
            reading.relayed = reading.relayed or _relayed(bare)
            after_frame = True
        elif _ends(reading, bare, indent, loose=after_frame):
            return bare
        elif (reading.frames and bare.text.startswith(" " * (indent + 2))) or _HEAD.match(bare.text):
            reading.taken.append(bare.below)
            reading.note_source(bare.text, bare.below)
        elif bare.text.strip() and not _TORN_FRAME.match(bare.text):
            after_frame = False
            noise += 1
            if noise > MAX_NOISE:
                return None
    reading.cut = not noise
    return None


def _relayed(line: Bare) -> bool:
    """Whether a launcher's logger or a collector passed this line on.

    One that logs a traceback of its own prefixes the head only.  Torch's own logging puts its prefix before each line,
    and what it tells at this level it has caught.
    """
    source = str(line.speaker.source or "")
    return line.speaker.level == "info" and not source.startswith(("torch/", "torch."))


def _ends(reading: Reading, bare: Bare, indent: int, *, loose: bool) -> bool:
    """Whether ``bare`` is the exception line; a type with an unusual name counts only right after a frame."""
    text = bare.text
    if text[:1] == " " and len(text) - len(text.lstrip()) > indent:
        return False
    text = text.strip()
    found = _EXCEPTION.match(text) or (_ANY_TYPE.match(text) if loose and not _FRESH.match(text) else None)
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


# ── the message and what hangs on it ────────────────────────────────────────────────────────────────────────────────


def _read_message(reading: Reading, first: Bare, lines: Iterator[Bare]) -> None:
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
        inner, ends = _INNER.match(text), _EXCEPTION.match(text)
        if inner or (nested and _inside(text)):
            nested = True
            _take_inner(reading, bare, inner)
            continue
        if nested and ends:
            reading.fields["inner"] = ends["exception"]
            if carried or old:
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
    return bool(_FRAME.match(text) or _HEAD.match(text)) or text.startswith("    ")


def _take_inner(reading: Reading, bare: Bare, inner: regex.Match[str] | None) -> None:
    """Take a line of the traceback that another process sent along with its exception."""
    reading.taken.append(bare.below)
    if inner and inner["process"]:
        reading.fields["local_rank"] = int(inner["process"])
        reading.lines.append(bare.text.strip())
    frame = _FRAME.match(bare.text)
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
        or _EXCEPTION.match(bare.text)
    )
    if sure:
        reading.taken.append(bare.below)
    return not sure and bare.speaker.rank is None


def read_message(head: Bare, fields: Mapping[str, Value], below: Iterator[Bare]) -> Block | None:
    """Read on from a bare exception line whose traceback is not in view."""
    del fields
    text = compiled(f"^(?:{IN_FRONT}| +)").sub("", head.text).strip().rstrip("`*")
    found = _EXCEPTION.match(text)
    if found is None:
        return None
    reading = Reading()
    note_exception(reading, found, Bare(text, head.speaker, head.below))
    _read_message(reading, head, below)
    block = reading.close()
    return Block(block.text, block.fields, tuple(n for n in block.taken if n), block.evidence)


# ── rich's box and the notebook ─────────────────────────────────────────────────────────────────────────────────────


def _read_box(head: Bare, below: Iterator[Bare]) -> Reading:
    """Read a box drawn by rich: frames as ``path:line in function``, long paths broken before the colon."""
    reading, path = Reading(level=head.speaker.level), ""
    for bare in below:
        text = bare.text.strip()
        line = _BOX_LINE.match(text)
        if text[:1] in "╰└" or compiled(r"\+-{5,}\+?$").match(text):
            reading.taken.append(bare.below)
        elif line and text[:1] in "│|┃":
            reading.taken.append(bare.below)
            inside = line["inside"]
            frame = None if _NUMBERED.match(inside) else _BOX_FRAME.match(inside)
            if frame:
                reading.add_frame(frame["path"] or path, frame["line"], frame["function"] or "")
            path = inside.strip() if inside.strip().startswith(("/", "~", ".")) else path
        elif text and _ends(reading, bare, 0, loose=bool(reading.frames)):
            _read_message(reading, bare, below)
            return reading
    return reading


def _read_cell(head: Bare, name: str, below: Iterator[Bare]) -> Reading:
    """Read IPython's frames down to ``Type: message``; the head's ``name`` is the type, should the end be cut off."""
    reading = Reading(level=head.speaker.level)
    for bare in below:
        frame = _CELL_FRAME.match(bare.text)
        if frame:
            reading.add_frame(frame["path"], frame["line"] or "?", frame["function"])
            reading.taken.append(bare.below)
        elif reading.frames and _ends(reading, bare, 0, loose=False):
            _read_message(reading, bare, below)
            return reading
        elif bare.text[:1] in " -" or not bare.text.strip():
            reading.taken.append(bare.below)
    reading.fields["exception"], reading.lines = name, [name]
    return reading
