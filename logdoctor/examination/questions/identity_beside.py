"""Identity beside the proof: rank, device, process and host that the line above the proof tells of the same process.

Some libraries print a head with the identity, and the reason of the failure in the next line, without any prefix.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from logdoctor.examination.questions import Answer, Scene, asks
from logdoctor.model import Fact, Said, Value
from logdoctor.pack.regexes import later

NEAREST = 2
"""Lines above the block that are read."""
SAME_MOMENT = 2.0
"""Seconds between the head and the proof, at most."""
_NUMBER = later(
    r"(?i)(?<![\w-])(?P<name>(?:global[ _]?)?rank(?:[ _]?id)?|device(?:[ _]?id)?|gpu(?:[ _]?id)?|npu(?:[ _]?id)?|pid)"
    r"(?: ?[:=] ?| #?)(?P<value>\d{1,10})(?![\w.-])"
)
_NAME = later(r"(?i)(?<![\w-])(?:host|node)(?:[ _]?name)? ?[:=] ?(?P<value>[a-z][\w.-]{1,80})(?![\w.-])")
_HEAD = later(r"(?i)\b(?:err(?:or)?|fail(?:ed|ure)?|fatal|exception|abort(?:ed)?|critical)(?:\b|(?=\d))")
ORDER = ("rank", "host", "device", "pid")
_FIELDS = {"rank": "rank", "global": "rank", "device": "device", "gpu": "device", "npu": "device", "pid": "pid"}


@asks
def identity_beside(scene: Scene) -> Iterator[Answer]:
    """Yield the identity in a neighbour line that is the head of the same failure, if the block tells none.

    The head has at least two parts of an identity and a word of error. It stands above the block, or right below it.
    Two heads that differ are of two processes, and nobody knows which of them printed the block.
    """
    source = scene.record.source
    if scene.record.rank is not None or source.local_rank is not None or any(map(_identity, scene.block)):
        return
    beside = chain(islice(scene.above(), NEAREST), islice(scene.below(), 1))
    heads = [(said, found) for said in beside if (found := _identity(said))]
    if not heads or any(found != heads[0][1] for _, found in heads):
        return
    head, found = heads[0]
    times = source.time, head.source.time
    apart = None not in times and abs(times[0] - times[1]) > SAME_MOMENT  # type: ignore[operator]
    if len(found) > 1 and not apart and _HEAD.search(head.text):
        who = ", ".join(f"{name} {value}" for name, value in found.items())
        facts = tuple(Fact("identity", name, value, head.line) for name, value in found.items())
        yield Answer("identity", head, {**found, "told_by": head.line.number, "who": who}, facts=facts, shared=True)


def _identity(said: Said) -> dict[str, Value]:
    """Return the parts of an identity that a line tells, each once."""
    found: dict[str, Value] = {}
    for match in _NUMBER.finditer(said.text, 0, 400):
        name = next(field for word, field in _FIELDS.items() if match["name"].lower().startswith(word))
        found.setdefault(name, int(match["value"]))
    if host := _NAME.search(said.text, 0, 400):
        found["host"] = host["value"]
    return {name: found[name] for name in ORDER if name in found}
