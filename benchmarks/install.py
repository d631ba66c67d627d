"""Packages of a plain install and their MB on disk, of the wheel in a fresh environment.

    python benchmarks/install.py [--python python3.12]
    python benchmarks/install.py --extras             # how many packages and MB each extra adds

The wheel is built from this tree and installed from the package index, with byte code, as ``pip install`` does it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIST = """
from importlib.metadata import distributions
for home in distributions():
    for file in home.files:
        print(home.name, file.locate(), sep="\\t")
"""
NOT_COUNTED = ("pip", "setuptools")
FOR_DEVELOPERS = ("dev", "docs")


def install(python: str, folder: Path) -> Path:
    """Install the wheel into a fresh environment and return its interpreter."""
    subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
    binary = folder / "venv" / "bin" / "python"
    subprocess.run([*pip(binary), "wheel", "--no-deps", "--wheel-dir", folder, ROOT], check=True)
    subprocess.run([*pip(binary), "install", next(folder.glob("*.whl"))], check=True)
    return binary


def pip(python: Path) -> list[str | Path]:
    return [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def disk_bytes(python: Path) -> Counter[str]:
    """Return the bytes that the files of each package take on disk."""
    done = subprocess.run([python, "-c", LIST], check=True, capture_output=True, text=True)
    sizes: Counter[str] = Counter()
    for line in done.stdout.splitlines():
        name, _, file = line.partition("\t")
        if name not in NOT_COUNTED and Path(file).exists():
            sizes[name] += Path(file).stat().st_blocks * 512
    return sizes


def extras() -> list[str]:
    """Return the extras for users."""
    table = (ROOT / "pyproject.toml").read_text("utf-8").partition("[project.optional-dependencies]\n")[2]
    names = re.findall(r"^(\w+) = \[", table.partition("\n[")[0], re.MULTILINE)
    return [name for name in names if name not in FOR_DEVELOPERS]


def print_extras(python: str, folder: Path) -> None:
    """Print the packages and the MB that each extra for users adds to a plain install."""
    plain = disk_bytes(install(python, folder))
    (wheel,) = folder.glob("*.whl")
    for extra in extras():
        venv = folder / extra
        subprocess.run([python, "-m", "venv", venv], check=True)
        binary = venv / "bin" / "python"
        subprocess.run([*pip(binary), "install", f"{wheel}[{extra}]"], check=True)
        added = disk_bytes(binary) - plain
        print(f"{sum(added.values()) / 1e6:7.0f} MB  {len(added):3} packages  {extra}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the environment")
    parser.add_argument("--extras", action="store_true", help="what each extra adds")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.extras:
            print_extras(args.python, Path(folder))
            return
        sizes = disk_bytes(install(args.python, Path(folder)))
    for name, size in sizes.most_common():
        print(f"{size / 1e6:7.1f} MB  {name}")
    print(f"{sum(sizes.values()) / 1e6:7.1f} MB  {len(sizes)} packages")


if __name__ == "__main__":
    main()
