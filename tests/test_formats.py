"""Format files: all faults of all files come at once, and each file keeps the laws."""

from __future__ import annotations

import ast
import io
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from format_probe import formats, read

from logdoctor import logs
from logdoctor.logs import kinds, record_patterns
from logdoctor.logs.format_files import RECORD_KEYS, Sample, load_formats
from logdoctor.logs.line_parser import LineParser
from logdoctor.logs.multiline.lines_below import read_next, read_until, read_while
from logdoctor.logs.precedence import in_order
from logdoctor.logs.record_pattern import LineReader, Message, RecordPattern, find_function
from logdoctor.matcher.scan_pattern import scan_form
from logdoctor.model import LifecycleSign, Record, RulesError
from logdoctor.pipeline.diagnosis import events

each_format = pytest.mark.parametrize("name", sorted(formats()))

GOOD = """\
about: A program.
parts:
  head: 'prog: '
signs:
  prog.error: fails, tells peer
records:
- kind: prog.error
  level: error
  match:
  - '^%{head}failed: '
  - '(?P<message>.+)'
prefixes:
- name: prog.label
  match: '\\[prog\\] '
  starts: '['
samples:
- {log: 'prog: failed: no luck', prog.error: {message: no luck}}
"""


@pytest.fixture
def load(tmp_path):
    """Load a folder with one format file, and return its format or the texts of its faults."""

    def load_text(text: str):
        (tmp_path / "formats" / "family").mkdir(parents=True, exist_ok=True)
        (tmp_path / "formats" / "parts.yaml").write_text("about: x\nparts:\n  shared: 'S+'\n")
        (tmp_path / "formats" / "family" / "prog.yaml").write_text(text)
        try:
            (found,) = load_formats(tmp_path / "formats", check=True)
        except RulesError as faults:
            return [str(error) for error in faults.errors]
        return found

    return load_text


def test_format_file_becomes_records_signs_prefixes_and_samples(load):
    found = load(GOOD)
    (record,) = found.record_patterns
    assert (record.kind, record.level, record.pattern) == ("prog.error", "error", "^prog: failed: (?P<message>.+)")
    assert found.lifecycle_signs == {"prog.error": (LifecycleSign("fails", tells=("peer",)),)}
    assert [(prefix.name, prefix.pattern) for prefix in found.prefixes] == [("prog.label", r"\[prog\] ")]
    assert [(sample.log, sample.records) for sample in found.samples] == [
        ("prog: failed: no luck", {"prog.error": [{"message": "no luck"}]})
    ]


@pytest.mark.parametrize(
    ("written", "sign"),
    [
        ("works", LifecycleSign("works")),
        ("ends well of program", LifecycleSign("ends well", "program")),
        ("tells stack and peer", LifecycleSign(tells=("stack", "peer"))),
        (
            "is ended of job, told by batch, by limit, last",
            LifecycleSign("is ended", "job", "batch", last=True, by="limit"),
        ),
        (
            "{mark: fails, of: named, reporter: machine, late: true}",
            LifecycleSign("fails", "named", "machine", late=True),
        ),
        ("{mark: fails, tells: [peer]}", LifecycleSign("fails", tells=("peer",))),
    ],
)
def test_sign_is_a_text_or_a_mapping(load, written, sign):
    assert load(GOOD.replace("fails, tells peer", written)).lifecycle_signs == {"prog.error": (sign,)}


def test_list_of_signs_gives_all(load):
    signs = load(GOOD.replace("fails, tells peer", "[waits, 'gives up, tells peer']")).lifecycle_signs["prog.error"]
    assert signs == (LifecycleSign("waits"), LifecycleSign("gives up", tells=("peer",)))


def test_format_file_of_the_manual_is_right(load):
    manual = (Path(__file__).parent.parent / "docs" / "formats.md").read_text("utf-8")
    found = load(manual.partition("```yaml\n")[2].partition("```")[0])
    assert [record.kind for record in found.record_patterns] == ["frob.connection", "frob.note"]
    for sample in found.samples:
        given = [(parsed.kind, parsed.fields.items()) for parsed in read(found.record_patterns, sample.log)]
        assert [kind for kind, _ in given] == [*sample.records]
        for kind, fields in given:
            assert {k: v for k, v in sample.records[kind][0].items() if k != "host"}.items() <= fields


