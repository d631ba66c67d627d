"""Files, folders, globs, pipes and open files, read as streams."""

import io
import os
import random
import subprocess
import sys
import threading

import pytest

from logdoctor.inputs import Bounds, open_streams
from logdoctor.inputs.paths import may_be_log, sort_for_reading
from logdoctor.model import Job, Problem


def read(*paths, bounds=None, piece=1 << 16):
    """Return the text of each stream by name, and the problems."""
    problems: list[Problem] = []
    texts: dict[str, bytes] = {}
    for stream in open_streams(Job("job", tuple(paths)), problems, bounds or Bounds()):
        texts[stream.name] = b"".join(pieces(stream, piece))
    return texts, problems


def pieces(stream, size):
    buffer = memoryview(bytearray(size))
    while count := stream.readinto(buffer):
        yield bytes(buffer[:count])


def names_below(folder, texts):
    return [os.path.relpath(name, folder) for name in texts]


# ── files ──


def test_a_plain_file_is_read_byte_for_byte(tmp_path):
    text = b"one\r\ntwo\rtwo again\0 nul\xff\xfe broken\n"
    (tmp_path / "a.log").write_bytes(text)
    assert read(str(tmp_path / "a.log")) == ({str(tmp_path / "a.log"): text}, [])


def test_a_plain_file_is_read_in_pieces_of_anysize(tmp_path):
    text = bytes(range(32, 127)) * 200
    (tmp_path / "a.log").write_bytes(text)
    for piece in (1, 7, 4096, 1 << 20):
        assert read(str(tmp_path / "a.log"), piece=piece)[0] == {str(tmp_path / "a.log"): text}


def test_an_empty_file_is_a_log_with_nothing_in_it(tmp_path):
    (tmp_path / "a.log").touch()
    assert read(str(tmp_path / "a.log")) == ({str(tmp_path / "a.log"): b""}, [])


def test_missing_path_is_a_problem_and_other_inputs_are_read(tmp_path):
    (tmp_path / "b.log").write_text("x")
    texts, problems = read(str(tmp_path / "a.log"), str(tmp_path / "b.log"))
    assert list(texts.values()) == [b"x"]
    assert [(p.where, p.why) for p in problems] == [(str(tmp_path / "a.log"), "there is no such file or folder")]


def test_a_path_with_a_nul_character_is_a_problem():
    assert read("a\0b")[1][0].why == "the path has a NUL character in it"


def test_unreadable_file_is_a_problem(tmp_path, monkeypatch):
    (tmp_path / "a.log").write_text("x")

    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)  # the user of a test may be root
    texts, problems = read(str(tmp_path / "a.log"))
    assert not texts
    assert (problems[0].why, problems[0].where) == ("Permission denied", str(tmp_path / "a.log"))
    assert problems[0].help


