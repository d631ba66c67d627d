r"""Commands that somebody typed at a prompt and pasted along with the log.

Kinds and field:

- ``shell.prompt`` command: a tool that looks at the machine it runs on; the prompt names the host.  Launchers are left
  out: they are typed on login nodes.
- ``shell.launch`` command: a program or launcher was started by hand.  Where the prompt stands again, what ran in front
  of it is over.
"""

from __future__ import annotations

from logdoctor.logs.record_pattern import LifecycleSigns, RecordPattern

_TOOLS = (
    r"(?:nvidia-smi|nvidia-debugdump|dcgmi|rocm-smi|amd-smi|rocminfo|npu-smi|hl-smi|xpu-smi|dmesg|journalctl|systemctl|lspci"
    r"|lsmod|modprobe|modinfo|ibstat(?:us)?|ibv_devinfo|ibv_devices|ibdev2netdev|show_gids|mlxlink|ethtool|fi_info|ucx_info)"
)
_SETTINGS = r"(?:(?:[A-Z_][A-Z\d_]{0,60}=\S{0,200}|sudo|nohup|time|env) ){0,12}"
_LAUNCHERS = (
    r"(?:python[\d.]{0,5}|torchrun|deepspeed|accelerate|colossalai|horovodrun|mpirun|mpiexec|srun|bash|sh)(?= )"
)
_PROMPT = (
    r"(?:\([\w./-]{1,60}\) ?){0,2}(?:\[?[a-z_][\w.-]{0,31}@[\w.-]{1,64}(?:[ :][^\n]{0,120}?)?\]? ?[$#%]"
    r"|(?:PS )?[A-Z]:\\[^\n>]{0,160}>|\$)"
)
_SEARCHED = (
    "python torchrun deepspeed accelerate mpirun mpiexec srun bash sudo nohup CUDA_VISIBLE_DEVICES= OMP_NUM_THREADS="
)
"""The words behind a prompt that the scan looks for: a prompt alone would hit everywhere."""

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern(
        "shell.prompt",
        r"^(?:\([\w./-]{1,60}\) ?){0,2}"
        r"\[?[a-z_][\w.-]{0,31}@(?P<by_host>[A-Za-z][\w.-]{0,63})(?:[ :][^\n]{0,80}?)?\]? ?[$%#] (?:sudo )?"
        rf"(?P<command>{_TOOLS})\b",
        level="info",
        priority=-3,
        scan=rf"[$%#] (?:sudo )?{_TOOLS}",
        note="A command typed at a shell's prompt.",
    ),
    RecordPattern(
        "shell.launch",
        rf"^{_PROMPT} {{0,2}}(?P<command>{_SETTINGS}{_LAUNCHERS}[^\n]{{0,400}})",
        level="info",
        priority=-3,
        scan="|".join([*(rf"{sign} {word}" for sign in (r"\$", "#", "%") for word in _SEARCHED.split()), "> ?python"]),
        note="A program or a launcher was started at a shell's prompt.",
    ),
)

SIGNS: LifecycleSigns = {"shell.launch": ("launch",)}