def test_manual_names_each_key_of_a_record():
    manual = (Path(__file__).parent.parent / "docs" / "formats.md").read_text("utf-8")
    assert [key for key in RECORD_KEYS if f"| `{key}` |" not in manual] == []


def test_all_files_know_the_shared_parts(load):
    found = load("about: x\nrecords:\n- {kind: prog.a, match: 'head %{shared}'}\n")
    assert found.record_patterns[0].pattern == "head S+"


def test_percent_sign_before_a_count_is_no_part(load):
    found = load("about: x\nrecords:\n- {kind: prog.a, match: 'done %{3}'}\n")
    assert found.record_patterns[0].pattern == "done %{3}"


def test_kind_that_only_a_reader_gives_may_have_signs(load):
    found = load(GOOD.replace("signs:\n", "kinds: [prog.passed]\nsigns:\n  prog.passed: works\n"))
    assert found.other_kinds == ("prog.passed",)
    assert found.lifecycle_signs["prog.passed"] == (LifecycleSign("works"),)


def test_every_kind_that_code_gives_is_known_to_the_lint_of_rules():
    programs = "|".join({kind.partition(".")[0] for kind in kinds()})
    texts = {
        node.value
        for path in Path(logs.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    given = {text for text in texts if re.fullmatch(rf"(?:{programs})\.[a-z]\w*", text)}
    assert {"kubernetes.passed", "generic.complaint", "crash.frames", "text.line"} <= given
    assert given - kinds() == set()


@pytest.mark.parametrize(
    ("good", "bad", "line", "what"),
    [
        ("about: A program.", "about: 3", 1, "'about' is missing"),
        ("samples:", "sample:", 16, "unknown key 'sample'"),
        ("  head: 'prog: '", "  head: 7", 3, "a pattern must be a text"),
        ("  head: 'prog: '", "  head: 'prog: '\n  tail: ' end'", 4, "no pattern uses the part 'tail'"),
        ("  head: 'prog: '", "  head: 'prog: '\n  shared: ' end'", 4, "the part 'shared' exists in parts.yaml"),
        ("%{head}", "%{head}%{foot}", 9, "there is no part 'foot' above"),
        ("%{head}", "%{head}%{no_module.NAME}", 9, "there is no constant 'no_module.NAME'"),
        ("fails,", "fail,", 5, "'fail' is no word for 'mark' of a sign"),
        ("tells peer", "tells pear", 5, "'pear' is no word for 'tells' of a sign"),
        ("fails, tells peer", "fails, told by nobody", 5, "'nobody' is no word for 'reporter' of a sign"),
        ("fails, tells peer", "fails, lately", 5, "'lately' is no part of a sign"),
        ("fails, tells peer", "{mark: fails, late: 2}", 5, "'late' must be true"),
        ("fails, tells peer", "7", 5, "'7' is no part of a sign"),
        ("  prog.error: fails", "  prog.none: fails", 5, "no record of this file is of the kind 'prog.none'"),
        ("signs:", "kinds: [prog.error]\nsigns:", 4, "a record of this file is of the kind 'prog.error'"),
        ("signs:", "kinds: passed\nsigns:", 4, "'passed' is no kind"),
        ("signs:", "origin: {prog: space}\nsigns:", 4, "'space' is no origin"),
        ("signs:", "origin: {gorp: machine}\nsigns:", 4, "no kind of this file is of the format 'gorp'"),
        ("signs:", "file_names: [dmesg.1]\nsigns:", 4, "'file_names' are words of letters"),
        ("kind: prog.error", "kind: Prog", 7, "'Prog' is no kind"),
        ("- kind: prog.error\n", "-\n", 8, "'kind' is missing"),
        ("level: error", "level: bad", 8, "'bad' is no level"),
        ("level: error", "patience: long", 8, "'patience' must be a whole number"),
        ("level: error", "before: 7", 8, "'before' is not understood"),
        ("level: error", "before: [prog.a, prog.a]", 8, "'before' is not understood"),
        ("level: error", "before: prog.none", 8, "no record has the kind or the format 'prog.none'"),
        ("level: error", "before: prog", 8, "all records of 'prog' stand in this file"),
        ("level: error", "general: true\n  last: true", 7, "general and last stand together"),
        ("level: error", "often: 1", 8, "'often' must be true or false"),
        ("level: error", "matches: x", 8, "unknown key 'matches'"),
        ("level: error", "read: 7", 8, "'read' is not understood"),
        ("level: error", "next: a\n  until: b", 7, "next and until stand together"),
        ("level: error", "line: '('", 8, "this is not a regular expression"),
        ("level: error", "literal: failed", 8, "'literal' must be a list"),
        ("level: error", "literal: [failed, '']", 8, "the texts of 'literal' have at least 3 characters"),
        ("level: error", "read: ray.read_birth", 7, "there is no function 'ray.read_birth'"),
        ("  starts: '['", "  decode: hosts.find", 13, "there is no function 'hosts.find'"),
        ("  starts: '['", "  begins: '['", 15, "unknown key 'begins'"),
        ("{log: 'prog: failed: no luck', ", "{", 17, "a sample has no log"),
        ("prog.error: {message: no luck}", "prog.error: no luck", 17, "'prog.error' is not understood"),
        ("about: A program.", "about: [", 3, "this is not valid YAML"),
    ],
)
def test_fault_names_file_line_and_help(load, good, bad, line, what):
    assert good in GOOD
    faults = load(GOOD.replace(good, bad))
    assert isinstance(faults, list)
    (fault,) = [fault for fault in faults if what in fault]
    assert fault.startswith(f"formats/family/prog.yaml:{line}: ")
    assert "  help: " in fault


def test_all_faults_of_a_file_come_at_once_in_the_order_of_lines(load):
    faults = load(
        GOOD.replace("fails, tells", "x, tells").replace("level: error", "level: x").replace("starts", "start")
    )
    assert [int(fault.split(":")[1]) for fault in faults] == [5, 8, 15]


# ── the order of records ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def ordered(tmp_path):
    """Load files of records, and return the kinds in the order in which they are tried, or the texts of the faults."""

    def load_files(**files: list[str]):
        (tmp_path / "formats" / "family").mkdir(parents=True, exist_ok=True)
        (tmp_path / "formats" / "parts.yaml").write_text("about: x\n")
        for name, records in files.items():
            text = "".join(f"- {{kind: {record}}}\n" for record in records)
            (tmp_path / "formats" / "family" / f"{name}.yaml").write_text(f"about: x\nrecords:\n{text}")
        try:
            found = load_formats(tmp_path / "formats", check=True)
        except RulesError as faults:
            return [str(error).replace("formats/family/", "") for error in faults.errors]
        return " ".join(pattern.kind for pattern in in_order([file.records for file in found]))

    return load_files


def test_order_is_that_of_the_file_names_and_of_the_lines(ordered):
    assert ordered(b=["b.one, match: x"], a=["a.two, match: x", "a.one, match: x"]) == "a.two a.one b.one"


def test_general_records_are_tried_late_and_last_ones_at_the_end(ordered):
    order = ordered(
        a=["a.one, match: x", "a.weak, match: x, general: true", "a.end, match: x, last: true"],
        b=["b.one, match: x", "b.weak, match: x, general: true"],
    )
    assert order == "a.one b.one a.weak b.weak a.end"


def test_record_moves_above_the_kind_that_it_names_with_those_above_it(ordered):
    a = ["a.one, match: x", "a.two, match: x"]
    b = ["b.one, match: x", "b.two, match: x, before: a.two", "b.three, match: x"]
    assert ordered(a=a, b=b) == "a.one b.one b.two a.two b.three"


def test_record_moves_above_a_whole_format_in_all_other_files(ordered):
    files = {"a": ["x.one, match: x"], "b": ["x.two, match: x"], "c": ["x.own, match: x", "c.one, match: x, before: x"]}
    assert ordered(**files) == "x.own c.one x.one x.two"


def test_record_moves_inside_its_group(ordered):
    a = ["x.one, match: x", "x.weak, match: x, general: true"]
    assert ordered(a=a, b=["b.weak, match: x, general: true, before: x"]) == "x.one b.weak x.weak"


def test_two_that_name_each_other_are_a_fault_at_its_line(ordered):
    faults = ordered(a=["a.one, match: x, before: b.one"], b=["b.one, match: x, before: a.one"])
    assert [fault.partition("\n")[0] for fault in faults] == ["b.yaml:3: 'before: a.one' closes a circle"]
    assert "why: b.one before a.one, a.one before b.one;" in faults[0]
    assert "help: " in faults[0]


def test_each_circle_is_a_fault_of_its_own(ordered):
    a = ["a.one, match: x, before: b.two", "a.two, match: x, before: c.one"]
    faults = ordered(a=a, b=["b.two, match: x, before: a.one"], c=["c.one, match: x, before: a.two"])
    assert ["closes a circle" in fault for fault in faults] == [True, True]


def test_circle_through_the_order_of_a_file_is_a_fault(ordered):
    b = ["b.one, match: x", "b.two, match: x, before: a.one"]
    (fault,) = ordered(a=["a.one, match: x, before: b.one"], b=b)
    assert "closes a circle" in fault
    assert "takes the records above it along" in fault


@pytest.mark.parametrize("keys", ["", ", general: true", ", last: true"])
def test_name_of_a_record_that_loses_anyway_is_needless(ordered, keys):
    (fault,) = ordered(a=["a.one, match: x, before: b.one"], b=[f"b.one, match: x{keys}"])
    assert fault.startswith("a.yaml:3: 'before: b.one' is needless")
    assert "help: remove it" in fault


def test_name_that_another_record_of_the_file_implies_is_needless(ordered):
    b = ["b.one, match: x, before: a.one", "b.two, match: x, before: a.one"]
    (fault,) = ordered(a=["a.one, match: x"], b=b)
    assert fault.startswith("b.yaml:3: 'before: a.one' is needless")


def test_late_record_cannot_win_over_one_that_is_no_late_one(ordered):
    (fault,) = ordered(a=["a.one, match: x"], b=["b.one, match: x, last: true, before: a.one"])
    assert fault.startswith("b.yaml:3: 'a.one' is tried before this record")


def test_late_record_stands_below_the_others_of_its_file(ordered):
    (fault,) = ordered(a=["a.weak, match: x, general: true", "a.one, match: x"])
    assert fault.startswith("a.yaml:4: 'a.one' is tried before the record above it")


def test_faults_of_all_names_and_files_come_at_once(ordered):
    a = ["a.one, match: x, before: [a.none, b.one]", "a.two, match: x, before: a"]
    faults = ordered(a=a, b=["b.one, match: x, before: c"])
    assert sorted(fault.partition(": ")[0] for fault in faults) == ["a.yaml:3", "a.yaml:3", "a.yaml:4", "b.yaml:3"]


# ── laws of the shipped formats ─────────────────────────────────────────────────────────────────────────────────────


def test_a_format_says_its_origin_once():
    """Many files give records of the kernel. One of them says that they come from the machine."""
    said = Counter(name for file in formats().values() for name in file.origins)
    assert said
    assert [name for name, times in said.items() if times > 1] == []


def test_each_pattern_and_each_named_function_is_right():
    assert load_formats(check=True) == tuple(formats().values())


@each_format
def test_about_names_each_kind(name):
    about = formats()[name].about
    kinds = {record.kind for record in formats()[name].record_patterns}
    assert [k for k in sorted(kinds) if f"``{k}``" not in about and f"``.{k.partition('.')[2]}``" not in about] == []


def weakness(pattern: RecordPattern) -> str:
    """Return why the scan cannot search for a pattern, or ""."""
    if pattern.literal:
        return ""
    try:
        return "" if scan_form(pattern.searched) else "it is empty"
    except ValueError as error:
        return str(error)


@each_format
def test_no_pattern_is_too_weak_for_the_scan(name):
    weak = [(p.kind, p.pattern[:100], why) for p in formats()[name].record_patterns if (why := weakness(p))]
    assert weak == []


def differences(sample: Sample, records: list[Record]) -> str:
    """Return the records that a sample gave if they are not the records that it names, else ""."""
    kinds = Counter(record.kind for record in records)
    if kinds != {kind: len(fields) for kind, fields in sample.records.items()}:
        return f"{sample.where}: it gives {[record.kind for record in records]}"
    unused = {kind: [*fields] for kind, fields in sample.records.items()}
    wrong = []
    for record in records:
        wanted = {"level": level_of_kind(record.kind) or record.level, **unused[record.kind].pop(0)}
        given = {name: value_of(record, name) for name in wanted}
        if given != wanted:
            wrong.append(f"{record.kind}: {given} instead of {wanted}")
    return f"{sample.where}: {'; '.join(wrong)}" if wrong else ""


@cache
def level_of_kind(kind: str) -> str | None:
    """Return the level of all records of a kind, None if they have several or their line's own."""
    levels = {record.level for record in record_patterns() if record.kind == kind}
    return levels.pop() if len(levels) == 1 else None


def value_of(record: Record, name: str) -> Any:
    """Return a field, the text, the level, or what is known of the process."""
    if name in ("rank", "host", "pid", "text", "level"):
        return getattr(record, name)
    value = record.fields.get(name, record.source.local_rank if name == "local_rank" else None)
    return [*value] if isinstance(value, tuple) else value


@each_format
def test_each_sample_gives_exactly_its_records(name, knowledge):
    """A record of the format `text` is no record of a program: the text of a rule found it."""
    wrong = list[str]()
    for sample in formats()[name].samples:
        log = io.BytesIO(sample.log.encode() + b"\n")
        found = [record for record in events([log], knowledge=knowledge) if record.format != "text"]
        wrong.append(differences(sample, found))
    assert not any(wrong), "\n".join(filter(None, wrong))


def test_no_rule_picks_a_line_of_a_healthy_start_of_nccl(knowledge):
    """Each rank prints hundreds of them: what picks them makes all logs slow."""
    healthy = [sample.log for sample in formats()["nccl"].samples if not sample.records]
    assert len(healthy) > 5
    found = [
        record.text for log in healthy for record in events([io.BytesIO(log.encode() + b"\n")], knowledge=knowledge)
    ]
    assert found == []


def test_each_record_pattern_gives_a_record_of_a_sample(knowledge, monkeypatch):
    """The pattern `(?!)` matches nothing: its `line` picks lines for the rules."""
    shown, parse = set[int](), LineParser._parse_match

    def parse_match(parser, pattern, *others):
        record = parse(parser, pattern, *others)
        if record is not None:
            shown.add(id(pattern))
        return record

    monkeypatch.setattr(LineParser, "_parse_match", parse_match)
    for file in formats().values():
        for sample in file.samples:
            list(events([io.BytesIO(sample.log.encode() + b"\n")], knowledge=knowledge))
    missing = [p for p in record_patterns() if id(p) not in shown and p.pattern != "(?!)"]
    assert [f"{p.kind}: {p.pattern:.100}" for p in missing] == []


def test_unknown_function_is_a_lookup_error():
    for name in ("read_death", "ray.read_birth", "nothing.read", "ray.nothing.read"):
        with pytest.raises(LookupError):
            find_function(name)


# ── the readers that a pattern describes ────────────────────────────────────────────────────────────────────────────


def below(*texts: str):
    return (Message(text, below=number) for number, text in enumerate(texts, 1))


HEAD = Message("it failed:")


def test_next_line_with_a_message_is_quoted_and_part_of_the_text():
    result = read_next(r"(?P<message>\w.*)")(HEAD, {}, below("", "  no luck", "more"))
    assert (result.text, result.fields, result.taken, result.evidence) == (
        "it failed:\nno luck",
        {"message": "no luck"},
        (2,),
        2,
    )


def test_next_line_without_a_message_adds_fields_only():
    result = read_next(r"pid (?P<pid>\d+) on (?P<host>\w+)")(HEAD, {}, below("pid 7 on n1"))
    assert (result.text, result.fields, result.taken, result.evidence) == (HEAD.text, {"pid": 7, "host": "n1"}, (1,), 0)


@pytest.mark.parametrize("lines", [[], ["", ""], ["other", "pid 7"]])
def test_next_line_that_does_not_match_is_left(lines):
    result = read_next(r"pid (?P<pid>\d+)")(HEAD, {}, below(*lines))
    assert (result.fields, result.taken) == ({}, ())


def test_while_takes_lines_up_to_the_first_that_does_not_match():
    assert read_while(r"^  ")(HEAD, {}, below("  a", "  b", "c", "  d")).taken == (1, 2)


def test_until_takes_lines_to_the_one_that_matches_or_none():
    assert read_until("end")(HEAD, {}, below("a", "the end", "b")).taken == (1, 2)
    assert read_until("end")(HEAD, {}, below("a", "b")).taken == ()
    assert read_until("end")(HEAD, {}, below(*["a"] * 40, "end")).taken == ()


def test_reader_with_options_is_made_by_a_function(load):
    found = load("about: x\nrecords:\n- {kind: prog.a, match: 'head', while: '^%{shared}'}\n")
    assert found.record_patterns[0].read_lines == LineReader("lines_below.read_while", {"pattern": "^S+"})
