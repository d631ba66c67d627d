"""Settings of a user or a site, and rules of installed packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import call
from failing_job import LOG
from rule_texts import LICENCE

from logdoctor.cli.settings import Settings, settings
from logdoctor.ruleset.packages import installed_rules

pytestmark = pytest.mark.usefixtures("clean_environment")


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """Enter an empty working directory, with an empty home for settings."""
    monkeypatch.delenv("LOGDOCTOR_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_nothing_is_set(home):
    assert settings() == Settings()


def test_the_variable_wins_over_the_users_file_and_that_over_the_systems(home, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_DIRS", f"{home}/none:{home}/system")
    of_system = write(home / "system/logdoctor/config.toml", 'lang = "zh"')
    assert settings().file == of_system
    of_user = write(home / "config/logdoctor/config.toml", 'lang = "en"')
    assert settings().file == of_user
    chosen = write(home / "chosen.toml", 'format = "json"')
    assert settings({"LOGDOCTOR_CONFIG": str(chosen)}).values == {"format": "json"}
    assert settings({"LOGDOCTOR_CONFIG": ""}) == Settings()


def test_the_option_wins_over_the_variable(home, monkeypatch):
    monkeypatch.setenv("LOGDOCTOR_CONFIG", str(write(home / "other.toml", 'format = "html"')))
    chosen = write(home / "chosen.toml", 'format = "json"')
    assert json.loads(call("--config", chosen, stdin=LOG).stdout)["verdict"] == "failed"
    assert call("--no-config", "-q", stdin=LOG).stdout.split("\t")[2] == "cuda.oom"


def test_a_file_of_the_working_directory_is_named_and_not_obeyed(home):
    write(home / "work/rules/cuda/oom.yaml", LICENCE)
    file = write(home / "work/logdoctor.toml", 'rules = ["rules"]\nlang = "zh"')
    result = call("-q", stdin=LOG)
    assert "is full" in result.stdout
    assert result.stderr == "logdoctor: ./logdoctor.toml is not used; to use it: --config logdoctor.toml\n"
    assert "is not used" not in call("-q", "--config", file, stdin=LOG).stderr


def test_folders_of_rules_are_found_from_the_files_folder(home):
    write(home / "config/logdoctor/config.toml", 'rules = ["rules", "/srv/rules"]')
    assert settings().rules == (home / "config/logdoctor/rules", Path("/srv/rules"))


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("rules = 3", 1, "must be a list of folders"),
        ("rules = [1]", 1, "must be a list of folders"),
        ("hung = true\nlang = 1", 2, "must be a text"),
        ('lang = "tlh"', 1, "none of en, zh"),
        ('width = "80"', 1, "must be a number"),
        ('exit-code = "yes"', 1, "must be true or false"),
        ("colour = 'red'", 1, "did you mean color?"),
        ("model = 'gone.json'", 1, "does not exist"),
        ("[scna]\nworkers = 1", 1, "did you mean scan?"),
        ("[scan]\nworker = 1", 2, "did you mean workers?"),
        ("rules = ]", 1, "cannot be read"),
        (".".join("a" * 4_000) + " = 1", 1, "unknown setting"),
    ],
)
def test_a_faulty_file_is_wrong_usage_with_its_line(text, line, said, home):
    file = write(home / "config/logdoctor/config.toml", text)
    error = call(stdin=LOG, code=2).stderr
    assert error.startswith(f"logdoctor: {file}:{line}: ")
    assert said in error
    assert len(error) < 1000


def test_a_diagnosis_uses_rules_language_and_format_of_the_settings(home):
    write(home / "config/logdoctor/rules/site/licence.yaml", LICENCE)
    write(home / "config/logdoctor/config.toml", 'rules = ["rules"]\nformat = "json"\nlang = "zh"')
    text = "FATAL licence server hydra did not answer\n"
    assert json.loads(call(stdin=text).stdout)["causes"][0]["signature"] == "site.licence"
    assert call("-q", "-f", "text", "--lang", "en", stdin=text).stdout.split("\t")[2] == "site.licence"
    assert "site.licence" in call("rules", "list").stdout


def test_the_environment_wins_over_the_file(home, monkeypatch):
    write(home / "config/logdoctor/config.toml", 'lang = "zh"\ncolor = "always"\nwidth = 50')
    assert "\x1b[" in call(stdin=LOG).stdout
    monkeypatch.setenv("LOGDOCTOR_LANG", "en")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "70")
    out = call(stdin=LOG).stdout
    assert "\x1b[" not in out
    assert "Proof" in out
    assert 50 < max(map(len, out.splitlines())) <= 70


def test_a_table_sets_the_options_of_its_command_only(home):
    write(home / "config/logdoctor/config.toml", 'quiet = true\n[events]\nformat = "csv"')
    assert call("events", stdin=LOG).stdout.startswith("file,")
    assert call(stdin=LOG).stdout.count("\n") == 1


def test_config_shows_each_value_with_its_origin(home, monkeypatch):
    file = write(home / "config/logdoctor/config.toml", 'hung = true\nlang = "en"\n[scan]\nworkers = 4')
    monkeypatch.setenv("LOGDOCTOR_LANG", "zh")
    out = call("config").stdout
    assert out.startswith(f"# settings of {file}\n")
    lines = {line.partition(" =")[0]: line for line in out.splitlines()}
    assert lines["hung"].endswith(f"# {file}:1")
    assert lines["lang"].endswith("# $LOGDOCTOR_LANG")
    assert lines["ascii"].endswith("# default")
    assert out.endswith("\n[scan]\nworkers = 4\n")


def test_config_without_a_file_names_the_places(home):
    assert str(home / "config/logdoctor/config.toml") in call("config").stdout


def test_a_folder_of_the_settings_that_is_gone_does_not_end_a_diagnosis(home):
    write(home / "config/logdoctor/config.toml", 'rules = ["gone"]\nformat = "json"')
    report = json.loads(call(stdin=LOG).stdout)
    assert report["causes"][0]["signature"] == "cuda.oom"
    assert "gone" in report["problems"][0]["where"]


# ── installed packages ──


@pytest.fixture
def site(tmp_path, monkeypatch) -> Path:
    """Install a package with a rule in a folder on the import path."""
    place = tmp_path / "site-packages"
    write(place / "oursite_rules/__init__.py", "raise SystemExit('no package of rules is imported')")
    write(place / "oursite_rules/rules/site/licence.yaml", LICENCE)
    write(place / "oursite_rules-1.0.dist-info/entry_points.txt", "[logdoctor.rules]\noursite = oursite_rules:rules\n")
    monkeypatch.syspath_prepend(str(place))
    return place


def test_rules_of_an_installed_package_are_found(site):
    assert installed_rules(None) == [site / "oursite_rules/rules"]
    assert call("-q", stdin="FATAL licence server hydra did not answer\n").stdout.split("\t")[2] == "site.licence"


def test_folders_are_cached_until_a_package_is_installed(site, tmp_path):
    cache = tmp_path / "kept"
    assert installed_rules(cache) == [site / "oursite_rules/rules"]
    assert len(list(cache.iterdir())) == 1
    write(site / "other-2.0.dist-info/entry_points.txt", "[logdoctor.rules]\na = nosuch.part\n")
    os.utime(site, (1, 1))
    assert installed_rules(cache) == [Path("nosuch/part"), site / "oursite_rules/rules"]


def test_broken_cache_of_folders_is_written_anew(site, tmp_path):
    cache = tmp_path / "kept"
    installed_rules(cache)
    for text in ("", "[]", '{"times": 3}', "\x00"):
        next(cache.iterdir()).write_text(text)
        assert installed_rules(cache) == [site / "oursite_rules/rules"]


@pytest.mark.parametrize(
    "text", ["[logdoctor.rules", "[logdoctor.rules]\nno value", "[logdoctor.rules]\na = \n", "\xff"]
)
def test_broken_entry_points_end_nothing(site, text):
    write(site / "broken-1.dist-info/entry_points.txt", "# logdoctor.rules\n" + text)
    assert site / "oursite_rules/rules" in installed_rules(None)


def test_importlib_metadata_is_not_loaded_to_find_them():
    code = (
        "import sys, logdoctor.pipeline.knowledge as k; k.rule_folders(); sys.exit('importlib.metadata' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
