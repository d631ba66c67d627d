"""Files that Slurm writes a job's output to, found by the patterns of sbatch and srun (``logs/%x-%j-%t.out``)."""

# Names are used exactly as Slurm writes them, which pathlib does not do.
# ruff: noqa: PTH113, PTH118, PTH123

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from logdoctor.slurm.accounting import Described, Row

MOST_FILES = 4096
MOST_ENTRIES = 100_000
"""Names of a folder that are looked at."""
_SPECIFIER = re.compile(r"%(\d{0,2})([A-Za-z%])")
_OPTIONS = {"-o": "stdout", "--output": "stdout", "-e": "stderr", "--error": "stderr"}
_FLAGS = frozenset(
    """
    -E -H -I -K -O -Q -V -X -Z -h -k -l -s -u -v --contiguous --disable-status --exact --exclusive --get-user-env --help
    --hold --ignore-pbs --immediate --interactive --kill-on-bad-exit --label --multi-prog --no-allocate --no-kill
    --no-requeue --overcommit --overlap --oversubscribe --parsable --preserve-env --propagate --pty --quiet --reboot
    --requeue --spread-job --test-only --unbuffered --use-min-nodes --verbose --version --wait-all-nodes
    """.split()
)
"""Options of sbatch and srun without a value, or with one behind an equals sign only."""
_DIRECTIVE = re.compile(r"^#SBATCH\s+(.*)")
_NO_FILE = ("none", "all", "/dev/null")
_SCRIPT_BYTES = 64 << 10
_UNKNOWN = {"t": r"\d+", "n": r"\d+", "s": r"(?:\d+|batch|interactive|extern)", "b": r"\d", "N": r"[\w.-]+"}
"""Task, node number, step, task of an array modulo 10, and node name. Slurm writes one file for each."""


def output_files(rows: Sequence[Row], described: Sequence[Described]) -> tuple[list[str], list[str]]:
    """Return the output files of a job and its steps, and notes about what may be missing."""
    files, notes = list[str](), list[str]()
    jobs = [row for row in rows if not row.step]
    for row in jobs:
        told = next((d.fields for d in described if d.fields.get("JobId") == row.raw_id), {})
        folder = row.folder or told.get("WorkDir", "")
        patterns = _patterns_of_job(row, told, folder)
        found = [file for p in patterns for file in find_files(p, _specifiers(row), folder)]
        is_part = row.id != jobs[0].id  # only the first part of a heterogeneous job runs the script
        files += [file for file in found if not is_part or os.path.isfile(file)]
        if not told and not row.stdout and patterns == [_default_name(row)]:
            notes.append(f"{patterns[0]} is Slurm's usual name: a '#SBATCH --output' is known to the controller only")
        for step in (s for s in rows if s.step and s.id.partition(".")[0] == row.id):
            for pattern in filter(names_file, read_command(step.command)[0].values()):
                known = _specifiers(row) | {"s": step.step, "J": f"{row.raw_id}.{step.step}"}
                found = find_files(pattern, known, folder)
                files += found
                if not found:
                    notes.append(f"step {step.id}: no file {pattern} in {folder}")
    return [*dict.fromkeys(files)], notes


def _patterns_of_job(row: Row, told: Mapping[str, str], folder: str) -> list[str]:
    """Return the patterns of the output of the batch script, as the controller, sacct or the command tell them."""
    if told:
        patterns = {"stdout": told.get("StdOut", ""), "stderr": told.get("StdErr", "")}
    elif row.stdout or row.stderr:
        patterns = {"stdout": row.stdout, "stderr": row.stderr}
    elif row.command.startswith("sbatch"):
        asked, script = read_command(row.command)
        patterns = {"stdout": _default_name(row)} | read_script(script, folder) | asked
    else:  # srun and salloc print on the terminal
        patterns = read_command(row.command)[0]
    return [*dict.fromkeys(filter(names_file, patterns.values()))]


