"""Line parser: joined records, interleaved sources, multi-line records, rule patterns."""

from __future__ import annotations

import json

import pytest
from effort import within
from hypothesis import given, settings
from hypothesis import strategies as st

from logdoctor.logs import line_parser, parse_text, record_patterns
from logdoctor.logs.line_parser import LineParser
from logdoctor.logs.record_pattern import RecordPattern
from logdoctor.logs.source_from_filename import source_from_filename
from logdoctor.logs.split_joined import decode_line, split_line
from logdoctor.logs.times import parse_time, year_of
from logdoctor.model import Candidate

RULE = len(record_patterns())
"""The first id that belongs to a rule."""
WATCHDOG = (
    "[rank3]:[E1104 08:14:02.113355799 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=71, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600012 milliseconds before timing out."
)


def candidates(text, patterns=tuple(range(RULE))):
    lines = text.encode().split(b"\n")
    return [Candidate(raw, n, patterns, lambda n=n: iter(lines[n:])) for n, raw in enumerate(lines, 1)]


def parse(text, patterns=tuple(range(RULE)), search=None, file="job.log"):
    parser = LineParser(file, search)
    return [record for candidate in candidates(text, patterns) for record in parser.parse(candidate)]


def summary(records):
    return [(e.line.number, e.span, e.kind, e.text, e.source.rank) for e in records]


def interleaved(first: str, second: str) -> str:
    """Two tracebacks, line by line in turns."""
    return "\n".join(
        [
            f"{first}Traceback (most recent call last):",
            f"{second}Traceback (most recent call last):",
            f'{first}  File "/srv/run.py", line 7, in first_function',
            f'{second}  File "/srv/run.py", line 9, in second_function',
            f"{first}    one()",
            f"{second}    two()",
            f"{first}ValueError: the first one",
            f"{second}KeyError: 'the second one'",
        ]
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("[rank1]: ", "[rank2]: "),
        ("1: ", "2: "),
        ("[1,1]<stderr>:", "[1,2]<stderr>:"),
        ("[default1]:[rank1]: ", "[default2]:[rank2]: "),
        ("(Work pid=71, ip=10.0.0.1) ", "(Work pid=71, ip=10.0.0.2) "),
        ("cn01: ", "cn02: "),
        ("[pod/w-0/main] ", "[pod/w-1/main] "),
        ("w-0  | ", "w-1  | "),
        ("2024-10-28T10:13:38Z stderr F [rank1]: ", "2024-10-28T10:13:39Z stderr F [rank2]: "),
        ("Oct 28 10:13:38 cn01 train[71]: ", "Oct 28 10:13:38 cn02 train[71]: "),
        ("(W pid=1) ERROR 10-28 10:13:38 [core.py:8] ", "(W pid=2) ERROR 10-28 10:13:38 [core.py:8] "),
    ],
)
def test_interleaved_tracebacks_of_two_sources_are_separated(first, second):
    first_event, second_event = parse(interleaved(first, second))
    assert (first_event.text, second_event.text) == ("ValueError: the first one", "KeyError: 'the second one'")
    assert (first_event.line.number, first_event.span) == (7, 7)
    assert (second_event.line.number, second_event.span) == (8, 7)
    assert (first_event.fields["function"], second_event.fields["function"]) == ("first_function", "second_function")


def test_evidence_is_the_line_as_printed():
    record, _ = parse(interleaved("[1,1]<stderr>:", "[1,2]<stderr>:"))
    assert record.line.text == "[1,1]<stderr>:ValueError: the first one"


