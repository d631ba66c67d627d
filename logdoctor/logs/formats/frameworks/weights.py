r"""Checkpoints that fit a model only partly but are loaded.

Kinds and fields:

``weights.partial``     OpenMMLab lists what did not fit, and goes on with the rest; a warning
``weights.not_loaded``  message: Megatron's older loader says why, and exits with status 0; an error

A load that must fit raises the same words as an exception.  Sources: mmcv `runner/checkpoint.py` (0.2 to 1.7), MMEngine
`runner/checkpoint.py` (0.1 to 0.10): ``load_state_dict`` with ``strict=False``, as ``load_from`` and ``init_cfg`` do;
Megatron-LM `checkpointing.py` (2019 to core 0.6), which prints the exception under its own words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.record_pattern import Message, Multiline, RecordPattern
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_LISTED = later(
    r"^\s*$|^(?:size mismatch for \S+: copying a param |(?:unexpected|missing) keys? in source state_dict: )"
)


def read_list(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the list below to its end.

    It holds wrong sizes, unexpected keys and missing keys.
    """
    taken = []
    for stripped_line in below:
        if not _LISTED.search(stripped_line.text):
            break
        taken.append(stripped_line.below)
    return Multiline(head.text, taken=tuple(taken))


def read_reason(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the message of the exception from the next line."""
    reason = next((stripped_line for stripped_line in below if stripped_line.text.strip()), None)
    if reason is None:
        return Multiline(head.text)
    message = reason.text.strip()
    return Multiline(f"{head.text.strip()}\n{message}", {"message": message[:1_000]}, (reason.below,), reason.below)


RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "weights.partial",
        r"^The model and loaded state dict do not match exactly",
        "warning",
        read_list,
        "A checkpoint fits this model only partly: what fits was loaded, and the run goes on.",
        5,
    ),
    RecordPattern(
        "weights.not_loaded",
        r"^\s*could not load the checkpoint\s*$",
        "error",
        read_reason,
        "Megatron could not load its checkpoint, and ends.",
        5,
        scan=r"could not load the checkpoint",
    ),
)
