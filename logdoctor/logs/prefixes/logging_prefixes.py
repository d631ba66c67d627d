"""Prefixes of loggers: level, time, place in the source.

They stand only on the first line of a record. Sources: PyTorch c10/util/Logging.cpp
(1.8 to 2.15) and torch/_logging/_internal.py, glog, klog and absl, Python logging's basicConfig, transformers, vLLM,
SkyPilot (sky/sky_logging.py), loguru, DeepSpeed, TensorRT-LLM (tensorrt_llm/logger.py), rich, absl for JAX, JAX
(jax/_src/logging_config.py), pytest (_pytest/logging.py: live and captured log), OLMo (olmo/util.py), semseg
(tool/train.py) and programs with the same logger. The nine sub-second digits of c10 are left out, because they come
from a monotonic clock.
"""

from __future__ import annotations

from logdoctor.logs.record_pattern import Prefix
from logdoctor.logs.timestamps import CLOCK, LEVEL, SOURCE, STAMP

_WORDS = "FCEWIDTNSPfceiwdt"
_CPP = r"[\w./+-]{1,200}\.(?:cpp|cc|cu|hpp|h|c|cxx)"
_PY = r"[\w./<>+-]{1,200}"

PREFIXES: tuple[Prefix, ...] = (
    Prefix(
        "c10",
        rf"\[(?P<level>[FEWIVCD])(?:(?P<time>\d{{3,4}} \d\d:\d\d:\d\d)[.\d]*)? (?P<logger>{_CPP}:\d+)\] ?",
        "[",
        once=True,
        last=True,
    ),
    Prefix(
        "glog",
        rf"(?P<level>[FEWIVCD])(?P<time>(?:\d{{4}})?\d{{4}} {CLOCK}) +\d+ (?P<logger>{_PY}:\d+)\] ?",
        "FEWIVCD",
        once=True,
    ),
    Prefix("glog.bare", rf"(?P<level>[FEWI]) (?P<logger>{_CPP}:\d+)\] ?", "FEWI", once=True, last=True),
    Prefix(
        "torch.python",
        rf"(?P<logger>[\w.]{{1,200}}): \[(?P<level>{LEVEL})\] ?",
        "abcdefghijklmnopqrstuvwxyz_",
        once=True,
    ),
    Prefix(
        "transformers",
        rf"\[(?P<level>{LEVEL})\|(?:(?P<logger>{SOURCE}:\d+)\](?: (?P<time>{STAMP}))? >> ?"
        rf"|(?P<time2>{STAMP})\] (?P<logger2>{SOURCE}:\d+) >> ?)",
        "[",
        once=True,
    ),
    Prefix(
        "vllm",
        rf"(?P<level>{LEVEL}|[FEWID]) +(?P<time>\d\d-\d\d {CLOCK}) \[?(?P<logger>{SOURCE}:\d+)\] ?",
        _WORDS,
        once=True,
    ),
    Prefix(
        "deepspeed",
        rf"\[(?P<level>{LEVEL})\] \[(?P<logger>{SOURCE}:\d+)(?::[\w<>]+)?\] (?:\[PID:(?P<pid>\d+)\] ?)?",
        "[",
        once=True,
    ),
    Prefix(
        "trtllm",
        r"(?:\[\d\d/\d\d/\d{4}-[\d:]{8}\] )?\[TRT-LLM\] (?:\[RANK (?P<rank>\d{1,6})\] )?\[(?P<level>[FEWIVD])\] ?",
        "[",
        once=True,
        last=True,
    ),
    Prefix("pid.bracket", r"\[(?:PID|pid)[:= ] ?(?P<pid>\d{1,10})\] ?", "[", once=True),
    Prefix(
        "level.bracket",
        rf"\[ ?(?P<level>{LEVEL}) *\](?:\((?P<logger>[\w.]{{1,100}})\) -)?(?::| -)?(?: |$)",
        "[",
        once=True,
    ),
    Prefix(
        "semseg",
        rf"\[(?P<time>{STAMP}) (?P<level>{LEVEL}) (?P<logger>{SOURCE}\.py) line \d+ (?P<pid>\d{{1,10}})\] ?",
        "[",
        once=True,
    ),
    Prefix("hydra.logging", rf"\[(?P<logger>[\w.]{{1,100}})\]\[(?P<level>{LEVEL})\](?: - | )", "[", once=True),
    Prefix("loguru", rf"(?P<level>{LEVEL}) *\| +(?:(?P<logger>{_PY}:[\w<>.]+:\d+) - )?", _WORDS, once=True),
    Prefix("python.absl", rf"(?P<level>{LEVEL}):(?P<time>{STAMP}):(?P<logger>{SOURCE}:\d+)\] ?", _WORDS, once=True),
    Prefix(
        "python.stamped",
        rf"(?P<level>{LEVEL}):(?P<time>{STAMP}):(?:(?P<logger>[A-Za-z_][\w.]{{0,100}}:\d+):)? ?",
        _WORDS,
        once=True,
    ),
    Prefix("python.basic", rf"(?P<level>{LEVEL}):(?P<logger>[A-Za-z_][\w./-]{{0,100}}):(?!//) ?", _WORDS, once=True),
    Prefix(
        "python.composer",
        rf"(?P<level>{LEVEL}): (?P<logger>[a-z_]\w{{0,60}}(?:\.\w{{1,60}}){{1,8}}): ",
        _WORDS,
        once=True,
    ),
    Prefix("python.dashes", rf"(?P<logger>[\w./:\[\]-]{{1,120}}) +- +(?P<level>{LEVEL}) +- +", once=True),
    Prefix(
        "python.dash", rf"(?P<level>{LEVEL}) +- +(?:(?P<logger>[a-z_]\w*(?:\.\w+){{1,8}}) +- +)?", _WORDS, once=True
    ),
    Prefix("pytest", rf"(?P<level>{LEVEL}) +(?P<logger>[\w.-]{{1,120}}:[\w.-]{{1,100}}\.py:\d+) ", _WORDS, once=True),
    Prefix("rich", rf"(?P<level>{LEVEL}):? {{2,}}(?=\S)", _WORDS, once=True),
    Prefix("source.bracket", rf"\[(?P<logger>{SOURCE}\.py:\d+)(?::[\w<>]+)?\](?: -)? ", "[", once=True),
    Prefix(
        "olmo", r"\[(?:(?P<logger>[\w.]{1,100}:\d+)|root), rank=(?P<local_rank>\d{1,6})\] ?", "[", once=True, last=True
    ),
    Prefix("source.dashes", rf"(?P<logger>{SOURCE}\.(?:py|cc|cpp|cu|h):\d+) -- ", once=True),
)