def test_lines_without_prefix_below_a_logger_belong_to_its_record():
    text = """\
[rank3]:[E1104 08:14:02.113355799 ProcessGroupNCCL.cpp:1895] [PG ID 0 PG GUID 0(default_pg) Rank 3] Process group watchdog thread terminated with exception: CUDA error: an illegal memory access was encountered
[rank4]:[W1104 08:14:02.213355799 socket.cpp:460] [c10d] waiting
CUDA kernel errors might be asynchronously reported at some other API call.

Exception raised from c10_cuda_check at ../c10/cuda/CUDAException.cpp:43 (most recent call first):
frame #0: c10::Error::Error(c10::SourceLocation) + 0x96 (0x7f00 in libc10.so)
"""
    (record,) = [e for e in parse(text) if e.rank == 3]
    assert record.fields["raised_from"] == "c10_cuda_check"
    assert record.span == 6


def test_number_before_a_line_of_an_unlabelled_log_is_part_of_the_message():
    text = 'Traceback (most recent call last):\n  File "/srv/a.py", line 1, in f\nValueError: bad rows\n3: has no label'
    assert parse(text)[0].text == "ValueError: bad rows\n3: has no label"


def test_record_joined_to_a_progress_bar_is_found():
    records = parse(" 55%|#####5    | 55/100 [00:10<00:09,  4.8it/s]" + WATCHDOG)
    assert [(e.kind, e.rank) for e in records] == [("progress.step", None), ("c10d.watchdog_timeout", 3)]


@pytest.mark.parametrize(
    "bar",
    [
        " 55%|#####5    | 55/100 [00:10<00:09,  4.8it/s, loss=0.2]",
        "812it [1:03:11,  4.25s/it]",
        "model.safetensors:  12%|#    | 1.2G/9.9G [00:10<01:20, 108MB/s]",
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        "Killed",
        "CUDA error: unspecified launch failure",
        "[node1:71] gone",
        "/var/spool/slurmd/job71/slurm_script: line 9: 3012 Killed   python fit.py",
        "./fit.sh: line 9: 3012 Segmentation fault   python fit.py",
        "2025-06-11 10:00:02,120 - ERROR - gone",
    ],
)
def test_text_behind_a_progress_bar_is_a_piece_of_its_own(bar, text):
    assert [piece.printed for piece in split_line(bar + text)] == [bar, text]


@pytest.mark.parametrize(
    "bar", ["clusters:  20% (117/558) [##     ] eta 1:34:54 \\", "Epoch 0 \u2501\u2578 40/100 0:00:12 loss: 2.31"]
)
def test_signal_message_behind_other_bars_is_a_piece_of_its_own(bar):
    assert [piece.printed for piece in split_line(bar + "Terminated")] == [bar, "Terminated"]
    assert len(split_line(bar)) == 1


def test_blanks_behind_a_progress_bar_do_not_hide_the_next_record():
    bar = " 55%|#####5    | 55/100 [00:10<00:09,  4.8it/s]   "
    assert [piece.printed for piece in split_line(bar + "Traceback (most recent call last):")][1:] == [
        "Traceback (most recent call last):"
    ]


@pytest.mark.parametrize("rest", ["", " ", ", loss=0.2", "| 3"])
def test_a_progress_bar_alone_is_one_piece(rest):
    assert len(split_line(" 55%|#####5    | 55/100 [00:10<00:09,  4.8it/s]" + rest)) == 1


@pytest.mark.parametrize(
    "glue",
    [
        "saving)[rank1]: Traceback (most recent call last):",
        "saving [rank1]: Traceback (most recent call last):",
        "saving[1,1]<stderr>:Traceback (most recent call last):",
        "[1,0]<stdout>:saving[1,1]<stderr>:Traceback (most recent call last):",
        "[default0]:saving[default1]:[rank1]: Traceback (most recent call last):",
    ],
)
def test_a_second_prefix_in_a_line_begins_a_second_piece(glue):
    last = split_line(glue)[-1]
    assert last.text == "Traceback (most recent call last):"
    assert last.labels.get("rank", last.labels.get("task")) == "1"


