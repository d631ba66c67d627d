"""Files and folders, and what was wrong with them."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from logdoctor.examination.extractors import Found, extracts
from logdoctor.pack.regexes import later

_PATH = later(
    r"""(?x)
    ["'`‘](?P<path>[^"'`‘’\n]{0,40}[./][^"'`‘’\n]{1,300}|[\w-]{1,80})["'’]
    |(?<![\w.@-])(?P<path>(?:~|\.{1,2})?(?:/[\w.@+%=~*-]{1,120}){1,40}/?|[\w-]{1,80}\.so(?:\.\d{1,4}){0,3}
    |[a-z]{2,5}://[\w./@+%=~:-]{1,300})
    """
)
_WRONG = later(
    r"""(?ix)
    (?P<missing>\bno[ ]such[ ]file(?:[ ]or[ ]directory)?|\b(?:does|did)[ ](?:not|n't)[ ]exist|\bdoesn't[ ]exist
      |\bcannot[ ]find[ ](?:the[ ])?(?:file|path|director)
      |\bnot[ ]found\b|\bcannot[ ]open[ ]shared[ ]object[ ]file|\bis[ ]missing\b|\bnot[ ]a[ ]directory)
    |(?P<denied>\bpermission[ ]denied|\boperation[ ]not[ ]permitted|\bread-only[ ]file[ ]system|\bnot[ ](?:writable
    |writeable|readable)|\baccess[ ]denied|\bcannot[ ]write[ ]to)
    |(?P<full>\bno[ ]space[ ]left|\bdisk[ ]quota[ ]exceeded|\bquota[ ]exceeded|\bdisk[ ](?:is[ ])?full
    |\bis[ ]full\b|\bnot[ ]enough[ ](?:disk[ ])?space)
    """
)
_OPENED = later(
    r"(?i)\b(?:open(?:ed|ing|s)?|load(?:ed|ing|s)?|read(?:ing|s)?)(?: (?:the |from |file |in |input |config "
    r"|weights |checkpoint ){0,3}| ?file:? )$"
)
_NO_FILE = later(r"""["']?(?::? ?,?(?: in)? line \d|:\d+[:\]) ])""")
_SOURCE = later(r"(?i)\b(?:file|at|in)[ :]{1,2}[\"']?$|\($")
_FRAME = later(r'^\s*(?:File "|at |#\d|\[\w*\d+\]|frame #)')
SAMPLES = {
    "UCX  ERROR open(file_name=/proc/702/fd/33 flags=0x0) failed: No such file or directory": (
        "path.missing=/proc/702/fd/33",
    ),
    "FileNotFoundError: [Errno 2] No such file or directory: '/data/train/part 3.bin'": (
        "path.missing=/data/train/part 3.bin",
    ),
    "PermissionError: [Errno 13] Permission denied: '/scratch/ck/step_10'": ("path.denied=/scratch/ck/step_10",),
    "OSError: [Errno 28] No space left on device: '/tmp/shard_0.tmp' -> '/tmp/shard_0'": (
        "path.full=/tmp/shard_0.tmp",
    ),
    "python: error while loading shared libraries: libhdf5.so.103: cannot open shared object file: No such file or "
    "directory": ("path.missing=libhdf5.so.103",),
    "slurmstepd: error: execve(): ./solver.x: Permission denied": ("path.denied=./solver.x",),
    "/bin/sh: /opt/ompi/bin/orted: No such file or directory": ("path.missing=/opt/ompi/bin/orted",),
    "forrtl: severe (29): file not found, unit 11, file /home/u/run/input.nml": ("path.missing=/home/u/run/input.nml",),
    "mkdir: cannot create directory '/ro/out': Read-only file system": ("path.denied=/ro/out",),
    "Loading checkpoint /ck/last.pt": ("path.opened=/ck/last.pt",),
    "java.io.FileNotFoundException: hdfs://nn/data/a.parquet does not exist": (
        "path.missing=hdfs://nn/data/a.parquet",
    ),
    "/var/spool/slurm_script: line 14: tourchrun: command not found": (),
    '  File "/opt/x/train.py", line 3, in <module>': (),
    "Cuda driver error 999 in call at file '/build/lib/gpu/device.h' in line 214.": (),
    "wrote /out/a.h5 in 3 s": (),
    "job not found": (),
    "ModuleNotFoundError: No module named 'apex'": (),
}


@extracts(
    "path",
    "such exist found cannot missing denied permitted only writable writeable readable space quota full not open "
    "opened opening opens load"
    " loaded loading loads read reading reads directory",
)
def extract(text: str) -> Iterator[Found]:
    """Yield the path that something was wrong with; without any, the paths that were opened."""
    if ("/" not in text and "'" not in text and '"' not in text and ".so" not in text) or _FRAME.match(text):
        return
    paths = [match for match in _PATH.finditer(text) if _is_file(text, match)]
    wrong = _WRONG.search(text) if paths else None
    if wrong:
        role = wrong.lastgroup or ""
        path = _nearest(paths, wrong, text)
        if path:
            yield Found(
                role,
                path["path"].rstrip(".,:"),
                said=text[min(path.start(), wrong.start()) : max(path.end(), wrong.end())],
            )
        return
    for match in paths:
        if "/" in match["path"] and _OPENED.search(text, max(0, match.start() - 40), match.start()):
            yield Found("opened", match["path"].rstrip(".,:"), said=match[0])


def _is_file(text: str, match: regex.Match[str]) -> bool:
    """Return whether the match is no place in a source or script, and no ``//`` or ``/``."""
    return len(match["path"].strip("./")) > 1 and not (
        _NO_FILE.match(text, match.end())
        or (_SOURCE.search(text, max(0, match.start() - 12), match.start()) and "line" in text)
    )


def _nearest(paths: list[regex.Match[str]], wrong: regex.Match[str], text: str) -> regex.Match[str] | None:
    """Return the path right behind the words, else the last one before them, else the next behind them."""
    named = (wrong["missing"] != "not found" and wrong["missing"]) or wrong["denied"] or wrong["full"]
    behind = [path for path in paths if path.start() >= wrong.end()]
    before = [path for path in paths if path.end() <= wrong.start()]
    sure = named or "file" in text.lower()
    if behind and (":" in text[wrong.end() : behind[0].start()] or not before):
        return behind[0] if sure else None
    return before[-1] if before and (sure or "/" in before[-1]["path"]) else None
