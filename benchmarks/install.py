"""Packages of a plain install and their MB on disk, of the wheel in a fresh environment.

    python benchmarks/install.py [--python python3.12]

The wheel is built from this tree and installed from the package index, with byte code, as ``pip install`` does it.
"""

from __future__ import annotations

import argparse
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


def install(python: str, folder: Path) -> Path:
    """Install the wheel into a fresh environment and return its interpreter."""
    subprocess.run([python, "-m", "venv", folder / "venv"], check=True)
    binary = folder / "venv" / "bin" / "python"
    pip = [binary, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", folder, ROOT], check=True)
    subprocess.run([*pip, "install", next(folder.glob("*.whl"))], check=True)
    return binary


def disk_bytes(python: Path) -> Counter[str]:
    """Return the bytes that the files of each package take on disk."""
    done = subprocess.run([python, "-c", LIST], check=True, capture_output=True, text=True)
    sizes: Counter[str] = Counter()
    for line in done.stdout.splitlines():
        name, _, file = line.partition("\t")
        if name not in NOT_COUNTED and Path(file).exists():
            sizes[name] += Path(file).stat().st_blocks * 512
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the environment")
    with tempfile.TemporaryDirectory() as folder:
        sizes = disk_bytes(install(parser.parse_args().python, Path(folder)))
    for name, size in sizes.most_common():
        print(f"{size / 1e6:7.1f} MB  {name}")
    print(f"{sum(sizes.values()) / 1e6:7.1f} MB  {len(sizes)} packages")


if __name__ == "__main__":
    main()
