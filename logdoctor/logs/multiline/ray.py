"""Dead actors and workers of Ray."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.multiline.lines_below import joined, matching, numbers_of
from logdoctor.logs.record_pattern import Message, Multiline
from logdoctor.model import Level, Value
from logdoctor.model.numbers import number_or_text
from logdoctor.pack.regexes import later

MAX_LINES = 24
_PART = later(
    r"class_name: (?P<class_name>\S{1,200})|actor_id: (?P<actor_id>[0-9a-f]{8,80})"
    r"|(?:^ *|(?<![\w ]))pid: (?P<pid>\d{1,9})|Worker PID: (?P<worker_pid>\d{1,9})"
    r"|(?:^ *|(?<![\w ]))ip: \[?(?P<ip>[\w.:-]{3,80})"
    r"|Worker IP address: (?P<host>[\w.:-]{3,80})|exit type: (?P<exit_type>[A-Z_]{4,60})"
    r"|exit detail: (?P<exit_detail>.{1,300})|its owner has died.{0,120}? Owner Ip address: (?P<owner>[\w.:-]{3,80})"
)
_MORE = later(
    r"^\s*(?:class_name|actor_id|pid|namespace|ip|name|repr|Worker|Node|Task|job|actor|Worker ID)\b.*: |^\t"
    r"|^The actor (?:is dead|never ran|died)|^Worker exit"
)
_NAMES = {"worker_pid": "pid", "ip": "host"}


def read_death(head: Message, _fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline:
    """Read the fields of a dead worker or actor. They stand in the head or on the lines below."""
    lines = [line for line, _ in matching(below, _MORE, MAX_LINES)]
    fields: dict[str, Value] = {}
    for line in (head, *lines):
        for match in _PART.finditer(line.text):
            for name, value in match.groupdict().items():
                if value:
                    fields.setdefault(_NAMES.get(name, name), number_or_text(value) if name.endswith("pid") else value)
    if owner := fields.pop("owner", ""):  # it is the owner that ended; Ray then ended the actor, whose pid is told
        fields.pop("pid", None)
        fields["host"] = owner
    planned = str(fields.get("exit_type", "")).startswith("INTENDED")
    level: Level | None = "info" if planned else None
    return Multiline(joined(head, lines)[:4_000], fields, numbers_of(lines), 0, level)
