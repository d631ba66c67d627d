"""Compressed files and archives: whole, cut, damaged and hostile."""

import bz2
import gzip
import io
import lzma
import random
import struct
import sys
import tarfile
import tracemalloc
import zipfile
import zlib

import pytest
import zstd_library
from hypothesis import given, settings
from hypothesis import strategies as st
from test_inputs import read

from logdoctor.inputs import Bounds

TEXT = b"".join(b"step=%d loss=%d host=node%d\n" % (n, n * 7919 % 1013, n % 37) for n in range(20_000))


PACK = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd_library.compress}
each_compression = pytest.mark.parametrize("pack", PACK.values(), ids=PACK.keys())


def tar_of(members, mode="w", **options):
    """Make a tar file with (name, bytes) members."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode, **options) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


def zip_of(members, method=zipfile.ZIP_DEFLATED):
    """Make a zip file with (name, bytes) members."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return file.getvalue()


def unpack(data, **options):
    """Return the texts in ``data`` by member name, and the problems."""
    texts, problems = read(io.BytesIO(data), **options)
    return {name.removeprefix("<open file>"): text for name, text in texts.items()}, problems


class Pipe:
    """An open file that can only be read forwards, in small pieces."""

    def __init__(self, data):
        self.file = io.BytesIO(data)

    def read(self, size):
        return self.file.read(min(size, 777))


# ── compressed files ──


@each_compression
def test_compressed_file_is_detected_by_its_bytes_not_its_name(tmp_path, pack):
    (tmp_path / "a.log").write_bytes(pack(TEXT))
    assert read(str(tmp_path)) == ({str(tmp_path / "a.log"): TEXT}, [])


@each_compression
def test_a_compressed_file_is_read_in_pieces_of_anysize(pack):
    for piece in (1, 100, 1 << 20):
        short = TEXT[: piece * 5000]
        assert unpack(pack(short), piece=piece) == ({"": short}, [])


@each_compression
def test_a_compressed_file_is_read_from_a_slow_pipe(pack):
    assert read(Pipe(pack(TEXT))) == ({"<open file>": TEXT}, [])


@each_compression
def test_several_compressed_files_in_one_are_one_text(pack):
    assert unpack(pack(b"one\n") + pack(b"") + pack(TEXT) + pack(b"two\n")) == ({"": b"one\n" + TEXT + b"two\n"}, [])


@each_compression
def test_an_empty_compressed_file_is_an_empty_log(pack):
    assert unpack(pack(b"")) == ({"": b""}, [])


