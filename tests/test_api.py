"""The Python API: `logdoctor.diagnose`."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from command_line import call
from failing_job import ANSWER, OOM, VALIDATOR, answer

import logdoctor
from logdoctor.render import context_lines

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    "make_input", [str, Path, lambda p: [p], lambda p: [str(p)], lambda p: io.BytesIO(p.read_bytes())]
)
def test_the_api_takes_paths_lists_and_open_files(make_input, log, knowledge):
    assert answer(logdoctor.diagnose(make_input(log), knowledge=knowledge)) == ANSWER


def test_api_shows_its_functions_and_has_type_hints():
    assert set(logdoctor.__all__) <= set(dir(logdoctor))
    assert (Path(logdoctor.__file__).parent / "py.typed").exists()


def test_api_returns_the_contract(log, knowledge):
    plain = logdoctor.diagnose(log, knowledge=knowledge).to_dict()
    VALIDATOR.validate(plain)
    assert plain["causes"][0]["evidence"][0]["text"] == OOM


def test_text_and_bytes_are_read_as_the_file_is(log, knowledge):
    text = log.read_text("utf-8")
    for given in ({"text": text}, {"data": text.encode()}):
        assert answer(logdoctor.diagnose(**given, knowledge=knowledge)) == ANSWER


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("format", ["text", "markdown", "html", "json"])
def test_reports_are_those_of_the_command(format, lang, log, knowledge):
    diagnosis = logdoctor.diagnose(log, knowledge=knowledge, lang=lang, context=context_lines(format))
    written = call("diagnose", log, "--format", format, "--lang", lang, "--width", 80).stdout
    assert getattr(diagnosis, f"to_{format}")() == written
    assert format != "text" or str(diagnosis) == written.rstrip("\n")


def test_folder_of_many_jobs_is_refused_as_by_the_command(tmp_path):
    for n in range(5):
        (tmp_path / f"j{n}").mkdir()
        (tmp_path / f"j{n}" / "train.log").write_text("step 1/2 loss 3.1\n")
    with pytest.raises(logdoctor.InputError, match="these look like 5 jobs") as error:
        logdoctor.diagnose(tmp_path)
    assert "logdoctor scan" in error.value.help


def test_top_level_functions_give_what_the_commands_give(log, tmp_path):
    assert logdoctor.explain("xid 79") == call("explain", "xid", "79").stdout
    assert [record.signature for record in logdoctor.scan(log.parent, tmp_path / "results")] == ["cuda.oom"]
    assert next(iter(logdoctor.events(log))).line.number >= 1
    assert logdoctor.compare(log, log).differences == ()


def test_errors_are_those_of_the_package(tmp_path):
    with pytest.raises(logdoctor.LogdoctorError, match="nothing is known"):
        logdoctor.explain("flux capacitor 88")
    with pytest.raises(logdoctor.InputError):
        logdoctor.scan(tmp_path)


def test_page_about_python_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "python.md").read_text("utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, names)  # noqa: S102 - the examples of our own page
    assert "these look like" not in str(names["diagnosis"])
