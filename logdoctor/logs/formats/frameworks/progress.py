r"""Signs of life that training programs print: steps, phases, the end of a run.

Shapes from tqdm, Lightning's bar, Hugging Face `trainer.py`, Megatron-LM `training.py`, DeepSpeed `engine.py`, nanoGPT,
torchtitan, OpenMMLab and detectron2 loggers, Keras, fairseq, open_clip, timm and mlperf_logging (0.5 to 5.0).

Kinds and fields:

``progress.step``   unit (step | epoch | iteration), value, total, loss (as printed, lower case; "nan" stays visible),
    epoch, what (the description in front of a bar)
``progress.phase``  phase (save | load | resume | eval | data | compile); for bars also unit, value, total, what
``progress.done``   the program says that it came to its end (wandb's closing words do not count: it prints them after a
    crash too)
"""

from __future__ import annotations

from logdoctor.logs.multiline.progress_lines import read_bar, read_phase, read_step
from logdoctor.logs.record_pattern import LifecycleSigns, RecordPattern

_BAR = r"\d{1,3}%\|.{0,400}?\| *\d[\d.]*[kMG]?/\d[\d.]*[kMG]? \[\d[\d:]*<"
_BAR_SCAN = r"%\|[^|]*\| *[0-9.kMG]+/[0-9.kMG]+ \[[0-9:]+<"
_NUMBER = r"(?P<value>\d[\d,]*)"
_EXPONENT = r"(?P<value>\d+(?:\.\d+)?(?:e\+\d\d)?)"
_OF = r"(?: ?(?:/|of) *(?P<total>\d[\d,]*))?"