def test_unlistable_folder_is_a_problem(tmp_path, monkeypatch):
    def refuse(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    assert read(str(tmp_path))[1][0].why == "Permission denied"


def test_a_device_is_a_problem():
    assert "device" in read("/dev/zero")[1][0].why


def test_the_same_file_named_twice_is_read_once(tmp_path):
    (tmp_path / "a.log").write_text("x")
    os.link(tmp_path / "a.log", tmp_path / "b.log")
    assert len(read(str(tmp_path / "a.log"), str(tmp_path / "b.log"), str(tmp_path))[0]) == 1


def test_binary_files_that_the_user_named_are_problems(tmp_path):
    (tmp_path / "core").write_bytes(b"\x7fELF\2\1\1" + b"\0" * 9)
    (tmp_path / "blob").write_bytes(random.Random(7).randbytes(4096))
    texts, problems = read(str(tmp_path / "core"), str(tmp_path / "blob"))
    assert not texts
    assert [p.why for p in problems] == ["it is an ELF program, not text", "it is binary data, not text"]


def test_log_with_a_run_of_nuls_is_text(tmp_path):
    text = b"\0" * 3000 + b"step 17 loss 2.5\n" * 50
    (tmp_path / "a.log").write_bytes(text)
    assert read(str(tmp_path / "a.log")) == ({str(tmp_path / "a.log"): text}, [])


def test_huge_hole_is_read_fast(tmp_path):
    with (tmp_path / "a.log").open("wb") as file:
        file.write(b"first\n")
        file.seek(1 << 40)
        file.write(b"last\n")
    text = read(str(tmp_path / "a.log"))[0][str(tmp_path / "a.log")]
    assert text.replace(b"\0", b"") == b"first\nlast\n"
    assert len(text) < 1 << 20


@pytest.mark.parametrize("encoding", ["gbk", "latin-1", "utf-8"])
def test_text_of_any_8_bit_encoding_is_text(tmp_path, encoding):
    text = {"gbk": "训练失败：连接超时\n", "latin-1": "délai dépassé\n", "utf-8": "训练失败 ✗\n"}[encoding]
    (tmp_path / "a.log").write_bytes(text.encode(encoding) * 90)
    assert read(str(tmp_path / "a.log")) == ({str(tmp_path / "a.log"): text.encode(encoding) * 90}, [])


def test_file_that_fails_midway_gives_the_text_before(tmp_path):
    class Breaking(io.RawIOBase):
        left = 3

        def readable(self):
            return True

        def readinto(self, buffer):
            self.left -= 1
            if self.left < 0:
                raise OSError(5, "Input/output error")
            buffer[:8] = b"step 1\n\n"
            return 8

    texts, problems = read(io.BufferedReader(Breaking(), 8))
    assert texts == {"<open file>": b"step 1\n\n" * 3}
    assert "Input/output error" in problems[0].why


# ── folders ──


def test_a_folder_is_read_whole_in_natural_order(tmp_path):
    for name in ("rank_10/out.log", "rank_2/out.log", "rank_2/err.log", "driver.log", "deep/er/x.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    texts, problems = read(str(tmp_path))
    assert names_below(tmp_path, texts) == [
        "deep/er/x.txt",
        "driver.log",
        "rank_2/err.log",
        "rank_2/out.log",
        "rank_10/out.log",
    ]
    assert not problems


def test_rotated_parts_are_read_oldest_first():
    assert sort_for_reading(["x.log", "x.log.1", "x.log.10.gz", "x.log.2.gz"]) == [
        "x.log.10.gz",
        "x.log.2.gz",
        "x.log.1",
        "x.log",
    ]
    assert sort_for_reading(["x.log", "x.log-20260302", "x.log-20260301.gz"]) == [
        "x.log-20260301.gz",
        "x.log-20260302",
        "x.log",
    ]
    assert sort_for_reading(["out.10", "out.9", "a", "a/b"]) == ["a", "a/b", "out.9", "out.10"]


@pytest.mark.parametrize(
    "name",
    [
        ".git/HEAD",
        "a/.cache/x.log",
        "model.pt",
        "w/model-00001.safetensors",
        "lib/libnccl.so.2.21",
        "train.py",
        "__pycache__/x.log",
        "events.out.tfevents.17.node",
        "ckpt/rng.PKL",
        "./",
        "",
    ],
)
def test_files_of_other_kinds_are_skipped(name):
    assert not may_be_log(name)


@pytest.mark.parametrize(
    "name", ["slurm-17.out", "stdout", "job.o1234", "./a/b.log", "../x.log", "py", "log.gz", "a.json"]
)
def test_possible_logs_are_opened(name):
    assert may_be_log(name)


def test_unknown_data_in_a_folder_is_a_problem_but_known_data_is_not(tmp_path):
    (tmp_path / "a.log").write_text("x")
    (tmp_path / "weights.pt").write_bytes(random.Random(7).randbytes(999))
    (tmp_path / "dump").write_bytes(b"\x80\x04\x95" + b"\0" * 60)
    assert read(str(tmp_path))[1] == []
    (tmp_path / "what").write_bytes(random.Random(7).randbytes(4096))
    assert [p.where for p in read(str(tmp_path))[1]] == [str(tmp_path / "what")]


def test_an_empty_folder_is_a_problem(tmp_path):
    assert read(str(tmp_path))[1][0].what == "no log found"


def test_links_that_go_in_circles_end(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.log").write_text("x")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "self").symlink_to("self")
    texts, problems = read(str(tmp_path))
    assert names_below(tmp_path, texts) == ["a/x.log"]
    assert [p.where for p in problems] == [str(tmp_path / "a" / "self")]


def test_linked_file_has_its_real_name(tmp_path):
    (tmp_path / "run_3.log").write_text("x")
    (tmp_path / "latest.log").symlink_to("run_3.log")
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "y.log").write_text("y")
    (tmp_path / "current").symlink_to("z")
    assert names_below(tmp_path, read(str(tmp_path))[0]) == ["run_3.log", "z/y.log"]


def test_links_to_other_places_are_followed_on_demand(tmp_path):
    (tmp_path / "pods").mkdir()
    (tmp_path / "pods" / "0.log").write_text("x")
    (tmp_path / "containers").mkdir()
    (tmp_path / "containers" / "trainer.log").symlink_to("../pods/0.log")
    place = str(tmp_path / "containers")
    texts, problems = read(place)
    assert (texts, [p.why for p in problems]) == ({}, ["it is a link that leaves the folder"])
    assert [s.name for s in open_streams(Job("job", (place,), follow_links=True), [])] == [f"{place}/trainer.log"]


def test_a_broken_link_is_a_problem(tmp_path):
    (tmp_path / "gone.log").symlink_to("nowhere")
    assert "link" in read(str(tmp_path))[1][0].why
    assert "link" in read(str(tmp_path / "gone.log"))[1][0].why


def test_pipe_in_a_folder_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.log").write_text("x")
    texts, problems = read(str(tmp_path))
    assert list(texts.values()) == [b"x"]
    assert [p.where for p in problems] == [str(tmp_path / "pipe")]


def test_a_pipe_that_the_user_named_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"line\n" * 5000,))
    writer.start()
    assert read(str(tmp_path / "pipe")) == ({str(tmp_path / "pipe"): b"line\n" * 5000}, [])
    writer.join()


