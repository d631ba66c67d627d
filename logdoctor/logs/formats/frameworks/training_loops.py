r"""Signs of life of training loops that write them in their own way (see `progress` for the usual ones).

- ``progress.step`` unit (step | epoch | iteration), value, total, loss, epoch; ``progress.done``

Shapes from OLMo and OLMo-core (`[step=760/1000,epoch=0]`), fairseq's JSON logger (`"num_updates": "200"`), Knover, and
loops that name several losses or write EPOCH large; Amber's and OpenMC's steps and LAMMPS' runs; the log.txt of DeiT,
DINO and MAE (`{"train_lr": ..., "epoch": 3}`), the first MLPerf rounds, MXNet's Speedometer, Snakemake's count of done
steps, ORCA's cycles, the Time-Series-Library, SHOT, sweeps of wandb; the meters of PyTorch's ImageNet example and of
semseg (`Test: [10/124] Data 0.1 (0.2)`), Charm++; a notebook that nbconvert ran.
"""

from __future__ import annotations

from logdoctor.logs.multiline.progress_lines import read_step
from logdoctor.logs.record_pattern import RecordPattern

_NUMBER = r"(?P<value>\d[\d,]*)"
_OF = r"(?: ?(?:/|of) *(?P<total>\d[\d,]*))?"
_NOTE = "A sign of progress."
_step, _epoch, _iteration = read_step("step"), read_step("epoch"), read_step("iteration")

