"""Broken and hostile logs give the same answer in bounded time.

Nothing in a log has an effect on the screen that shows a report.
"""

from __future__ import annotations

import io
import json
import random
import re
import tarfile
import tracemalloc
import zipfile

import pytest
from effort import within
from failing_job import ANSWER, LINES, LOG, OOM, TIMEOUT, VALIDATOR, answer, diagnose_log

import logdoctor
from logdoctor.inputs import Bounds
from logdoctor.model import CALM, InputError
from logdoctor.render import FORMATS, render

ESC = "\x1b"


@pytest.fixture(scope="module", autouse=True)
def load_knowledge(knowledge):
    """Load lazy modules before any test measures time."""
    diagnose_log(LOG, knowledge)


def diagnose_within(log, knowledge, paces: float):
    """Diagnose ``log`` in at most ``paces`` paces of `effort.within`."""
    with within(paces):
        diagnosis = diagnose_log(log, knowledge)
    VALIDATOR.validate(diagnosis.to_dict())
    return diagnosis


# ── one failed job with every prefix: the answer is that of the bare log ──


def each_line(shape: str):
    """Put each line of the job into ``shape``."""
    return lambda lines: "".join(shape.format(line) + "\n" for line in lines)


def json_lines(lines, make) -> str:
    return "".join(json.dumps(make(line, number)) + "\n" for number, line in enumerate(lines))


def docker_json(line, number):
    return {"log": line + "\n", "stream": "stderr", "time": f"2025-06-04T10:22:{number:02}.118204411Z"}


def journal_json(line, number):
    return {
        "__REALTIME_TIMESTAMP": str(1749032551000000 + number),
        "_HOSTNAME": "gpu-04",
        "PRIORITY": "6",
        "_PID": "5120",
        "SYSLOG_IDENTIFIER": "train",
        "MESSAGE": line,
    }


def app_json(line, number):
    return {"timestamp": f"2025-06-04T10:22:{number:02}Z", "level": "error", "logger": "train", "message": line}


def journal_bytes(line, number):
    return {**journal_json(line, number), "MESSAGE": list(f"{ESC}[31m{line}".encode())}


def one_message(lines) -> str:
    return json_lines(["\n".join(lines[1:7]), *lines[7:]], app_json)


def with_bars(lines) -> str:
    bar = "\rEpoch 3:  41%|####      | 410/1000 [01:12<01:44,  5.66it/s]"
    first, second, *rest = lines
    return bar * 300 + "\r" + first + bar * 3 + "\r" + second + "\n" + "".join(f"\r{line}\n" for line in rest)


PREFIXED_LOGS = {
    "windows line ends": lambda lines: "\r\n".join(lines) + "\r\n",
    "no last newline": "\n".join,
    "byte order mark": lambda lines: "\ufeff" + "\n".join(lines) + "\n",
    "progress bars": with_bars,
    "colours": each_line(ESC + "[31m{}" + ESC + "[0m"),
    "colours and erasing": each_line(ESC + "[2K" + ESC + "[1;31m{}" + ESC + "[m" + ESC + "[K"),
    "docker json-file": lambda lines: json_lines(lines, docker_json),
    "docker json-file with colours": lambda lines: json_lines(
        [f"{ESC}[31m{line}{ESC}[0m" for line in lines], docker_json
    ),
    "docker json-file with progress bars": lambda lines: json_lines(
        ["\rEpoch 3: 41%\r" + line for line in lines], docker_json
    ),
    "json lines": lambda lines: json_lines(lines, app_json),
    "traceback in one json message": one_message,
    "journal json": lambda lines: json_lines(lines, journal_json),
    "journal json in bytes": lambda lines: json_lines(lines, journal_bytes),
    "cri": each_line("2025-06-04T10:22:31.402117311Z stderr F {}"),
    "kubectl --timestamps": each_line("2025-06-04T10:22:31.402117311Z {}"),
    "kubectl --prefix": each_line("[pod/train-worker-0/pytorch] {}"),
    "kubectl --prefix --timestamps": each_line("[pod/train-worker-0/pytorch] 2025-06-04T10:22:31.402117311Z {}"),
    "syslog": each_line("Jun  4 10:22:31 gpu-04 train[5120]: {}"),
    "syslog with a priority": each_line("<11>Jun  4 10:22:31 gpu-04 train[5120]: {}"),
    "syslog 5424": each_line("<11>1 2025-06-04T10:22:31Z gpu-04 train 5120 - - {}"),
    "journal short-iso": each_line("2025-06-04T10:22:31+00:00 gpu-04 train[5120]: {}"),
    "compose": each_line("trainer-1  | {}"),
    "time stamps": each_line("2025-06-04 10:22:31,402 {}"),
    "grep": each_line("logs/train.log:{}"),
    "mpirun --tag-output": each_line("[1,0]<stderr>:{}"),
    "cri around docker json": lambda lines: each_line("2025-06-04T10:22:31.4Z stderr F {}")(
        json_lines(lines, docker_json).splitlines()
    ),
    "six prefixes deep": each_line(
        "[pod/train-worker-0/pytorch] 2025-06-04T10:22:31.4Z 2025-06-04T10:22:31.4Z stderr F "
        "Jun  4 10:22:31 gpu-04 train[5120]: 2025-06-04 10:22:31,402 " + ESC + "[31m{}" + ESC + "[0m"
    ),
}


