"""What services that run jobs put in front of each line, and what their exports put around it.

Sources: GitLab Runner (FF_TIMESTAMPS), gcloud ai custom-jobs stream-logs, Airflow (its log format before 3.0),
Metaflow, aws logs tail and CloudWatch's exports, Fluentd (out_file), and whole lines as strings of JSON, CSV or Python.
"""

from __future__ import annotations

from collections.abc import Mapping

from logdoctor.model import Speaker
from logdoctor.parsers.json_texts import from_json
from logdoctor.parsers.record import Wrapper
from logdoctor.parsers.shapes import DATED, ISO, WORD

_AIRFLOW = r"\[(?P<time>\d{4}-\d\d-\d\d(?:, |T)\d\d:\d\d:\d\d(?:\.\d{1,6})?(?: [A-Z]{3,4}|[+-]\d{4})?)\] \{"
_PUMPS = r"(?:subprocess|logging_mixin|ssh|pod_manager|docker|bash|python|local_task_job\w*|standard_task_runner)\.py"
"""These modules of Airflow log what another program printed: the level is not that program's."""
_ID = r"(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4})"


def read_string(groups: Mapping[str, str], rest: str) -> tuple[str, Speaker] | None:
    """A line that is one quoted string: what it says; None where a quotation mark stands within."""
    del groups
    text = rest.rstrip().removesuffix(",")
    mark, inner = text[0], text[1:-1]
    if mark == '"':
        try:
            return str(from_json(text)).rstrip("\r\n"), Speaker()
        except ValueError:
            inner = inner.replace('""', "\0")
    else:
        inner = inner.replace("\\'", "\0").removesuffix("\\n")
    return None if mark in inner else (inner.replace("\0", mark), Speaker())


def read_code(_groups: Mapping[str, str], rest: str) -> tuple[str, Speaker]:
    """A line that somebody set as code: without the mark at its end."""
    return rest.rstrip()[:-1], Speaker()


WRAPPERS: tuple[Wrapper, ...] = (
    Wrapper("gitlab", rf"(?P<time>{ISO}) \d\d[OE][ +]", "0123456789"),
    Wrapper("vertex", rf"[A-Z]{{4,9}}\t(?P<time>{DATED})\t(?P<tag>[\w-]{{1,60}})\t{{1,2}}", "ACDEINW"),
    Wrapper("airflow.pump", _AIRFLOW + rf"{_PUMPS}:\d{{1,6}}\}} {WORD} - ", "["),
    Wrapper("airflow", _AIRFLOW + rf"(?P<source>[\w.]{{1,80}}:\d{{1,6}})\}} (?P<level>{WORD}) - ", "[", once=True),
    Wrapper("metaflow", rf"(?P<time>{DATED}) \[\d{{1,20}}/[\w-]{{1,60}}/\d{{1,12}} \(pid \d{{1,10}}\)\] ", "2"),
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
