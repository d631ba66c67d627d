"""The exception line of a Python traceback, and its message lines.

The message can hold the traceback of another process (a loader's worker, Ray's task, ``torch.multiprocessing``). A line
with another prefix ends the message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import regex
from msgspec.structs import replace

from logdoctor.frames import PYTHON
from logdoctor.logs.multiline.python.reading import Traceback
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Value
from logdoctor.model.numbers import number_fields
from logdoctor.pack.regexes import compiled, later

MAX_MESSAGE_LINES = 30
MAX_UNPROVEN = 8
"""Lines without a rank that are kept, if nothing proves that they belong to the message."""

EXCEPTION = (
    r"(?P<exception>(?:[A-Za-z_][\w<>]*\.)+\w*(?:[Ee]rror|Exception|Interrupt|Exit|Failure|Failed|[Tt]imeout|Iteration"
    r"|Empty|Full|Abort|ExceptionGroup|NotFound|Conflict|TimeoutExpired|Disconnected|IncompleteRead|ProcessPool"
    r"|ArrowInvalid|BadZipFile|EnforceNotMet)|(?:[a-z_]\w*\.)+(?:exceptions?|errors?|exc)\.[A-Z]\w*"
    r"|_{0,2}[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure|Timeout|Iteration|ExceptionGroup)|Exception(?:Group)?)"
    r"(?:\((?P<inner>[\w.]+)\))?(?: \(see above for traceback\))?(?:: ?(?P<message>.*))?$"
)
"""An exception line whose type has a usual name: ``ValueError``, ``queue.Empty``."""

LINE_MARKS = r"E {2,}|[|>] | {1,8}|[-*•] {1,4}|\d{1,2}[.)] |[`*]{1,3}"
"""Marks before an exception line: of pytest, a ruler, or a ticket's list, code or bold words."""

