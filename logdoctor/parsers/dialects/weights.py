r"""What libraries say of a checkpoint that fits a model only partly, and that they load all the same.

Kinds and fields:

``weights.partial``   OpenMMLab lists what did not fit, and goes on with the rest; a warning

A load that must fit raises the same words as an exception.  Sources: mmcv `runner/checkpoint.py` (0.2 to 1.7), MMEngine
`runner/checkpoint.py` (0.1 to 0.10): ``load_state_dict`` with ``strict=False``, as ``load_from`` and ``init_cfg`` do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.model import Value
from logdoctor.parsers.record import Bare, Block, Record
from logdoctor.regexes import later

_LISTED = later(
    r"^\s*$|^(?:size mismatch for \S+: copying a param |(?:unexpected|missing) keys? in source state_dict: )"
)


def read_list(head: Bare, _fields: Mapping[str, Value], below: Iterator[Bare]) -> Block:
    """Read on to the end of the list: sizes, keys that were not expected, keys that are missing."""
    taken = []
    for bare in below:
        if not _LISTED.search(bare.text):
            break
        taken.append(bare.below)
    return Block(head.text, taken=tuple(taken))


RECORDS: tuple[Record, ...] = (
    Record(
        "weights.partial",
        r"^The model and loaded state dict do not match exactly",
        "warning",
        read_list,
        "A checkpoint fits this model only partly: what fits was loaded, and the run goes on.",
        5,
    ),
)
