"""Lines that are JSON objects or logfmt: the message, and who said it when.

Keys of: Docker's json-file, journalctl -o json, python-json-logger, structlog, zap, Cloud Logging, Elastic, logrus;
Kaggle's log of a notebook.
A line without a message, or with a message and nothing else, is left as it is: it may be data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from logdoctor.model import Level, Speaker
from logdoctor.parsers.escapes import without_escapes
from logdoctor.parsers.json_texts import from_json
from logdoctor.parsers.shapes import level_of
from logdoctor.parsers.syslog_programs import with_program
from logdoctor.parsers.times import seconds

_LONGEST = 1 << 20
_MESSAGE = ("MESSAGE", "message", "msg", "log", "text", "event", "textPayload", "@message", "body", "line")
_MORE = ("exc_info", "exception", "stack_trace", "stacktrace", "stack", "traceback")
_LEVEL = ("level", "severity", "levelname", "lvl", "log.level", "loglevel", "PRIORITY", "severity_text")
_TIME = ("time", "timestamp", "@timestamp", "ts", "asctime", "_SOURCE_REALTIME_TIMESTAMP", "__REALTIME_TIMESTAMP")
_HOST = ("_HOSTNAME", "host", "hostname", "host_name", "node", "node_name", "nodename")
_RANK = ("rank", "global_rank", "RANK", "process_index")
_DEEPER = ("message", "rank")
_SOURCE = ("SYSLOG_IDENTIFIER", "logger", "name", "caller", "logger_name", "filename")
_OTHERS = ("stream", "pid", "_PID", "process", "local_rank", "kubernetes")


def read_json(groups: Mapping[str, str], rest: str) -> tuple[str, Speaker] | None:
    """The message of a line that is a JSON object; it may have several lines."""
    del groups
    found = _object(rest)
    return None if found is None else _read(found)


def read_kaggle(groups: Mapping[str, str], rest: str) -> tuple[str, Speaker] | None:
    """What a notebook on Kaggle wrote: its log is one list, of which each line holds one element.

    The time is counted from the start of the container, so it is no time of day.
    """
    del groups
    found = _object(rest.rstrip().removesuffix("]"))
    text = found.get("data") if found else None
    return (without_escapes(text.strip("\r\n")).replace("\r", "\n"), Speaker()) if isinstance(text, str) else None


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object that ``text`` is; None if it is none, or too long."""
    if len(text) > _LONGEST:
        return None
    try:
        found = from_json(text.rstrip().removesuffix(","))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def read_logfmt(groups: Mapping[str, str], rest: str) -> tuple[str, Speaker] | None:
    """The message of ``time="…" level=error msg="…"``; the pairs behind the message stay with it."""
    import re

    del groups
    found = dict[str, Any]()
    for pair in re.finditer(r'(\w{1,40})=("(?:[^"\\]|\\.)*"|\S*) ?', rest[:_LONGEST]):
        found[pair[1]] = pair[2].strip('"').replace('\\"', '"').replace("\\n", "\n")
        if pair[1] in _MESSAGE:
            found[pair[1]] += f" {rest[pair.end() :]}" if rest[pair.end() :] else ""
            break
    return _read(found)


def _flat(found: dict[str, Any]) -> dict[str, Any]:
    """With what Rust's tracing keeps one level deeper: the message in ``fields``, the rank in ``span``."""
    inner = [found[key] for key in ("span", "fields") if isinstance(found.get(key), dict)]
    return {k: v for more in inner for k, v in more.items() if k in _DEEPER} | found if inner else found


def _read(found: dict[str, Any]) -> tuple[str, Speaker] | None:
    found = _flat(found)
    message = next((m for key in _MESSAGE if (m := _message(found.get(key))) is not None), None)
    known = (*_LEVEL, *_TIME, *_HOST, *_RANK, *_OTHERS)
    if message is None or not any(key in found for key in known):
        return None
    more = [text for key in _MORE if isinstance(text := found.get(key), str) and "\n" in text]
    text = without_escapes("\n".join([message.strip("\r\n"), *more])).replace("\r", "\n")
    pid = _number(found, ("pid", "_PID", "process", "process_id"))
    pod = found.get("kubernetes")
    tag = pod.get("pod_name") if isinstance(pod, dict) else found.get("pod")
    speaker = Speaker(
        rank=_number(found, _RANK),
        local_rank=_number(found, ("local_rank", "LOCAL_RANK")),
        host=_word(found, _HOST),
        pid=pid,
        time=_time(found),
        level=_level(found),
        source=_word(found, _SOURCE),
        tag=tag if isinstance(tag, str) and tag else None,
    )
    return with_program(_word(found, ("SYSLOG_IDENTIFIER",)) or "", str(pid), text), speaker


def _message(value: Any) -> str | None:
    """Text as it is; the journal gives text that is no UTF-8 as a list of bytes."""
    if isinstance(value, list) and all(isinstance(b, int) and 0 <= b < 256 for b in value):
        return bytes(value).decode("utf-8", "replace")
    return value if isinstance(value, str) else None


def _number(found: Mapping[str, Any], keys: Iterable[str]) -> int | None:
    for key in keys:
        value = found.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31:
            return value
        if isinstance(value, str) and value.isdecimal() and len(value) < 10:
            return int(value)
    return None


def _word(found: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    return next((v for key in keys if isinstance(v := found.get(key), str) and v), None)


def _time(found: Mapping[str, Any]) -> float | None:
    for key in _TIME:
        value = found.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            value = f"{value:.6f}" if isinstance(value, float) else str(value)
        if isinstance(value, str) and (moment := seconds(value)) is not None:
            return moment
    return None


def _level(found: Mapping[str, Any]) -> Level | None:
    value = next((found[key] for key in _LEVEL if key in found), None)
    if isinstance(value, str) and value and not value.isdecimal():
        return level_of(value)
    number = _number({"level": value}, ("level",))
    if number is None:
        return None
    if "PRIORITY" in found:
        return ("fatal", "fatal", "fatal", "error", "warning", "info", "info", "info")[min(number, 7)]
    return "fatal" if number >= 50 else "error" if number >= 40 else "warning" if number >= 30 else "info"
