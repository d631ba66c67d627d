"""Prefixes of loggers: level, time, place in the source.

They stand only on the first line of a record. Sources: PyTorch c10/util/Logging.cpp
(1.8 to 2.15) and torch/_logging/_internal.py, glog, klog and absl, Python logging's basicConfig, transformers, vLLM,
SkyPilot (sky/sky_logging.py), loguru, DeepSpeed, TensorRT-LLM (tensorrt_llm/logger.py), rich, absl for JAX, JAX
(jax/_src/logging_config.py), pytest (_pytest/logging.py: live and captured log), OLMo (olmo/util.py), semseg
(tool/train.py) and programs with the same logger. The nine sub-second digits of c10 are left out, because they come
from a monotonic clock.
"""

from __future__ import annotations

from logdoctor.parsers.record import Wrapper
from logdoctor.parsers.shapes import CLOCK, LEVEL, SOURCE, STAMP

_WORDS = "FCEWIDTNSPfceiwdt"
_CPP = r"[\w./+-]{1,200}\.(?:cpp|cc|cu|hpp|h|c|cxx)"
_PY = r"[\w./<>+-]{1,200}"

WRAPPERS: tuple[Wrapper, ...] = (
    Wrapper(
        "c10",
        rf"\[(?P<level>[FEWIVCD])(?:(?P<time>\d{{3,4}} \d\d:\d\d:\d\d)[.\d]*)? (?P<source>{_CPP}:\d+)\] ?",
        "[",
        once=True,
        last=True,
    ),
    Wrapper(
        "glog",
        rf"(?P<level>[FEWIVCD])(?P<time>(?:\d{{4}})?\d{{4}} {CLOCK}) +\d+ (?P<source>{_PY}:\d+)\] ?",
        "FEWIVCD",
        once=True,
    ),
    Wrapper("glog.bare", rf"(?P<level>[FEWI]) (?P<source>{_CPP}:\d+)\] ?", "FEWI", once=True, last=True),
    Wrapper(
        "torch.python",
        rf"(?P<source>[\w.]{{1,200}}): \[(?P<level>{LEVEL})\] ?",
        "abcdefghijklmnopqrstuvwxyz_",
        once=True,
    ),
    Wrapper(
        "transformers",
        rf"\[(?P<level>{LEVEL})\|(?:(?P<source>{SOURCE}:\d+)\](?: (?P<time>{STAMP}))? >> ?"
        rf"|(?P<time2>{STAMP})\] (?P<source2>{SOURCE}:\d+) >> ?)",
        "[",
        once=True,
    ),
    Wrapper(
        "vllm",
        rf"(?P<level>{LEVEL}|[FEWID]) +(?P<time>\d\d-\d\d {CLOCK}) \[?(?P<source>{SOURCE}:\d+)\] ?",
        _WORDS,
        once=True,
    ),
    Wrapper(
        "deepspeed",
        rf"\[(?P<level>{LEVEL})\] \[(?P<source>{SOURCE}:\d+)(?::[\w<>]+)?\] (?:\[PID:(?P<pid>\d+)\] ?)?",
        "[",
        once=True,
    ),
    Wrapper(
        "trtllm",
        r"(?:\[\d\d/\d\d/\d{4}-[\d:]{8}\] )?\[TRT-LLM\] (?:\[RANK (?P<rank>\d{1,6})\] )?\[(?P<level>[FEWIVD])\] ?",
        "[",
        once=True,
        last=True,
    ),
    Wrapper("pid.bracket", r"\[(?:PID|pid)[:= ] ?(?P<pid>\d{1,10})\] ?", "[", once=True),
    Wrapper(
        "level.bracket",
        rf"\[ ?(?P<level>{LEVEL}) *\](?:\((?P<source>[\w.]{{1,100}})\) -)?(?::| -)?(?: |$)",
        "[",
        once=True,
    ),
    Wrapper(
        "semseg",
        rf"\[(?P<time>{STAMP}) (?P<level>{LEVEL}) (?P<source>{SOURCE}\.py) line \d+ (?P<pid>\d{{1,10}})\] ?",
        "[",
        once=True,
    ),
    Wrapper("hydra.logging", rf"\[(?P<source>[\w.]{{1,100}})\]\[(?P<level>{LEVEL})\](?: - | )", "[", once=True),
    Wrapper("loguru", rf"(?P<level>{LEVEL}) *\| +(?:(?P<source>{_PY}:[\w<>.]+:\d+) - )?", _WORDS, once=True),
    Wrapper("python.absl", rf"(?P<level>{LEVEL}):(?P<time>{STAMP}):(?P<source>{SOURCE}:\d+)\] ?", _WORDS, once=True),
    Wrapper(
        "python.stamped",
        rf"(?P<level>{LEVEL}):(?P<time>{STAMP}):(?:(?P<source>[A-Za-z_][\w.]{{0,100}}:\d+):)? ?",
        _WORDS,
        once=True,
    ),
    Wrapper("python.basic", rf"(?P<level>{LEVEL}):(?P<source>[A-Za-z_][\w./-]{{0,100}}):(?!//) ?", _WORDS, once=True),
    Wrapper(
        "python.composer",
        rf"(?P<level>{LEVEL}): (?P<source>[a-z_]\w{{0,60}}(?:\.\w{{1,60}}){{1,8}}): ",
        _WORDS,
        once=True,
    ),
    Wrapper("python.dashes", rf"(?P<source>[\w./:\[\]-]{{1,120}}) +- +(?P<level>{LEVEL}) +- +", once=True),
    Wrapper(
        "python.dash", rf"(?P<level>{LEVEL}) +- +(?:(?P<source>[a-z_]\w*(?:\.\w+){{1,8}}) +- +)?", _WORDS, once=True
    ),
    Wrapper("pytest", rf"(?P<level>{LEVEL}) +(?P<source>[\w.-]{{1,120}}:[\w.-]{{1,100}}\.py:\d+) ", _WORDS, once=True),
    Wrapper("rich", rf"(?P<level>{LEVEL}):? {{2,}}(?=\S)", _WORDS, once=True),
    Wrapper("source.bracket", rf"\[(?P<source>{SOURCE}\.py:\d+)(?::[\w<>]+)?\](?: -)? ", "[", once=True),
    Wrapper(
        "olmo", r"\[(?:(?P<source>[\w.]{1,100}:\d+)|root), rank=(?P<local_rank>\d{1,6})\] ?", "[", once=True, last=True
    ),
    Wrapper("source.dashes", rf"(?P<source>{SOURCE}\.(?:py|cc|cpp|cu|h):\d+) -- ", once=True),
)
