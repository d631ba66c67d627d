"""Prefixes and quoting of services that run jobs and export their logs.

Sources: GitLab Runner (FF_TIMESTAMPS), gcloud ai custom-jobs stream-logs, Airflow (its log format before 3.0),
Metaflow, aws logs tail and CloudWatch's exports, Fluentd (out_file), and whole lines as strings of JSON, CSV or Python.
"""

from __future__ import annotations

from collections.abc import Mapping

from logdoctor.model import Speaker
from logdoctor.parsers.json_texts import parse_json
from logdoctor.parsers.record import Wrapper
from logdoctor.parsers.shapes import ISO, LEVEL, STAMP

_AIRFLOW = r"\[(?P<time>\d{4}-\d\d-\d\d(?:, |T)\d\d:\d\d:\d\d(?:\.\d{1,6})?(?: [A-Z]{3,4}|[+-]\d{4})?)\] \{"
_RELAYS = r"(?:subprocess|logging_mixin|ssh|pod_manager|docker|bash|python|local_task_job\w*|standard_task_runner)\.py"
"""Modules of Airflow that relay the output of a program. The level they print is their own."""
_ID = r"(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4})"


def read_string(groups: Mapping[str, str], rest: str) -> tuple[str, Speaker] | None:
    """Unquote a line that is one string. Return None if a quotation mark stands inside."""
    del groups
    text = rest.rstrip().removesuffix(",")
    mark, inner = text[0], text[1:-1]
    if mark == '"':
        try:
            return str(parse_json(text)).rstrip("\r\n"), Speaker()
        except ValueError:
            inner = inner.replace('""', "\0")
    else:
        inner = inner.replace("\\'", "\0").removesuffix("\\n")
    return None if mark in inner else (inner.replace("\0", mark), Speaker())


def read_code(_groups: Mapping[str, str], rest: str) -> tuple[str, Speaker]:
    """Remove the backtick at the end of a line set as code."""
    return rest.rstrip()[:-1], Speaker()


WRAPPERS: tuple[Wrapper, ...] = (
    Wrapper("gitlab", rf"(?P<time>{ISO}) \d\d[OE][ +]", "0123456789"),
    Wrapper("vertex", rf"[A-Z]{{4,9}}\t(?P<time>{STAMP})\t(?P<tag>[\w-]{{1,60}})\t{{1,2}}", "ACDEINW"),
    Wrapper("airflow.pump", _AIRFLOW + rf"{_RELAYS}:\d{{1,6}}\}} {LEVEL} - ", "["),
    Wrapper("airflow", _AIRFLOW + rf"(?P<source>[\w.]{{1,80}}:\d{{1,6}})\}} (?P<level>{LEVEL}) - ", "[", once=True),
    Wrapper("metaflow", rf"(?P<time>{STAMP}) \[\d{{1,20}}/[\w-]{{1,60}}/\d{{1,12}} \(pid \d{{1,10}}\)\] ", "2"),
    Wrapper(
        "cloudwatch",
        rf"(?P<time>{ISO}) (?:(?P<tag>algo-\d{{1,4}})(?:[/-]\d{{9,13}})?|[\w.-]{{1,80}}/[\w.-]{{1,80}}/{_ID}) ",
        "2",
    ),
    Wrapper("cloudwatch.export", r"(?P<time>1\d{12}),", "1"),
    Wrapper(
        "fluentd",
        r"(?P<source>[\w-]{1,60}(?:\.[\w-]{1,60}){0,9})(?:: |\t)(?=\{[^\n]*\"(?:log|message)\": ?\"[^\n]*\}\s*$)",
    ),
    Wrapper("string", r"[ \t]{0,12}(?=(?P<mark>[\"'])[^\n]{3,}(?P=mark),?\s*$)", " \t\"'", read_string),
    Wrapper("code", r"`(?=[^`\n]{4,2000}`\s*$)", "`", read_code),
)