EXCEPTION_LINE = later(EXCEPTION)
_ANY_TYPE = later(r"(?P<exception>(?:[A-Za-z_][\w<>]*\.)*[A-Z]\w*)(?P<inner>\b)(?:: (?P<message>.*)|:?\s*$)")
_WAITED = later(r"Timed out waiting (?P<waited_ms>\d{1,10}) ?ms for (?:send|recv)")
"""Time-out of Gloo."""
HEAD = later(r"^(?P<prefix>.*?)(?:Exception Group |Original )?Traceback \(most recent call last\)(?P<rest>.*)")
_NEW_RECORD = later(
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
_MESSAGE_TEXT = later(
    r"CUDA kernel errors might|For debugging consider passing|Compile with .TORCH_USE|Device-side assert|nccl\w+: "
    r"|Last error:|Exception raised from|Set TORCH|You can suppress|In addition, you can|Parameter indices|Missing key"
    r"|Unexpected key|size mismatch|PID\tMEM|from user code|Search for .cuda"
)
_NESTED_HEAD = later(
    r"^\s*(?:Original Traceback \(most recent call last\)|-- Process (?P<process>\d{1,6}) terminated with the "
    r"following)"
)
_WORKER_HEAD = later(r"^\w[\w.]*: Traceback \(most recent call last\):\s*$")
"""The exception of a worker of PyTorch's loader before 1.2. Its whole traceback is the message."""
_ASCEND = later(r"^E[A-Z]\d{4}: (?!Inner Error)")
_NPU = later(r"^\(PID:\d{1,9}, Device:-?\d{1,4}, RankID:-?\d{1,7}\) ERR\d")
"""The prefix of the second line of each message of torch_npu."""
_WRAPPED = later(r"[\w,(] $")
"""The end of a line that a console broke at a blank."""
_STACK_FRAME = later(r"^\s*frame #\d+: ")


def read_exception_line(traceback: Traceback, line: Message, indent: int, *, loose: bool) -> bool:
    """Add the exception line to the traceback. Return False if ``line`` is no exception line.

    ``loose``: a frame stood just above, so a type with an unusual name counts too.
    """
    text = line.text
    if text[:1] == " " and len(text) - len(text.lstrip()) > indent:
        return False
    text = text.strip()
    match = EXCEPTION_LINE.match(text) or (_ANY_TYPE.match(text) if loose and not _NEW_RECORD.match(text) else None)
    if match is None:
        return False
    add_exception(traceback, match, line)
    return True


def add_exception(traceback: Traceback, match: regex.Match[str], line: Message) -> None:
    """Start the message of the traceback with its exception line.

    ``RayTaskError(ValueError): ...`` carries the exception of a task, so the exception is ``ValueError``.
    """
    _set_type(traceback, match)
    if match["inner"]:
        traceback.fields["inner"] = match["inner"]
    if match["inner"] and _is_ray_error(match):
        traceback.fields["exception"] = match["inner"]
    traceback.lines.append(line.text.strip())
    traceback.wrapped = 1 if _WRAPPED.search(line.text) else 0
    traceback.taken.append(line.below)
    traceback.evidence = line.below
    traceback.level = line.source.level or traceback.level


def _set_type(traceback: Traceback, match: regex.Match[str]) -> None:
    traceback.fields["exception"] = match["exception"]
    traceback.fields.pop("message", None)
    if match["message"]:
        traceback.fields["message"] = match["message"].strip()[:1_000]
        if limit := _WAITED.search(match["message"]):
            traceback.fields |= number_fields(limit.groupdict())


def _is_ray_error(match: regex.Match[str]) -> bool:
    """Return True for Ray's exception around the exception of a task."""
    return str(match["exception"]).endswith("RayTaskError")


def read_message_lines(traceback: Traceback, first: Message, lines: Iterator[Message]) -> None:
    """Add the further lines of the message. The message ends at a line of another record, or at a bound."""
    if first.text.strip() == "KeyboardInterrupt":  # has no message
        return
    blank, ray_error, unproven = False, "RayTaskError" in first.text, 0
    is_compiler_error = first.text.rstrip().endswith(" raised:")  # torch._dynamo.exc.BackendCompilerFailed
    worker_head = _WORKER_HEAD.search(first.text) is not None
    is_wrapped = ": Caught " in first.text  # torch._utils.ExceptionWrapper: loader's worker, replica of DataParallel
    nested = ray_error or is_compiler_error or worker_head
    for line in lines:
        text = line.text
        if _append_torn(traceback, text):
            traceback.taken.append(line.below)
            continue
        if not text.strip():
            blank = True
            continue
        if traceback.mark_recovered(text):
            return
        nested_head, exception = _NESTED_HEAD.match(text), EXCEPTION_LINE.match(text)
        if nested_head or (nested and _is_traceback_line(text)):
            nested = True
            _add_nested_line(traceback, line, nested_head)
            continue
        if nested and exception:
            traceback.fields["inner"] = exception["exception"]
            if ray_error or worker_head or "local_rank" in traceback.fields:
                _set_type(traceback, exception)
            elif is_compiler_error or is_wrapped:
                traceback.fields["message"] = text.strip()[:1_000]
            traceback.evidence = line.below
            nested = False
        elif _STACK_FRAME.match(text):
            traceback.taken.append(line.below)
            continue
        elif exception or not _continues(line, first, blank=blank):
            return
        unproven += _add_line(traceback, line, all_proven=not unproven)
        if len(traceback.lines) >= MAX_MESSAGE_LINES or unproven > MAX_UNPROVEN:
            return


def _append_torn(traceback: Traceback, text: str) -> bool:
    """Append a line torn off the exception line. Return False for any other line.

    Python writes the type, ``: `` and the message one by one, and ``srun --label`` makes a line of each.
    """
    if "message" in traceback.fields or len(traceback.lines) != 1:
        return False
    if text.startswith(": ") or text == ":":
        rest = text[1:].strip()
        traceback.lines[0] = f"{traceback.lines[0].removesuffix(':')}: {rest}"
    elif traceback.lines[0].endswith(": ") and text.strip():
        rest = text.strip()
        traceback.lines[0] += rest
    else:
        return False
    if rest:
        traceback.fields["message"] = rest[:1_000]
    return True


def _is_traceback_line(text: str) -> bool:
    """Return True for a line of a nested traceback.

    It is a head, a frame or a source line below ``Original Traceback``.
    """
    return bool(PYTHON.match(text) or HEAD.match(text)) or text.startswith("    ")


def _add_nested_line(traceback: Traceback, line: Message, nested_head: regex.Match[str] | None) -> None:
    """Add a line of the traceback that another process sent."""
    traceback.taken.append(line.below)
    if nested_head and nested_head["process"]:
        traceback.fields |= number_fields({"local_rank": nested_head["process"]})
        traceback.lines.append(line.text.strip())
    frame = PYTHON.match(line.text)
    if frame:
        traceback.add_frame(frame["path"], frame["line"], frame["function"] or "")


def _continues(line: Message, first: Message, *, blank: bool) -> bool:
    """Return True if the line continues the message. It has the same prefix and begins no other record."""
    if _NPU.match(line.text):
        return True
    if _NEW_RECORD.match(line.text) or (line.source.level, line.source.logger) != (
        first.source.level,
        first.source.logger,
    ):
        return False
    return not blank or line.text[:1] in " \t" or _MESSAGE_TEXT.search(line.text) is not None


def _add_line(traceback: Traceback, line: Message, *, all_proven: bool) -> bool:
    """Add a line to the message. Return True if the line may belong to another process.

    Only lines that surely belong to the message are kept from other readers. ``all_proven``: all lines so far surely
    belonged, so an indented line does too.
    """
    if traceback.lines[-1].strip() == "Last error:" or _ASCEND.match(line.text):
        traceback.evidence = line.below  # NCCL's and HCCL's words say more than the exception line
    elif traceback.lines == [f"{traceback.fields['exception']}:"]:  # a logger broke the line behind the type
        traceback.fields["message"] = line.text.strip()[:1_000]
        traceback.evidence = line.below
    if traceback.wrapped == len(traceback.lines) and line.text.endswith(" "):
        traceback.wrapped += 1
    traceback.lines.append(line.text.rstrip())
    proven = (
        (all_proven and line.text[:1] in " \t")
        or _NPU.match(line.text)
        or _ASCEND.match(line.text)
        or _MESSAGE_TEXT.search(line.text)
        or EXCEPTION_LINE.match(line.text)
    )
    if proven:
        traceback.taken.append(line.below)
    return not proven and line.source.rank is None


def read_message(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read on from an exception line without its traceback. The message may hold the traceback of a spawned process."""
    text = compiled(f"^(?:{LINE_MARKS}| +)").sub("", head.text).strip().rstrip("`*")
    match = EXCEPTION_LINE.match(text)
    if match is None:
        return None
    traceback = Traceback()
    add_exception(traceback, match, Message(text, head.source, head.below))
    traceback.wrapped = 1 if _WRAPPED.search(head.text) else 0
    read_message_lines(traceback, head, below)
    multiline = traceback.close()
    kind = "python.traceback" if traceback.frames else ""
    return replace(multiline, taken=tuple(n for n in multiline.taken if n), level=None, kind=kind)
