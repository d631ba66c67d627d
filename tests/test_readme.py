"""README: its commands, options, links and examples work."""

from __future__ import annotations

import re
from pathlib import Path

from typer.testing import CliRunner

from logdoctor.cli.commands import app

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def test_demo_prints_the_output_in_readme(monkeypatch):
    monkeypatch.chdir(ROOT)
    documented = re.search(r"`make demo` prints\n\n```text\n(.*?)```", README, re.DOTALL)[1].splitlines()
    printed = (
        CliRunner().invoke(app, ["diagnose", "--lang", "en", "corpus/lightning-resume-straggler"]).stdout.splitlines()
    )
    assert [line for line in documented if line.rstrip() not in {p.rstrip() for p in printed}] == []


def test_makefile_and_readme_have_the_same_demo():
    assert "diagnose corpus/lightning-resume-straggler" in (ROOT / "Makefile").read_text("utf-8")


def test_every_option_in_readme_exists():
    page = CliRunner().invoke(app, ["diagnose", "--help"]).stdout + CliRunner().invoke(app, ["--help"]).stdout
    for option in set(re.findall(r"logdoctor diagnose[^`\n]*?(--[a-z-]+)", README)):
        assert option in page, option


def test_every_file_that_readme_links_to_is_there():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_documented_python_example_works(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job-folder").symlink_to(ROOT / "corpus" / "xdit-socket-abort")
    example = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102 - our own page
    verdict, cause = capsys.readouterr().out.splitlines()
    assert verdict == "failed"
    assert re.fullmatch(r"net\.socket-connect 0\.\d+ \(4,\) job-folder/\S+\.log:\d+", cause)
