r"""AWS Neuron: the run-time of Trainium and Inferentia, and CCOM, its branch of NCCL.

Kinds and fields (``by_pid`` and ``tid`` from the prefix):

``neuron.error``    part (NRT, TDRV, ENC, …), func, text = the message; a warning where it says that it is ignored
``neuron.failure``  status (an NRT_STATUS), call: what the dump of a failed call says at its end
``neuron.node``     by_host: the host, from such a dump;  ``neuron.dump`` its other lines
``neuron.ccom``     file, line, text: a WARN of CCOM; most of them it survives, so it is a warning

Sources: aws-neuronx-runtime-lib 2.9 to 2.21 (its messages as aws-neuron-sdk shows them: nrt-troubleshoot.rst, training
troubleshooting).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.record_pattern import Message, Multiline, RecordPattern
from logdoctor.model import Value

_WHO = r"(?P<by_pid>\d{1,10}):(?P<tid>\d{1,10})\s+"
_DUMP = rf"{_WHO}ERROR\s+NRT:nrt_infodump\s+"


def _severity(head: Message, fields: Mapping[str, Value], _below: Iterator[Message]) -> Multiline:
    """Lower the level of a line with NON-FATAL to warning."""
    text = str(fields.get("text", head.text))
    return Multiline(text, level="warning" if "NON-FATAL" in text else None)


RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "neuron.failure",
        rf"{_DUMP}(?P<text>Failure: (?P<status>NRT_\w{{3,40}}) in (?P<call>nrt_\w{{3,40}})\(\))",
        level="error",
        priority=3,
        scan=r"NRT:nrt_infodump +Failure: NRT_",
        note="A call of the Neuron run-time failed; the lines before say where and with which environment.",
    ),
    RecordPattern(
        "neuron.node",
        rf"{_DUMP}Nodename: (?P<by_host>[\w.-]{{1,255}})",
        level="info",
        priority=3,
        scan=r"NRT:nrt_infodump +Nodename: ",
        note="On which host the Neuron run-time failed.",
    ),
    RecordPattern(
        "neuron.dump",
        rf"{_DUMP}(?P<text>.{{0,400}})",
        level="info",
        priority=2,
        scan=r"NRT:nrt_infodump +",
        note="Part of what the Neuron run-time prints about itself when a call failed.",
    ),
    RecordPattern(
        "neuron.error",
        rf"{_WHO}(?:ERROR|FATAL)\s+(?P<part>[A-Z]{{2,6}}):(?P<func>\w{{3,80}})\s+(?P<text>\S.{{0,600}})",
        level="error",
        read_lines=_severity,
        priority=1,
        scan=r":\d{1,10} +(?:ERROR|FATAL) +(?:NRT|TDRV|ENC|NMGR|KMGR|KBL|HAL|NDRV|NEC|CCOM|DLR|RTD)\b:",
        note="The Neuron run-time reports a failure; the first such line is nearest to the fault.",
    ),
    RecordPattern(
        "neuron.ccom",
        rf"{_WHO}\[(?P<device>\d{{1,4}})\] (?P<file>[\w./]{{1,80}}):(?P<line>\d{{1,6}}) CCOM WARN (?P<text>.{{1,400}})",
        level="warning",
        priority=1,
        scan=r"\d CCOM WARN ",
        note="The collectives of Neuron warn; on one instance they do without a network.",
    ),
)
