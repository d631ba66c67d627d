"""Lines ``Key: value`` in the help blocks of Open MPI, PRRTE, Hydra, Slurm and UCX: one grammar for all of them."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.examination.extractors import Found, extracts
from logdoctor.model import FactType
from logdoctor.model.numbers import number_or_text
from logdoctor.pack.regexes import later

_LINE = later(
    r"^(?P<indent>[ \t|=*]{0,12})(?P<key>[A-Z][A-Za-z][\w./-]{0,24}(?: \(?[\w./#-]{1,20}\)?){0,4}?) {0,16}: "
    r"{1,16}(?P<value>(?=\S{0,40}\w)\S[^\n]{0,300})$"
)
_KEYS: dict[str, tuple[FactType, str]] = {
    "local host": ("identity", "host"),
    "host": ("identity", "host"),
    "hostname": ("identity", "host"),
    "node": ("identity", "host"),
    "node name": ("identity", "host"),
    "remote host": ("address", "peer"),
    "peer": ("address", "peer"),
    "peer host": ("address", "peer"),
    "local pid": ("identity", "pid"),
    "pid": ("identity", "pid"),
    "process id": ("identity", "pid"),
    "local device": ("identity", "device"),
    "device": ("identity", "device"),
    "device name": ("identity", "device"),
    "interface": ("identity", "interface"),
    "local interface": ("identity", "interface"),
    "rank": ("identity", "rank"),
    "error": ("reason", "told"),
    "reason": ("reason", "told"),
    "error message": ("reason", "told"),
    "error string": ("reason", "told"),
    "system error": ("reason", "told"),
    "message": ("reason", "told"),
    "expected": ("count", "expected"),
    "got": ("count", "got"),
    "required": ("count", "wanted"),
    "requested": ("count", "wanted"),
    "available": ("count", "free"),
    "component": ("name", "component"),
    "framework": ("name", "framework"),
    "executable": ("path", "opened"),
    "file": ("path", "opened"),
    "directory": ("path", "opened"),
    "exit code": ("end", "exit code"),
    "exit status": ("end", "exit code"),
    "signal": ("end", "signal"),
}
"""The type and role of the keys that have a meaning of their own."""
_NO_KEYS = frozenset("traceback warning note info debug fatal usage file hint caused called".split())
_FLOAT = later(r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?(?: \w{1,4})?")
SAMPLES = {
    "  Local host: cn208": ("identity.host=cn208",),
    "  Local device:    mlx5_0": ("identity.device=mlx5_0",),
    "  Location: mtl_ofi_component.c:936": ("setting.told=mtl_ofi_component.c:936 (Location)",),
    "  Error: Function not implemented (38)": ("reason.told=Function not implemented (38)",),
    "    Node:        cn-a3": ("identity.host=cn-a3",),
    "    #processes:  2": (),
    "    PID:         4711": ("identity.pid=4711",),
    "  Requested: 16": ("count.wanted=16",),
    "  Executable: ./solver.x": ("path.opened=./solver.x",),
    "  Peer hostname unresolved: cn9": ("setting.told=cn9 (Peer hostname unresolved)",),
    "=   EXIT CODE: 9": ("end.exit code=9",),
    "  Application: ./a.out": ("setting.told=./a.out (Application)",),
    "  Requested transports: rc, ud": ("setting.told=rc, ud (Requested transports)",),
    "RuntimeError: x is wrong": (),
    "Warning: something": (),
    "  Traceback: most recent call last": (),
    "step: 4, loss: 3.2": (),
    "  Residual norm:   2.7402E-09": (),
    "Location: nowhere": (),
}


@extracts("setting")
def extract(text: str) -> Iterator[Found]:
    """Yield the value of a key. A key without a meaning of its own counts only in an indented line."""
    found = _LINE.match(text) if ": " in text[:80] else None
    if not found:
        return
    key, value = found["key"].lower(), found["value"].strip()
    indented = len(found["indent"]) > 1
    if key in _KEYS and (indented or " " in key):
        sort, role = _KEYS[key]
        yield Found(role, number_or_text(value), said=found[0].strip(), type=sort)
    elif indented and key not in _NO_KEYS and not _FLOAT.fullmatch(value):
        yield Found("told", value, of=found["key"], said=found[0].strip())
