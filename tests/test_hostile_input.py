"""Logs as they really come, broken or hostile: the answer stays, nothing crashes, nothing takes long or acts on a screen."""

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
from failing_job import ANSWER, LINES, LOG, OOM, TIMEOUT, VALIDATOR, answer, diagnosed

import logdoctor
from logdoctor.model import InputError
from logdoctor.render import FORMATS, render
from logdoctor.sources import Bounds

ESC = "\x1b"


@pytest.fixture(scope="module", autouse=True)
def ready(knowledge):
    """What is loaded lazily is loaded before any test looks at its watch."""
    diagnosed(LOG, knowledge)


def timed(log, knowledge, paces: float):
    """The diagnosis, which must not take longer than so many `effort.within` paces."""
    with within(paces):
        found = diagnosed(log, knowledge)
    VALIDATOR.validate(found.to_dict())
    return found


# ── one failed job in every wrapping: the answer is that of the bare log ──


def every(shape: str):
    """Put each line of the job into ``shape``."""
    return lambda lines: "".join(shape.format(line) + "\n" for line in lines)


def records(lines, make) -> str:
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
    return records(["\n".join(lines[1:7]), *lines[7:]], app_json)


def with_bars(lines) -> str:
    bar = "\rEpoch 3:  41%|####      | 410/1000 [01:12<01:44,  5.66it/s]"
    first, second, *rest = lines
    return bar * 300 + "\r" + first + bar * 3 + "\r" + second + "\n" + "".join(f"\r{line}\n" for line in rest)


