"""The inputs of a job in `Coverage`: what was read, what was not, and why."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import random
import struct
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from logdoctor.inputs import Bounds, Inventory, open_streams
from logdoctor.model import Coverage, InputRead, Job, unread, unusable
from logdoctor.model.coverage import MAX_INPUTS

LOG = b"step 1/2 loss 3.1\nstep 2/2 loss 2.9\nTraining finished.\n"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
CORE = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<H", 4) + bytes(40)
PROGRAM = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<H", 3) + bytes(40)
STATE = json.dumps({"last_error": "RuntimeError: CUDA out of memory", "step": 3}, indent=2).encode()


def covered(*paths: Any, bounds: Bounds | None = None, **options: Any) -> Coverage:
    """Read all streams of a job as the pipeline does."""
    inventory, buffer = Inventory(), memoryview(bytearray(1 << 16))
    for stream in open_streams(Job("job", paths, **options), [], bounds or Bounds(), inventory):
        size = lines = 0
        while count := stream.readinto(buffer):
            size, lines = size + count, lines + bytes(buffer[:count]).count(b"\n")
        inventory.add(stream.read_so_far(size, lines, 0))
    return Coverage(inputs=inventory.listed(), unlisted=inventory.count - len(inventory.listed()))


def folder_with(folder: Path, **files: bytes) -> str:
    for name, data in files.items():
        path = folder / name.replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return str(folder)


def tar_of(**members: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name.replace("__", "."))
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


def states(coverage: Coverage) -> dict[str, tuple[str, str, bool]]:
    return {Path(s.file).name: (s.kind, s.read, s.matters) for s in coverage.inputs}


# ── each input is listed ──


def test_each_file_of_a_folder_is_listed_with_its_amounts(tmp_path):
    coverage = covered(folder_with(tmp_path, a__log=LOG, b__log=b"one\n"))
    assert [(Path(s.file).name, s.kind, s.bytes, s.lines, s.read) for s in coverage.inputs] == [
        ("a.log", "text", len(LOG), 3, "whole"),
        ("b.log", "text", 4, 1, "whole"),
    ]


def test_the_totals_of_a_diagnosis_are_the_sums_of_its_inputs(tmp_path, knowledge):
    from logdoctor import diagnose

    data = gzip.compress(tar_of(rank0__log=LOG, rank1__log=LOG * 3))
    coverage = diagnose(folder_with(tmp_path, a__log=LOG, b__tgz=data), knowledge=knowledge).coverage
    sums = [sum(getattr(s, name) for s in coverage.inputs) for name in ("bytes", "lines", "records")]
    assert sums == [coverage.bytes, coverage.lines, coverage.records]
    assert (coverage.files, len(coverage.inputs)) == (3, 3)


def test_json_of_a_diagnosis_holds_each_input(tmp_path, knowledge):
    from logdoctor import diagnose

    (entry,) = diagnose(folder_with(tmp_path, a__log=LOG), knowledge=knowledge).to_dict()["coverage"]["inputs"]
    assert entry["file"].endswith("a.log")
    assert {k: entry[k] for k in ("kind", "lines", "read", "why")} == {
        "kind": "text",
        "lines": 3,
        "read": "whole",
        "why": "",
    }


# ── what is lacking ──

CUT = gzip.compress(b"".join(b"step %d loss 2.%d\n" % (n, n * 7919 % 1000) for n in range(9000)))
ENCRYPTED = bytearray()
with io.BytesIO() as _file:
    with zipfile.ZipFile(_file, "w") as _zip:
        _zip.writestr("a.log", LOG)
        _zip.writestr("b.log", LOG)
    ENCRYPTED += _file.getvalue()
ENCRYPTED[ENCRYPTED.index(b"b.log") - 24] |= 1
ENCRYPTED[ENCRYPTED.rindex(b"b.log") - 38] |= 1
NESTED = tar_of(x__log=LOG)
for _ in range(9):
    NESTED = tar_of(y__log=LOG, inner__tar=NESTED)

LACKING = {
    "a cut gzip file": (CUT[: len(CUT) // 2], "part"),
    "a cut tar": (tar_of(a__log=LOG * 99, b__log=LOG)[:3000], "part"),
    "an encrypted member": (bytes(ENCRYPTED), "part"),
    "an archive nested too deep": (NESTED, "not"),
    "NUL bytes": (bytes(9 << 20), "not"),
    "random bytes": (random.Random(3).randbytes(4096), "not"),
    "a core dump": (CORE, "not"),
    "a report of DCGM": (b'{"body": {"Link 0": {"children": {"CRC FLIT Error": {"value": "1"}}}}}', "not"),
    "an archive that cannot be unpacked": (b"7z\xbc\xaf\x27\x1c" + bytes(99), "not"),
}


@pytest.mark.parametrize("name", LACKING)
def test_evidence_that_was_not_read_whole_is_missed_with_the_reason(name, tmp_path):
    data, read = LACKING[name]
    coverage = covered(folder_with(tmp_path, job__log=LOG, other=data))
    lacking = unread(coverage)
    assert [s.read for s in lacking] == [read]
    assert all(s.why for s in lacking)


def test_bomb_is_read_in_part():
    (source,) = unread(covered(io.BytesIO(gzip.compress(b"x" * (5 << 20))), bounds=Bounds(ratio_after=1 << 20)))
    assert (source.read, "times its size" in source.why) == ("part", True)


def test_archive_with_too_many_members_is_read_in_part():
    data = tar_of(**{f"{n}__log": LOG for n in range(6)})
    (source,) = unread(covered(io.BytesIO(data), bounds=Bounds(entries=4)))
    assert (source.kind, source.read) == ("a tar archive", "part")


def test_each_file_over_the_bound_on_unpacked_bytes_is_missed(tmp_path):
    folder = folder_with(tmp_path, **{f"{n}__gz": gzip.compress(LOG) for n in range(4)})
    assert len(unread(covered(folder, bounds=Bounds(inflated_bytes=len(LOG) * 2)))) == 2


def test_vanished_file_is_missed(tmp_path, monkeypatch):
    folder = folder_with(tmp_path, a__log=LOG, b__log=LOG)
    opened = os.open

    def vanish(path: Any, *args: Any, **options: Any) -> int:
        if str(path).endswith("b.log"):
            raise FileNotFoundError(2, "No such file or directory")
        return opened(path, *args, **options)

    monkeypatch.setattr(os, "open", vanish)
    assert [Path(s.file).name for s in unread(covered(folder))] == ["b.log"]


def test_missing_path_is_missed(tmp_path):
    assert [(s.read, s.named) for s in unread(covered(str(tmp_path / "none.log")))] == [("not", True)]


def test_closed_standard_input_is_missed(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert [s.file for s in unread(covered("-"))] == ["<stdin>"]


@pytest.mark.parametrize("data", [b"", b"\n \n", bytes(99), CORE, None])
def test_named_input_that_is_empty_unreadable_or_missing_is_unusable(data, tmp_path):
    good = folder_with(tmp_path / "j", job__log=LOG)
    path = tmp_path / "other.log"
    if data is not None:
        path.write_bytes(data)
    assert [s.file for s in unusable(covered(str(path), good))] == [str(path)]
    assert unusable(covered(good)) == ()


# ── what is no evidence ──


@pytest.mark.parametrize(("data", "kind"), [(b"", "empty"), (b"\xef\xbb\xbf", "empty"), (b" \n\t\r\n", "blank")])
def test_file_with_nothing_in_it_is_listed_as_such(data, kind, tmp_path):
    (source,) = covered(folder_with(tmp_path, err__log=data)).inputs
    assert (source.kind, source.read, source.matters, bool(source.why)) == (kind, "whole", False, True)


OTHERS = {
    "image": (PNG, "an image"),
    "a.out": (PROGRAM, "an ELF program"),
    "events": (struct.pack("<QI", 24, 7) + b"\x09\0\0\0\0\0\0\xf0?\x1a\x0dbrain.Event:2" + bytes(20), "an event file"),
    "state.json": (STATE, "a JSON document"),
    "rng": (pickle.dumps([1, 2, 3], protocol=4), "a Python pickle"),
    "weights": (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "model weights"),
    "train.py": (b"raise RuntimeError('CUDA out of memory')\n", "a source"),
    "config.yaml": (b"on_error: CUDA out of memory\n", "a source"),
    "shard.bin": (random.Random(5).randbytes(999), "data"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_file_in_a_folder_that_is_no_evidence_is_listed_and_not_missed(name, tmp_path):
    data, kind = OTHERS[name]
    (tmp_path / name).write_bytes(data)
    coverage = covered(folder_with(tmp_path, job__log=LOG))
    assert states(coverage) == {"job.log": ("text", "whole", False), name: (kind, "not", False)}


@pytest.mark.parametrize("name", ["image", "a.out", "events", "rng", "weights"])
def test_the_same_file_is_missed_if_the_user_named_it(name, tmp_path):
    (tmp_path / name).write_bytes(OTHERS[name][0])
    assert [s.named for s in unread(covered(str(tmp_path / name), folder_with(tmp_path / "j", a__log=LOG)))] == [True]


def test_paths_of_a_scan_are_found_and_not_named(tmp_path):
    (tmp_path / "image").write_bytes(PNG)
    coverage = covered(str(tmp_path / "image"), folder_with(tmp_path / "j", a__log=LOG), found=True)
    assert not unread(coverage)


@pytest.mark.parametrize(
    "text",
    [
        b'{"message": "step 1", "level": "info"}\n{"message": "step 2", "level": "info"}\n',
        b'{"ts": 1, "msg": "Training finished."}\n',
        b'{\n  "lr": 0.1\n}\nstep 1 loss 2.0\nstep 2 loss 1.9\n',
        b"[rank0]: step 1\n[rank1]: step 1\n",
        b"{'loss': 2.1, 'epoch': 0.1}\n",
        b'{"message": {"message": "RuntimeError: x", "extraInfo": {"py_callstack": "..."}}}',
    ],
)
def test_log_with_json_in_it_is_read(text, tmp_path):
    assert states(covered(folder_with(tmp_path, x__json=text)))["x.json"][:2] == ("text", "whole")


def test_long_json_document_is_no_log(tmp_path):
    data = json.dumps({f"key{n}": "RuntimeError: CUDA out of memory" for n in range(9000)}, indent=1).encode()
    assert states(covered(folder_with(tmp_path, s__json=data)))["s.json"][:2] == ("a JSON document", "not")


def test_quoted_failure_in_a_saved_state_changes_no_diagnosis(tmp_path, knowledge):
    from logdoctor import diagnose

    folder = folder_with(tmp_path, job__log=LOG)
    before = diagnose(folder, knowledge=knowledge)
    folder_with(tmp_path, state__json=STATE)
    after = diagnose(folder, knowledge=knowledge)
    assert (after.verdict, after.causes) == (before.verdict, before.causes)
    assert replace(after.coverage, inputs=()) == replace(before.coverage, inputs=())


# ── bounds ──


def test_list_of_inputs_is_bounded_and_keeps_what_is_missed():
    inventory = Inventory()
    for number in range(MAX_INPUTS + 10):
        inventory.add(InputRead(str(number), matters=number > MAX_INPUTS))
    listed = inventory.listed()
    assert len(listed) == MAX_INPUTS
    assert [s.file for s in listed if s.matters] == [str(n) for n in range(MAX_INPUTS + 1, MAX_INPUTS + 10)]
    assert inventory.count - len(listed) == 10


# ── links ──


def test_link_out_of_the_folder_is_missed_and_read_only_on_demand(tmp_path):
    secret = folder_with(tmp_path / "home", private__log=b"private\n") + "/private.log"
    folder = folder_with(tmp_path / "job", a__log=LOG)
    (tmp_path / "job" / "b.log").symlink_to(secret)
    assert states(covered(folder))["b.log"] == ("a link", "not", True)
    assert states(covered(folder, follow_links=True))["b.log"] == ("text", "whole", False)


def test_link_to_a_data_folder_elsewhere_is_listed_and_not_missed(tmp_path):
    folder_with(tmp_path / "data", x__log=LOG)
    folder = folder_with(tmp_path / "job", a__log=LOG)
    (tmp_path / "job" / "data").symlink_to(tmp_path / "data")
    assert states(covered(folder))["data"] == ("a link to a folder", "not", False)


# ── long lines ──


def test_line_that_was_cut_for_the_rules_is_read_in_part_and_not_missed(tmp_path, knowledge):
    from logdoctor import diagnose

    line = b"x " * 5000 + b"RuntimeError: CUDA out of memory" + b" y" * 20_000 + b"\n"
    (source,) = diagnose(folder_with(tmp_path, a__log=LOG + line), knowledge=knowledge).coverage.inputs
    assert (source.read, source.matters) == ("part", False)
    assert "very long lines" in source.why