def _default_name(row: Row) -> str:
    return "slurm-%A_%a.out" if "_" in row.id else "slurm-%j.out"


def _specifiers(row: Row) -> dict[str, str]:
    """Return the values of ``%j``, ``%A`` … for a job."""
    array, _, task = re.split(r"\+", row.id)[0].partition("_")
    known = {"j": row.raw_id, "A": array, "a": task or "4294967294", "x": row.name, "u": row.user}
    return {key: value for key, value in known.items() if value}


def read_command(command: str) -> tuple[dict[str, str], str]:
    """Return the patterns for ``stdout`` and ``stderr`` of a command line of sbatch or srun, and its program.

    The options of the program itself, behind its name, are not Slurm's.
    """
    found = dict[str, str]()
    words = iter(_words(command)[1:])
    for word in words:
        if not word.startswith("-") or word == ":":
            return found, word
        name, equals, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        if not equals and name not in _FLAGS:
            value = next(words, "")
        if value and name in _OPTIONS:
            found.setdefault(_OPTIONS[name], value)
    return found, ""


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quote that is not closed: sacct shows the words without their quotes
        return command.split()


def read_script(script: str, folder: str) -> dict[str, str]:
    """Return the patterns that a batch script asks for (``#SBATCH -o …``), if it is still there."""
    try:
        with open(os.path.join(folder, script), encoding="utf-8", errors="replace") as file:
            lines = file.read(_SCRIPT_BYTES).splitlines()
    except OSError:
        return {}
    found = dict[str, str]()
    for line in lines:
        if match := _DIRECTIVE.match(line):
            found |= read_command(f"sbatch {match[1]}")[0]
    return found


def names_file(pattern: str) -> bool:
    """Return whether an output goes to a file of its own. A number stands for the task that srun shows."""
    return bool(pattern) and pattern not in _NO_FILE and not pattern.isdigit()


def find_files(pattern: str, known: Mapping[str, str], folder: str) -> list[str]:
    """Return the files of ``pattern``, sorted. One without open specifiers is returned even if it is not there.

    ``known``: values of specifiers, such as ``{"j": "17", "x": "train"}``. Each value is possible for any other.
    """
    parts = [*_compile(os.path.join(folder, pattern), known)]
    if all(isinstance(part, str) for part in parts):
        return ["/".join(map(str, parts))]
    found = ["/"] if parts[0] == "" else [""]
    for part in parts:
        found = found if part == "" else sorted(_descend(found, part))
    return [path for path in found if os.path.isfile(path)]


def _compile(path: str, known: Mapping[str, str]) -> Iterator[str | re.Pattern[str]]:
    """Yield the parts of a path: names, and expressions for those with open specifiers."""
    if "\\" in path:  # Slurm then replaces nothing
        yield from path.replace("\\", "").split("/")
        return
    for part in path.split("/"):
        literal, expression, end = "", "", 0
        is_open = False
        for match in _SPECIFIER.finditer(part):
            before = part[end : match.start()]
            value = "%" if match[2] == "%" else known.get(match[2])
            end = match.end()
            if value is None:
                is_open = True
                expression += re.escape(before) + _UNKNOWN.get(match[2], "[^/]*")
                continue
            filled = value.zfill(int(match[1] or 0)) if value.isdigit() else value
            literal += before + filled
            expression += re.escape(before + filled)
        yield re.compile(expression + re.escape(part[end:])) if is_open else literal + part[end:]


def _descend(folders: Iterable[str], part: str | re.Pattern[str]) -> Iterator[str]:
    count = 0
    for folder in folders:
        if isinstance(part, str):
            yield os.path.join(folder, part)
            continue
        try:
            with os.scandir(folder or ".") as entries:
                for seen, entry in enumerate(entries):
                    if seen >= MOST_ENTRIES or count >= MOST_FILES:
                        return
                    if part.fullmatch(entry.name):
                        count += 1
                        yield os.path.join(folder, entry.name)
        except OSError:
            continue
