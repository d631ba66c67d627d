"""`logdoctor diff`: differences between a good and a bad run of the same job."""

from __future__ import annotations

import json

import pytest
from command_line import call
from markdown_it import MarkdownIt

from logdoctor.diff import compare

pytestmark = pytest.mark.usefixtures("clean_environment")

INIT = """\
{host}:900:900 [0] NCCL INFO NCCL_IB_HCA set by environment to {hca}
{host}:900:900 [0] NCCL INFO Bootstrap : Using {interface}:10.5.5.{n}<0>
{host}:900:900 [0] NCCL INFO NCCL version {version}+cuda12.4
{host}:900:950 [0] NCCL INFO NET/{transport} : Using [0]{interface}:10.5.5.{n}<0>
{host}:900:950 [0] NCCL INFO Using network {transport}
{host}:900:950 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via {via}
[rank0]: step 100/200 loss 2.5
"""
GOOD = {
    "host": "gx4",
    "hca": "mlx5_0",
    "interface": "ib0",
    "n": 1,
    "version": "2.21.5",
    "transport": "IB",
    "via": "NET/IB/0",
}
BAD = {
    "host": "gx9",
    "hca": "mlx5_2",
    "interface": "eth0",
    "n": 7,
    "version": "2.19.3",
    "transport": "Socket",
    "via": "NET/Socket/0",
}
END = "[rank0]: step 200/200 loss 2.1\nTraining completed.\n"
FAILED = "[rank0]: Traceback (most recent call last):\n[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"


@pytest.fixture
def runs(tmp_path):
    good, bad = tmp_path / "good.log", tmp_path / "bad.log"
    good.write_text(INIT.format(**GOOD) + END)
    bad.write_text(INIT.format(**BAD) + FAILED)
    return good, bad


def differences(*args: object) -> dict[tuple[str, str], tuple[str | None, str | None]]:
    report = json.loads(call("diff", "-f", "json", *args).stdout)
    return {
        (difference["topic"], difference["name"]): (difference["good"], difference["bad"])
        for difference in report["differences"]
    }


@pytest.mark.parametrize(
    ("what", "sides"),
    [
        (("outcome", "verdict"), ("finished", "failed")),
        (("versions", "nccl"), ("2.21.5", "2.19.3")),
        (("environment", "NCCL_IB_HCA"), ("mlx5_0", "mlx5_2")),
        (("hosts", "only in this run"), ("gx4", "gx9")),
        (("interfaces", "nccl interface"), ("ib0", "eth0")),
        (("interfaces", "nccl network"), ("IB", "Socket")),
        (("transports", "via"), ("NET/IB", "NET/Socket")),
    ],
)
def test_difference_shows_both_sides(what, sides, runs):
    assert differences(*runs)[what] == sides


def test_run_does_not_differ_from_itself(runs):
    good, _ = runs
    assert differences(good, good) == {}
    assert "Nothing that these logs tell differs" in call("diff", good, good).stdout


def test_messages_that_differ_in_numbers_only_are_equal(runs, tmp_path):
    other = tmp_path / "other.log"
    other.write_text(runs[0].read_text().replace("2.5", "3.7").replace("100", "110").replace("900", "901"))
    comparison = compare(str(runs[0]), str(other))
    assert comparison.only_good == ()
    assert comparison.only_bad == ()


def test_setting_that_changes_with_every_run_is_left_out(tmp_path):
    good, bad = tmp_path / "good.log", tmp_path / "bad.log"
    line = "gx4:9:9 [0] NCCL INFO NCCL_COMM_ID set by environment to 10.5.5.{}:29500\n"
    good.write_text(line.format(1) + END)
    bad.write_text(line.format(2) + END)
    assert ("environment", "NCCL_COMM_ID") not in differences(good, bad)


def test_message_of_one_run_only_is_listed_with_its_line(runs):
    comparison = compare(*map(str, runs))
    assert [
        difference.evidence.line.number for difference in comparison.only_bad if "OutOfMemory" in difference.template
    ] == [9]
    assert [
        difference.evidence.line.text for difference in comparison.only_good if "completed" in difference.template
    ] == ["Training completed."]


@pytest.mark.parametrize("format", ["terminal", "markdown", "json"])
def test_every_format_shows_differences(format, runs):
    out = call("diff", "-f", format, *runs).stdout
    assert "2.21.5" in out
    assert "2.19.3" in out
    assert "OutOfMemoryError" in out


def test_markdown_names_no_host_unless_asked(runs, tmp_path):
    key = tmp_path / "key.json"
    out = call("diff", "-f", "markdown", "--redact-map", key, *runs).stdout
    assert "gx4" not in out
    assert "gx9" not in out
    assert "<host-a>" in out or "&lt;host-a&gt;" in out
    assert "gx4" in key.read_text()
    assert "gx4" in call("diff", "-f", "markdown", "--no-redact", *runs).stdout


def test_markdown_escapes_markup_of_log(runs):
    _, bad = runs
    bad.write_text(bad.read_text() + "</code><script>alert(1)</script> | `x` ``y`` fatal\n")
    page = MarkdownIt("commonmark").enable("table").render(call("diff", "-f", "markdown", *runs).stdout)
    assert "alert(1)" in page
    assert "<script>" not in page


def test_lang_zh_gives_chinese_words(runs):
    assert "差别" in call("diff", "--lang", "zh", *runs).stdout


def test_unreadable_run_exits_with_3(runs, tmp_path):
    call("diff", runs[0], tmp_path / "none.log", code=3)


def test_unknown_format_is_wrong_usage(runs):
    assert "none of" in call("diff", "-f", "html", *runs, code=2).stderr


def test_redact_map_without_redaction_is_wrong_usage(runs, tmp_path):
    assert "nothing is redacted" in call("diff", "--redact-map", tmp_path / "key.json", *runs, code=2).stderr


def test_progress_bars_are_no_messages(tmp_path):
    bars = ("Loading shards:  50%|█████     | 1/2 [00:03<00:03]", "train: 3it [00:02<00:09, 1.2it/s, loss=2.1]")
    for name, extra in (("good", ""), ("bad", "\n".join(bars))):
        (tmp_path / f"{name}.log").write_text(f"Model is ready for training\n{extra}\nDone with the run\n", "utf-8")
    assert compare(tmp_path / "good.log", tmp_path / "bad.log").only_bad == ()
