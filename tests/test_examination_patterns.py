"""Patterns of the examination, over cases of the corpus: texts that the first screen must hold, and must not."""

from __future__ import annotations

import pytest
from corpus_cases import CORPUS

from logdoctor import diagnose
from logdoctor.render import render

PATTERNS: dict[str, dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "the printed fact is told": {
        "told-memory-of-vllm": (("20.4", "71.1"), ("micro batch",)),
        "told-shapes-of-a-resized-vocabulary": (("50304", "50432", "embed.weight"), ()),
        "told-memlock-of-openib": (("knl17", "65536"), ()),
        "told-not-memory-report-of-another-rank": (("labels_2",), ("GiB",)),
    },
    "no denial beside the fact": {
        "denial-not-beside-a-missing-restart-file": (
            ("/lustre/ocean/r07/restart.0006.nc",),
            ("no line says why", "does not say why", "do not say why"),
        ),
        "denial-not-beside-names-of-a-stalled-tensor": (("5", "11"), ("does not name", "not named", "do not name")),
        "denial-not-beside-frames-of-faulthandler": (("halo.py:31",), ("hold no traceback", "no stack", "no frames")),
        "denial-stays-where-nothing-is-said": (("signal 9",), ("Before it",)),
    },
    "two lines together": {
        "two-lines-interface-and-those-of-the-host": (("enp5s0f0", "ens5f0np0"), ()),
        "two-lines-who-joined-and-who-not": (("did not come: rank 2",), ("does not name",)),
        "two-lines-choice-of-a-parser": (("cosin", "cosine"), ()),
        "two-lines-not-for-a-refused-peer": (("10.66.1.14:17822 refused",), ("is not among", "nearest")),
    },
    "no guess beside a fact": {
        "guess-not-beside-a-missing-shard": (("val_07.bin",), ("Often",)),
        "guess-not-beside-an-abort-with-a-reason": (("courant number 3.72 exceeds 1.0",), ("Often",)),
        "two-lines-interface-of-nccl": (("ib2", "ib0"), ("Often",)),
        "guess-stays-above-an-unexplained-abort": (("Often",), ("Before it",)),
    },
    "the fact behind the cut": {
        "cut-errno-behind-a-long-name": (("8192, 1024", "8192, 512"), ()),
        "cut-ofi-reason-in-an-error-stack": (("Input/output error",), ()),
        "cut-sizes-of-a-long-oom-line": (("3.38 GiB", "1.62 GiB"), ()),
        "cut-not-where-a-new-message-begins": (("No space left on device",), ("/data/lists/train.txt",)),
    },
    "the reason above the block": {
        "reason-above-a-host-key-refused": (("Host key verification failed",), ("Often",)),
        "reason-above-a-library-of-the-daemon": (("libhwloc.so.15",), ("Often",)),
        "reason-above-abort-of-a-partition": (("partition 5 has 0 cells",), ("no line says why", "does not say why")),
        "reason-above-is-no-module-banner": (("rank 1",), ("Before it",)),
    },
    "the component before its errno": {
        "component-inotify-not-the-disk": (("inotify",), ("df -h",)),
        "component-port-of-the-web-server": (("8000",), ("MASTER_PORT",)),
        "component-store-port-is-the-master-port": (("29611", "MASTER_PORT"), ("PMI",)),
    },
    "stacks of all shapes": {
        "stack-of-gfortran": (("advect.f90:88",), ("no traceback", "Get the stack")),
        "stack-of-gdb-frames": (("halo.cpp:118",), ("no traceback", "Get the stack")),
        "stack-not-of-a-healthy-dump": ((), ("crashed",)),
    },
    "settings of the transport": {
        "ucx-no-transport-to-peer": (("to pq-1", "UCX_TLS=rc,self"), ("names a device",)),
        "proxy-setup-failed-local-rank": (("NCCL_P2P_DISABLE=1, NCCL_SHM_DISABLE=1",), ()),
        "modify-qp-timeout-unrouted-rails": (("NCCL_CROSS_NIC=1",), ()),
    },
    "two packages that do not fit": {
        "misfit-numpy-abi-of-an-extension": (("96", "88"), ("traceback",)),
        "misfit-http-client-of-a-library": (("proxies", "tracklog"), ()),
        "misfit-numpy-name-in-a-plotting-library": (("bool8", "gaugekit"), ("your code",)),
        "misfit-not-in-own-code": (("loop.py:31",), ("pip", "versions that fit")),
    },
}
"""By pattern and case: texts that must be on the screen, and texts that must not. A near-miss asks for silence."""


def first_screen(case: str) -> str:
    folder = CORPUS / case
    text = render(diagnose(*map(str, sorted(folder.glob("*.log")))), "text")
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("case", "shown", "absent"),
    [
        pytest.param(case, *texts, id=f"{pattern.replace(' ', '-')}:{case}")
        for pattern, cases in PATTERNS.items()
        for case, texts in cases.items()
    ],
)
def test_first_screen_tells_what_the_pattern_asks_for(case, shown, absent):
    screen = first_screen(case)
    assert [text for text in shown if text not in screen] == []
    assert [text for text in absent if text in screen] == []