def test_more_files_than_the_bound_are_a_problem(tmp_path):
    for number in range(6):
        (tmp_path / f"{number}.log").write_text("x")
    texts, problems = read(str(tmp_path), bounds=Bounds(entries=4))
    assert len(texts) == 4
    assert [p.what for p in problems] == ["not every file was read"]


def test_unprintable_name_is_escaped(tmp_path):
    (tmp_path / os.fsdecode(b"a\xff\n\x1b[2J.log")).write_text("x")
    (name,) = read(str(tmp_path))[0]
    assert name.endswith("a\ufffd\ufffd\ufffd[2J.log")


def test_problems_beyond_a_few_hundred_are_not_listed(tmp_path):
    texts, problems = read(*(f"{tmp_path}/{number}" for number in range(500)))
    assert len(problems) == 200
    assert not texts


# ── globs ──


def test_unexpanded_glob_is_expanded(tmp_path):
    for name in ("rank_10.log", "rank_9.log", "other.txt"):
        (tmp_path / name).write_text(name)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "rank_1.log").write_text("x")
    assert names_below(tmp_path, read(f"{tmp_path}/rank_*.log")[0]) == ["rank_9.log", "rank_10.log"]
    assert len(read(f"{tmp_path}/**/*.log")[0]) == 3
    assert names_below(tmp_path, read(f"{tmp_path}/d??p")[0]) == ["deep/rank_1.log"]


def test_a_path_that_exists_is_no_glob(tmp_path):
    (tmp_path / "rank[0].log").write_text("literal")
    (tmp_path / "rank0.log").write_text("match")
    assert list(read(f"{tmp_path}/rank[0].log")[0].values()) == [b"literal"]


def test_a_glob_that_matches_nothing_is_a_problem(tmp_path):
    assert read(f"{tmp_path}/*.log")[1][0].what == "no file matches"


# ── standard input and open files ──

_READ_STDIN = """
from logdoctor.model import Job
from logdoctor.inputs import open_streams
buffer, problems = memoryview(bytearray(1000)), []
for stream in open_streams(Job("job", ("-",)), problems):
    total = 0
    while count := stream.readinto(buffer):
        total += count
    print(stream.name, total)
print(problems)
"""


@pytest.mark.parametrize("text", [b"line\n" * 30_000, b"x", b""])
def test_standard_input_is_read_through_a_pipe(text):
    done = subprocess.run([sys.executable, "-c", _READ_STDIN], input=text, capture_output=True, check=True)
    assert done.stdout.decode().split("\n")[:2] == [f"<stdin> {len(text)}", "[]"]


def test_standard_input_from_a_file_starts_at_its_position(tmp_path):
    (tmp_path / "a.log").write_bytes(b"skipped\n" + b"line\n" * 10)
    with (tmp_path / "a.log").open("rb", buffering=0) as file:
        file.seek(8)
        done = subprocess.run([sys.executable, "-c", _READ_STDIN], stdin=file, capture_output=True, check=True)
    assert done.stdout.startswith(b"<stdin> 50\n")


def test_a_closed_standard_input_is_a_problem(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert read("-")[1][0].why == "standard input is closed"


def test_replaced_standard_input_is_read(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"line\n")))
    assert read("-") == ({"<stdin>": b"line\n"}, [])


def test_open_file_is_read_from_its_position_and_stays_open(tmp_path):
    (tmp_path / "a.log").write_bytes(b"one\ntwo\n")
    with (tmp_path / "a.log").open("rb") as file:
        file.readline()
        assert read(file) == ({str(tmp_path / "a.log"): b"two\n"}, [])
        assert not file.closed


def test_open_file_with_only_a_read_method_is_read():
    class OnlyRead:
        text = io.BytesIO(b"line\n" * 9000)

        def read(self, size):
            return self.text.read(size)

    assert read(OnlyRead())[0] == {"<open file>": b"line\n" * 9000}


def test_text_file_without_a_binary_buffer_is_a_problem():
    assert read(io.StringIO("line\n"))[1][0].why == "it gives text instead of bytes"


# ── cost ──


def test_a_plain_file_loads_no_library(tmp_path):
    (tmp_path / "a.log").write_text("x")
    code = f"import sys; sys.argv = ['', {str(tmp_path)!r}]\n" + _READ_STDIN.replace('"-"', "sys.argv[1]")
    code += "print([m for m in ('tarfile', 'zipfile', 'bz2', 'lzma', 'backports', 'compression', 'isal', 'glob') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.split("\n")[-2] == "[]"
