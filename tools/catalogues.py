"""Measure how much of an upstream project's list of messages and codes gets an answer.

    python tools/catalogues.py list openmpi-help GITDIR [REVISION] > OLD    the entries of a revision, a JSON line each
    python tools/catalogues.py list cuda > OWN       the entries of our own table, where no repository lists them
    python tools/catalogues.py count OLD [--list]    how many are answered, or declared harmless
    python tools/catalogues.py new OLD NEW           the entries that only NEW holds

GITDIR is a clone, bare or not. An entry is answered if a log that holds only its text, as the program prints it, has a
cause. It is declared harmless if its catalogue says that nothing is to be done, or that it is a note: a warning after
which the job goes on, or a consequence.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import logdoctor
from logdoctor.codes import catalogue, names
from logdoctor.codes.table import REST
from logdoctor.pipeline.knowledge import Knowledge, gather, rule_folders

PROGRESS = "".join(f"step {n}/1000 loss {3 - n / 100:.4f}\n" for n in range(1, 4))
NO_ANSWER = ("unknown", "nothing-to-judge", "no-end-seen", "finished", "healthy")
PRINTF = re.compile(r'%[-+ #0]*[\d*]*(?:\.[\d*]+)?(?:hh|h|ll|l|z|j)?([%a-zA-Z])|"? ?PRI[a-z]\d+ ?"?')
FILL = {"s": "node07", "c": "x", "f": "1.5", "g": "1.5", "e": "1.5", "p": "0x7f2a10", "x": "1f", "X": "1F", "%": "%"}


class Entry(NamedTuple):
    """An entry of an upstream list. ``log`` is what a program prints for it."""

    code: str
    log: str


def help_topics(path: str, text: str) -> Iterator[Entry]:
    """Yield the blocks of one of Open MPI's help files."""
    for block in re.split(r"(?m)^(?=\[[^\n]+\]\s*$)", text)[1:]:
        head, _, body = block.partition("\n")
        body = "\n".join(line for line in body.splitlines() if not line.startswith("#")).strip("\n")
        if body.strip():
            row = "-" * 74
            body = re.sub(r"(?m)\A%s|^(The )%s(?= (?:command|option))", r"\1mpirun", body)
            yield Entry(f"{Path(path).name}:{head.strip().strip('[]')}", f"{row}\n{fill(body)}\n{row}\n")


def printed_topics(folder: str, revision: str) -> set[str]:
    """Return the topics that the program's own sources print. The others are pages of a command's ``--help``."""
    calls = git(folder, "grep", "-hI", "-A4", r"\"help-[a-zA-Z0-9_.-]*\"", revision, "--", "*.c", "*.h")
    return {f"{file}:{topic}" for file, topic in re.findall(r'"(help-[\w.-]+)"\s*,\s*(?:true\s*,)?\s*"([^"]+)"', calls)}


def nccl_warnings(path: str, text: str) -> Iterator[Entry]:
    """Yield the texts that NCCL warns with."""
    for call in re.finditer(r'\bWARN\(\s*((?:"(?:[^"\\]|\\.)*"|\s|PRI\w+)+)', text):
        said = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"|PRI[a-z]\d+', call[1].replace('" PRI', '"d" PRI')))
        said = said.replace('\\"', '"').replace("\\n", " ").strip()
        place = f"{Path(path).name}:{text.count(chr(10), 0, call.start()) + 1}"
        yield Entry(f"{Path(path).name} {said}", f"node07:4121:4388 [1] {place} NCCL WARN {fill(said)}\n")


def torch_errors(path: str, text: str) -> Iterator[Entry]:
    """Yield the errors that a module of ``torch.distributed`` raises, each with its traceback."""
    own = 'Traceback (most recent call last):\n  File "/home/u/train.py", line 41, in <module>\n    main()\n'
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Raise) and isinstance(call := node.exc, ast.Call) and isinstance(call.func, ast.Name):
            said = told(call.args[0]) if call.args and not call.func.id.startswith("_") else ""
            error = f"{call.func.id}: {said}"
            frame = f'  File "/opt/venv/lib/python3.11/site-packages/{path}", line {node.lineno}, in check\n'
            if said:
                yield Entry(f"{Path(path).name} {error[:120]}", f"{own}{frame}{error}\n")


