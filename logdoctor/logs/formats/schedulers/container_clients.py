r"""Container programs that refuse their command line; the runtimes Shifter and Sarus.

Kinds and their fields:

- ``container.client`` program, message: docker, podman or nerdctl refused its command line; nothing was started
- ``container.shifter`` message: Shifter could not set up the image on a node
- ``container.sarus`` host, pid, message: Sarus could not set up the container

docker prints ``docker: TEXT`` and a pointer to its help below; where the option is unknown, old clients leave their
name out, so that only the pointer says who spoke.
Sources: Docker 1.12 to 28 (cli/cobra.go, cli/required.go, cmd/docker/docker.go), nvidia-docker 1, Shifter 15 to 24
(shifter_core.c, shifter.c, shifterSpank.c), Sarus 1.0 to 1.7 (libsarus/Logger.cpp, cli/).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from logdoctor.logs.record_pattern import Message, Multiline, RecordPattern
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_HELP = later(r"^(?:See|Run) '(?P<program>docker|podman|nerdctl)(?: \w+){0,2} --help'")
_REFUSED = "The container program refused its command line."
_NO_IMAGE = "Shifter could not set up the image."

_REFUSAL = (
    r"(?:unknown (?:shorthand )?(?:flag|command|server OS): |invalid |bad |poorly formatted |[Cc]onflicting |"
    r"open \S+: |stat \S+: |[\"'](?:docker|podman|nerdctl) [\w ]+[\"'] (?:requires|accepts) |error during connect: )"
)
_SHIFTER_STEPS = (
    r"find (?:requested image|(?:user )?volume|real path for volume|shifter passwd)|create volume|lookup \S+ image|"
    r"loop mount image|mount (?:image|rootfs|siteFs|per-node cache)|import user|parse udiRoot|provide udiConfig|"
    r"setup (?:image|user-requested mounts|perNodeCache|udiImage)|properly setup site|remount (?:udiRoot|rootfs)|"
    r"unmount old image|stat (?:udi|loop mount)"
)
_SHIFTER_REQUEST = (
    r"Failed to lookup image\. {1,2}Aborting|Failed to parse or invalid(?:/disallowed volume map request| module\(s\))|"
    r"Invalid image input: could not determine image|Cannot specify shifter volumes"
)


def unknown_option(head: Message, _: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Read the program from the hint to its help.

    Return None without the hint, because many programs print the same message about an option.
    """
    for line in islice(below, 6):
        if match := _HELP.search(line.text):
            return Multiline(head.text, {"program": match["program"]}, (line.below,))
    return None


RECORDS = (
    RecordPattern("container.client", rf"^(?P<program>docker|podman|nerdctl|ctr): (?P<message>{_REFUSAL}.*)", "fatal",
           note=_REFUSED, priority=2),
    RecordPattern("container.client", r"^(?P<message>\"(?P<program>docker|podman|nerdctl) [\w ]+\" (?:requires|accepts) .*)",
           "fatal", note=_REFUSED, priority=2),
    RecordPattern("container.client", r"^(?P<message>unknown (?:shorthand )?flag: .{1,80})", "fatal", unknown_option, _REFUSED,
           priority=2),
    RecordPattern("container.client", r"^(?P<program>nvidia-docker) \| \S+ \S+ Error: (?P<message>.+)", "fatal", note=_REFUSED,
           priority=2),
    RecordPattern("container.shifter",
           rf"^(?P<message>FAILED (?:permission denied to image|to (?:{_SHIFTER_STEPS}))\b.*|BIND MOUNT FAILED from .+|"
           r"Site (?:pre|post)mount hook failed\. Exiting.*|Failed to lookup username or attempted to run as root.*|"
           r"No image specified, or specified incorrectly!.*)", "fatal", note=_NO_IMAGE, priority=2),
    RecordPattern("container.shifter", r"(?P<message>ERROR: no apparent support for (?:loop devices|squashfs|xfs)!)", "fatal",
           note="Shifter cannot mount images on this node.", priority=3),
    RecordPattern("container.shifter", r"^(?:srun|sbatch|salloc|slurmstepd|slurmd)(?:-[\w.-]+)?: error: "
           rf"(?P<message>(?:{_SHIFTER_REQUEST}).*)", "fatal", note=_NO_IMAGE, priority=8),
    RecordPattern("container.sarus",
           r"^\[\d+\.\d+\] \[(?P<host>[\w.-]+?)-(?P<pid>\d+)\] \[[\w -]{2,40}\] \[ERROR\] "
           r"(?!Error trace)(?P<message>.+)", "fatal", note="Sarus could not set up the container.", priority=3),
    RecordPattern("container.sarus",
           r"^(?P<message>(?:Failed to pull image '|Cannot find image '|Invalid (?:mount|device) request '|"
           r"Specified image \S+ is not available|'[^']{1,60}' is not a Sarus command).*)", "fatal",
           note="Sarus could not set up the container.", priority=2),
)  # fmt: skip
