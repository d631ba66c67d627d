"""What a file is, told by its first bytes and never by its name."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from logdoctor.sources.layers import HEAD_BYTES

Kind = Literal["text", "compressed", "tar", "zip", "unsupported", "data", "binary"]


class Form(NamedTuple):
    """What a file is.

    ``kind``: ``data`` is a format that is known and holds no log, ``unsupported`` may hold one that we cannot open,
    ``binary`` is anything else that is no text.
    ``what``: the compression, the encoding of the text, or the name of the format.
    """

    kind: Kind
    what: str


_MAGIC: tuple[tuple[bytes, Form], ...] = (
    (b"\x1f\x8b\x08", Form("compressed", "gzip")),
    (b"\xfd7zXZ\0", Form("compressed", "xz")),
    (b"\x28\xb5\x2f\xfd", Form("compressed", "zstd")),
    (b"PK\x03\x04", Form("zip", "zip")),
    (b"PK\x05\x06", Form("zip", "zip")),
    (b"\x04\x22\x4d\x18", Form("unsupported", "lz4")),
    (b"\x1f\x9d", Form("unsupported", "compress (.Z)")),
    (b"7z\xbc\xaf\x27\x1c", Form("unsupported", "7z")),
    (b"Rar!\x1a\x07", Form("unsupported", "rar")),
    (b"LZIP\x01", Form("unsupported", "lzip")),
    (b"\x7fELF", Form("data", "an ELF program or core dump")),
    (b"!<arch>\n", Form("data", "a library")),
    (b"\x89PNG\r\n", Form("data", "an image")),
    (b"\xff\xd8\xff", Form("data", "an image")),
    (b"GIF8", Form("data", "an image")),
    (b"%PDF-", Form("data", "a PDF")),
    (b"\x89HDF\r\n", Form("data", "HDF5 data")),
    (b"\x93NUMPY", Form("data", "a NumPy array")),
    (b"SQLite format 3\0", Form("data", "an SQLite database")),
    (b"PAR1", Form("data", "Parquet data")),
    (b"ARROW1", Form("data", "Arrow data")),
    (b"GGUF", Form("data", "model weights")),
    *((bytes((0x80, protocol)), Form("data", "a Python pickle")) for protocol in range(2, 6)),
)
# Compiled when first used: start-up is short.
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


def form_of(head: bytes) -> Form:
    """What the file is that begins with ``head`` (its first 4 KiB, or all of it)."""
    for magic, form in _MAGIC:
        if head.startswith(magic):
            return form
    if re.match(_BZIP2, head):
        return Form("compressed", "bzip2")
    if re.match(_ZSTD_SKIPPABLE, head):
        return Form("compressed", "zstd")
    if re.match(_SAFETENSORS, head):
        return Form("data", "model weights")
    if is_tar(head):
        return Form("tar", "tar")
    return _text_or_binary(head)


def is_tar(head: bytes) -> bool:
    """Whether ``head`` begins with a tar header: its checksum is right (POSIX.1 ustar; holds for all older kinds)."""
    stored = head[148:156].strip(b" \0")
    if len(head) < 512 or not stored.isdigit() or not head[0]:
        return False
    total = sum(head[:148]) + 8 * ord(" ") + sum(head[156:512])
    try:
        return int(stored, 8) == total
    except ValueError:
        return False


def _text_or_binary(head: bytes) -> Form:
    for bom, encoding in _BOMS:
        if head.startswith(bom):
            return Form("text", encoding)
    if b"\0" in head and (encoding := _utf16(head)):
        return Form("text", encoding)
    return Form("binary", "binary data") if _is_binary(head) else Form("text", "utf-8")


def _utf16(head: bytes) -> str:
    """The byte order of UTF-16 without a mark, if one byte of nearly every pair is NUL and the other is not."""
    half = len(head) // 2
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if half < 4:
        return ""
    if odd > half * 0.7 and even < half * 0.05:
        return "utf-16-le"
    return "utf-16-be" if even > half * 0.7 and odd < half * 0.05 else ""


def _is_binary(head: bytes) -> bool:
    """Whether ``head`` is no text of any 8-bit encoding.

    Long runs of NUL are the holes that crashes and log rotation leave in text; NULs between single characters, and
    more than a few control characters, are neither.  Other encodings (GBK, Latin-1) have undecodable bytes and no
    control characters.  Random bytes hold 10 % control characters and cannot be decoded.
    """
    full = head.replace(b"\0", b"")
    if not full:
        return False
    if len(re.findall(rb"\0+", head)) > 2 + len(full) / 32:
        return True
    controls = (len(full) - len(full.translate(None, _CONTROLS))) / len(full)
    broken = full.decode("utf-8", "replace").count("\ufffd") / len(full)
    return controls > 0.05 or (controls > 0.01 and broken > 0.2)


assert HEAD_BYTES >= 512, "a tar header must fit"  # noqa: S101 - a fact about two constants
