"""Try the program in one file, dist/logdoctor.pyz, with each Python of this machine that it was built for.

    python benchmarks/one_file.py [FILE]

Each run has an empty home and nothing but that Python and the system's programs on its path. Its answers must be
those of this checkout, and the file must stay below 40 MB. `make pyz` ends with it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CASES = ("lightning-resume-straggler", "xdit-socket-abort", "nccl-crash-in-libnccl-kernel", "finetune-trainer")
MAX_BYTES = 40e6
VERSIONS = ("3.10", "3.11", "3.12", "3.13")
OF_PLACE = ("problems", "inputs")
"""Fields that name the paths of rules and inputs."""


def interpreter(version: str) -> Path | None:
    """Return a Python of that version: one that pyenv keeps, else the one on the path."""
    kept = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    found = shutil.which(f"python{version}")
    for python in (*kept, *([Path(found)] if found else [])):
        if subprocess.run([python, "-c", ""], check=False, capture_output=True).returncode == 0:
            return python
    return None


def answer(command: list[Any], case: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    done = subprocess.run([*command, "--json", case], cwd=ROOT / "corpus", env=env, check=True, capture_output=True)
    return {name: value for name, value in json.loads(done.stdout).items() if name not in OF_PLACE}


def attempt(program: Path, python: Path, wanted: dict[str, Any]) -> tuple[float, float, list[str]]:
    """Return the seconds of the first and of a later start, and the cases whose answer differs."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "bin").mkdir()
        (home / "bin" / "python3").symlink_to(python)
        env = {"HOME": folder, "PATH": f"{home / 'bin'}{os.pathsep}{os.defpath}", "LC_ALL": "C.UTF-8"}
        seconds = []
        for _ in range(3):
            start = time.perf_counter()
            subprocess.run([python, program, "--version"], env=env, check=True, capture_output=True)
            seconds.append(time.perf_counter() - start)
        return seconds[0], min(seconds[1:]), [c for c in wanted if answer([python, program], c, env) != wanted[c]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=ROOT / "dist" / "logdoctor.pyz")
    program = parser.parse_args().file.resolve()
    size = program.stat().st_size
    print(f"{program}: {size / 1e6:.1f} MB")
    wanted = {case: answer([sys.executable, "-m", "logdoctor"], case) for case in CASES}
    faults = [] if size < MAX_BYTES else ["too large"]
    tried = {version: python for version in VERSIONS if (python := interpreter(version))}
    for version, python in tried.items():
        first, later, different = attempt(program, python, wanted)
        alike = len(CASES) - len(different)
        print(f"Python {version}: first start {first:.1f} s, then {later:.2f} s, {alike} answers alike")
        faults += [f"Python {version}: another answer to {case}" for case in different]
    print("not on this machine:", ", ".join(v for v in VERSIONS if v not in tried) or "none")
    print(*(f"FAULT {fault}" for fault in faults or [] if tried), sep="\n", end="")
    return int(bool(faults) or not tried)


if __name__ == "__main__":
    sys.exit(main())