RECORDS = (
    RecordPattern("progress.step", rf"\[step={_NUMBER}{_OF}(?:,epoch=\d+)?\]", "info", _step, _NOTE, often=True,
           scan=r"\[step=\d+"),
    RecordPattern("progress.step", rf"\{{\"epoch\": \d+, .{{0,1500}}\"(?:train_)?num_updates\": \"{_NUMBER}\"", "info", _step,
           _NOTE, often=True, scan=r"num_updates\": \"\d"),
    RecordPattern("progress.step", rf"\bprogress: \d+/\d+ step: {_NUMBER}, time: [\d.]+, speed: ", "info", _step, _NOTE,
           often=True, scan=r"step: \d+, time: [\d.]+, speed: "),
    RecordPattern("progress.step", rf"\b[Ss]tep ?[:=]? *{_NUMBER}{_OF}\b.{{0,80}}?\b(?:Loss[A-Z]\w{{0,30}}|\w{{1,30}}Loss)"
           r"\b ?[:=] *-?\d", "info", _step, _NOTE, -2, often=True,
           scan=r"tep ?[:=]? *\d.{0,120}(?:Loss[A-Z]|[a-z]Loss)"),
    RecordPattern("progress.step", rf"\b(?:Epoch|EPOCH) ?[:=#]? *{_NUMBER}{_OF}\]?\W.{{0,80}}?\b"
           r"(?:Loss[A-Z]\w{0,30}|\w{1,30}Loss|(?:Train|Val|Valid|TRAIN|VAL|Test)"
           r"(?:[ _]?(?:Acc|Loss|ACC|LOSS)\w{0,10})?) ?[:=] *-?\d", "info", _epoch, _NOTE, -2, often=True,
           scan=r"(?:Epoch|EPOCH) ?[:=#]? *\d.{0,120}(?:Loss|Acc|ACC|LOSS|Train|Val|TRAIN|VAL|Test)"),
    RecordPattern("progress.step", rf"^ *NSTEP = +{_NUMBER} +TIME\(PS\) =|^ *Simulating batch {_NUMBER}$", "info", _step,
           _NOTE, -3, often=True, scan=r"NSTEP = .{0,20}TIME\(PS\)|Simulating batch \d"),
    RecordPattern("progress.step", rf"^\{{\"train_\w+\": .{{1,2000}}?\"epoch\": {_NUMBER}\b", "info", _epoch, _NOTE, -2,
           often=True, scan=r"\{\"train_\w+\": "),
    RecordPattern("progress.step", rf"(?::::MLPv|MLPerf: )\S+ .{{1,200}}\beval_accuracy: \{{.{{0,80}}?\"epoch\": {_NUMBER}\b",
           "info", _epoch, _NOTE, -2, often=True, scan=r"eval_accuracy: \{"),
    RecordPattern("progress.step", rf"\b[Ee]poch(?: is \[| ?= ?){_NUMBER}(?:/(?P<total>\d+)\])?,?(?: \|)? (?:mini-)?batch"
           r"(?: is|=) ?\[\d", "info", _epoch, _NOTE, -2, often=True, scan=r"poch(?: is \[| ?= ?)\d.{0,30}batch"),
    RecordPattern("progress.step", rf"\bEpoch\[{_NUMBER}\] +Batch ?\[[\d-]+\][\t ]+Speed: |"
           rf"^Epoch \[{_NUMBER}(?:/(?P<total>\d+))?\]$", "info", _epoch, _NOTE, -2, often=True,
           scan=r"Epoch ?\[\d+(?:/\d+)?\](?: +Batch|$)"),
    RecordPattern("progress.step", rf"^(?:iter = |KMC step count: ){_NUMBER}$", "info", _step, _NOTE, -3, often=True,
           scan=r"(?:iter = |KMC step count: )\d"),
    RecordPattern("progress.step", rf"^{_NUMBER} of (?P<total>\d+) steps \(\d+%\) done$", "info", _step, _NOTE, -3,
           often=True, scan=r"\d of \d+ steps \(\d+%\) done"),
    RecordPattern("progress.step", rf"^ *\* +GEOMETRY OPTIMIZATION CYCLE +{_NUMBER} +\*$", "info", _step, _NOTE, -3,
           often=True, scan=r"GEOMETRY OPTIMIZATION CYCLE"),
    RecordPattern("progress.step", rf"^Loop time of [\d.e+-]+ on \d+ procs for {_NUMBER} steps with \d+ atoms", "info", _step,
           _NOTE, -3, often=True, scan=r"Loop time of [\d.e+-]+ on \d+ procs"),
    RecordPattern("progress.step", r"^.{0,80}?\b(?P<what>Epoch|Train|Test|Val\w{0,7}|Eval\w{0,7}): (?:\[\d+(?:/\d+)?\] ?)?"
           rf"\[ *{_NUMBER}/ *(?P<total>\d+)\]\s+(?:Time|Data|Batch|Loss)\b", "info", _iteration, _NOTE, -2,
           often=True, scan=r"(?:Epoch|Train|Test|Val[a-z]*|Eval[a-z]*): (?:\[\d+(?:/\d+)?\] ?)?\[ *\d+/ *\d+\]"
           r"\s+(?:Time|Data|Batch|Loss)"),
    RecordPattern("progress.step", rf"^Step {_NUMBER} Benchmark Time [\d.]+ ms/step", "info", _step, _NOTE, -2, often=True,
           scan=r"Step \d+ Benchmark Time "),
    RecordPattern("progress.step", r"^\W{0,3}(?:[Tt]rain(?:ing)?|[Vv]al(?:id(?:ation)?)?|[Tt]est) [Ll]oss ?[:=] *-?\d", "info",
           _epoch, _NOTE, -4, often=True, scan=r"(?:rain|raining|al|alid|alidation|est) [Ll]oss ?[:=] *-?\d"),
    RecordPattern("progress.step", rf"^\s*iters: {_NUMBER}, epoch: (?P<epoch>\d+) \| loss: (?P<loss>\S+)", "info", _iteration,
           _NOTE, -2, often=True, scan=r"iters: \d+, epoch: \d+ \| loss: "),
    RecordPattern("progress.step", rf"\b[Ii]ter(?:ation)?[: ] ?{_NUMBER}/(?P<total>\d+); (?:[Aa]cc|[Tt]op|mIoU|AUC)", "info",
           _iteration, _NOTE, -2, often=True, scan=r"(?:Iter|iter|ation)[: ] ?\d+/\d+; "),
    RecordPattern("progress.step", r"\bAgent [Ss]tarting [Rr]un(?:: \w{1,40})? with config:", "info",
           read_step("run of a sweep"), "The agent of a sweep starts its next run.", -2, often=True,
           scan=r"Agent [Ss]tarting [Rr]un(?:: [a-z0-9]+)? with config:"),
    RecordPattern("progress.done", r"\[Partition \d+\]\[Node \d+\] End of program", "info",
           note="A program of Charm++ came to its end."),
    RecordPattern("progress.done", r"^\[NbConvertApp\] Writing \d+ bytes to ", "info", note="A notebook was run to its end."),
)  # fmt: skip
