r"""Starting containers on a node: pyxis and enroot, nvidia-container-cli, Docker, Apptainer (Singularity), Podman.

Kinds and their fields:

- ``container.pyxis`` message: the pyxis plug-in failed; ``container.log`` message: a line of the log that it prints
  then
- ``container.enroot`` program, message; ``container.nvidia`` message: NVIDIA's hook failed
- ``container.docker`` message; ``container.apptainer`` message; ``container.podman`` message;
  ``container.charliecloud`` message
- ``container.cdi``, ``container.daemon``, ``container.rpc``, ``container.epilog`` message
- ``container.image`` image, message: an image could not be fetched
- ``container.note`` message: import and start under way; ``container.warning`` message

Sources: pyxis 0.11 to 0.20, enroot 3.4, libnvidia-container 1.10 to 1.16, Docker 20 to 27, Apptainer 1.1.
"""

from __future__ import annotations

from logdoctor.logs.formats.machine.os_errors import keep_level
from logdoctor.logs.formats.runtimes.generic import read_spoken
from logdoctor.logs.record_pattern import RecordPattern

_PYXIS = r"(?:\b(?:slurmstepd|srun|salloc|sbatch)(?:-[\w.-]+)?: |\[\d+\.[\w.]+\] |^)(?:error: )?pyxis: "
_CALLER = r"\[U=\d{1,10},P=\d{1,10}\] +[\w.]{1,80}\(\) +"
"""Source of a line of Apptainer with ``-d``: user, process, function."""
_OCI = r"OCI runtime (?:create|exec|start) failed"

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern("container.nvidia", r"nvidia-container-cli(?:\.real)?: (?P<message>.+)", "fatal",
           note="NVIDIA's container tool could not set up the GPUs.", priority=8),
    RecordPattern("container.nvidia",
           r"nvidia-container-(?:runtime|cli|toolkit)[^\n]{0,80}: (?P<message>.{0,300}?(?:[Ff]ail|[Ee]rror|"
           r"not found).*)", "error", note="NVIDIA's container tools report a failure.", priority=7),
    RecordPattern("container.image", _PYXIS +
           r" *(?P<message>(?:\[ERROR\] )?(?:URL \S+ returned error code: (?P<code>\d+).*|Could not process JSON.*|"
           r".*(?:pull|download|authenticate|fetch|manifest|URL https?:).*(?:[Ff]ail|[Ee]rror|denied|returned).*|"
           r"failed to import docker image.*))", "fatal", note="The image could not be fetched.", priority=7),
    RecordPattern("container.image",
           r"^(?P<message>\[ERROR\] (?:URL \S+ returned error code: (?P<code>\d+)|Could not process JSON|"
           r"Invalid image|File already exists|No such file or directory|Downloading).*)", "error",
           note="enroot could not fetch the image.", priority=2),
    RecordPattern("container.epilog", _PYXIS + r"(?P<message>(?:could not|couldn't) remove .+)", "warning",
           note="What the container left on a node could not be removed.", priority=7),
    RecordPattern("container.pyxis", _PYXIS +
           r"(?P<message>(?:container start failed|couldn't (?:start|create|import|get|join|save|execute|open|read|"
           r"mkdir|mount|chown|chdir)|failed to|could not|child \d+ (?:failed|terminated)|unable to|cannot|"
           r"enroot \S+ failed|invalid|.*does not exist).*)",
           "fatal", note="The container could not be started.", priority=6),
    RecordPattern("container.note", _PYXIS +
           r"(?P<message>(?:ignoring -|.{0,8}\[(?:INFO|WARN)\]|epilog: removing|import(?:ing|ed) |creat(?:ing|ed) |"
           r"start(?:ing|ed) |reus(?:ing|ed) |remov(?:ing|ed) |"
           r"exporting |exported |attach|running |version|if the image has an unusual entrypoint|printing |"
           r".*\[INFO\]).*)", "info", note="The container is being prepared.", priority=6),
    RecordPattern("container.pyxis", r"\b(?:slurmstepd|srun|salloc|sbatch)(?:-[\w.-]+)?: error: pyxis: "
           r"(?P<message>(?! {2}|if the image|printing|ignoring|epilog).+)", "fatal",
           note="The container could not be started.", priority=5),
    RecordPattern("container.epilog", r"\bslurmstepd: error: pyxis: (?P<message>epilog: .+)", "error",
           note="What the container left on a node could not be removed.", priority=6),
    RecordPattern("container.enroot",
           r"(?:^|pyxis: {1,8})(?P<message>\[ERROR\] (?:File already exists: |Command not found: nvidia-container-cli|"
           r"Failed to mount: |"
           r"Could not acquire rootfs lock|Checksum validation failed|Unsupported authentication method|"
           r"Could not parse (?:digest|authentication)|Could not retrieve digest|Unsupported architecture: |"
           r"Invalid image (?:format|reference): |\S{1,200} exited with return code ).*)", "error",
           note="enroot could not make the container.", priority=8),
    RecordPattern("container.enroot",
           r"\b(?P<program>enroot(?:-\w+)?): (?P<message>.{0,300}?(?:[Ff]ail|[Ee]rror|[Nn]o such|denied|[Cc]annot|"
           r"[Cc]ould not|[Nn]ot found|missing|[Ii]nvalid).*)", "fatal", note="enroot could not start the container.",
           priority=6),
    RecordPattern("container.log", _PYXIS +
           r"(?P<message>.{0,300}?(?:\[ERROR\]|[Ee]rror|[Ff]ail|[Nn]o such file|denied|[Nn]o space left|[Ff]ault|"
           r"[Bb]roken pipe).*)", "error", note="A line of the container's start-up log.", priority=5),
    RecordPattern("container.log", _PYXIS + r"(?P<message>.+)", "info", note="A line of the container's start-up log.",
           priority=4),
    RecordPattern("container.docker", r"(?:docker|nerdctl): Error response from daemon: (?P<message>.+)", "fatal",
           note="The Docker daemon refused or failed.", priority=3),
    RecordPattern("container.docker", r"(?P<message>runc \w+ failed: unable to .{1,300}|ERRO\[\d+\] .{1,300})", "error",
           note="The container runtime reports a failure.", priority=2,
           scan=r"runc (?:run|create|exec|start) failed: unable to |ERRO\[\d{4}\] "),
    RecordPattern("container.cdi", r"(?P<message>(?:failed to inject CDI devices|unresolvable CDI devices|"
           r"could not apply required modification to OCI specification).{0,300})", "fatal",
           note="The container runtime does not know the GPUs by these names (CDI).", priority=2),
    RecordPattern("container.daemon", r"^(?P<message>.+)", "error", read_spoken, "A container daemon reports an error.",
           priority=-19, scan=r"\blevel=(?:error|fatal) msg="),
    RecordPattern("container.rpc", r"rpc error: code = (?P<code>(?!OK|Canceled)\w+) desc = (?P<message>.{1,300})", "error",
           keep_level, "A call between kubelet, container daemon or plug-in failed.", priority=-1),
    RecordPattern("container.docker", r"(?P<message>" + _OCI + r".{0,600})", "fatal",
           note="The container could not be started.", priority=2),
    RecordPattern("container.docker",
           r"(?P<message>(?:Cannot connect to the Docker daemon|Got permission denied while trying to connect to "
           r"the Docker daemon|could not select device driver|failed to create shim task|"
           r"failed to register layer).*)", "fatal", note="Docker could not start the container.", priority=2),
    RecordPattern("container.image",
           r"(?P<message>(?:pull access denied for (?P<image>\S+?),|manifest for (?P<tag>\S+) not found|"
           r"Error: (?:initializing source|copying system image)|error pulling image|toomanyrequests: ).*)", "fatal",
           note="The image could not be fetched.", priority=2),
    RecordPattern("container.apptainer", r"(?:^|\s)FATAL: {3}(?P<message>\S.+)", "fatal",
           note="Apptainer (Singularity) could not start the container."),
    RecordPattern("container.apptainer", r"^FATAL {3}" + _CALLER + r"(?P<message>\S.+)", "fatal",
           note="Apptainer (Singularity), told to talk, could not start the container."),
    RecordPattern("container.apptainer", r"^ERROR {3}" + _CALLER + r"(?P<message>\S.+)", "error",
           note="Apptainer (Singularity), told to talk, reports an error."),
    RecordPattern("container.apptainer", r"^ERROR {2}: (?P<message>(?:Failed to |Could not |No setuid |Error while ).+)",
           "error", note="Apptainer (Singularity) could not start the container.", priority=1, scan=r"ERROR  : "),
    RecordPattern("container.apptainer", r"^ABORT {2}: (?P<message>(?:Retval = |Aborting with RETVAL=)\d+)", "fatal",
           note="Singularity 2 could not start the container."),
    RecordPattern("container.charliecloud", r"\bch-(?:run|image|convert)\[\d+\]: error: (?P<message>.+)", "fatal",
           note="Charliecloud could not start the container."),
    RecordPattern("container.apptainer", r"^ERROR ?: {3}(?P<message>.+)", "error",
           note="Apptainer (Singularity) reports an error."),
    RecordPattern("container.apptainer",
           r"^WARNING: (?P<message>(?:underlay of|passwd file|group file|Environment variable|skipping mount|"
           r"[Cc]ould not|seccomp|DEPRECATED USAGE|By using).*)", "warning", note="Apptainer (Singularity) warns."),
    RecordPattern("container.podman",
           r"^Error: (?P<message>(?:unable to copy from source|OCI runtime error|crun|runc|container_linux\.go|"
           r"preparing container|statfs /|no container with (?:name or )?ID|creating container storage|"
           r"(?:error )?mounting storage for|setting up CDI devices|cannot set up namespace using|"
           r"could not get runtime|kernel does not support overlay|netavark|rootlessport|"
           r"(?:writing|reading) (?:blob|manifest)|payload does not match any of the supported image|"
           r"initializing source|unable to start container|short-name).*)", "fatal",
           note="Podman could not start the container.", priority=3),
)  # fmt: skip