_step, _epoch, _iteration = read_step("step"), read_step("epoch"), read_step("iteration")
_STEP_NOTE = "A sign of progress."

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern("progress.step", _BAR, "info", read_bar, _STEP_NOTE, 1, often=True, scan=_BAR_SCAN),
    RecordPattern(
        "progress.step",
        r"\{'(?:train_)?loss': .{1,2000}'epoch': '?(?P<value>[\d.]+)",
        "info",
        _epoch,
        _STEP_NOTE,
        often=True,
        scan=r"\{'(?:train_)?loss': ",
    ),
    RecordPattern(
        "progress.step",
        rf"\biteration:? +{_NUMBER} */ *(?P<total>\d+) *\|",
        "info",
        _iteration,
        _STEP_NOTE,
        often=True,
        scan=r"iteration:? +\d+ */ *\d+ *\|",
    ),
    RecordPattern(
        "progress.step",
        rf"^step:{_NUMBER} - [\w/.@-]{{2,120}}:-?(?:\d|nan|inf)",
        "info",
        _step,
        "A step of verl's trainer, with its metrics (its LocalLogger).",
        often=True,
        scan=r"step:\d+ - [\w/.@-]{2,120}:",
    ),
    RecordPattern(
        "progress.step",
        rf"^Test: ?\[ *{_NUMBER}/ *(?P<total>\d+)\]\s*(?:Time|Data|Batch|Loss)\b",
        "info",
        _iteration,
        "A sign of progress, as PyTorch's ImageNet example prints it when it evaluates.",
        often=True,
        scan=r"Test: ?\[ *\d+/ *\d+\]",
    ),
    RecordPattern("progress.step", rf"\bsteps: {_NUMBER} loss: \S+ ", "info", _step, _STEP_NOTE, often=True),
    RecordPattern(
        "progress.step",
        rf"(?:[Rr]ank \d+\] |^)step={_NUMBER}, skipped=\d+, lr=",
        "info",
        _step,
        _STEP_NOTE,
        often=True,
        scan=r"step=\d+, skipped=\d+",
    ),
    RecordPattern("progress.step", rf"\biter {_NUMBER}: (?:train )?loss ", "info", _iteration, _STEP_NOTE, often=True),
    RecordPattern(
        "progress.step",
        rf"\b(?:global[_ ])?[Ss]tep ?[:=]? *{_NUMBER}{_OF}\b.{{0,120}}?\b(?:\w+_)?[Ll]oss\b",
        "info",
        _step,
        _STEP_NOTE,
        often=True,
        scan=r"tep ?[:=]? *\d.{0,200}(?:loss|Loss)",
    ),
    RecordPattern(
        "progress.step",
        rf"\b[Ii]ter(?:ation)?s?(?: (?:index|number))?[:= \t#]+{_NUMBER}{_OF}\b.{{0,120}}?\b(?:\w+[_ ])?[Ll]oss\b",
        "info",
        _iteration,
        _STEP_NOTE,
        -1,
        often=True,
        scan=r"(?:iter|Iter|ters|teration|terations|index|number)[:= \t#]+\d.{0,200}[Ll]oss",
    ),
    RecordPattern(
        "progress.step",
        rf"^\| +(?:step|total_timesteps|TimestepsSoFar|timesteps_total) +\| +{_EXPONENT} +\|$",
        "info",
        _step,
        "A sign of progress, as OpenAI's Baselines, its diffusion models and Stable-Baselines3 print it in a table.",
        often=True,
        scan=r"\| +(?:step|total_timesteps|TimestepsSoFar|timesteps_total) +\| +\d",
    ),
    RecordPattern(
        "progress.step",
        rf"(?:^|: +)\[ROUND {_NUMBER}\]$|\bTrial {_NUMBER} (?:finished with value|pruned)",
        "info",
        _step,
        "A sign of progress: a round of Flower, a trial of Optuna.",
        often=True,
        scan=r"\[ROUND \d+\]|Trial \d+ (?:finished with|pruned)",
    ),
    RecordPattern(
        "progress.step",
        r"(?:^|: )(?:[Rr]ound|[Ff]old) "
        rf"{_NUMBER}(?:/| of )(?P<total>\d+):?,? "
        r"(?:(?:done|finished|completed?|processed|written)\b|\w+[ :=] ?\d+\.\d)",
        "info",
        _step,
        "A sign of progress, as programs print it that work in rounds.  Parts of data are none: tasks that do not know"
        " of each other work through theirs, whatever became of the others.",
        -1,
        often=True,
        scan=r"(?:ound|old) \d+(?:/| of )\d+:?,? \w",
    ),
    RecordPattern(
        "progress.step",
        rf"\b[Ee]poch(?:\(train\))?:? ?\[\d+\] ?\[ *{_NUMBER}/ *(?P<total>\d+)\]",
        "info",
        _iteration,
        _STEP_NOTE,
        often=True,
        scan=r"poch(?:\(train\))?:? ?\[\d+\] ?\[ *\d+/ *\d+\]",
    ),
    RecordPattern(
        "progress.step",
        rf"\bepoch: \[\d+\] +\[ *{_NUMBER}/ *(?P<total>\d+)\] +eta: ",
        "info",
        _iteration,
        _STEP_NOTE,
        1,
        often=True,
        scan=r"epoch: \[\d+\] +\[ *\d+/ *\d+\] +eta: ",
    ),
    RecordPattern(
        "progress.step",
        rf"^(?P<what>\S.{{0,60}}?) +\[ *{_NUMBER}/ *(?P<total>\d+)\] +eta: .{{1,400}}\btime: [\d.]+",
        "info",
        _iteration,
        "A sign of progress, as the MetricLogger of torchvision's references prints it for any loop.",
        -1,
        often=True,
        scan=r"\[ *\d+/ *\d+\] +eta: ",
    ),
    RecordPattern(
        "progress.step",
        rf"\beta: .{{1,60}}\biter: {_NUMBER} .{{0,60}}loss: |\bEpoch\(\w+\) *\[\d+\]\[",
        "info",
        _iteration,
        _STEP_NOTE,
        often=True,
        scan=r"eta: .{1,60}iter: \d|Epoch\([a-z]+\) *\[\d+\]\[",
    ),
    RecordPattern(
        "progress.step",
        rf"\b(?:Train(?:ing)? )?Epoch:? *(?P<epoch>\d+)[ :,]+\[ *{_NUMBER}/ *(?P<total>\d+)",
        "info",
        _step,
        _STEP_NOTE,
        often=True,
        scan=r"Epoch:? *\d+[ :,]+\[ *\d+/ *\d+",
    ),
    RecordPattern(
        "progress.step",
        rf"\b[Ee]poch(?:s|[_ ]?(?:id|idx|num))?(?: ?[:=#]| \[)? *{_NUMBER}{_OF}\b.{{0,160}}?\b(?:\w+_)?(?:[Ll]oss|[Aa]"
        rf"cc|time|lr|cost|reward|ppl|(?:train|validation|test) error)\b",
        "info",
        _epoch,
        _STEP_NOTE,
        -1,
        often=True,
        scan=r"poch[a-z_]*(?: ?[:=#]| \[)? *\d.{0,200}(?:[Ll]oss|[Aa]cc|time|lr|cost|reward|ppl|(?:train|test"
        "|validation) error)",
    ),
    RecordPattern(
        "progress.step",
        rf"^ *[Ee]poch:? {_NUMBER}(?:/(?P<total>\d+))?\.?\s*$|(?:Starting|Beginning|Begin|Beginning of"
        rf"|Start) [Ee]poch:? "
        r"(?P<started>\d+)",
        "info",
        _epoch,
        _STEP_NOTE,
        -2,
        often=True,
        scan=r"poch:? \d+(?:/\d+)?",
    ),
    RecordPattern(
        "progress.step",
        rf"^ *{_NUMBER}/(?P<total>\d+) \[[=>.]{{3,60}}\] - ",
        "info",
        _step,
        _STEP_NOTE,
        often=True,
        scan=r"\d/\d+ \[[=>.]+\] - ",
    ),
    RecordPattern(
        "progress.step",
        rf"\b(?:finish(?:ed)?|processed|completed|done with) {_NUMBER}{_OF}(?: \w+)?,? (?:taken|took|in) [\d.]+ ?s",
        "info",
        _step,
        _STEP_NOTE,
        often=True,
        scan=r"(?:finish(?:ed)?|processed|completed|done with) \d+.{0,40}(?:taken|took|in) [\d.]+ ?s",
    ),
    RecordPattern(
        "progress.step",
        r':::MLL(?:OG)? .{0,200}"key": "(?:epoch|block)_(?:start|stop)".{0,400}?"(?:first_)?epoch_num": (?P<value>\d+)',
        "info",
        _epoch,
        "A sign of progress, as MLPerf's benchmarks print it.",
        often=True,
        scan=r'"key": "(?:epoch|block)_(?:start|stop)"',
    ),
    RecordPattern(
        "progress.phase",
        r"(?:[Ss]aving (?:the )?(?:model |training |optimizer |final |latest |full )*(?:checkpoint|ckpt|state|weights"
        r"|model|optimizer)|Saving .{0,60}checkpoint|saving checkpoint at iteration|Saved? (?:state|checkpoint) (?:at"
        r"|to)|Model weights saved in|Configuration saved in|[Cc]heckpoint saved|successfully saved checkpoint)"
        r"(?!.{0,60}\b(?:failed|failure|error|exception)\b)",
        "info",
        read_phase("save"),
        "A checkpoint is being written.",
        1,
        scan=r"[Ss]aving (?:the |model |training |optimizer |final |latest |full |checkpoint|ckpt|state|weights)"
        r"|Saving .{0,60}checkpoint|Saved? (?:state|checkpoint) |weights saved in|Configuration saved in"
        r"|heckpoint saved|saved checkpoint",
    ),
    RecordPattern(
        "progress.phase",
        r"(?:[Rr]esum(?:ing|ed|e) (?:training |run )?(?:from|at)|[Cc]ontinuing training from"
        r"|Will skip the first \d+ (?:epochs|batches)|[Ss]kipping (?:the )?(?:first )?\d+ (?:batches|steps|samples)"
        r"|successfully loaded checkpoint"
        r"|[Ff]ast[- ]?[Ff]orward(?:ing|ed)? .{0,60}(?:batch|sample|iteration|step|data))",
        "info",
        read_phase("resume"),
        "The run goes on from a checkpoint.",
        1,
        scan=r"esum(?:ing|ed|e) (?:training |run )?(?:from|at)|Continuing training from|skip the first \d+ "
        r"|kipping (?:the )?(?:first )?\d+ (?:batch|step|sample)"
        r"|successfully loaded checkpoint|ast[- ]?[Ff]orward(?:ing|ed)? ",
    ),
    RecordPattern(
        "progress.phase",
        r"\b[Ss]kipped \d+(?: ?/ ?| of )\d+ (?:batches|steps|samples)",
        "info",
        read_phase("resume"),
        "The run goes on from a checkpoint.",
        1,
        often=True,  # trainers count skipped iterations in each step's line
    ),
    RecordPattern(
        "progress.phase",
        r"(?:[Ll]oading (?:\w+ ){0,3}(?:checkpoint|weights|state dict|safetensors|model)\b|loading checkpoint from"
        r"|loading weights file|Loading .{0,40}checkpoint shards)",
        "info",
        read_phase("load"),
        "Weights or a checkpoint are being read.",
        scan=r"[Ll]oading (?:[A-Za-z]+ ){0,3}(?:checkpoint|weights|state dict|safetensors|model)",
    ),
    RecordPattern(
        "progress.phase",
        r"(?:\*{3,} ?Running (?P<what>[Ee]valuation|[Pp]rediction|[Vv]alidation|[Tt]esting)|[Rr]unning (?:evaluation"
        r"|validation|inference)|[Ss]tart(?:ing|ed)? (?:evaluation|validation)|[Ee]valuating (?:on|model|the|at)\b"
        r"|validation loss at iteration|\*{3,} Evaluating )",
        "info",
        read_phase("eval"),
        "The model is being evaluated.",
        scan=r"unning (?:[Ee]valuation|[Pp]rediction|[Vv]alidation|[Tt]esting|inference)|tart(?:ing|ed)? (?:evaluation"
        r"|validation)|valuating (?:on|model|the|at|[a-z]+,)|validation loss at iteration",
    ),
    RecordPattern(
        "progress.phase",
        r"(?:[Tt]okenizing|Grouping texts|Running tokenizer|Map \(num_proc=|Generating \w+ split"
        r"|[Pp]reprocessing (?:the )?data|[Bb]uilding (?:the )?(?:\w+ ){0,2}(?:datasets?|index|GPT dataset)"
        r"|Filter \(num_proc=|Packing (?:the )?\w*dataset)",
        "info",
        read_phase("data"),
        "Data are being prepared.",
        scan=r"okenizing|Grouping texts|Running tokenizer|Map \(num_proc=|Generating [a-z]+ split|reprocessing (?:the "
        r")?data|uilding (?:the )?(?:[A-Za-z]+ ){0,2}(?:dataset|index)|Filter \(num_proc="
        r"|Packing (?:the )?[a-z]*dataset",
    ),
    RecordPattern(
        "progress.phase",
        r"(?:[Cc]ompiling (?:the )?(?:model|graph|kernels?|with torch\.compile|function)|torch\.compile.{0,40}(?:takes"
        r"|took|may take)|[Cc]apturing (?:the )?(?:model for )?CUDA graph|Capture cuda graph|[Aa]utotun(?:e|ing) "
        r"|Graph capturing finished)",
        "info",
        read_phase("compile"),
        "Code is being compiled or graphs are captured.",
        scan=r"ompiling (?:the )?(?:model|graph|kernel|with torch|function)|torch\.compile.{0,40}(?:takes|took|may "
        r"take)|apturing (?:the )?(?:model for )?CUDA graph|Capture cuda graph|utotun(?:e|ing) "
        r"|Graph capturing finished",
    ),
    RecordPattern(
        "progress.done",
        r':::ML.{0,240}\brun_stop\b.{0,400}"(?:status": ?"success"|success": ?true)',
        "info",
        note="An MLPerf benchmark came to its end.",
        scan=r"\brun_stop\b",
    ),
    RecordPattern(
        "progress.done",
        r"^(?!.{0,60}(?:[Ee]poch|[Ss]tep) ?\d).*?(?:[Tt]raining (?:is |has |was )?(?:completed?|done|finished)\b"
        r"|\{'train_runtime': |\[after training is done\]|[Ff]inished [Tt]raining|Training ended"
        r"|(?:peak memory consumption|(?<!hooks\]: )Total training time|Training time):? "
        r"|\d epochs completed in [\d.]+ hours|Finished evaluation for \S+ on \[)",
        "info",
        note="The program says that it came to its end (the last one: EvalScope).  Detectron2's hooks sum up after an "
        "exception too.",
        scan=r"raining (?:is |has |was )?(?:complete|done|finished)"
        r"|\{'train_runtime': |after training is done|inished [Tt]raining|Training ended|peak memory consumption"
        r"|raining time:? |epochs completed in \d|Finished evaluation for ",
    ),
)

SIGNS: LifecycleSigns = {
    "progress.done": ("done",),
}
