r"""Run-times of directives that move loops to a GPU: OpenACC and OpenMP of NVIDIA (PGI), GNU, LLVM; CUDA Fortran.

Kinds and their fields:

- ``offload.error`` call, code (the driver's CUresult), message: a call of the driver failed, and the program ends
- ``offload.no_code`` message: the program holds no code for this device, or the job sees none
- ``offload.no_memory`` message, size: an allocation on the device was refused

NVIDIA's prints ``Failing in Thread:1``, ``Accelerator Fatal Error: call to CALL returned error N [(NAME)]: TEXT``
(before 2021 without its first words) and where in the source it was; after a mismatch only
``This file was compiled: FLAGS``.
Sources: NVHPC 20 to 25 and PGI 16 to 20 (libacccuda, libcudafor), GCC 10 to 14 (libgomp/target.c, plugin-nvptx.c),
LLVM 14 to 19 (openmp/libomptarget).
"""

from __future__ import annotations

from logdoctor.logs.record_pattern import LifecycleSigns, RecordPattern

_RANK = r"^\s*(?:\d{1,7}: )?"

RECORDS = (
    RecordPattern("offload.error",
           r"^\s*(?:Accelerator Fatal Error: )?call to (?P<call>cu[A-Z]\w{2,40}) returned error (?P<code>[1-9]\d{0,3})"
           r"(?: \(\w{3,60}\))?: (?P<message>\S.*)", "fatal",
           note="A call of the driver failed under OpenACC or OpenMP.",
           scan=r"call to cu[A-Z]\w+ returned error \d"),
    RecordPattern("offload.no_code",
           r"^\s*(?:Accelerator Fatal Error: )?(?P<message>No CUDA device code available|This file was compiled: "
           r"-(?:ta|acc|gpu|mp)\b.*|The accelerator does not match the profile for which this program was compiled)",
           "fatal", note="The program was not compiled for the device that it runs on.",
           scan=r"No CUDA device code available|This file was compiled: -|The accelerator does not match the profile"),
    RecordPattern("offload.no_code",
           r"^\s*(?:libgomp: (?P<message>device type \w+ not supported|target function wasn't mapped)|"
           r"(?:Lib)?omptarget fatal error \d+: (?P<message>failure of target construct while offloading is mandatory|"
           r"No images found compatible with the installed hardware))", "fatal",
           note="The program found no device, or none that it was compiled for.",
           scan=r"libgomp: (?:device type \w+ not|target function)|omptarget fatal error \d"),
    RecordPattern("offload.no_memory", _RANK + r"ALLOCATE: (?P<size>\d+) bytes requested; status = 2\(out of memory\)",
           "fatal", note="CUDA Fortran got no memory on the device.", scan=r"bytes requested; status = 2\("),
)  # fmt: skip

SIGNS: LifecycleSigns = {
    "offload.error": ("own end",),
    "offload.no_code": ("own end",),
    "offload.no_memory": ("own end",),
}
