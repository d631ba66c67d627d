"""Pickles of plain data, read without running anything.

A pickle is a program. Of its opcodes only those are followed that build texts, numbers, lists, tuples and dicts, which
is all that c10::pickle writes. Any other opcode is refused with its place, so nothing is ever looked up or called.
Python's own reader is never imported. Sources: Lib/pickletools.py, torch/csrc/jit/serialization/pickler.cpp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import length_hint
from struct import unpack
from typing import Any

from logdoctor.artefacts.document import Damaged, Document

MAX_BYTES = 256 << 20
MAX_OPCODES = 20_000_000
MAX_DEPTH = 64
MAX_INTEGER_BYTES = 32
MAX_PROTOCOL = 5
REFUSED = {
    int(code, 16): name
    for name, code in (
        pair.split(":")
        for pair in (
            "POP:30 POP_MARK:31 DUP:32 BINBYTES:42 SHORT_BINBYTES:43 FLOAT:46 INT:49 LONG:4c PERSID:50 BINPERSID:51 "
            "REDUCE:52 STRING:53 BINSTRING:54 SHORT_BINSTRING:55 UNICODE:56 BUILD:62 GLOBAL:63 DICT:64 GET:67 INST:69 "
            "LIST:6c OBJ:6f PUT:70 NEWOBJ:81 EXT1:82 EXT2:83 EXT4:84 LONG4:8b BINBYTES8:8e EMPTY_SET:8f ADDITEMS:90 "
            "FROZENSET:91 NEWOBJ_EX:92 STACK_GLOBAL:93 BYTEARRAY8:96 NEXT_BUFFER:97 READONLY_BUFFER:98"
        ).split()
    )
}
"""Names of opcodes that are not followed. They look things up, call them, change what is built, or are not needed."""
_STOP, _GET, _NUMBER, _LIST, _MARK, _APPENDS = b".hK](e"
_CONSTANTS = {ord("N"): None, 0x88: True, 0x89: False}
_GROWING = (list, dict)
_KEYS = frozenset({str, int})


class _Cut(Exception):
    """The pickle ends too early."""


def load(document: Document) -> Any:
    """Return the value of a pickle of plain data. Raise `Damaged` with the place for anything else."""
    data = bytearray()
    while chunk := document.read(1 << 16):
        data += chunk
        if len(data) > MAX_BYTES:
            raise Damaged(f"it is longer than {MAX_BYTES >> 20} MiB")
    return _Machine(bytes(data)).run()


class _Machine:
    """The state of a pickle that is followed."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.codes: Any = iter(data)
        self.stack: list[Any] = []
        self.outer: list[list[Any]] = []
        """Stacks below the marks."""
        self.memo: dict[int, Any] = {}
        """Values that may be taken again."""
        self.recalled = set[int]()
        """Lists and dicts that were taken again. They may not grow any more, so none can hold itself."""

    def run(self) -> Any:
        """Follow the opcodes and return the value that they build.

        The commonest are followed here, because calls are slow.
        """
        codes, memo, outer, recalled, stack = self.codes, self.memo, self.outer, self.recalled, self.stack
        constants, find = _CONSTANTS, _OPCODES.get
        try:
            for code in codes:
                if code == _GET:
                    value = memo[next(codes)]
                    if type(value) in _GROWING:
                        recalled.add(id(value))
                    stack.append(value)
                elif code == _MARK and len(outer) < MAX_DEPTH:
                    outer.append(stack)
                    self.stack = stack = []
                elif code == _NUMBER:
                    stack.append(next(codes))
                elif code == _LIST:
                    stack.append([])
                elif code == _APPENDS and type(outer[-1][-1]) is list and id(outer[-1][-1]) not in recalled:
                    outer[-1][-1].extend(stack)
                    self.stack = stack = outer.pop()
                elif code in constants:
                    stack.append(constants[code])
                elif code == _STOP:
                    return self._result()
                else:
                    (find(code) or _Machine.refuse)(self)
                    stack = self.stack
        except (_Cut, StopIteration):
            pass
        except (IndexError, KeyError, TypeError, ValueError):
            raise Damaged(f"the opcode above byte {self.at} does not fit there") from None
        raise Damaged(f"it ends within a value, after {len(self.data)} bytes")

    @property
    def at(self) -> int:
        """Return the place of the next byte."""
        return len(self.data) - length_hint(self.codes)

    def refuse(self) -> None:
        at = self.at - 1
        name = REFUSED.get(self.data[at], f"0x{self.data[at]:02x}")
        raise Damaged(f"byte {at} holds the opcode {name}, which plain data have not; nothing of it was run")

    def _result(self) -> Any:
        if self.at != len(self.data):
            raise Damaged(f"more follows behind its end, at byte {self.at}")
        (value,) = self.stack
        if self.outer:
            raise ValueError
        return value

    def take(self, count: int) -> bytes:
        """Return the next bytes. Their number is checked before any is taken."""
        left = length_hint(self.codes)
        if count > left:
            raise _Cut
        end = len(self.data) - left + count
        self.codes.__setstate__(end)
        return self.data[end - count : end]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def push_text(self, size: int) -> None:
        self.stack.append(self.take(self.number(size)).decode("utf-8", "replace"))

    def refuse_depth(self) -> None:
        raise Damaged(f"it is nested deeper than {MAX_DEPTH} levels")

    def marked(self) -> list[Any]:
        """Return what stands above the last mark."""
        above, self.stack = self.stack, self.outer.pop()
        return above

    def top(self, count: int) -> list[Any]:
        """Take the uppermost values of the stack."""
        if len(self.stack) < count:
            raise ValueError
        values = self.stack[-count:]
        del self.stack[-count:]
        return values

    def append(self, values: Iterable[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not list or id(target) in self.recalled:
            raise TypeError
        target.extend(values)

    def set_items(self, values: list[Any]) -> None:
        target, keys = self.stack[-1], values[::2]
        if type(target) is not dict or id(target) in self.recalled or not _KEYS.issuperset(map(type, keys)):
            raise TypeError
        target.update(zip(keys, values[1::2], strict=True))

    def put(self, name: int) -> None:
        self.memo[name] = self.stack[-1]

    def get(self, name: int) -> None:
        value = self.memo[name]
        if type(value) in _GROWING:
            self.recalled.add(id(value))
        self.stack.append(value)

    def skip_frame(self) -> None:
        """Pass the length of a frame, which says nothing about the values."""
        self.take(8)

    def check_protocol(self) -> None:
        if self.number(1) > MAX_PROTOCOL:
            raise ValueError

    def push_integer(self) -> None:
        size = self.number(1)
        if size > MAX_INTEGER_BYTES:
            raise ValueError
        self.stack.append(int.from_bytes(self.take(size), "little", signed=True))


_OPCODES: Mapping[int, Callable[[_Machine], None]] = {
    ord(code): follow
    for code, follow in (
        ("\x80", _Machine.check_protocol),
        ("\x95", lambda m: m.skip_frame()),
        ("(", _Machine.refuse_depth),
        ("J", lambda m: m.push(int.from_bytes(m.take(4), "little", signed=True))),
        ("M", lambda m: m.push(m.number(2))),
        ("\x8a", _Machine.push_integer),
        ("G", lambda m: m.push(unpack(">d", m.take(8))[0])),
        ("X", lambda m: m.push_text(4)),
        ("\x8c", lambda m: m.push_text(1)),
        ("\x8d", lambda m: m.push_text(8)),
        ("}", lambda m: m.push({})),
        (")", lambda m: m.push(())),
        ("\x85", lambda m: m.push(tuple(m.top(1)))),
        ("\x86", lambda m: m.push(tuple(m.top(2)))),
        ("\x87", lambda m: m.push(tuple(m.top(3)))),
        ("t", lambda m: m.push(tuple(m.marked()))),
        ("a", lambda m: m.append(m.top(1))),
        ("e", lambda m: m.append(m.marked())),
        ("s", lambda m: m.set_items(m.top(2))),
        ("u", lambda m: m.set_items(m.marked())),
        ("q", lambda m: m.put(m.number(1))),
        ("r", lambda m: m.put(m.number(4))),
        ("\x94", lambda m: m.put(len(m.memo))),
        ("j", lambda m: m.get(m.number(4))),
    )
}
