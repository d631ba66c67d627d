"""Keys that a settings file holds too many, and settings that have no value."""

from __future__ import annotations

import io

import pytest

from logdoctor import diagnose

PACKAGE = "/opt/env/lib/python3.11/site-packages/fitkit/config.py"
OWN = "/home/kim/fit/run.py"


def answer(error, *frames):
    stack = [f'  File "{path}", line 8, in {function}\n    {code}' for path, function, code in frames]
    log = "\n".join(["Traceback (most recent call last):", *stack, error, ""])
    return diagnose(io.BytesIO(log.encode())).causes[0]


@pytest.mark.parametrize("callee", ["FitConfig.__init__", "__init__", "RunSettings"])
@pytest.mark.parametrize(
    ("path", "function", "code"),
    [
        (PACKAGE, "from_yaml_file", "return cls(**config_dict)"),
        (PACKAGE, "build", "return FitConfig(**self.config)"),
        (OWN, "main", "net = Net(width=3, **cfg.net)"),
        (OWN, "main", "net = Net(**hparams)"),
    ],
)
def test_key_of_settings_is_named(callee, path, function, code):
    cause = answer(f"TypeError: {callee}() got an unexpected keyword argument 'newts'", (path, function, code))
    assert (cause.rule, cause.signature) == ("app.config-file-key", "app.config")
    assert "newts" in cause.title


@pytest.mark.parametrize(
    ("path", "function", "code"),
    [
        (OWN, "main", "net = Net(newts=3)"),
        (OWN, "main", "out = net(**batch)"),
        (PACKAGE, "step", "return self.net(**inputs)"),
    ],
)
def test_argument_of_the_code_is_no_key_of_settings(path, function, code):
    cause = answer("TypeError: Net.__init__() got an unexpected keyword argument 'newts'", (path, function, code))
    assert cause.rule != "app.config-file-key"


MISSING = "AttributeError: 'NoneType' object has no attribute 'split'"


@pytest.mark.parametrize("path", [PACKAGE, OWN])
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MISSING, "names = args.newts.split(',')"),
        (MISSING, "names = self.config.newts.split(cfg.mark)"),
        (MISSING, "names = cfg['newts'].split(',')"),
        ("TypeError: 'NoneType' object is not subscriptable", "first = opt.newts[0]"),
        ("TypeError: 'NoneType' object is not iterable", "for name in self.args.newts:"),
        ("TypeError: expected str, bytes or os.PathLike object, not NoneType", "open(hparams.newts)"),
        ("TypeError: int() argument must be a string or a number, not 'NoneType'", "n = int(FLAGS.newts)"),
    ],
)
def test_setting_without_value_is_named(path, error, code):
    cause = answer(error, (path, "main", code))
    assert cause.rule == "app.config-unset"
    assert "newts" in cause.title


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MISSING, "names = found.newts.split(',')"),
        (MISSING, "same = args.first.split(',') == args.newts.split(',')"),
        (MISSING, "names = args.newts.strip()"),
        ("TypeError: 'NoneType' object is not subscriptable", "first = args.find('newts')[0]"),
        ("TypeError: expected str, bytes or os.PathLike object, not NoneType", "join(args.folder, args.newts)"),
    ],
)
def test_none_that_may_be_another_value_names_no_setting(error, code):
    assert answer(error, (OWN, "main", code)).rule != "app.config-unset"


def test_answer_holds_for_each_rank_that_fails_alike():
    frames = ("Traceback (most recent call last):", f'  File "{OWN}", line 8, in main', "    n = cfg.newts.split(',')")
    log = "".join(f"[rank{rank}]: {line}\n" for rank in (0, 1, 3) for line in (*frames, MISSING))
    causes = diagnose(io.BytesIO(log.encode())).causes
    assert [(cause.rule, cause.culprit.ranks) for cause in causes] == [("app.config-unset", (0, 1, 3))]
