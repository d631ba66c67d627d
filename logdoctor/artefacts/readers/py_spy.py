"""Stacks as ``py-spy dump --json`` writes them. They are read like the text that ``py-spy dump`` prints.

Source: py-spy 0.3 and 0.4, src/dump.rs and src/stack_trace.rs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from logdoctor.artefacts.document import Document, Passage
from logdoctor.artefacts.json_pieces import values

KIND = "py-spy"
MAX_FRAMES = 400
MAIN = "MainThread"
"""The thread that is told first, as py-spy prints it, because the document may hold it last."""


def sniff(head: bytes) -> bool:
    return (
        re.match(rb"\s*\[\s*\{", head) is not None and re.search(rb"\"(?:owns_gil|os_thread_id)\":", head) is not None
    )


def read(document: Document) -> Iterator[Passage]:
    """Yield the threads of each process as text. A process follows its own threads in the document."""
    texts, pid, at = list[str](), None, ("", 1)
    for where, thread, line in values(document):
        if not isinstance(thread, Mapping):
            continue
        if texts and thread.get("pid") != pid:
            yield Passage("\n".join(texts), at[1], at[0])
            texts = []
        if not texts:
            pid, at = thread.get("pid"), (where, line)
            told = thread.get("process_info")
            command = told.get("command_line", "") if isinstance(told, Mapping) else ""
            texts.append(f"Process {pid}: {_line(command) or 'python'}")
        end = 1 if thread.get("thread_name") == MAIN else len(texts)
        texts[end:end] = _thread(thread)
    if texts:
        yield Passage("\n".join(texts), at[1], at[0])


def _thread(thread: Mapping[str, Any]) -> Iterator[str]:
    state = ("active" if thread.get("active") else "idle") + ("+gil" if thread.get("owns_gil") else "")
    number = thread.get("os_thread_id") or thread.get("thread_id")
    name = _line(thread.get("thread_name"))
    yield f"Thread {number} ({state})" + (f': "{name}"' if name else "")
    frames = thread.get("frames")
    for frame in (frames if isinstance(frames, list) else [])[:MAX_FRAMES]:
        if isinstance(frame, Mapping):
            file = _line(frame.get("filename") or frame.get("short_filename"))
            yield f"    {_line(frame.get('name'))} ({file}:{frame.get('line', 0)})"


def _line(value: Any) -> str:
    return " ".join(str(value or "").split())
