"""Advice that the program itself gives, quoted whole."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.examination.extractors import Found, extracts
from logdoctor.pack.regexes import later

_ADVICE = later(
    r"""(?x)(?:^|(?<=[.;:!?,)\]][ ])|(?<=[ ]-[ ]))
    (?P<advice>(?i:please|consider|you[ ](?:can|may|could|should|need[ ]to|must|might)|try|to[ ](?:fix|resolve
      |solve|avoid|silence|suppress|work[ ]around|enable|disable)\b
      |make[ ]sure|ensure|use[ ][`'"\w-]{1,60}[ ](?:instead|to)\b|set(?=[ ][`'"]?[A-Z][A-Z0-9]{1,20}_)|increase
      |decrease|reduce|upgrade|downgrade|install|reinstall|rerun|re-run|run(?=[ ][`'"]?\w{0,40}[./`_-]))
      [ ][^\n]{3,300}?)
    (?:[.!](?=[ ]|$)|;[ ]|$)"""
)
SAMPLES = {
    "Some NCCL operations failed. Please set NCCL_DEBUG=INFO to see more.": (
        "advice=Please set NCCL_DEBUG=INFO to see more",
    ),
    "If reserved memory is large, try setting max_split_size_mb to avoid fragmentation.": (
        "advice=try setting max_split_size_mb to avoid fragmentation",
    ),
    "  one or more nodes. Please check your PATH and LD_LIBRARY_PATH": (
        "advice=Please check your PATH and LD_LIBRARY_PATH",
    ),
    "ERROR: manifest has version 3, this reader needs 4; run migrate_manifest.py": ("advice=run migrate_manifest.py",),
    "Port 29500 is in use. Consider using another port": ("advice=Consider using another port",),
    "You can disable this check with X=1. It is slow.": ("advice=You can disable this check with X=1",),
    "To fix this, install libfoo 2.1": ("advice=To fix this, install libfoo 2.1",),
    "    results = self.try_install(x)": (),
    "the run failed": (),
    "tried to install and increase": (),
    "we increase the batch": (),
    "install: ok": (),
}


@extracts(
    "advice",
    "please consider you try fix resolve solve avoid silence suppress around enable disable sure ensure instead"
    " set increase decrease reduce upgrade downgrade install reinstall rerun run",
)
def extract(text: str) -> Iterator[Found]:
    """Yield sentences that propose something."""
    for found in _ADVICE.finditer(text):
        yield Found("", found["advice"], said=found["advice"])