@pytest.mark.parametrize("rest", ['  File "/srv/fit.py", line 3, in main', "    y = table[x]", "KeyError: 'zebra'"])
def test_rank_prefix_behind_an_unknown_prefix_names_the_rank(rest):
    last = split_line(f"fit-out: [rank3]: {rest}")[-1]
    assert (last.text, last.labels) == (rest, {"rank": "3"})


def test_a_warning_of_nccl_glued_to_other_text_keeps_the_label_of_the_line():
    first, second = split_line("5: loading... cn7:81:99 [3] socket.cc:8 NCCL WARN gone")
    assert (first.text, second.text) == ("loading... ", "cn7:81:99 [3] socket.cc:8 NCCL WARN gone")
    assert second.labels == {"task": "5"}


@pytest.mark.parametrize(
    "line",
    [
        "5: cn7:81:99 [3] NCCL WARN gone",
        "[2025-03-02 10:00:00] cn7:81:99 [3] NCCL WARN gone",
        "[1,3]<stderr>:cn7:81:99 [3] NCCL WARN gone",
        "[rank3]:[E1104 08:14:02.113355799 store.cpp:6] gone",
        "12: [default3]:[rank3]: gone",
        "no reply from [rank3] so far",
        "see https://cn7:81:99/a [3] NCCL INFO",
    ],
)
def test_a_line_with_one_record_stays_one_piece(line):
    assert len(split_line(line)) == 1


def test_a_line_that_mpirun_tagged_in_parts_is_joined():
    (piece,) = split_line("[1,0]<stderr>:[2024-10-28 10:13:38.[1,0]<stderr>:120000: W a/b.cc:5] gone[1,0]<stderr>: now")
    assert piece.text == "gone now"


def test_json_message_of_several_lines_is_one_record():
    stack = 'it failed:\nTraceback (most recent call last):\n  File "/srv/a.py", line 3, in f\n    g()\nValueError: bad'
    line = json.dumps({"level": "error", "rank": 5, "message": stack})
    (record,) = [e for e in parse(f"{line}\nother") if e.kind == "python.traceback"]
    assert (record.text, record.rank, record.span) == ("ValueError: bad", 5, 1)


def test_lines_of_a_multi_line_record_give_no_records_of_their_own():
    records = parse(interleaved("[rank1]: ", "[rank2]: "))
    assert len(records) == 2


def test_line_that_only_a_rule_matches_becomes_a_text_record():
    (record,) = parse("[rank2]: [ERROR] the frobnicator is gone", (RULE + 4, RULE + 7))
    assert (record.kind, record.format, record.text) == ("text.line", "text", "the frobnicator is gone")
    assert (record.patterns, record.level, record.rank) == ((4, 7), "error", 2)


def test_line_without_matching_pattern_gives_no_record():
    assert parse("the frobnicator is gone", ()) == []


def test_each_piece_of_a_glued_line_gets_its_own_patterns():
    def search(text):
        return (RULE + 1,) if b"left" in text else (RULE + 2,)

    records = parse("left[rank1]: right", (RULE + 1, RULE + 2), search)
    assert [(e.text, e.patterns) for e in records] == [("left", (1,)), ("right", (2,))]


def test_the_text_of_a_block_is_searched_for_the_patterns_of_rules():
    def search(text):
        return (RULE + 9,) if b"ValueError" in text else ()

    (record,) = parse(
        interleaved("[rank1]: ", "[rank1]: ")[: -len("[rank1]: KeyError: 'the second one'")], search=search
    )[:1]
    assert record.patterns == (9,)


def test_record_order_continues_from_the_last_file():
    parser = LineParser("b.log", start=41)
    records = parser.parse(candidates("the frobnicator is gone", (RULE,))[0])
    assert (records[0].order, parser.order) == (42, 42)


def test_the_pieces_of_a_line_are_bounded():
    assert len(split_line("gone[rank1]: " * 900)) <= 65


