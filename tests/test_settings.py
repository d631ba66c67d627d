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
from logdoctor.model import InputError
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


def test_the_working_directory_wins_over_the_users_home_and_the_variable_over_both(home):
    write(home / "config/logdoctor/config.toml", 'lang = "zh"')
    assert settings().lang == "zh"
    write(home / "work/logdoctor.toml", 'lang = "en"')
    assert settings().lang == "en"
    chosen = write(home / "chosen.toml", 'format = "json"')
    assert settings({"LOGDOCTOR_CONFIG": str(chosen)}) == Settings(format="json", file=chosen)
    assert settings({"LOGDOCTOR_CONFIG": ""}) == Settings()


def test_folders_of_rules_are_found_from_the_files_folder(home):
    write(home / "config/logdoctor/config.toml", 'rules = ["rules", "/srv/rules"]')
    assert settings().rules == (home / "config/logdoctor/rules", Path("/srv/rules"))


@pytest.mark.parametrize("text", ["rules = 3", "rules = [1]", "lang = 1", "colour = 'red'", "rules = [", "\x00"])
def test_error_about_a_faulty_file_names_the_file(home, text):
    file = write(home / "work/logdoctor.toml", text)
    with pytest.raises(InputError) as error:
        settings()
    assert str(error.value).startswith(file.name)


def test_a_faulty_file_is_wrong_usage(home):
    write(home / "work/logdoctor.toml", "colour = 'red'")
    assert "unknown setting 'colour'" in call(stdin=LOG, code=2).stderr


def test_a_diagnosis_uses_rules_language_and_format_of_the_settings(home):
    write(home / "work/rules/site/licence.yaml", LICENCE)
    write(home / "work/logdoctor.toml", 'rules = ["rules"]\nformat = "json"\nlang = "zh"')
    text = "FATAL licence server hydra did not answer\n"
    assert json.loads(call(stdin=text).stdout)["causes"][0]["signature"] == "site.licence"
    assert call("-q", "-f", "text", "--lang", "en", stdin=text).stdout.split("\t")[2] == "site.licence"
    assert "site.licence" in call("rules", "list").stdout


def test_a_folder_of_the_settings_that_is_gone_does_not_end_a_diagnosis(home):
    write(home / "work/logdoctor.toml", 'rules = ["gone"]\nformat = "json"')
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
