"""Runs the experiments of the failure lab and writes what they print as cases of corpus/; see README.md.

python corpus/lab/run.py [--only PATTERN] [--into FOLDER] [--list] [--coverage]
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import re
import shutil
import socket
import subprocess
import sys
import traceback
from collections import Counter
from pathlib import Path

import yaml
from bench import LAB, Bench
from experiment import Experiment, Needs, experiments

CORPUS = LAB.parent
WORK = Path("/tmp/lab")


def main() -> int:
    """Run what is asked for; the exit status says whether every case came out right."""
    asked = _arguments()
    patterns = [f"*{only}*" for only in asked.only or ["*"]]
    chosen = [e for e in experiments() if any(fnmatch.fnmatch(f"{e.suite}/{e.case}", p) for p in patterns)]
    if asked.coverage:
        print(coverage())
        return 0
    if asked.list:
        print("\n".join(f"{e.case:40} {e.label:28} {e.expected_wrong}" for e in chosen))
        return 0
    rows: Counter[str] = Counter()
    for experiment in chosen:
        outcome, what = attempt(experiment, asked)
        rows[outcome] += 1
        print(f"{outcome:8} {experiment.case:40} {what}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(rows.items())))
    return 1 if rows["wrong"] or rows["failed"] else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Make the captured cases of corpus/ anew.")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="experiments whose suite/name holds this")
    parser.add_argument(
        "--into", type=Path, default=CORPUS, metavar="FOLDER", help="where the cases go (default: corpus/)"
    )
    parser.add_argument(
        "--environments", type=Path, default=Path("/var/tmp/lab"), metavar="FOLDER", help="virtual environments"
    )
    parser.add_argument("--install", action="store_true", help="install Debian packages that lack (root only)")
    parser.add_argument(
        "--wrong", action="store_true", help="write also the cases that are known to be diagnosed wrongly"
    )
    parser.add_argument("--new", action="store_true", help="only cases that are not there yet")
    parser.add_argument("--list", action="store_true", help="say what there is, run nothing")
    parser.add_argument("--coverage", action="store_true", help="say which signatures have fewer than two cases")
    return parser.parse_args()


def attempt(experiment: Experiment, asked: argparse.Namespace) -> tuple[str, str]:
    """Run one experiment and write its case; what came of it, in a word and in a line."""
    if experiment.expected_wrong and not asked.wrong:
        return "skipped", f"known to be wrong: {experiment.expected_wrong}"
    if asked.new and (asked.into / experiment.case / "case.yaml").exists():
        return "skipped", "is there"
    if asked.install and os.geteuid() == 0 and experiment.needs.packages:
        subprocess.run(
            ["apt-get", "install", "-y", "-qq", *experiment.needs.packages], check=False, stdout=subprocess.DEVNULL
        )
    if lacking := lacks(experiment.needs):
        return "skipped", f"needs {lacking}"
    try:
        bench = Bench(
            WORK / experiment.case, environment(experiment.needs.environment, asked.environments), experiment.seconds
        )
        try:
            experiment.run(bench)
        finally:
            bench.clear()
        return _keep(experiment, bench, asked.into / experiment.case)
    except Exception:
        return "failed", traceback.format_exc(limit=-3)


def _keep(experiment: Experiment, bench: Bench, folder: Path) -> tuple[str, str]:
    """Put the logs of an experiment that has run where its case belongs, and say what logdoctor makes of them."""
    logs = sorted(p for p in bench.logs.rglob("*.log") if p.stat().st_size)
    text = "\n".join(p.read_text("utf-8", "replace") for p in logs)
    if named := [word for word in private_words() if re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text)]:
        return "failed", f"the log names {', '.join(named)}; it is in {bench.logs}"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.rglob("*.log"):
        old.unlink()
    for log in logs:
        new = folder / log.relative_to(bench.logs)
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(log, new)
    experiment.write(folder, {**versions(experiment.needs.environment, bench), **bench.versions})
    return verdict(experiment, folder)


def verdict(experiment: Experiment, folder: Path) -> tuple[str, str]:
    """Whether logdoctor finds the truth in the logs, and what it says."""
    from logdoctor import diagnose  # here, so that --list needs no more than the lab

    found = diagnose(sorted(folder.rglob("*.log")), hung=experiment.hung)
    cause = found.causes[0] if found.causes else None
    says = cause.signature if cause else found.verdict
    right = says in {experiment.label, *experiment.also}
    if cause and (rank := experiment.culprit.get("rank")) is not None:
        right = right and rank in cause.culprit.ranks
    if cause and (host := experiment.culprit.get("host")):
        right = right and host in cause.culprit.hosts
    size = sum(p.stat().st_size for p in folder.rglob("*.log")) // 1024
    who = f" ranks {cause.culprit.ranks} hosts {cause.culprit.hosts}: {cause.summary}" if cause else ""
    return (
        "right" if right else "wrong"
    ), f"{size} KiB, is {experiment.label} {dict(experiment.culprit)}, said {says}{who}"


def lacks(needs: Needs) -> str:
    """What an experiment needs and this machine has not."""
    lacking = [f"the program {p} (package {' '.join(needs.packages)})" for p in needs.programs if not shutil.which(p)]
    lacking += [p for p in needs.paths if not Path(p).exists()]
    if needs.root and os.geteuid() != 0:
        lacking.append("root")
    if needs.gpu and not Path("/dev/nvidia0").exists():
        lacking.append("a GPU")
    return ", ".join(lacking)


def environment(name: str, where: Path) -> Path | None:
    """The virtual environment of that name, made from environments/NAME.txt when it is not there yet.

    Its first line may name a Python: ``# python 3.11``.
    """
    if not name:
        return None
    wanted, made = LAB / "environments" / f"{name}.txt", where / name
    if not (made / ".ready").exists():
        named = re.match(r"# python ([\d.]+)", wanted.read_text("utf-8"))
        version = named[1] if named else "3.11"
        places = f"/opt/python{version}/bin:/usr/bin:/usr/local/bin:{os.environ['PATH']}"
        base = shutil.which(f"python{version}", path=places)
        if base is None:
            raise FileNotFoundError(f"python{version} for the environment {name}")
        subprocess.run([base, "-m", "venv", "--without-pip", made], check=True)
        pip = [sys.executable, "-m", "pip", "--python", str(made / "bin/python"), "install", "--quiet"]
        subprocess.run([*pip, "-r", wanted], check=True, cwd="/tmp")
        (made / ".ready").touch()
    return made


def versions(name: str, bench: Bench) -> dict[str, str]:
    """The versions of Python and of the packages that an environment names."""
    if not name:
        return {}
    lines = (LAB / "environments" / f"{name}.txt").read_text("utf-8").splitlines()
    packages = [found[0] for line in lines if (found := re.match(r"[A-Za-z][\w.-]*", line))]
    ask = "import sys, platform, importlib.metadata as m\nprint('python', platform.python_version())\n"
    ask += "for p in sys.argv[1:]: print(p, m.version(p))"
    told = subprocess.run([bench.python, "-c", ask, *packages], check=True, capture_output=True, text=True).stdout
    return dict(line.split() for line in told.splitlines())


def private_words() -> list[str]:
    """Words of this machine that no log may hold."""
    words = (socket.gethostname(), str(CORPUS.parent), str(Path.home()))
    return [word for word in words if word not in {"localhost", "/", str(WORK)}]


def coverage() -> str:
    """How many cases there are of each kind, and the signatures that have fewer than two."""
    cases = [yaml.safe_load(p.read_text("utf-8")) for p in sorted(CORPUS.glob("*/case.yaml"))]
    made, labels = Counter(c["made"] for c in cases), Counter(c["label"] for c in cases)
    lines = [f"{len(cases)} cases: {made['captured']} captured, {made['written']} written, {labels['healthy']} healthy"]
    return "\n".join(lines + [f"{labels[s]} {s}" for s in scarce(labels)])


def scarce(labels: Counter[str], least: int = 2) -> list[str]:
    """The signatures that have fewer cases than ``least``."""
    from logdoctor.rulebook import shipped_rules
    from logdoctor.rulebook.signatures import read_signatures

    return [s for s in read_signatures(shipped_rules() / "signatures.tsv") if labels[s] < least]


if __name__ == "__main__":
    sys.exit(main())