def test_piece_with_inherited_rank_does_not_break_a_multi_line_record():
    petsc = "[3]n1:33:35 [2] NCCL INFO PETSC ERROR: Caught signal number 11 SEGV: Segmentation Violation"
    assert parse_text(f"=== rank 0{petsc}\n{petsc}\n")


def test_hostile_line_stops_after_a_few_timeouts(monkeypatch):
    monkeypatch.setattr(
        line_parser, "record_patterns", lambda: tuple(RecordPattern(f"a.b{n}", f"(?:a+)+b{n}") for n in range(40))
    )
    with within(40):
        assert LineParser("a.log").parse(Candidate(b"a" * 5000, 1, tuple(range(40)), lambda: iter(()))) == []


def test_escapes_are_removed_and_other_control_characters_stay():
    text = "\x1b[36m(W pid=7)\x1b[0m \x1b]8;;http://a\x07gone\x1b]8;;\x07 \x00 now"
    (record,) = parse(text, (RULE,))
    assert (record.text, record.line.text, record.pid) == ("gone \x00 now", "(W pid=7) gone \x00 now", 7)


def test_colours_without_their_escape_character_are_removed():
    assert decode_line(b"[36m(W pid=7)[0m gone") == "(W pid=7) gone"
    assert decode_line(b"[31mgone") == "gone"
    assert decode_line(b"\\x1b[31mgone") == decode_line(b"\\033[31mgone") == decode_line(b"[1;31mgone") == "gone"
    assert decode_line(b"[35 min] left, [12m left]") == "[35 min] left, [12m left]"


def test_a_long_line_is_cut_in_the_evidence():
    (record,) = parse("x" * 5000, (RULE,))
    assert (len(record.line.text), record.line.text[-1]) == (2000, "…")


def test_bytes_that_are_no_utf8_do_not_stop_the_line():
    (record,) = LineParser("a.log").parse(Candidate(b"gone \xff\xfe", 1, (RULE,), lambda: iter(())))
    assert record.text == "gone \ufffd\ufffd"


def test_first_pattern_wins(monkeypatch):
    low = RecordPattern("a.low", "gone")
    high = RecordPattern("a.high", r"(?P<what>\w+) is (?P<text>gone (?P<count>\d+) (?P<by_rank>\d+) (?P<none>x)?)")
    monkeypatch.setattr(line_parser, "record_patterns", lambda: (high, low))
    (record,) = LineParser("a.log").parse(Candidate(b"it is gone 12 3 ", 1, (0, 1, 5), lambda: iter(())))
    assert (record.kind, record.text, record.rank) == ("a.high", "gone 12 3 ", 3)
    assert (dict(record.fields), record.patterns) == ({"what": "it", "count": 12}, (3,))


@pytest.mark.parametrize(
    ("line", "text", "level"),
    [
        ("[ERROR] URL gone", "[ERROR] URL gone", "error"),
        ("[error] lost", "[error] lost", "fatal"),
        ("[error] odd", "odd", "fatal"),
    ],
)
def test_message_is_searched_before_the_text_with_its_prefix(monkeypatch, line, text, level):
    patterns = (
        RecordPattern("a.special", r"^\[ERROR\] URL", "error"),
        RecordPattern("a.general", r"^\[error\] ", "fatal", general=True),
        RecordPattern("a.bare", r"^odd", "fatal", last=True),
    )
    monkeypatch.setattr(line_parser, "record_patterns", lambda: patterns)
    (record,) = LineParser("a.log").parse(Candidate(line.encode(), 1, (0, 1, 2), lambda: iter(())))
    assert (record.text, record.level) == (text, level)


def test_pattern_that_takes_too_long_is_skipped(monkeypatch):
    monkeypatch.setattr(line_parser, "record_patterns", lambda: (RecordPattern("a.slow", "(?:a+)+b"),))
    assert LineParser("a.log").parse(Candidate(b"a" * 5000, 1, (0,), lambda: iter(()))) == []


