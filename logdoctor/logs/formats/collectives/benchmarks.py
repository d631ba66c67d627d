r"""Benchmarks: tables of MPI, networks and evaluations, progress, and wrong results.

Kinds and fields:

- ``progress.step``  unit, value: a row of a table over message sizes, powers of two (OSU, IMB, perftest)
- ``progress.done``  the benchmark printed its last words
- ``progress.greeted`` value, total: this rank of so many greets, as test programs of MPI do
- ``benchmark.wrong``  message: the benchmark checked its own result, and it is wrong
- ``benchmark.completion`` status, vendor_err: a transfer of perftest ended with this state (NOTIFY_COMP_ERROR_SEND)
- ``progress.scored`` an evaluation printed what all its tasks scored, which it does last; a benchmark its first result

Small sizes are left out: a line ``8  12.45`` is too much like any other.
Sources: HPL 2.3 (HPL_pdinfo, HPL_pdtest), HPCG 3.1 (ReportResults), STREAM 5.10, NPB 3.4 (print_results), gpu-burn,
CUDA samples; osu-micro-benchmarks 5 to 7 (util/osu_util.c), IMB 4 to 2021 (Output.c), perftest 4 to 6, UCX 1.8 to 1.17
(tools/perf), lm-evaluation-harness 0.3 to 0.4 (utils.make_table), lighteval, scikit-learn
(classification_report).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.multiline.progress_lines import read_step
from logdoctor.logs.record_pattern import Message, Multiline, RecordPattern
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_SIZES = "|".join(str(2**power) for power in range(9, 33))

_ROW = later(r"\s*\d+(?:\s+[\d.]+){1,8}\s*$")


def read_first_row(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Return the head of a table whose first row was measured.

    The row proves that an error before it did not stop the ranks.
    """
    del fields
    return Multiline(head.text) if any(_ROW.match(line.text) for line in islice(below, 1)) else None


_WRONG = "The benchmark checked what it had computed, and it is wrong: hardware, a library or the build miscalculates."

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern("benchmark.wrong", r"^\s*(?P<message>[1-9]\d* tests? completed and failed residual checks)", "error",
           note=_WRONG),
    RecordPattern("benchmark.wrong", r"(?P<message>HPCG result is INVALID\b.*|Failed Validation on array [abc]\[\].*"
           r"|^\s*Verification {2,}= +UNSUCCESSFUL\s*$|^\tGPU \d+: FAULTY\s*$|^Result = FAIL\s*$)", "error",
           note=_WRONG,
           scan=r"HPCG result is INVALID|Failed Validation on array|= +UNSUCCESSFUL|: FAULTY|Result = FAIL"),
    RecordPattern("benchmark.completion", r"Failed status (?P<status>\d{1,2}): wr_id \d+ syndrom (?P<vendor_err>0x[0-9a-f]+)",
           "error", note="A transfer of perftest failed.", priority=1),
    RecordPattern("progress.step", rf"^ *(?P<value>{_SIZES})(?: {{2,}}\d+)?(?: {{2,}}\d+\.\d{{1,6}}){{1,8}} *$", "info",
           read_step("step"), "A benchmark measured messages of this size.", -2, often=True,
           scan=rf"\b(?:{_SIZES}) {{2,}}[ \d]{{0,24}}\d+\.\d"),
    RecordPattern("progress.done", r"^# All processes entering MPI_Finalize\s*$|^Final: {2,}\d+(?: +[\d.]+){5,9}\s*$", "info",
           note="The benchmark came to its end.", scan=r"# All processes entering MPI_Finalize|Final: {2,}\d"),
    RecordPattern("progress.scored", r"^\s*#\s?(?:Size +(?:Avg )?(?:Lat|Band|Message|Overall)\w* ?.*|bytes +#(?:repetitions|"
           r"iterations) .+)", "info", read_first_row, "The benchmark measured its first message.",
           scan=r"# ?(?:Size +(?:Avg )?(?:Lat|Band|Mess|Over)|bytes +#(?:rep|iter))"),
    RecordPattern("progress.scored", r"^\| *(?:Tasks?|Groups) *\| *Version *\|.{0,120}\bMetric\b.{0,60}\bValue *\|", "info",
           note="The evaluation came to its end: it prints what all its tasks scored.",
           scan=r"\| *(?:Tasks?|Groups) *\| *Version *\|"),
    RecordPattern("progress.scored", r"^\s*weighted avg(?: {2,}[01]\.\d{1,4}){3} {2,}\d+\s*$", "info",
           note="A classification was scored (scikit-learn's report), mostly at the end."),
    RecordPattern("progress.greeted",
           r"^(?:\[[\w,:.-]{1,60}\](?:<\w{6}>:?)? ?)?\W{0,3}(?:[Hh]ello|HELLO|[Gg]reetings)\b.{0,120}?\b(?:[Rr]ank|"
           r"[Pp]roc(?:ess(?:or)?)?|[Tt]ask|[Nn]ode|I am|I'm)(?: number)?[ #=:]{1,3}(?P<value>\d{1,7}) *(?:of|out of|"
           r"/) *(?P<total>\d{1,7})\b", "info", note="A rank of a test program greets.",
           scan=r"(?:[Hh]ello|HELLO|[Gg]reetings)\b.{0,130}\d *(?:of|out of|/) *\d"),
)  # fmt: skip
