"""The classifier: features, training, models, and diagnoses with guesses."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from typer.testing import CliRunner

from logdoctor.classifier import SHIPPED_MODEL, FeatureCounter
from logdoctor.classifier.counting import MAX_FIRST, MAX_LATEST
from logdoctor.classifier.features import BUCKETS, extract_features, extract_words
from logdoctor.classifier.linear_model import UNKNOWN, LinearModel, load_model
from logdoctor.classifier.training import SILENT, Sample, train
from logdoctor.evaluation.training_data import LabelledLog, load_labelled_logs, make_samples
from logdoctor.model import CALM, Decision, Diagnosis, Evidence, InputError, Line, Record
from logdoctor.model.own_files import MAX_BYTES
from logdoctor.pipeline.diagnosis import diagnose
from logdoctor.pipeline.fallback import add_guess
from logdoctor.pipeline.knowledge import Knowledge
from logdoctor.render.catalogue import catalogue

WORDS = {
    "net.qqp": "the quokka queue pair went away while the quokka fabric waited",
    "host.zzr": "zebra rail power supply tripped and the zebra rail shut itself off",
    UNKNOWN: "worker left for reasons that nobody wrote down anywhere",
}


def record(text: str, level: str = "error", kind: str = "generic.error", order: int = 0) -> Record:
    return Record(Line("a.log", order + 1, text), "generic", kind, text, level=level, order=order)  # type: ignore[arg-type]


def some_samples() -> list[Sample]:
    return [
        Sample(extract_features([record(f"{text} {extra}")]), label, f"{label} {n}", f"{label} {n % 4}")
        for label, text in WORDS.items()
        for n, extra in enumerate(("alpha", "beta", "gamma", "delta", "omega", "sigma", "kappa", "theta"))
    ]


@pytest.fixture(scope="module")
def model() -> LinearModel:
    return replace(train(some_samples()).model, threshold=0.5)


def rigged(signature: str, bias: float = 30.0) -> LinearModel:
    return LinearModel((signature, UNKNOWN), (bias, 0.0), {}, 1.0, 0.9)


def unexplained_failure() -> Diagnosis:
    return Diagnosis(
        "job", "unknown", unexplained=(Evidence(Line("a.log", 7, "it broke")),), decision=Decision(collect=("look",))
    )


def count_events(*records: Record) -> FeatureCounter:
    counter = FeatureCounter()
    for record in records:
        counter.observe(record)
    return counter


def test_numbers_paths_addresses_and_hosts_are_no_words() -> None:
    first = "rank 17 on gpu-node042 lost 10.3.4.5:6379 at 0x7fe2a9 in /opt/env/lib/a.so"
    second = "rank 3 on gpu-node7 lost 192.168.0.9:80 at 0xdeadbeef in /srv/x/y/z.so"
    assert extract_words(first) == extract_words(second)


def test_exit_by_a_signal_has_the_signal_number() -> None:
    assert "signal=7" in extract_words("Caught signal 7 (some words)")
    assert extract_words("Caught signal 7") != extract_words("Caught signal 11")


def test_job_without_failures_and_warnings_has_only_kinds() -> None:
    assert extract_features([]) == {}
    assert extract_features([record("step one", "info"), record("step two", "info")]) == extract_features(
        [record("x", "info")]
    )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=60), st.sampled_from(["fatal", "error", "warning", "info"])), max_size=12))
def test_features_of_any_text_are_bounded_and_reproducible(records: list[tuple[str, str]]) -> None:
    records = [record(text, level) for text, level in records]
    features = extract_features(records)
    assert features == extract_features(records)
    assert all(0 <= b < BUCKETS and 0 < v <= 1 for b, v in features.items())


def test_flood_of_failures_takes_bounded_memory() -> None:
    counter = count_events(*(record(f"{'x' * 5000} {n}", kind=f"k{n}", order=n) for n in range(3000)))
    assert len(counter.failures) == MAX_FIRST + MAX_LATEST
    assert max(len(text) for *_, text in counter.failures) <= 1000
    assert counter.failures[-1][1] == "k2999"


def test_learned_failure_in_other_words_is_named(model: LinearModel) -> None:
    guess = model.guess(extract_features([record("quokka queue pair: the quokka went away")]))
    assert guess
    assert guess.signature == "net.qqp"


def test_class_without_signature_gives_no_guess(model: LinearModel) -> None:
    assert model.guess(extract_features([record("worker left for reasons that nobody wrote down")])) is None


def test_unknown_words_give_no_guess(model: LinearModel) -> None:
    assert replace(model, threshold=0.8).guess(extract_features([record("unreports syllables everywhere")])) is None
    assert model.guess({}) is None


def test_training_twice_gives_the_same_bytes() -> None:
    assert train(some_samples()).model.to_json() == train(some_samples()[:]).model.to_json()


def test_indistinguishable_classes_give_a_silent_model() -> None:
    same = extract_features([record("all alike")])
    mixed = [Sample(same, label, f"{label}{n}", f"{label}{n}") for label in ("a.a", "b.b", "c.c") for n in range(8)]
    trained = train(mixed)
    assert trained.model.threshold == SILENT
    assert trained.model.guess(same) is None


def test_single_class_raises_value_error() -> None:
    with pytest.raises(ValueError, match="two classes"):
        train([s for s in some_samples() if s.label == "net.qqp"])


def test_written_model_is_read_unchanged(model: LinearModel, tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    file.write_text(model.to_json(), "utf-8")
    assert load_model(file).to_json() == model.to_json()


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"\x80\x04pickle",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b"x" * (MAX_BYTES + 1),
        *(
            json.dumps({**json.loads(rigged("a.b").to_json()), **change}).encode()
            for change in (
                {"format": "other/1"},
                {"bias": [1]},
                {"weights": {"1": [9, 1]}},
                {"weights": {"1": [0]}},
                {"temperature": 0},
                {"threshold": float("nan")},
                {"bias": [1e300, 0]},
                {"weights": []},
            )
        ),
    ],
)
def test_broken_model_raises_input_error(broken: bytes, tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    file.write_bytes(broken)
    with pytest.raises(InputError, match="cannot be used"):
        load_model(file)


def test_broken_model_is_a_problem_and_keeps_the_verdict(knowledge: Knowledge, tmp_path: Path) -> None:
    diagnosis = add_guess(
        unexplained_failure(),
        count_events(record("it broke")),
        knowledge,
        catalogue("en"),
        model=tmp_path / "none.json",
    )
    assert diagnosis.verdict == "unknown"
    assert [p.where for p in diagnosis.problems] == [str(tmp_path / "none.json")]


def test_guess_is_marked_and_keeps_the_unexplained_lines(knowledge: Knowledge, tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    file.write_text(rigged("cuda.oom").to_json(), "utf-8")
    diagnosis = add_guess(
        unexplained_failure(), count_events(record("it broke")), knowledge, catalogue("en"), model=file
    )
    (cause,) = diagnosis.causes
    assert (diagnosis.verdict, cause.signature, cause.by, cause.rule) == ("unknown", "cuda.oom", "classifier", "")
    assert "guess" in cause.summary
    assert cause.evidence == diagnosis.unexplained == unexplained_failure().unexplained
    assert diagnosis.decision.collect == ("look",)
    assert not cause.culprit.ranks
    assert not cause.culprit.hosts


@pytest.mark.parametrize("line", ["command terminated with exit code 100", "the step exited with status 3."])
def test_exit_code_alone_gives_no_guess(line: str, knowledge: Knowledge, tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    file.write_text(rigged("cuda.oom").to_json(), "utf-8")
    assert (
        add_guess(unexplained_failure(), count_events(record(line)), knowledge, catalogue("en"), model=file).causes
        == ()
    )


@pytest.mark.parametrize("verdict", ["finished", "failed"])
def test_other_verdicts_get_no_guess(verdict: str, knowledge: Knowledge, tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    file.write_text(rigged("cuda.oom").to_json(), "utf-8")
    asked = replace(unexplained_failure(), verdict=verdict)  # type: ignore[arg-type]
    assert add_guess(asked, count_events(record("it broke")), knowledge, catalogue("en"), model=file) == asked


def test_signature_without_rule_is_not_guessed(knowledge: Knowledge, tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    file.write_text(rigged("made.up").to_json(), "utf-8")
    assert (
        add_guess(
            unexplained_failure(), count_events(record("it broke")), knowledge, catalogue("en"), model=file
        ).causes
        == ()
    )


def test_matching_rule_is_not_overruled(knowledge: Knowledge, tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    file.write_text(rigged("net.wrong-interface").to_json(), "utf-8")
    log = "[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 2 has 79 GiB in all\n"
    diagnosis = diagnose(io.BytesIO(log.encode()), knowledge=knowledge, model=file)
    assert diagnosis.causes[0].by == "rule"
    assert diagnosis == diagnose(io.BytesIO(log.encode()), knowledge=knowledge)


def test_healthy_job_stays_healthy_with_any_model(knowledge: Knowledge, tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    file.write_text(rigged("cuda.oom").to_json(), "utf-8")
    log = "".join(f"step {n}/9 loss 0.{n}\n" for n in range(9))
    assert diagnose(io.BytesIO(log.encode()), knowledge=knowledge, model=file).verdict in CALM


def test_shipped_model_is_small_and_has_the_signatures_of_rules(knowledge: Knowledge) -> None:
    shipped = load_model(SHIPPED_MODEL)
    assert SHIPPED_MODEL.stat().st_size <= MAX_BYTES
    assert shipped.threshold >= 0.5
    assert len({*shipped.classes} & {r.signature for r in knowledge.rules}) > 50


def test_trained_model_is_not_larger_than_the_limit(model: LinearModel, monkeypatch) -> None:
    most = len(model.to_json()) // 2
    monkeypatch.setattr("logdoctor.classifier.training.MAX_BYTES", most)
    assert len(train(some_samples()).model.to_json()) <= most


def test_variants_of_a_log_share_example_and_rule(knowledge: Knowledge) -> None:
    log = "a\nRuntimeError: CUDA error: out of memory\nb\nc\nd\n"
    samples = [*make_samples([LabelledLog(log, "cuda.oom", "cuda.oom 0", "cuda.oom")], knowledge)]
    assert len(samples) > 3
    assert {(s.label, s.example, s.rule) for s in samples} == {("cuda.oom", "cuda.oom 0", "cuda.oom")}


def test_case_of_a_corpus_has_its_label(tmp_path: Path) -> None:
    from logdoctor.ruleset.loading import Ruleset

    for label in ("cuda.oom", "healthy"):
        folder = tmp_path / label
        folder.mkdir()
        (folder / "case.yaml").write_text(f"label: {label}\n")
        (folder / "job.log").write_text("a line\n")
    assert [log.label for log in load_labelled_logs(Ruleset(), [tmp_path])] == ["cuda.oom", "healthy"]
    (folder / "case.yaml").write_text("[")
    with pytest.raises(InputError, match="case"):
        load_labelled_logs(Ruleset(), [tmp_path])


def test_diagnosis_imports_neither_scikit_learn_nor_pandas_nor_features() -> None:
    code = "import sys, logdoctor.pipeline.diagnosis; print([m for m in ('sklearn', 'pandas', 'numpy', 'logdoctor.classifier.features') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_train_without_output_is_wrong_usage() -> None:
    from logdoctor.cli.commands import app

    assert CliRunner().invoke(app, ["train"]).exit_code == 2


def test_order_of_failures_changes_the_features() -> None:
    first, second = record("alpha broke", kind="c10d.error"), record("beta broke", kind="nccl.error", order=1)
    assert extract_features([first, second]) != extract_features([second, first])


def test_phase_is_silent_before_and_running_after_the_first_step() -> None:
    step = Record(Line("a.log", 1, "step 1"), "progress", "progress.step", "step 1")
    assert count_events(record("broke"), step).phase == "silent"
    assert count_events(step, record("broke")).phase == "running"


def test_variants_include_another_program_name(knowledge: Knowledge) -> None:
    logs = [f"  File {name}\nValueError: no\n" for name in ('"quokkas.py", line 3', '"main.py", line 3')]
    first, second = ([s.features for s in make_samples([LabelledLog(log, "a.b", "a", "a")], knowledge)] for log in logs)
    assert second[0] in first


def test_training_reports_its_progress(knowledge: Knowledge) -> None:
    reports: list[tuple[str, int, int]] = []
    logs = [LabelledLog(f"RuntimeError: {word}\n", "a.b", word, "a") for word in ("one", "two")]
    list(make_samples(logs, knowledge, lambda *report: reports.append(report)))
    train(some_samples(), lambda *report: reports.append(report))
    assert reports[:2] == [("one", 0, 2), ("two", 1, 2)]
    assert [done for _, done, _ in reports[2:]] == [*range(reports[-1][2])]
