"""Lines that are JSON objects or logfmt, with message and source.

The keys are those of Docker's json-file, journalctl -o json, python-json-logger, structlog, zap, Cloud Logging, Elastic
and logrus, and of the log of a Kaggle notebook.  An object without a message, or with nothing but a message, may be
data, so its line stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from logdoctor.logs.decoders.syslog_programs import add_program
from logdoctor.logs.escapes import strip_escapes
from logdoctor.logs.json_texts import parse_json
from logdoctor.logs.times import parse_time
from logdoctor.logs.timestamps import level_of
from logdoctor.model import Level, Source
from logdoctor.model.numbers import number

_MAX_LENGTH = 1 << 20
_MESSAGE_KEYS = ("MESSAGE", "message", "msg", "log", "text", "event", "textPayload", "@message", "body", "line")
_STACK_KEYS = ("exc_info", "exception", "stack_trace", "stacktrace", "stack", "traceback", "exc_text")
_LEVEL_KEYS = ("level", "severity", "levelname", "lvl", "log.level", "loglevel", "PRIORITY", "severity_text")
_TIME_KEYS = ("time", "timestamp", "@timestamp", "ts", "asctime", "_SOURCE_REALTIME_TIMESTAMP", "__REALTIME_TIMESTAMP")
_HOST_KEYS = ("_HOSTNAME", "host", "hostname", "host_name", "node", "node_name", "nodename")
_RANK_KEYS = ("rank", "global_rank", "RANK", "process_index")
_NESTED_KEYS = ("message", "rank")
_SOURCE_KEYS = ("SYSLOG_IDENTIFIER", "logger", "name", "caller", "logger_name", "filename")
_OTHER_KEYS = ("stream", "pid", "_PID", "process", "local_rank", "kubernetes")


def read_json(_groups: Mapping[str, str], rest: str) -> tuple[str, Source] | None:
    """Return message and source of a JSON line. The message may have several lines."""
    entry = _parse_object(rest)
    return None if entry is None else _read_record(entry)


def read_kaggle(_groups: Mapping[str, str], rest: str) -> tuple[str, Source] | None:
    """Return the message of a line of a Kaggle notebook log.

    Such a log is one JSON list with an element per line.  The time is left out, because it counts from the start of the
    container.
    """
    entry = _parse_object(rest.rstrip().removesuffix("]"))
    text = entry.get("data") if entry else None
    return (strip_escapes(text.strip("\r\n")).replace("\r", "\n"), Source()) if isinstance(text, str) else None


def _parse_object(text: str) -> dict[str, Any] | None:
    """Parse a JSON object. Return None if ``text`` is none, or too long."""
    if len(text) > _MAX_LENGTH:
        return None
    try:
        entry = parse_json(text.rstrip().removesuffix(","))
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def read_logfmt(_groups: Mapping[str, str], rest: str) -> tuple[str, Source] | None:
    """Return message and source of ``time="…" level=error msg="…"``. Pairs after the message stay with it."""
    import re

    entry = dict[str, Any]()
    for pair in re.finditer(r'(\w{1,40})=("(?:[^"\\]|\\.)*"|\S*) ?', rest[:_MAX_LENGTH]):
        entry[pair[1]] = pair[2].strip('"').replace('\\"', '"').replace("\\n", "\n")
        if pair[1] in _MESSAGE_KEYS:
            entry[pair[1]] += f" {rest[pair.end() :]}" if rest[pair.end() :] else ""
            break
    return _read_record(entry)


def _flatten(entry: dict[str, Any]) -> dict[str, Any]:
    """Lift message and rank out of Rust tracing's ``fields`` and ``span``."""
    inner = [entry[key] for key in ("span", "fields") if isinstance(entry.get(key), dict)]
    return {k: v for part in inner for k, v in part.items() if k in _NESTED_KEYS} | entry if inner else entry


def _read_record(entry: dict[str, Any]) -> tuple[str, Source] | None:
    entry = _flatten(entry)
    message = next((m for key in _MESSAGE_KEYS if (m := _decode_message(entry.get(key))) is not None), None)
    source_keys = (*_LEVEL_KEYS, *_TIME_KEYS, *_HOST_KEYS, *_RANK_KEYS, *_OTHER_KEYS)
    if message is None or not any(key in entry for key in source_keys):
        return None
    stacks = [text for key in _STACK_KEYS if isinstance(text := entry.get(key), str) and "\n" in text]
    text = strip_escapes("\n".join([message.strip("\r\n"), *stacks])).replace("\r", "\n")
    pid = _find_number(entry, ("pid", "_PID", "process", "process_id"))
    pod = entry.get("kubernetes")
    tag = pod.get("pod_name") if isinstance(pod, dict) else entry.get("pod")
    logger = Source(
        rank=_find_number(entry, _RANK_KEYS),
        local_rank=_find_number(entry, ("local_rank", "LOCAL_RANK")),
        host=_find_word(entry, _HOST_KEYS),
        pid=pid,
        time=_find_time(entry),
        level=_find_level(entry),
        logger=_find_word(entry, _SOURCE_KEYS),
        tag=tag if isinstance(tag, str) and tag else None,
    )
    return add_program(_find_word(entry, ("SYSLOG_IDENTIFIER",)) or "", str(pid), text), logger


def _decode_message(value: Any) -> str | None:
    """Return the text. The journal writes text that is no UTF-8 as a list of bytes."""
    if isinstance(value, list) and all(isinstance(b, int) and 0 <= b < 256 for b in value):
        return bytes(value).decode("utf-8", "replace")
    return value if isinstance(value, str) else None


def _find_number(entry: Mapping[str, Any], keys: Iterable[str]) -> int | None:
    for key in keys:
        value = entry.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31:
            return value
        if isinstance(value, str) and value.isdecimal() and len(value) < 10:
            return number(value)
    return None


def _find_word(entry: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    return next((v for key in keys if isinstance(v := entry.get(key), str) and v), None)


def _find_time(entry: Mapping[str, Any]) -> float | None:
    for key in _TIME_KEYS:
        value = entry.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            value = f"{value:.6f}" if isinstance(value, float) else str(value)
        if isinstance(value, str) and (moment := parse_time(value)) is not None:
            return moment
    return None


def _find_level(entry: Mapping[str, Any]) -> Level | None:
    value = next((entry[key] for key in _LEVEL_KEYS if key in entry), None)
    if isinstance(value, str) and value and not value.isdecimal():
        return level_of(value)
    number = _find_number({"level": value}, ("level",))
    if number is None:
        return None
    if "PRIORITY" in entry:
        return ("fatal", "fatal", "fatal", "error", "warning", "info", "info", "info")[min(number, 7)]
    return "fatal" if number >= 50 else "error" if number >= 40 else "warning" if number >= 30 else "info"