def told(node: ast.expr) -> str:
    """Return the text of a string in the source, with values in it, "" for any other expression."""
    match node:
        case ast.Constant(value=str(text)):
            return fill(" ".join(text.split()))
        case ast.JoinedStr(values=parts):
            return "".join(told(part) if isinstance(part, ast.Constant) else "3" for part in parts)
        case ast.BinOp(left=left, right=right):
            return told(left) + told(right)
    return ""


def named(pattern: str, shown: str) -> Callable[[str, str], Iterator[Entry]]:
    """Return a reader of what ``pattern`` finds: its groups ``code`` and others, which ``shown`` puts into a log."""

    def read(_path: str, text: str) -> Iterator[Entry]:
        for match in re.finditer(pattern, text):
            yield Entry(match["code"], shown.format(**match.groupdict()) + "\n")

    return read


def fill(text: str) -> str:
    """Return ``text`` with values for what printf puts in."""
    return PRINTF.sub(lambda match: FILL.get(match[1] or "d", "3"), text)


class Source(NamedTuple):
    files: str
    """Expression over the paths of a repository."""
    read: Callable[[str, str], Iterator[Entry]]


SOURCES = {
    "openmpi-help": Source(r"/help-[\w.-]+\.txt$", help_topics),
    "pmix": Source(
        r"^include/pmix_common\.h(?:\.in)?$",
        named(
            r"#define\s+(?P<code>PMIX_ERR\w*)\s+-\d+",
            "[node07:4121] PMIX ERROR: {code} in file pmix_client.c at line 231",
        ),
    ),
    "ucx": Source(
        r"^src/ucs/type/status\.c$",
        named(
            r'case (?P<code>UCS_ERR_\w+):\s*return "(?P<text>[^"]+)"',
            "[1751106400.123456] [node07:4121 :0]  ucp_worker.c:1234 UCX  ERROR failed to open the interface: {text}",
        ),
    ),
    "libfabric": Source(
        r"^include/rdma/fi_errno\.h$",
        named(
            r"(?P<code>FI_E\w+)\s*=\s*(?P<number>2\d\d),\s*/\* (?P<text>.+?) \*/",
            "[node07:4121] mtl_ofi_component.c:926: fi_endpoint failed: {text} (-{number})",
        ),
    ),
    "nv-status": Source(
        r"^src/common/sdk/nvidia/inc/nvstatuscodes\.h$",
        named(
            r'NV_STATUS_CODE\((?P<code>NV_ERR_\w+),\s*0x(?P<number>\w+),\s*"(?P<text>[^"]+)"',
            "NVRM: nvAssertOkFailedNoLog: Assertion failed: {text} [{code}] (0x{number}) returned from x @ gpu.c:106",
        ),
    ),
    "rm-init": Source(
        r"^src/nvidia/arch/nvalloc/unix/src/osinit\.c$",
        named(
            r"(?m)^ +(?P<code>RM_INIT_\w+?FAILED)\b", "NVRM: GPU 0000:2a:00.0: RmInitAdapter failed! ({code}:0x56:1482)"
        ),
    ),
    "xid": Source(
        r"^src/common/sdk/nvidia/inc/nverror\.h$",
        named(
            r"#define \w+\s+\((?P<code>\d+)\)", "NVRM: Xid (PCI:0000:4f:00): {code}, pid=4121, name=python, Ch 00000010"
        ),
    ),
    "slurm-reason": Source(
        r"^src/common/job_state_reason\.c$",
        named(
            r'\.str = "(?P<code>\w+)"', "JobId=4711 JobName=train\n   JobState=PENDING Reason={code} Dependency=(null)"
        ),
    ),
    "c10d": Source(
        r"^torch/(?:distributed/(?:distributed_c10d|rendezvous|run|launch|launcher/|elastic/)|nn/parallel/distributed).*(?<!_test)\.py$",
        torch_errors,
    ),
    "nccl": Source(r"^(?:src|plugins/net)/.*\.(?:cc|h|cu)$", nccl_warnings),
}
"""Each catalogue with the files of its project that list the entries."""