@pytest.mark.parametrize("prefix_name", PREFIXED_LOGS)
def test_log_with_prefixes_gives_the_answer_of_the_bare_log(prefix_name, knowledge):
    diagnosis = diagnose_log(PREFIXED_LOGS[prefix_name](list(LINES)), knowledge)
    assert answer(diagnosis) == answer(diagnose_log(LOG, knowledge)) == ANSWER
    assert [s.signature for s in diagnosis.symptoms] == ["collective.timeout"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_other_encodings_with_a_mark_give_the_same_answer(encoding, knowledge):
    assert answer(diagnose_log(LOG.encode(encoding), knowledge)) == ANSWER


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_utf_16_of_both_byte_orders_gives_the_same_answer(mark, knowledge):
    encoding = "utf-16-le" if mark == b"\xff\xfe" else "utf-16-be"
    assert answer(diagnose_log(mark + LOG.encode(encoding), knowledge)) == ANSWER


@pytest.mark.parametrize(
    "junk", [b"\xff\xfe\xfa", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\0", b"\0" * 99]
)
def test_broken_bytes_around_lines_change_no_answer(junk, knowledge):
    data = b"".join(b"# " + junk + b" #\n" + line.encode() + junk + b"\n" for line in LINES)
    assert answer(diagnose_log(data, knowledge)) == ANSWER


def test_byte_order_mark_in_the_middle_changes_no_encoding(knowledge):
    assert answer(diagnose_log("started\n" + "\ufeff" + LOG, knowledge)) == ANSWER


# ── the content of a log has no effect on a screen ──

ATTACKS = {
    "title of the window": f"{ESC}]0;owned\x07",
    "hyperlink": f"{ESC}]8;;https://example.org\x1b\\here{ESC}]8;;{ESC}\\",
    "clipboard": f"{ESC}]52;c;cm0gLXJm\x07",
    "8-bit control": "\x9b2J\x9d0;owned\x9c",
    "clear screen": f"{ESC}[2J{ESC}[H",
    "device control": f'{ESC}P$q"p{ESC}\\',
    "script": "<script>alert(1)</script>",
    "image": "<img src=x onerror=alert(1)>",
    "link": "[free GPUs](javascript:alert(1))",
    "table and code": "| a | `b` ``` </td></tr>",
    "template": "{{ 7*7 }}{% raw %}",
    "bidirectional": "\u202eevil\u2066",
    "backspaces": "\b" * 40,
    "bell and nul": "\a\0",
}
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_escape_sequences_and_markup_never_reach_a_report(attack, knowledge):
    lines = [line.replace("Tried to", attack + "Tried to").replace("WorkNCCL", attack) for line in LINES]
    diagnosis = diagnose_log("\n".join([*lines, f"RuntimeError: {attack} {attack}"]), knowledge, name=f"job{attack}")
    for name in FORMATS:
        text = render(diagnosis, name)
        assert not RAW.search(text), name
        if name == "html":
            assert "<script>alert" not in text
            assert "<img" not in text
    VALIDATOR.validate(diagnosis.to_dict())


def test_markup_is_plain_text_in_markdown(knowledge):
    text = render(diagnose_log(f"RuntimeError: {ATTACKS['script']} {ATTACKS['link']}\n", knowledge), "markdown")
    outside_code = re.sub(r"(?s)(`{3,}).*?\1|(`+).*?\2", "", text)
    assert "<script>" not in outside_code
    assert not re.search(r"[^\\]\]\(javascript:", outside_code)


# ── size ──


def test_a_line_of_20_megabytes_is_read_and_the_failure_behind_it_found(knowledge):
    log = b"x" * (10 << 20) + OOM.encode() + b"y" * (10 << 20) + b"\n" + LOG.encode()
    diagnosis = diagnose_within(log, knowledge, 60)
    assert answer(diagnosis) == ANSWER
    assert max(len(e.line.text) for c in diagnosis.causes for e in c.evidence) < 1 << 20


def test_failing_line_of_20_megabytes_is_diagnosed_in_time(knowledge):
    diagnose_within(f"{OOM} {'Tried to allocate 2.50 GiB ' * (20 << 15)}\n", knowledge, 60)


@pytest.mark.parametrize("line", [OOM, TIMEOUT.format(rank=0), "RuntimeError: NCCL error: unhandled system error"])
def test_a_flood_of_one_failing_line_takes_little_time(line, knowledge):
    assert diagnose_within(f"{line}\n" * 30_000, knowledge, 100).verdict not in CALM


def test_a_flood_takes_little_memory(knowledge):
    log = f"{OOM}\n" * 7_000
    tracemalloc.start()
    diagnose_log(log[: len(OOM) * 100], knowledge)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    diagnose_log(log, knowledge)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert peak < 16 << 20


def test_five_thousand_different_failing_lines_are_diagnosed_in_time(knowledge):
    log = "".join(f"[rank{n % 8}]: RuntimeError: NCCL error {n} of peer 10.3.{n % 250}.{n % 7}\n" for n in range(5_000))
    diagnose_within(log, knowledge, 160)


def test_endless_traceback_is_diagnosed_in_time(knowledge):
    frames = "".join(f'  File "/opt/train/m{n}.py", line {n}, in f{n}\n    g{n}()\n' for n in range(1, 50_000))
    assert (
        answer(diagnose_within("Traceback (most recent call last):\n" + frames + "\n" + LOG, knowledge, 100)) == ANSWER
    )


def test_many_cut_tracebacks_are_diagnosed_in_time(knowledge):
    diagnose_within("Traceback (most recent call last):\n" * 20_000 + LOG, knowledge, 40)


def test_unfinished_mpi_help_frame_does_not_hide_the_failure(knowledge):
    frame = "-" * 74 + "\nWARNING: There was an error initializing an OpenFabrics device.\n\n  Local host: gpu-04\n"
    assert answer(diagnose_log(frame + LOG, knowledge)) == ANSWER


def test_many_unfinished_mpi_help_frames_are_diagnosed_in_time(knowledge):
    diagnose_within(("-" * 74 + "\nMPI_ABORT was invoked on rank 3\n") * 2_000, knowledge, 40)


PREFIXES = [
    "[rank3]: ",
    "[1,0]<stderr>:",
    "2025-06-04 10:22:31,402 ",
    "Jun  4 10:22:31 gpu-04 train[5120]: ",
    "<3>",
    "3: ",
]


@pytest.mark.parametrize("prefix", [*PREFIXES, "".join(PREFIXES)])
def test_thousand_prefixes_are_diagnosed_in_time(prefix, knowledge):
    diagnose_within(f"{prefix * 1000}{OOM}\n" * 3, knowledge, 40)


def test_deeply_nested_json_is_diagnosed_in_time(knowledge):
    line = OOM
    for _ in range(12):
        line = json.dumps({"log": line, "stream": "stderr"})[: 1 << 20]
    diagnose_within(line + "\n" + LOG, knowledge, 40)


def test_json_of_many_brackets_is_diagnosed_in_time(knowledge):
    assert answer(diagnose_within('{"a":' * 100_000 + "\n" + LOG, knowledge, 40)) == ANSWER


REPEATS = [
    "a:",
    "[",
    "NCCL WARN ",
    "(",
    "{",
    '"',
    "\\",
    " ",
    "\t",
    "=",
    "0",
    "0.",
    "a.",
    "-",
    ":",
    "::",
    "[rank0]",
    "<",
    "at ",
    "Error: ",
    "error ",
    "File ",
    "Traceback ",
    "rank 1 ",
    "CUDA ",
    "Timeout(ms)=1 ",
    "10.0.0.1<1>",
    "\x1b[",
    "\r",
    "é",
]


@pytest.mark.parametrize("repeat", REPEATS)
def test_repetition_of_16_kilobytes_is_matched_fast(repeat, knowledge):
    lines = [repeat * (16384 // len(repeat)) + end for end in ("", OOM, " failed: Connection reset by peer")]
    diagnose_within("\n".join(lines) + "\n", knowledge, 40)


@pytest.mark.parametrize("rank", ["4294967294", "99999999"])
def test_absurd_rank_is_not_named_as_culprit(rank, knowledge):
    text = f"mpirun noticed that process rank {rank} with PID 12 on node n1 exited on signal 9 (Killed).\n"
    cause = diagnose_log(text, knowledge).causes[0]
    assert (cause.signature, cause.culprit.ranks, cause.culprit.hosts) == ("mpi.rank-died", (), ("n1",))
    assert rank not in cause.title + cause.summary


# ── files that are no logs ──


def test_an_empty_file_is_nothing_to_judge(tmp_path, knowledge):
    (tmp_path / "a.log").touch()
    diagnosis = logdoctor.diagnose(tmp_path / "a.log", knowledge=knowledge)
    assert (diagnosis.verdict, diagnosis.coverage.lines, diagnosis.problems) == ("nothing-to-judge", 0, ())


BINARIES = [
    bytes(range(256)) * 4000,
    b"\x7fELF" + random.Random(7).randbytes(1 << 20),
    b"\0" * (1 << 20),
    b"\x89PNG\r\n\x1a\n" + b"\0" * 99,
]


@pytest.mark.parametrize("data", BINARIES)
def test_binary_file_beside_the_log_is_at_most_one_problem(data, tmp_path, knowledge):
    (tmp_path / "a.log").write_text(LOG)
    (tmp_path / "core.4411").write_bytes(data)
    diagnosis = logdoctor.diagnose([tmp_path / "a.log", tmp_path / "core.4411"], knowledge=knowledge)
    assert answer(diagnosis) == ANSWER
    assert len(diagnosis.problems) <= 1


@pytest.mark.parametrize("data", BINARIES[:2])
def test_binary_file_alone_is_refused(data, knowledge):
    with pytest.raises(InputError, match="was not read"):
        diagnose_log(data, knowledge)


def bomb_zip(size: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.log", LOG)
        archive.writestr("z.log", b"\0" * size)
    return out.getvalue()


def bomb_tar(size: int) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, data in (("a.log", LOG.encode()), ("z.log", b"\0" * size)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


@pytest.mark.parametrize("bomb", [bomb_zip, bomb_tar])
@pytest.mark.parametrize("bounds", [Bounds(inflated_bytes=1 << 20), Bounds(ratio=50, ratio_after=1 << 20)])
def test_bomb_is_cut_and_reported_and_the_log_before_it_diagnosed(bomb, bounds, knowledge):
    diagnosis = diagnose_log(bomb(16 << 20), knowledge, bounds=bounds)
    assert answer(diagnosis) == ANSWER
    assert diagnosis.problems
    assert diagnosis.coverage.bytes < 4 << 20


def test_endlessly_nested_archive_is_refused(knowledge):
    data = LOG.encode()
    for depth in range(12):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr(f"{depth}.zip" if depth else "a.log", data)
        data = out.getvalue()
    with pytest.raises(InputError, match="was not opened"):
        diagnose_log(data, knowledge)


def test_hostile_member_name_is_escaped_in_reports(knowledge):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(f"../../{ESC}[2J<script>.log", LOG)
    diagnosis = diagnose_log(out.getvalue(), knowledge)
    assert answer(diagnosis) == ANSWER
    for name in FORMATS:
        assert ESC not in render(diagnosis, name)
    assert "<script>.log" not in render(diagnosis, "html")


def test_evidence_full_of_invalid_digits_takes_little_time(knowledge):
    warning = "gx0{0}:5120:5288 [3] NCCL WARN Call to connect returned Connection refused {0}{1}g\n"
    diagnose_within("".join(warning.format(n, "1" * 8000) for n in range(9)), knowledge, 10)