def test_task_that_differs_from_the_rank_is_no_rank_from_then_on():
    text = "1: gone\n1: [rank9]: gone\n1: gone"
    assert [e.rank for e in parse(text, (RULE,))] == [1, 9, None]


def test_date_without_year_takes_the_year_of_an_earlier_line():
    text = "2024-10-28 10:13:38 gone\n[E1028 10:13:40.111111111 store.cpp:5] gone"
    first, second = parse(text, (RULE,))
    assert second.time - first.time == 2


def test_rank_comes_from_the_file_name_unless_the_line_has_a_rank():
    assert [e.rank for e in parse("gone\n[rank2]: gone", (RULE,), file="logs/rank_5.log")] == [5, 2]


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("logs/abc/attempt_0/3/stderr.log", {"local_rank": 3}),
        ("rank_3.log", {"rank": 3}),
        ("out/rank3.out", {"rank": 3}),
        ("job-rank-3", {"rank": 3}),
        ("run.rank3.0.log", {"rank": 3}),
        ("out/rank_3/stderr.txt", {"rank": 3}),
        ("oom-on-rank3/job.log", {}),
        ("rank3-oom/job.log", {}),
        ("oom-on-rank3/rank5.log", {"rank": 5}),
        ("lora_rank_16.log", {}),
        ("local_rank_1.log", {"local_rank": 1}),
        ("nccl.cn07.4411.log", {"host": "cn07", "pid": 4411}),
        ("nccl_debug.cn07.4411", {"host": "cn07", "pid": 4411}),
        ("slurm-812_4-cn07.out", {"host": "cn07"}),
        ("logs.tar.gz:a/worker-3.log", {"tag": "worker-3"}),
        ("node-12.log", {"tag": "node-12"}),
        ("slurm-812.out", {}),
        ("franken3.log", {}),
        ("logs/gpu-a07/kern.log", {"host": "gpu-a07"}),
        ("gpu-a07/train.log", {}),
        ("job.log", {}),
    ],
)
def test_file_name_gives_the_source(file, source):
    result = source_from_filename(file)
    assert {k: v for k in result.__slots__ if (v := getattr(result, k)) is not None} == source


@pytest.mark.parametrize(
    ("stamp", "moment"),
    [
        ("2024-10-28 10:13:38", 1730110418.0),
        ("2024-10-28T10:13:38.250Z", 1730110418.25),
        ("2024-10-28 10:13:38,250", 1730110418.25),
        ("2024-10-28T10:13:38+0530", 1730110418.0 - 19800),
        ("2024-10-28T10:13:38.123456789-01:00", 1730110418.123456789 + 3600),
        ("2024/10/28 10:13:38", 1730110418.0),
        ("10/28/2024 10:13:38 PM", 1730110418.0 + 43200),
        ("28/10/2024 10:13:38", 1730110418.0),
        ("24/10/28 10:13:38", 1730110418.0),
        ("28/Oct/2024:10:13:38 +0000", 1730110418.0),
        ("Mon Oct 28 10:13:38 2024", 1730110418.0),
        ("Mon Oct 28 10:13:38 UTC 2024", 1730110418.0),
        ("Tue Oct 29 10:13:38 2024", 1730110418.0 + 86400),
        ("Thu Oct 31 10:13:38 2024", 1730110418.0 + 3 * 86400),
        ("Mon 28 Oct 2024 10:13:38 AM UTC", 1730110418.0),
        ("1730110418.250", 1730110418.25),
        ("1730110418250", 1730110418.25),
        ("1730110418250000", 1730110418.25),
        ("1028 10:13:38", 25956818.0),
        ("228 10:13:38", 58 * 86400 + 36818.0),
        ("Oct 28 10:13:38", 25956818.0),
        ("10-28 10:13:38", 25956818.0),
        ("10:13:38", None),
        ("2024-13-45 10:13:38", None),
        ("2024-10-28 77:13:38", None),
        ("gone", None),
        ("", None),
    ],
)
def test_time_stamps_of_each_form_are_parsed(stamp, moment):
    assert parse_time(stamp) == pytest.approx(moment) if moment else parse_time(stamp) is None


