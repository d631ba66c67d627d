"""Prefixes and quoting of services that run jobs and export their logs.

Sources: GitLab Runner (FF_TIMESTAMPS), gcloud ai custom-jobs stream-logs, Airflow (its log format before 3.0),
Metaflow, aws logs tail and CloudWatch's exports, Fluentd (out_file), and whole lines as strings of JSON, CSV or Python.
"""

from __future__ import annotations

from collections.abc import Mapping

from logdoctor.logs.json_texts import parse_json
from logdoctor.logs.record_pattern import Prefix
from logdoctor.logs.timestamps import ISO, LEVEL, STAMP
from logdoctor.model import Source

_AIRFLOW = r"\[(?P<time>\d{4}-\d\d-\d\d(?:, |T)\d\d:\d\d:\d\d(?:\.\d{1,6})?(?: [A-Z]{3,4}|[+-]\d{4})?)\] \{"
_RELAYS = r"(?:subprocess|logging_mixin|ssh|pod_manager|docker|bash|python|local_task_job\w*|standard_task_runner)\.py"
"""Modules of Airflow that relay the output of a program. The level they print is their own."""
_ID = r"(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4})"


def read_string(groups: Mapping[str, str], rest: str) -> tuple[str, Source] | None:
    """Unquote a line that is one string. Return None if a quotation mark stands inside."""
    del groups
    text = rest.rstrip().removesuffix(",")
    mark, inner = text[0], text[1:-1]
    if mark == '"':
        try:
            return str(parse_json(text)).rstrip("\r\n"), Source()
        except ValueError:
            inner = inner.replace('""', "\0")
    else:
        inner = inner.replace("\\'", "\0").removesuffix("\\n")
    return None if mark in inner else (inner.replace("\0", mark), Source())


def read_code(_groups: Mapping[str, str], rest: str) -> tuple[str, Source]:
    """Remove the backtick at the end of a line set as code."""
    return rest.rstrip()[:-1], Source()


PREFIXES: tuple[Prefix, ...] = (
    Prefix("gitlab", rf"(?P<time>{ISO}) \d\d[OE][ +]", "0123456789"),
    Prefix("vertex", rf"[A-Z]{{4,9}}\t(?P<time>{STAMP})\t(?P<tag>[\w-]{{1,60}})\t{{1,2}}", "ACDEINW"),
    Prefix("airflow.pump", _AIRFLOW + rf"{_RELAYS}:\d{{1,6}}\}} {LEVEL} - ", "["),
    Prefix("airflow", _AIRFLOW + rf"(?P<logger>[\w.]{{1,80}}:\d{{1,6}})\}} (?P<level>{LEVEL}) - ", "[", once=True),
    Prefix("metaflow", rf"(?P<time>{STAMP}) \[\d{{1,20}}/[\w-]{{1,60}}/\d{{1,12}} \(pid \d{{1,10}}\)\] ", "2"),
    Prefix(
        "cloudwatch",
        rf"(?P<time>{ISO}) (?:(?P<tag>algo-\d{{1,4}})(?:[/-]\d{{9,13}})?|[\w.-]{{1,80}}/[\w.-]{{1,80}}/{_ID}) ",
        "2",
    ),
    Prefix("cloudwatch.export", r"(?P<time>1\d{12}),", "1"),
    Prefix(
        "fluentd",
        r"(?P<logger>[\w-]{1,60}(?:\.[\w-]{1,60}){0,9})(?:: |\t)(?=\{[^\n]*\"(?:log|message)\": ?\"[^\n]*\}\s*$)",
    ),
    Prefix("string", r"[ \t]{0,12}(?=(?P<mark>[\"'])[^\n]{3,}(?P=mark),?\s*$)", " \t\"'", read_string),
    Prefix("code", r"`(?=[^`\n]{4,2000}`\s*$)", "`", read_code),
)
