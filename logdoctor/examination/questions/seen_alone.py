"""Question over the batch sizes of DeepSpeed: whether they fit more processes than the one that it sees."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_SIZES = later(r"world_size (?P<batch>\d{1,9}) != (?P<micro>\d{1,6}) \* (?P<steps>\d{1,6}) \* (?P<ranks>\d{1,6})\b")


@asks
def seen_alone(scene: Scene) -> Iterator[Answer]:
    """Tell how many processes the batch size was made for, if DeepSpeed sees only one.

    Kind ``alone`` (batch, micro, steps, meant).
    """
    text = scene.quoted.text
    found = _SIZES.search(text) if "world_size" in text else None
    if found is None:
        return
    batch, micro, steps, ranks = (int(found[name]) for name in ("batch", "micro", "steps", "ranks"))
    meant, rest = divmod(batch, max(1, micro * steps))
    if ranks == 1 and meant > 1 and not rest:
        fields: dict[str, Value] = {
            "batch": batch,
            "micro": micro,
            "steps": steps,
            "meant": meant,
            "needed": micro * steps,
        }
        yield Answer("alone", scene.quoted, fields, silent=True)