def test_leap_day_without_year_is_no_time():
    assert parse_time("02-29 00:00:00") is None
    assert parse_time("02-29 00:00:00", 2024) == 1709164800.0


def test_year_of_a_stamp_without_year_is_none():
    assert (year_of(25956818.0), year_of(1730110418.0)) == (None, 2024)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="0123456789-/: .,TZ+JanOctMonPM", max_size=32))
def test_any_text_parses_to_a_time_or_none(stamp):
    assert isinstance(parse_time(stamp), (float, type(None)))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.binary(max_size=60), min_size=1, max_size=6))
def test_any_bytes_are_parsed_without_an_exception(lines):
    for number, raw in enumerate(lines, 1):
        LineParser("a.log").parse(Candidate(raw, number, (*range(RULE), RULE), lambda n=number: iter(lines[n:])))


def test_following_lines_are_bounded_and_read_lazily():
    read = []

    def below():
        for number in range(10_000):
            read.append(number)
            yield b"    deeper()"

    head = Candidate(b"Traceback (most recent call last):", 1, tuple(range(RULE)), below)
    LineParser("a.log").parse(head)
    assert len(read) <= 500


def test_a_carriage_return_begins_a_new_line_for_parse_text():
    assert summary(parse_text("10%|#   | 1/10 [00:01<00:09,  1.0it/s]\r[rank1]: KeyError: 'a'"))[1][2:] == (
        "python.exception",
        "KeyError: 'a'",
        1,
    )


def test_record_carries_the_note_of_its_own_pattern():
    notes = {
        record.text.splitlines()[0]: record.note
        for record in parse_text(
            'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f()\nValueError: no\n'
        )
    }
    assert not any("handler for uncaught" in note for note in notes.values())
    assert len({pattern.note for pattern in record_patterns() if pattern.kind == "python.traceback"}) > 1


def test_traceback_is_read_behind_an_unknown_prefix():
    plain = "Traceback (most recent call last):\n  File \"fit.py\", line 7, in main\n    load()\nKeyError: 'crop'"
    marked = "".join(f"/slot_07_1557_0041: {line}\n" for line in plain.split("\n"))
    records = [record for record in parse_text(marked) if record.level == "fatal"]
    assert [(record.text, record.line.number) for record in records] == [("KeyError: 'crop'", 4)]


def test_word_before_the_first_line_of_a_traceback_is_no_prefix():
    (record,) = parse_text(
        'ERROR Traceback (most recent call last):\n  File "fit.py", line 7, in main\nERROR ValueError: not this\nKeyError: 1\n'
    )[:1]
    assert record.text == "KeyError: 1"


def test_text_behind_a_bar_of_mmcv_or_keras_is_a_record_of_its_own():
    bars = ("[>>>>    ] 31/50, 4.0 task/s, elapsed: 8s, ETA:     5s", " 5/10 [=====>....] - ETA: 1:05 - loss: 0.2104")
    for bar in bars:
        assert [record.text for record in parse_text(f"{bar}Killed\n") if record.kind == "crash.signal"] == ["Killed"]


def test_log_that_ends_in_a_traceback_head_is_an_error():
    heads = ("Traceback (most recent call last):", 'Traceback (most recent call last):\n  File "fit.py", l')
    assert [parse_text(head)[0].level for head in heads] == ["error", "error"]
    assert parse_text("Traceback (most recent call last):\nstep 3 loss: 2\n")[0].level == "warning"


@pytest.mark.parametrize("rank", ["4294967294", "-1"])
def test_impossible_rank_is_dropped(rank):
    text = f"mpirun noticed that process rank {rank} with PID 12 on node n1 exited on signal 9 (Killed)."
    assert [e.rank for e in parse_text(text)] == [None]