@each_compression
def test_cut_compressed_file_gives_its_beginning_and_a_problem(pack):
    data = pack(TEXT)
    texts, problems = unpack(data[: len(data) // 2 if pack is not bz2.compress else len(data) - 4])
    assert TEXT.startswith(texts[""])
    assert len(texts[""]) > (len(TEXT) // 4 if pack is not PACK["xz"] else 0)
    assert [p.what for p in problems] == ["only the beginning was read"]
    assert "ends before its end mark" in problems[0].why


@each_compression
def test_a_damaged_compressed_file_is_a_problem(pack):
    data = bytearray(pack(TEXT))
    data[len(data) // 2 : len(data) // 2 + 40] = bytes(range(200, 240))
    assert len(unpack(bytes(data))[1]) == 1


def test_wrong_checksum_loses_no_text():
    data = gzip.compress(TEXT[:100])
    texts, problems = unpack(data[:-8] + b"\1\2\3\4" + data[-4:])
    assert texts == {"": TEXT[:100]}
    assert "damaged" in problems[0].why


def test_compressed_file_broken_from_the_start_is_a_problem():
    texts, problems = unpack(b"\x1f\x8b\x08" + b"\xff" * 50)
    assert not texts
    assert len(problems) == 1


@each_compression
def test_padding_behind_compressed_data_is_skipped_and_other_bytes_are_a_problem(pack):
    assert unpack(pack(TEXT) + b"\0" * 512) == ({"": TEXT}, [])
    texts, problems = unpack(pack(TEXT) + b"plain text after it\n")
    assert texts == {"": TEXT}
    assert "behind its end" in problems[0].why


def test_gzip_works_without_its_fast_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "isal", None)
    assert unpack(gzip.compress(TEXT) * 2) == ({"": TEXT * 2}, [])


def test_a_missing_library_is_a_problem(monkeypatch):
    monkeypatch.setitem(sys.modules, zstd_library.PACKAGE, None)
    assert "no library for zstd" in unpack(zstd_library.compress(TEXT))[1][0].why


def test_zstd_frames_to_be_skipped_are_skipped():
    skip = b"\x50\x2a\x4d\x18" + struct.pack("<I", 4) + b"note"
    assert unpack(skip + zstd_library.compress(TEXT) + skip) == ({"": TEXT}, [])


def test_zstd_frame_that_claims_a_huge_window_is_a_problem():
    kibibyte, mebibytes_128 = 0, 17 << 3  # RFC 8878, section 3.1.1.1.2
    frame = b"\x28\xb5\x2f\xfd\0%c\x01\0\0"  # one last block, without text
    assert unpack(zstd_library.compress(TEXT) + frame % kibibyte + frame % mebibytes_128) == ({"": TEXT}, [])
    texts, problems = unpack(zstd_library.compress(TEXT) + frame % (mebibytes_128 + 1))
    assert texts == {"": TEXT}
    assert "too much memory" in problems[0].why


def test_header_that_claims_huge_memory_is_a_problem():
    huge = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    data = lzma.LZMACompressor(filters=huge).compress(b"")
    packed = lzma.compress(TEXT[:1000], filters=[{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 20}])
    # The size of the dictionary stands in one byte of the block header, whose checksum is put right again.
    header = bytearray(packed[12 : 12 + (packed[12] + 1) * 4])
    header[header.index(0x21) + 2] = 38
    header[-4:] = struct.pack("<I", zlib.crc32(bytes(header[:-4])))
    texts, problems = unpack(packed[:12] + bytes(header) + packed[12 + len(header) :])
    assert not texts
    assert "emory" in problems[0].why
    assert data


@pytest.mark.parametrize(("magic", "name"), [(b"7z\xbc\xaf\x27\x1c\0\4", "7z"), (b"\x04\x22\x4d\x18\x64", "lz4")])
def test_unsupported_compression_is_a_problem_with_its_name(magic, name):
    assert name in unpack(magic + bytes(100))[1][0].why


# ── tar ──


@pytest.mark.parametrize("pack", [bytes, *PACK.values()], ids=["plain", *PACK])
def test_a_tar_file_gives_its_files(tmp_path, pack):
    (tmp_path / "run.bin").write_bytes(pack(tar_of([("a/rank_1.log", TEXT), ("a/empty", b""), ("b.log", b"x")])))
    texts, problems = read(str(tmp_path / "run.bin"))
    assert texts == {
        f"{tmp_path}/run.bin:a/rank_1.log": TEXT,
        f"{tmp_path}/run.bin:a/empty": b"",
        f"{tmp_path}/run.bin:b.log": b"x",
    }
    assert not problems


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_tar_files_of_every_kind_are_read(form):
    name = "日志.log" if form == tarfile.PAX_FORMAT else f"{'d' * 70}/{'f' * 70}"
    assert unpack(tar_of([(name, TEXT), ("b", b"x")], format=form)) == ({f":{name}": TEXT, ":b": b"x"}, [])


def test_a_tar_file_is_read_from_a_pipe():
    assert list(read(Pipe(tar_of([("a.log", TEXT)])))[0].values()) == [TEXT]


def test_members_that_are_not_read_to_their_end_do_not_disturb_the_next():
    from logdoctor.inputs import open_streams
    from logdoctor.model import Job

    data = tar_of([("a", TEXT), ("b", TEXT), ("c", b"last")])
    buffer = memoryview(bytearray(10))
    problems = []
    heads = [s.readinto(buffer) and bytes(buffer[:4]) for s in open_streams(Job("j", (io.BytesIO(data),)), problems)]
    assert heads == [b"step", b"step", b"last"]
    assert not problems


def test_links_folders_and_devices_in_a_tar_file_are_passed_over():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        kinds = [tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE]
        for number, kind in enumerate(kinds):
            info = tarfile.TarInfo(f"odd{number}")
            info.type, info.linkname = kind, "../../etc/passwd"
            archive.addfile(info)
        info = tarfile.TarInfo("a.log")
        info.size = 1
        archive.addfile(info, io.BytesIO(b"x"))
    assert unpack(file.getvalue()) == ({":a.log": b"x"}, [])


def test_member_names_with_other_paths_write_no_file(tmp_path):
    names = ["/etc/evil.log", "../../up.log", "a/../../b.log"]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.tar").write_bytes(tar_of([(name, b"x") for name in names]))
    texts, problems = read(str(tmp_path / "in"))
    assert [name.partition(".tar:")[2] for name in texts] == names
    assert not problems
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_members_of_the_same_name_are_both_read():
    from logdoctor.inputs import open_streams
    from logdoctor.model import Job

    data = tar_of([("a.log", b"one"), ("a.log", b"two")])
    buffer = memoryview(bytearray(10))
    got = [(s.name, bytes(buffer[: s.readinto(buffer)])) for s in open_streams(Job("j", (io.BytesIO(data),)), [])]
    assert got == [("<open file>:a.log", b"one"), ("<open file>:a.log", b"two")]


def test_tar_file_cut_in_a_member_gives_all_bytes_before():
    data = tar_of([("a.log", b"x"), ("b.log", TEXT)])
    texts, problems = unpack(data[:100_001])
    assert texts == {":a.log": b"x", ":b.log": TEXT[: 100_001 - 3 * 512]}
    assert [p.why for p in problems] == ["the archive stops before its end mark"]


def test_cut_compressed_tar_file_gives_all_bytes_before():
    whole = gzip.compress(tar_of([("a.log", TEXT)]))
    cut = whole[: len(whole) // 2]
    texts, problems = unpack(cut)
    assert texts[":a.log"] == zlib.decompressobj(31).decompress(cut)[512:]
    assert [p.why for p in problems] == ["the gzip data ends before its end mark"]


@pytest.mark.parametrize("end", [700, 512 * 2, 512 * 2 + 100])
def test_tar_file_cut_between_members_is_a_problem(end):
    problems = unpack(tar_of([("a.log", b"x"), ("b.log", TEXT)])[:end])[1]
    assert [p.why for p in problems] == ["the archive stops before its end mark"]


def test_a_damaged_header_in_a_tar_file_is_a_problem():
    data = bytearray(tar_of([("a.log", b"x"), ("b.log", b"y"), ("c.log", b"z")]))
    data[1024:1100] = b"?" * 76
    texts, problems = unpack(bytes(data))
    assert texts == {":a.log": b"x"}
    assert "damaged" in problems[0].why


def test_an_absurd_name_in_a_tar_file_is_a_problem_and_takes_no_memory():
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 1 << 33
    data = tar_of([("a.log", b"x")])[:1024] + header.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20)
    texts, problems = unpack(data)
    assert texts == {":a.log": b"x"}
    assert len(problems) == 1


def test_a_header_full_of_digits_takes_no_time():
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, 60_000
    data = header.tobuf(tarfile.USTAR_FORMAT) + b"7" * 60_000 + bytes(-60_000 % 512) + tar_of([("a.log", b"x")])
    assert "absurd number" in unpack(data)[1][0].why


def test_a_chain_of_long_names_ends():
    header = tarfile.TarInfo("././@LongLink")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 2
    data = (header.tobuf(tarfile.GNU_FORMAT) + b"a\0" + bytes(510)) * 3000
    assert len(unpack(data)[1]) == 1


def test_oversized_sparse_member_is_a_problem_and_the_rest_is_read():
    sparse = tarfile.TarInfo("a.log")
    sparse.type = tarfile.GNUTYPE_SPARSE
    block = bytearray(sparse.tobuf(tarfile.GNU_FORMAT))
    block[386:410] = b"%011o\0%011o\0" % (0, 0)
    block[483:495] = b"%011o\0" % (1 << 32)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    texts, problems = unpack(bytes(block) + tar_of([("b.log", b"x")]), bounds=Bounds(ratio_after=1 << 20))
    assert texts == {":b.log": b"x"}
    assert [p.where for p in problems] == ["<open file>:a.log"]


# ── zip ──


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_file_gives_its_files(tmp_path, method):
    (tmp_path / "a").write_bytes(zip_of([("x/a.log", TEXT), ("x/", b""), ("b.log", b"x")], method))
    texts, problems = read(str(tmp_path / "a"))
    assert texts == {f"{tmp_path}/a:x/a.log": TEXT, f"{tmp_path}/a:b.log": b"x"}
    assert not problems


def test_a_zip_file_is_read_from_a_pipe_up_to_a_bound():
    data = zip_of([("a.log", TEXT)])
    assert list(read(Pipe(data))[0].values()) == [TEXT]
    texts, problems = read(Pipe(data), bounds=Bounds(zip_bytes=len(data) - 1))
    assert not texts
    assert "give the zip file itself" in problems[0].help


def test_members_of_the_same_name_in_a_zip_file_are_both_read():
    with pytest.warns(UserWarning, match="Duplicate"):
        data = zip_of([("a.log", b"one"), ("a.log", b"two")])
    assert not unpack(data)[1]


def test_files_with_a_password_are_one_problem_and_the_rest_is_read(tmp_path):
    data = bytearray(zip_of([("a.log", b"secret"), ("b.log", b"open"), ("c.log", b"secret")]))
    for name in (b"a.log", b"c.log"):  # the flag stands before the name in both headers
        local, listed = data.index(name), data.rindex(name)
        data[local - 30 + 6] |= 1
        data[listed - 46 + 8] |= 1
    texts, problems = unpack(bytes(data))
    assert texts == {":b.log": b"open"}
    assert [p.why for p in problems] == ["2 of its 3 files need a password"]


def test_a_cut_zip_file_is_a_problem():
    texts, problems = unpack(zip_of([("a.log", TEXT)])[:-30])
    assert not texts
    assert len(problems) == 1


def test_a_damaged_file_in_a_zip_file_is_a_problem_and_the_rest_goes_on():
    data = bytearray(zip_of([("a.log", TEXT), ("b.log", b"x")], zipfile.ZIP_STORED))
    data[1000] ^= 255
    texts, problems = unpack(bytes(data))
    assert texts[":b.log"] == b"x"
    assert [p.where for p in problems] == ["<open file>:a.log"]


def test_nameless_file_in_a_zip_file_is_harmless():
    data = bytearray(zip_of([("a", b"x")]))
    for lengths in (26, data.index(b"PK\1\2") + 28):  # of the name and of the extra field, in both headers
        data[lengths : lengths + 4] = struct.pack("<HH", 0, 1)
    assert [p.what for p in unpack(bytes(data))[1]] == ["holds no log"]


def test_a_checkpoint_holds_no_log(tmp_path):
    (tmp_path / "step-17").write_bytes(zip_of([("archive/data.pkl", b"\x80\x02x"), ("archive/version", b"3\n")]))
    assert read(str(tmp_path / "step-17"))[1][0].why == "it is model weights, not text"


# ── archives in archives, and bounds ──


def test_archives_in_archives_are_opened():
    inner = gzip.compress(tar_of([("rank_0.log", TEXT)]))
    data = tar_of([("node1.tgz", inner), ("node2.zip", zip_of([("rank_1.log.xz", lzma.compress(b"x"))]))])
    texts, problems = unpack(zstd_library.compress(data))
    assert texts == {":node1.tgz:rank_0.log": TEXT, ":node2.zip:rank_1.log.xz": b"x"}
    assert not problems


def test_a_broken_archive_in_an_archive_is_a_problem_and_the_rest_goes_on():
    inner = gzip.compress(tar_of([("rank_0.log", TEXT)]))
    texts, problems = unpack(tar_of([("a.tgz", inner[:200]), ("b.zip", b"PK\3\4" + b"?" * 99), ("c.log", b"x")]))
    assert texts[":c.log"] == b"x"
    assert [p.where for p in problems] == ["<open file>:a.tgz", "<open file>:b.zip"]


def test_archives_nested_without_end_stop_at_the_bound():
    data = b"x"
    for number in range(40):
        data = tar_of([("again.log", b"y"), ("again.tar", data)]) if number % 2 else gzip.compress(data)
    texts, problems = unpack(data)
    assert set(texts.values()) == {b"y"}
    assert "8 layers deep" in problems[0].why


def test_a_bomb_stops_at_the_bound_on_its_growth():
    data = gzip.compress(bytes(5 << 20))
    texts, problems = unpack(data, bounds=Bounds(ratio_after=1 << 20))
    assert 1 << 19 < len(texts[""]) < 2 << 20
    assert "250 times its size" in problems[0].why


@each_compression
def test_a_bomb_takes_little_memory(pack):
    from logdoctor.inputs import open_streams
    from logdoctor.model import Job

    file = io.BytesIO(pack(bytes(64 << 20)))
    buffer = memoryview(bytearray(1 << 16))
    tracemalloc.start()
    for stream in open_streams(Job("j", (file,)), [], Bounds(inflated_bytes=60 << 20)):
        while stream.readinto(buffer):
            pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 << 20


def test_a_zip_bomb_of_shared_bytes_stops_at_the_bound():
    data = zip_of([(f"{number}.log", b"x" * (1 << 20)) for number in range(8)])
    problems = unpack(data, bounds=Bounds(ratio_after=3 << 20))[1]
    assert "250 times its size" in problems[0].why


def test_the_bound_on_all_that_is_unpacked_is_one_problem():
    data = zip_of([(f"{number}.log.gz", gzip.compress(TEXT)) for number in range(4)])
    texts, problems = unpack(data, bounds=Bounds(inflated_bytes=len(TEXT) * 2))
    assert sum(map(len, texts.values())) <= len(TEXT) * 2
    assert len(problems) == 1


def test_more_members_than_the_bound_are_one_problem():
    inner = tar_of([(f"{number}.log", b"x") for number in range(5)])
    texts, problems = unpack(tar_of([("a.tar", inner), ("b.tar", inner)]), bounds=Bounds(entries=4))
    assert len(texts) == 3
    assert [p.what for p in problems] == ["not every file was read"]


def test_binary_and_hidden_members_are_skipped(tmp_path):
    data = tar_of([("./.git/x", b"x"), ("./model.pt", b"x"), ("./so", b"\x7fELF" + bytes(60)), ("./a.log", b"x")])
    assert unpack(data) == ({":./a.log": b"x"}, [])


# ── anything at all ──

_SEEDS = [
    *(pack(TEXT[:3000]) for pack in PACK.values()),
    tar_of([("a", TEXT[:999]), ("日" * 99, b"x")], format=tarfile.PAX_FORMAT),
    tar_of([("a" * 200, TEXT[:999])], format=tarfile.GNU_FORMAT),
    gzip.compress(tar_of([("a", TEXT[:999])])),
    zip_of([("a", TEXT[:999]), ("b", b"x")]),
    zip_of([("a", TEXT[:999])], zipfile.ZIP_LZMA),
    zip_of([("a", TEXT[:999])], zipfile.ZIP_BZIP2),
    "step 17\n".encode("utf-16"),
]
_SMALL = Bounds(inflated_bytes=1 << 22, ratio_after=1 << 20, entries=50, zip_bytes=1 << 20)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(_SEEDS), st.integers(1, 30), st.binary(max_size=200))
def test_any_bytes_behind_any_magic_give_text_or_a_problem(seed, length, rest):
    unpack(seed[:length] + rest, bounds=_SMALL)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(_SEEDS), st.randoms(use_true_random=False), st.integers(1, 12))
def test_any_damage_to_any_file_gives_text_or_a_problem(seed: bytes, chance: random.Random, hits: int):
    data = bytearray(seed)
    for _ in range(hits):
        data[chance.randrange(len(data))] = chance.randrange(256)
    cut = chance.choice([len(data), chance.randrange(len(data))])
    unpack(bytes(data[:cut]), bounds=_SMALL)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([*PACK.values()]), st.binary(max_size=3000), st.integers(0, 3000), st.integers(1, 300))
def test_a_cut_compressed_file_gives_the_beginning_of_its_text(pack, text, cut, piece):
    text = text.translate(None, b"\x1b&\xc2\xe2\xef")  # bytes that begin a terminal code, which would be removed
    data = pack(b"log:" + text)[: cut + 20]
    texts, _ = unpack(data, piece=piece)
    assert all((b"log:" + text).startswith(got) for got in texts.values())
