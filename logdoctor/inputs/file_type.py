"""Detection of file types from the first bytes, never from names."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from logdoctor.inputs.streams import HEAD_BYTES

FileKind = Literal["text", "compressed", "tar", "zip", "unsupported", "data", "binary"]


class FileType(NamedTuple):
    """The type of a file.

    ``kind``: ``data`` is a known format that is not read. ``unsupported`` may hold a log but cannot be opened.
    ``binary`` is anything else that is not text.
    ``detail``: the compression, the text encoding, or the name of the format.
    ``is_evidence``: ``data`` that a failing job leaves behind, for example a core dump.
    """

    kind: FileKind
    detail: str
    is_evidence: bool = False

    @property
    def name(self) -> str:
        """Return the name of the type for people."""
        names = {"text": "text", "compressed": f"{self.detail} data", "unsupported": f"{self.detail} data"}
        return names.get(self.kind) or (self.detail if self.kind in ("data", "binary") else f"a {self.kind} archive")


_MAGIC: tuple[tuple[bytes, FileType], ...] = (
    (b"\x1f\x8b\x08", FileType("compressed", "gzip")),
    (b"\xfd7zXZ\0", FileType("compressed", "xz")),
    (b"\x28\xb5\x2f\xfd", FileType("compressed", "zstd")),
    (b"PK\x03\x04", FileType("zip", "zip")),
    (b"PK\x05\x06", FileType("zip", "zip")),
    (b"\x04\x22\x4d\x18", FileType("unsupported", "lz4")),
    (b"\x1f\x9d", FileType("unsupported", "compress (.Z)")),
    (b"7z\xbc\xaf\x27\x1c", FileType("unsupported", "7z")),
    (b"Rar!\x1a\x07", FileType("unsupported", "rar")),
    (b"LZIP\x01", FileType("unsupported", "lzip")),
    (b"!<arch>\n", FileType("data", "a library")),
    (b"\x89PNG\r\n", FileType("data", "an image")),
    (b"\xff\xd8\xff", FileType("data", "an image")),
    (b"GIF8", FileType("data", "an image")),
    (b"%PDF-", FileType("data", "a PDF")),
    (b"\x89HDF\r\n", FileType("data", "HDF5 data")),
    (b"\x93NUMPY", FileType("data", "a NumPy array")),
    (b"SQLite format 3\0", FileType("data", "an SQLite database")),
    (b"PAR1", FileType("data", "Parquet data")),
    (b"ARROW1", FileType("data", "Arrow data")),
    (b"GGUF", FileType("data", "model weights")),
    *((bytes((0x80, protocol)), FileType("data", "a Python pickle")) for protocol in range(2, 6)),
)
_WEIGHTS = FileType("data", "model weights")
_CORE_DUMP = 4
"""``ET_CORE`` in the field ``e_type`` of an ELF header."""
_TORCH_MAGIC = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19"
"""The magic number that ``torch.save`` wrote as a pickle before it wrote zip files."""
_EVENTS = rb"brain\.Event:"
# Strings, compiled at first use, because compiling at import would delay every start.
_BZIP2 = rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"
_ZSTD_SKIPPABLE = rb"[\x50-\x5f]\x2a\x4d\x18"
_SAFETENSORS = rb"[\s\S]{4}\0{4}\{\""

_BOMS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)

_CONTROLS = bytes(c for c in range(1, 32) if c not in b"\a\b\t\n\f\r\x1b")


def detect_type(head: bytes) -> FileType:
    """Return the type of a file that begins with ``head``.

    ``head`` holds the first 4 KiB, or the whole file if it is shorter.
    """
    for magic, file_type in _MAGIC:
        if head.startswith(magic):
            return _refine(file_type, head)
    if head.startswith(b"\x7fELF"):
        is_core = len(head) > 17 and _CORE_DUMP in (head[16], head[17])
        return FileType("data", "a core dump" if is_core else "an ELF program", is_core)
    if re.search(_EVENTS, head[:64]):
        return FileType("data", "an event file")
    if re.match(_BZIP2, head):
        return FileType("compressed", "bzip2")
    if re.match(_ZSTD_SKIPPABLE, head):
        return FileType("compressed", "zstd")
    if re.match(_SAFETENSORS, head):
        return FileType("data", "model weights")
    if is_tar(head):
        return FileType("tar", "tar")
    return _text_or_binary(head)


def _refine(file_type: FileType, head: bytes) -> FileType:
    """Return the type of a pickle or a zip file by what it holds."""
    if file_type.kind == "zip" and b"/data.pkl" in head[:512]:
        return _WEIGHTS
    if file_type.detail != "a Python pickle":
        return file_type
    return _WEIGHTS if head.startswith(_TORCH_MAGIC, 2) else file_type


def is_tar(head: bytes) -> bool:
    """Check the checksum of a tar header.

    The checksum is that of POSIX.1 ustar, and is the same in all older tar formats.
    """
    stored = head[148:156].strip(b" \0")
    if len(head) < 512 or not stored.isdigit() or not head[0]:
        return False
    total = sum(head[:148]) + 8 * ord(" ") + sum(head[156:512])
    try:
        return int(stored, 8) == total
    except ValueError:
        return False


def _text_or_binary(head: bytes) -> FileType:
    for bom, encoding in _BOMS:
        if head.startswith(bom):
            return FileType("text", encoding)
    if b"\0" in head and (encoding := _utf16_byte_order(head)):
        return FileType("text", encoding)
    return FileType("binary", "binary data") if _is_binary(head) else FileType("text", "utf-8")


def _utf16_byte_order(head: bytes) -> str:
    """Return the codec of UTF-16 without a byte order mark, else ``""``.

    In such text nearly every pair has one NUL byte, always on the same side.
    """
    pairs = len(head) // 2
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if pairs < 4:
        return ""
    if odd > pairs * 0.7 and even < pairs * 0.05:
        return "utf-16-le"
    return "utf-16-be" if even > pairs * 0.7 and odd < pairs * 0.05 else ""


def _is_binary(head: bytes) -> bool:
    """Report whether ``head`` is not text in any 8-bit encoding.

    Long runs of NUL are allowed, because crashes and log rotation leave them in text.
    Many NULs between single characters, or more than a few control characters, mean binary data.
    Other encodings (GBK, Latin-1) have undecodable bytes but no control characters.
    Random bytes hold 10 % control characters and cannot be decoded.
    """
    text = head.replace(b"\0", b"")
    if not text:
        return False
    if len(re.findall(rb"\0+", head)) > 2 + len(text) / 32:
        return True
    controls = (len(text) - len(text.translate(None, _CONTROLS))) / len(text)
    broken = text.decode("utf-8", "replace").count("\ufffd") / len(text)
    return controls > 0.05 or (controls > 0.01 and broken > 0.2)


assert HEAD_BYTES >= 512, "a tar header must fit"  # noqa: S101 - a fact about two constants