WRAPPINGS = {
    "windows line ends": lambda lines: "\r\n".join(lines) + "\r\n",
    "no last newline": "\n".join,
    "byte order mark": lambda lines: "\ufeff" + "\n".join(lines) + "\n",
    "progress bars": with_bars,
    "colours": every(ESC + "[31m{}" + ESC + "[0m"),
    "colours and erasing": every(ESC + "[2K" + ESC + "[1;31m{}" + ESC + "[m" + ESC + "[K"),
    "docker json-file": lambda lines: records(lines, docker_json),
    "docker json-file with colours": lambda lines: records([f"{ESC}[31m{line}{ESC}[0m" for line in lines], docker_json),
    "docker json-file with progress bars": lambda lines: records(
        ["\rEpoch 3: 41%\r" + line for line in lines], docker_json
    ),
    "json lines": lambda lines: records(lines, app_json),
    "traceback in one json message": one_message,
    "journal json": lambda lines: records(lines, journal_json),
    "journal json in bytes": lambda lines: records(lines, journal_bytes),
    "cri": every("2025-06-04T10:22:31.402117311Z stderr F {}"),
    "kubectl --timestamps": every("2025-06-04T10:22:31.402117311Z {}"),
    "kubectl --prefix": every("[pod/train-worker-0/pytorch] {}"),
    "kubectl --prefix --timestamps": every("[pod/train-worker-0/pytorch] 2025-06-04T10:22:31.402117311Z {}"),
    "syslog": every("Jun  4 10:22:31 gpu-04 train[5120]: {}"),
    "syslog with a priority": every("<11>Jun  4 10:22:31 gpu-04 train[5120]: {}"),
    "syslog 5424": every("<11>1 2025-06-04T10:22:31Z gpu-04 train 5120 - - {}"),
    "journal short-iso": every("2025-06-04T10:22:31+00:00 gpu-04 train[5120]: {}"),
    "compose": every("trainer-1  | {}"),
    "time stamps": every("2025-06-04 10:22:31,402 {}"),
    "grep": every("logs/train.log:{}"),
    "mpirun --tag-output": every("[1,0]<stderr>:{}"),
    "cri around docker json": lambda lines: every("2025-06-04T10:22:31.4Z stderr F {}")(
        records(lines, docker_json).splitlines()
    ),
    "six wrappings deep": every(
        "[pod/train-worker-0/pytorch] 2025-06-04T10:22:31.4Z 2025-06-04T10:22:31.4Z stderr F "
        "Jun  4 10:22:31 gpu-04 train[5120]: 2025-06-04 10:22:31,402 " + ESC + "[31m{}" + ESC + "[0m"
    ),
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_a_wrapped_log_gives_the_answer_of_the_bare_log(wrapping, knowledge):
    found = diagnosed(WRAPPINGS[wrapping](list(LINES)), knowledge)
    assert answer(found) == answer(diagnosed(LOG, knowledge)) == ANSWER
    assert [s.signature for s in found.symptoms] == ["collective.timeout"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_other_encodings_with_a_mark_give_the_same_answer(encoding, knowledge):
    assert answer(diagnosed(LOG.encode(encoding), knowledge)) == ANSWER


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_utf_16_of_both_byte_orders_gives_the_same_answer(mark, knowledge):
    encoding = "utf-16-le" if mark == b"\xff\xfe" else "utf-16-be"
    assert answer(diagnosed(mark + LOG.encode(encoding), knowledge)) == ANSWER


@pytest.mark.parametrize(
    "junk", [b"\xff\xfe\xfa", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\0", b"\0" * 99]
)
def test_broken_bytes_beside_and_behind_the_lines_change_nothing(junk, knowledge):
    data = b"".join(b"# " + junk + b" #\n" + line.encode() + junk + b"\n" for line in LINES)
    assert answer(diagnosed(data, knowledge)) == ANSWER


def test_a_byte_order_in_the_middle_is_no_other_encoding(knowledge):
    assert answer(diagnosed("started\n" + "\ufeff" + LOG, knowledge)) == ANSWER


# ── what a log holds never acts ──

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
def test_no_escape_sequence_or_markup_of_a_log_reaches_a_report(attack, knowledge):
    lines = [line.replace("Tried to", attack + "Tried to").replace("WorkNCCL", attack) for line in LINES]
    diagnosis = diagnosed("\n".join([*lines, f"RuntimeError: {attack} {attack}"]), knowledge, name=f"job{attack}")
    for name in FORMATS:
        text = render(diagnosis, name)
        assert not RAW.search(text), name
        if name == "html":
            assert "<script>alert" not in text
            assert "<img" not in text
    VALIDATOR.validate(diagnosis.to_dict())


def test_a_markup_attack_is_text_in_markdown(knowledge):
    text = render(diagnosed(f"RuntimeError: {ATTACKS['script']} {ATTACKS['link']}\n", knowledge), "markdown")
    outside_code = re.sub(r"(?s)(`{3,}).*?\1|(`+).*?\2", "", text)
    assert "<script>" not in outside_code
    assert not re.search(r"[^\\]\]\(javascript:", outside_code)


# ── size ──


def test_a_line_of_20_megabytes_is_read_and_the_failure_behind_it_found(knowledge):
    log = b"x" * (10 << 20) + OOM.encode() + b"y" * (10 << 20) + b"\n" + LOG.encode()
    found = timed(log, knowledge, 60)
    assert answer(found) == ANSWER
    assert max(len(e.line.text) for c in found.causes for e in c.evidence) < 1 << 20


def test_a_failing_line_of_20_megabytes_ends(knowledge):
    timed(f"{OOM} {'Tried to allocate 2.50 GiB ' * (20 << 15)}\n", knowledge, 60)


@pytest.mark.parametrize("line", [OOM, TIMEOUT.format(rank=0), "RuntimeError: NCCL error: unhandled system error"])
def test_a_flood_of_one_failing_line_takes_little_time(line, knowledge):
    assert timed(f"{line}\n" * 100_000, knowledge, 240).verdict != "healthy"


def test_a_flood_takes_little_memory(knowledge):
    log = f"{OOM}\n" * 10_000
    tracemalloc.start()
    diagnosed(log[: len(OOM) * 100], knowledge)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    diagnosed(log, knowledge)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert peak < 16 << 20


def test_twenty_thousand_different_failing_lines_end(knowledge):
    log = "".join(
        f"[rank{n % 8}]: RuntimeError: NCCL error {n} of peer 10.3.{n % 250}.{n % 7}\n" for n in range(20_000)
    )
    timed(log, knowledge, 240)


def test_a_traceback_without_end_ends(knowledge):
    frames = "".join(f'  File "/opt/train/m{n}.py", line {n}, in f{n}\n    g{n}()\n' for n in range(1, 50_000))
    assert answer(timed("Traceback (most recent call last):\n" + frames + "\n" + LOG, knowledge, 100)) == ANSWER


def test_tracebacks_that_are_cut_short_again_and_again_end(knowledge):
    timed("Traceback (most recent call last):\n" * 50_000 + LOG, knowledge, 100)


def test_a_help_frame_of_mpi_without_its_end_hides_nothing_behind_it(knowledge):
    frame = "-" * 74 + "\nWARNING: There was an error initializing an OpenFabrics device.\n\n  Local host: gpu-04\n"
    assert answer(diagnosed(frame + LOG, knowledge)) == ANSWER


def test_help_frames_without_end_again_and_again_end(knowledge):
    timed(("-" * 74 + "\nMPI_ABORT was invoked on rank 3\n") * 8_000, knowledge, 160)


PREFIXES = [
    "[rank3]: ",
    "[1,0]<stderr>:",
    "2025-06-04 10:22:31,402 ",
    "Jun  4 10:22:31 gpu-04 train[5120]: ",
    "<3>",
    "3: ",
]


@pytest.mark.parametrize("prefix", [*PREFIXES, "".join(PREFIXES)])
def test_a_thousand_prefixes_end(prefix, knowledge):
    timed(f"{prefix * 1000}{OOM}\n" * 3, knowledge, 40)


def test_json_in_json_in_json_ends(knowledge):
    line = OOM
    for _ in range(12):
        line = json.dumps({"log": line, "stream": "stderr"})[: 1 << 20]
    timed(line + "\n" + LOG, knowledge, 40)


def test_json_of_a_thousand_brackets_ends(knowledge):
    assert answer(timed('{"a":' * 100_000 + "\n" + LOG, knowledge, 40)) == ANSWER


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
@pytest.mark.parametrize("end", ["", OOM, " failed: Connection reset by peer"])
def test_no_repetition_of_16_kilobytes_is_slow_for_a_pattern(repeat, end, knowledge):
    timed(repeat * (16384 // len(repeat)) + end + "\n", knowledge, 40)


@pytest.mark.parametrize("rank", ["4294967294", "99999999"])
def test_a_rank_that_no_job_has_is_nobody(rank, knowledge):
    text = f"mpirun noticed that process rank {rank} with PID 12 on node n1 exited on signal 9 (Killed).\n"
    cause = diagnosed(text, knowledge).causes[0]
    assert (cause.signature, cause.culprit.ranks, cause.culprit.hosts) == ("mpi.rank-died", (), ("n1",))
    assert rank not in cause.title + cause.summary


# ── files that are no logs ──


def test_an_empty_file_is_healthy(tmp_path, knowledge):
    (tmp_path / "a.log").touch()
    found = logdoctor.diagnose(tmp_path / "a.log", knowledge=knowledge)
    assert (found.verdict, found.coverage.lines, found.problems) == ("healthy", 0, ())


BINARIES = [
    bytes(range(256)) * 4000,
    b"\x7fELF" + random.Random(7).randbytes(1 << 20),
    b"\0" * (1 << 20),
    b"\x89PNG\r\n\x1a\n" + b"\0" * 99,
]


@pytest.mark.parametrize("data", BINARIES)
def test_a_binary_file_is_told_as_such_beside_the_log(data, tmp_path, knowledge):
    (tmp_path / "a.log").write_text(LOG)
    (tmp_path / "core.4411").write_bytes(data)
    found = logdoctor.diagnose([tmp_path / "a.log", tmp_path / "core.4411"], knowledge=knowledge)
    assert answer(found) == ANSWER
    assert len(found.problems) <= 1


@pytest.mark.parametrize("data", BINARIES[:2])
def test_a_binary_file_alone_is_an_input_that_cannot_be_read(data, knowledge):
    with pytest.raises(InputError, match="was not read"):
        diagnosed(data, knowledge)


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
def test_a_bomb_is_cut_told_and_what_stood_before_it_diagnosed(bomb, bounds, knowledge):
    found = diagnosed(bomb(16 << 20), knowledge, bounds=bounds)
    assert answer(found) == ANSWER
    assert found.problems
    assert found.coverage.bytes < 4 << 20


def test_an_archive_in_itself_without_end_is_told(knowledge):
    data = LOG.encode()
    for depth in range(12):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr(f"{depth}.zip" if depth else "a.log", data)
        data = out.getvalue()
    with pytest.raises(InputError, match="was not opened"):
        diagnosed(data, knowledge)


def test_a_member_cannot_act_by_its_name(knowledge):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(f"../../{ESC}[2J<script>.log", LOG)
    diagnosis = diagnosed(out.getvalue(), knowledge)
    assert answer(diagnosis) == ANSWER
    for name in FORMATS:
        assert ESC not in render(diagnosis, name)
    assert "<script>.log" not in render(diagnosis, "html")


def test_a_proof_full_of_digits_that_are_no_number_takes_little_time(knowledge):
    warning = "gx0{0}:5120:5288 [3] NCCL WARN Call to connect returned Connection refused {0}{1}g\n"
    timed("".join(warning.format(n, "1" * 8000) for n in range(9)), knowledge, 10)