OWN: dict[str, str | dict[str, str]] = {
    "cann": "RuntimeError: ACL stream synchronize failed, error code:{code}",
    "cuda": "[rank3]: RuntimeError: CUDA error: {says}",
    "efa": "node07:4121:4388 [1] nccl_net_ofi_rdma.c:412 NCCL WARN NET/OFI Request completed with error. RC: {code}",
    "grpc": "Traceback (most recent call last):\n"
    '  File "/srv/fit/agent.py", line 88, in <module>\n    reply = stub.NextTask(request)\n'
    "grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC that terminated with:\n"
    '\tstatus = StatusCode.{name}\n\tdetails = "the server said so"\n>',
    "ib-status": "node07:4121:4388 [1] ibv.cc:12 NCCL WARN NET/IB : Got completion with error {code}, opcode 0, len 0",
    "kubernetes": {
        "pod": "train-worker-1   0/1     {code}   3          12m",
        "event": "12m         Warning   {code}   pod/train-worker-1   {says}",
        "reason": "      reason: {code}",
    },
    "sxid": "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): {code}, Fatal, Link 30 fault",
}
"""Lines that show an entry of a catalogue that no repository lists, by its column ``seen`` if they differ."""


def read_own(name: str) -> Iterator[Entry]:
    """Yield the entries of our own table."""
    for row in catalogue(name).entries:
        if row.code != REST:
            says = (catalogue(name).texts(row) or (row.name,))[-1]
            line = OWN[name]
            line = line if isinstance(line, str) else line[row.columns["seen"]]
            yield Entry(
                row.code, line.format(code=row.code.partition("-")[0] or row.code, name=row.name, says=says) + "\n"
            )


def git(folder: str, *words: str) -> str:
    command = ["git", "-C", folder, *words]
    return subprocess.run(command, check=True, capture_output=True).stdout.decode("utf-8", "replace")


def read_upstream(name: str, folder: str, revision: str) -> Iterator[Entry]:
    source = SOURCES[name]
    printed = printed_topics(folder, revision) if source.read is help_topics else None
    seen = set[str]()
    for path in git(folder, "ls-tree", "-r", "--name-only", revision).splitlines():
        if re.search(source.files, path):
            for entry in source.read(path, git(folder, "show", f"{revision}:{path}")):
                if entry.code not in seen and (printed is None or entry.code in printed):
                    seen.add(entry.code)
                    yield entry


def answer(name: str, entry: Entry, pack: Knowledge) -> str:
    """Return ``harmless``, the signature of the first cause, or ``none``."""
    row = catalogue(name).find(entry.code) if name in names() else None
    if row and (row.decision == "do-nothing" or row.columns.get("signature") == "note"):
        return "harmless"
    found = logdoctor.diagnose(io.BytesIO((PROGRESS + entry.log).encode()), knowledge=pack).to_dict()
    if found["verdict"] in NO_ANSWER or not found["causes"]:
        return "none"
    return str(found["causes"][0]["signature"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("list")
    make.add_argument("catalogue", choices=[*SOURCES, *OWN])
    make.add_argument("folder", nargs="?")
    make.add_argument("revision", nargs="?", default="HEAD")
    count = commands.add_parser("count")
    count.add_argument("entries", type=Path)
    count.add_argument("--list", action="store_true", help="print each entry and its answer")
    new = commands.add_parser("new")
    new.add_argument("old", type=Path)
    new.add_argument("entries", type=Path)
    options = parser.parse_args()
    if options.command == "list":
        name, folder = options.catalogue, options.folder
        for entry in read_upstream(name, folder, options.revision) if folder else read_own(name):
            print(json.dumps({"catalogue": name, **entry._asdict()}, ensure_ascii=False))
    elif options.command == "count":
        answers = answer_all(load(options.entries))
        print(*(f"{said}\t{code}" for code, said in answers if options.list), sep="\n")
        counts = Counter(said for _, said in answers)
        known = len(answers) - counts["none"]
        print(f"{known} of {len(answers)} ({known / len(answers):.0%})", dict(counts.most_common()), file=sys.stderr)
    else:
        old = {entry.code for _, entry in load(options.old)}
        print(*(entry.code for _, entry in load(options.entries) if entry.code not in old), sep="\n")


def load(path: Path) -> list[tuple[str, Entry]]:
    lines = map(json.loads, path.read_text("utf-8").splitlines())
    return [(line["catalogue"], Entry(line["code"], line["log"])) for line in lines]


def answer_all(entries: list[tuple[str, Entry]]) -> list[tuple[str, str]]:
    pack = gather(rule_folders())
    return [(entry.code, answer(name, entry, pack)) for name, entry in entries]


if __name__ == "__main__":
    main()
