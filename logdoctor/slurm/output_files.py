"""Files that Slurm writes a job's output to, found by the patterns of sbatch and srun (``logs/%x-%j-%t.out``)."""

# Names are used exactly as Slurm writes them, which pathlib does not do.
# ruff: noqa: PTH110, PTH112, PTH113, PTH118, PTH123

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

MOST_FILES = 4096
MOST_ENTRIES = 100_000
"""Names of a folder that are looked at."""
_SPECIFIER = re.compile(r"%(\d{0,2})([A-Za-z%])")
_OPTIONS = {"-o": "stdout", "--output": "stdout", "-e": "stderr", "--error": "stderr"}
_DIRECTIVE = re.compile(r"^#SBATCH\s+(.*)")
_NO_FILE = ("none", "all", "/dev/null")
_SCRIPT_BYTES = 64 << 10
_UNKNOWN = {"t": r"\d+", "n": r"\d+", "s": r"(?:\d+|batch|interactive|extern)", "b": r"\d", "N": r"[\w.-]+"}
"""Task, node number, step, task of an array modulo 10, and node name. Slurm writes one file for each."""


def options_of(command: str) -> dict[str, str]:
    """Return the patterns for ``stdout`` and ``stderr`` that a command line of sbatch or srun asks for."""
    try:
        words = shlex.split(command)
    except ValueError:  # a quote that is not closed: sacct shows the words without their quotes
        words = command.split()
    found = dict[str, str]()
    for word, following in pairwise([*words, ""]):
        option, equals, value = word.partition("=")
        if option in _OPTIONS and (value if equals else following):
            found.setdefault(_OPTIONS[option], value if equals else following)
        elif option[:2] in _OPTIONS and len(option) > 2 and option[1] != "-":  # -ologs/%j.out
            found.setdefault(_OPTIONS[option[:2]], word[2:])
        elif word == ":":  # the next part of a heterogeneous job
            break
    return found


def options_in_script(command: str, folder: str) -> dict[str, str]:
    """Return the patterns that the batch script of ``command`` asks for (``#SBATCH -o …``), if it is still there."""
    for word in command.split()[1:]:
        path = os.path.join(folder, word)
        if word.startswith("-") or not os.path.isfile(path):
            continue
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = file.read(_SCRIPT_BYTES).splitlines()
        except OSError:
            continue
        if lines and lines[0].startswith("#!"):
            directives = " ".join(match[1] for line in lines if (match := _DIRECTIVE.match(line)))
            return options_of(directives)
    return {}


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
