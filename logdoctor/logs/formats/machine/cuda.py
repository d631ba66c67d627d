r"""CUDA and its libraries outside a Python traceback: run-time, driver, cuBLAS, cuDNN, NVML, and the same of HIP.

Kinds and their fields:

- ``cuda.error`` a CUDA call failed: status (its text or enumerator), code (number), call, file
- ``cuda.oom`` an allocator found too little GPU memory: message, size, device as far as printed
- ``cuda.device_assert`` a kernel's own check failed: file, source_line, function, expression, block, thread
- ``cuda.library`` status, call: a math library failed (``CUBLAS_STATUS_…``, ``CUDNN_STATUS_…``, cuFFT, cuSOLVER …)
- ``cuda.driver`` message: no driver, no device, or versions that do not fit; ``cuda.nvml`` message: told by NVML
- ``cuda.quiet`` look-alikes that healthy runs print; ``cuda.hint`` advice printed with an error
- ``cuda.memory_fault`` a HIP queue or an Intel GPU stopped at a bad access: message

Sources: cudaGetErrorString and the enumerators of CUDA 10-13, c10/cuda, TensorFlow/XLA's stream executor, nvidia-smi.
"""

from __future__ import annotations

from logdoctor.logs.record_pattern import RecordPattern

_TEXTS = (
    r"an illegal memory access was encountered|an illegal instruction was encountered|misaligned address|"
    r"device-side assert triggered|unspecified launch failure|uncorrectable ECC error encountered|"
    r"uncorrectable NVLink error detected(?: during the execution)?|the launch timed out and was terminated|"
    r"no kernel image is available for execution on the device|no CUDA-capable device is detected|"
    r"all CUDA-capable devices are busy or unavailable|CUDA-capable device\(s\) is/are busy or unavailable|"
    "invalid device ordinal|invalid device function|invalid configuration argument|"
    "too many resources requested for launch|"
    r"system not yet initialized|system has unsupported display driver / cuda driver combination|driver shutting down|"
    r"CUDA driver version is insufficient for CUDA runtime version|operation not permitted when stream is capturing|"
    r"operation failed due to a previous error during capture|peer access is not supported between these two devices|"
    "forward compatibility was attempted on non supported HW|"
    r"the provided PTX was compiled with an unsupported toolchain\.?|"
    "hardware stack error|invalid program counter|initialization error|out of memory|invalid argument|"
    "invalid resource handle|"
    r"mapping of buffer object failed|unknown error|Invalid access of peer GPU memory over nvlink or a hardware error|"
    r"remote device (?:page fault|error)|MPS (?:client|server).{3,60}"
)
_DRIVER_ENUM = (
    r"CUDA_ERROR_(?:INVALID|OUT_OF_MEMORY|NOT_|DEINITIALIZED|NO_|MAP|UNMAP|ARRAY|ALREADY|ECC|UNSUPPORTED|CONTEXT|PEER|"
    r"NVLINK|JIT|SHARED|OPERATING|ILLEGAL|LAUNCH|PRIMARY|ASSERT|TOO_MANY|HOST|HARDWARE|MISALIGNED|COOPERATIVE|SYSTEM|"
    r"COMPAT|MPS|STREAM_CAPTURE|TIMEOUT|GRAPH|EXTERNAL|DEVICE|STUB|UNKNOWN|FILE|INSUFFICIENT)[A-Z_]{0,50}"
)
_ENUM = (
    r"(?:cudaError(?!Check|String|Name|Handl|Code|Type|Enum)[A-Z]\w{3,60}|"
    + _DRIVER_ENUM
    + r"|hipError[A-Z]\w{3,60}|HSA_STATUS_ERROR\w{0,60})"
)
_LIBRARIES = (
    "(?:CUBLAS_STATUS|CUDNN_STATUS|CUSOLVER_STATUS|CUSPARSE_STATUS|CURAND_STATUS|HIPBLAS_STATUS|"
    "MIOPEN_STATUS|miopenStatus|CUTENSOR_STATUS)"
)
_DRIVER = (
    r"couldn't communicate with the NVIDIA driver|Driver/library version mismatch|NVML Shared Library Not Found|"
    r"Driver Not Loaded|Insufficient Permissions|GPU access blocked by the operating system|Unknown Error|"
    r"Insufficient External Power|Not Found"
)

_ADVICE = r"\b(?:[Ii]f|raise|[Ww]hen|avoid\w{0,3}|prevent\w{0,3}|in case|might|may|can|could)\b.{0,60}"
"""Such words before a failure's name make it advice or a setting's description."""

ERRORS = (
    RecordPattern(
        "cuda.error",
        "(?:CUDA|Cuda|cuda|HIP|Hip) ?(?:runtime |driver |Runtime |Driver |API |kernel )?(?:[Ee]rror|ERROR|"
        "[Ff]ailure|[Ee]xception)"
        r"(?: (?:in|at) (?:file )?['\"]?)?(?: ?\(?(?P<file>[\w./+-]{1,300}\.(?:cpp|cuh|cu|cc|hpp|h|"
        r"c)):\d+\)?)?(?:,? ?(?:code)?[ =:#(]{0,3}(?P<code>[1-9]\d{0,3}))?\b[ :,=()'\"!<]{0,8}"
        rf"(?P<status>{_TEXTS}|{_ENUM})",
        level="error",
        priority=-1,
        scan=rf"(?:CUDA|Cuda|cuda|HIP|Hip) ?(?:[A-Za-z]{{3,7}} )?(?:[Ee]rror|ERROR|[Ff]ailure|"
        rf"[Ee]xception).{{0,200}}(?:{_TEXTS}|{_ENUM})",
        note="A CUDA call failed with this status.",
    ),
    RecordPattern(
        "cuda.error",
        rf"(?:^|[:\]] ) {{0,4}}(?P<status>{_TEXTS}) in (?P<file>[\w./+-]{{1,300}}) at line \d+"
        r"(?: \(error-code (?P<code>\d+)\)|\b)",
        level="error",
        priority=2,
        scan=r"\.(?:cu|cuh|hip) at line \d|\(error-code \d",
        note="A program's own check found this status of a CUDA call.",
    ),
    RecordPattern(
        "cuda.error",
        rf"(?P<file>[\w./+-]{{1,300}}):\d+, code: ?(?P<code>\d+), reason: (?P<status>{_TEXTS})",
        level="error",
        priority=2,
        scan=r", code: ?\d+, reason: ",
        note="A program's own check found this status of a CUDA call.",
    ),
    RecordPattern(
        "cuda.error",
        r"HPL ERROR: CUDART Error: .{1,400} = (?P<code>\d{1,4}) \((?P<status>[^)\n]{3,160})\) on "
        r"(?P<by_host>[\w.-]{1,255}) at \((?P<file>[\w./-]{1,300}):\d+\)",
        level="error",
        scan=r"HPL ERROR: CUDART Error: ",
        note="A CUDA call of NVIDIA's HPL benchmark failed.",
    ),
    RecordPattern(
        "cuda.error",
        rf"\b(?P<call>(?:cuda|hip|cu)[A-Z]\w{{2,60}})(?:\([^)]{{0,300}}\))?\s?:? (?:failed|returned|"
        rf"error).{{0,60}}?(?P<status>{_TEXTS}|{_ENUM})",
        level="error",
        priority=-1,
        scan=rf"(?:cuda|hip|cu)[A-Z].{{2,120}}(?:failed|returned|error).{{0,60}}(?:{_TEXTS}|{_ENUM})",
        note="This CUDA call failed.",
    ),
    RecordPattern(
        "cuda.error",
        rf"\b(?P<status>{_ENUM})\b(?!\s*[=,]\s*\d)",
        level="error",
        priority=-2,
        scan=_ENUM,
        note="A CUDA call failed with this status.",
    ),
    RecordPattern(
        "cuda.error",
        r"(?P<status>an illegal memory access was encountered|unspecified launch failure|device-side assert triggered|"
        r"uncorrectable ECC error encountered|uncorrectable NVLink error detected)",
        level="error",
        priority=-3,
        note="A CUDA call failed with this status.",
    ),
    RecordPattern(
        "cuda.error",
        r"(?<![A-Za-z_])(?:CUDA|Cuda|HIP) (?:[Ee]rror|ERROR|[Ff]ailure)(?: (?P<code>[1-9]\d{0,3}))?(?:: [('\"]*|"
        r" ?[('\"]+)(?P<status>[a-zA-Z].{2,160})",
        level="error",
        priority=-4,
        scan=r"(?:CUDA|Cuda|HIP) (?:[Ee]rror|ERROR|[Ff]ailure)(?: \d+)?:? [('\"]*[a-zA-Z]",
        note="A CUDA call failed.",
    ),
    RecordPattern(
        "cuda.error",
        r"(?<![A-Za-z_])(?:CUDA|Cuda|HIP) (?:[Rr]untime |[Dd]river |API )?(?:[Ee]rror|ERROR|[Ff]ailure) (?:in|at) "
        r"(?:file )?['\"]?(?P<file>[\w./+-]{1,300}\.(?:cpp|cuh|cu|cc|hpp|h|c))['\"]?"
        r"(?::|:? (?:at )?line[ :]{1,2}|\()\d{1,6}\)?[:,]?[ -]{1,3}[('\"]{0,2}"
        r"(?P<status>[a-zA-Z].{2,160}?)(?: \(\d{1,4}\))?$",
        level="error",
        priority=-4,
        scan=r"(?:CUDA|Cuda|HIP) (?:[A-Za-z]{3,7} )?(?:[Ee]rror|ERROR|[Ff]ailure) (?:in|at) .{3,300}\d",
        note="A CUDA call of this line of the program failed.",
    ),
    RecordPattern(
        "cuda.error",
        r"(?:(?i:gpuassert|cuda_?check(?: failed)?|checkcudaerrors(?:\(\))?): |THCudaCheck FAIL "
        r"file=(?P<file>\S{1,300}) line=\d{1,6} error=(?P<code>\d{1,4}) : )(?P<status>.{3,160})",
        level="error",
        priority=-2,
        scan=r"THCudaCheck FAIL file=|GPUassert: |(?:CUDA|cuda)_?[Cc]heck(?: failed)?: |checkCudaErrors.{0,4}: ",
        note="A CUDA call failed.",
    ),
    RecordPattern(
        "cuda.error",
        r"^:1:(?P<file>\w{3,40}\.[ch]pp)\s*:\s*\d{1,6}\s*: (?:\d{1,20} ?us: )?(?:\[?pid: ?\d+\s+tid: ?\w+\]? ?)?"
        r"(?P<status>\S.{3,300})",
        level="error",
        priority=-4,
        scan=r"^:1:\w{3,40}\.[ch]pp\s*:\s*\d",
        note="The HIP run-time logs an error.",
    ),
    RecordPattern(
        "cuda.error",
        r"^\[(?P<status>(?:CUDA_ERROR|cudaError)\w+)\] .{3,120} in expression .{3,300} on (?P<by_host>[\w.-]{1,255}), "
        r"rank = (?P<by_rank>\d{1,7}) in .{0,400}",
        level="error",
        scan=r"\] .{3,120} in expression .{3,300}, rank = \d",
        note="nvbandwidth ends because a CUDA call failed.",
    ),
    RecordPattern(
        "cuda.memory_fault",
        r"(?P<message>Memory access fault by GPU.{0,200}|aborting with error ?: HSA_STATUS_ERROR\w+.{0,160}"
        r"|Segmentation fault from GPU at 0x.{0,200})",
        level="fatal",
        scan=r"Memory access fault by GPU|aborting with error ?: HSA_STATUS_ERROR|Segmentation fault from GPU at 0x",
        note="An AMD or Intel GPU stopped at a bad memory access.",
    ),
    RecordPattern(
        "cuda.device_assert",
        r"(?P<file>[\w./+-]{1,300}\.(?:cuh|cu|h|hpp|hip|py)):(?P<source_line>\d+): (?P<function>.{1,400}?): "
        r"block: \[(?P<block>[\d,]+)\],? ?thread: \[(?P<thread>[\d,]+)\],? Assertion "
        r"[`'\"](?P<expression>.{1,300}?)[`'\"] failed",
        level="error",
        scan=r"block: \[[\d,]{3,20}\],? ?thread: \[[\d,]{3,20}\],? Assertion ",
        note="A check inside a GPU kernel failed.",
    ),
)

MEMORY = (
    RecordPattern(
        "cuda.oom",
        "(?P<message>(?:RESOURCE_EXHAUSTED|Resource exhausted|ResourceExhaustedError): .{0,40}?(?:[Oo]ut of memory|"
        "OOM).{0,240})",
        level="error",
        scan=r"(?:RESOURCE_EXHAUSTED|Resource exhausted|ResourceExhaustedError): .{0,40}(?:[Oo]ut of memory|OOM)",
        note="XLA or TensorFlow found too little GPU memory.",
    ),
    RecordPattern(
        "cuda.oom",
        r"(?P<message>OOM when allocating tensor.{0,240})",
        level="error",
        note="TensorFlow found too little GPU memory.",
    ),
    RecordPattern(
        "cuda.oom",
        r"(?P<message>failed to allocate (?P<size>[\d.]+ ?\w{1,3}) .{0,60}?from device: "
        "CUDA_ERROR_OUT_OF_MEMORY.{0,60})",
        level="error",
        scan=r"from device: CUDA_ERROR_OUT_OF_MEMORY",
        note="The GPU had too little free memory for this allocation.",
    ),
    RecordPattern(
        "cuda.oom",
        r"(?P<message>Allocator \(GPU_(?P<device>\d+)_\w+\) ran out of memory trying to allocate "
        r"(?P<size>[\d.]+\w{1,3}).{0,200})",
        level="warning",
        scan=r"ran out of memory trying to allocate",
        note="TensorFlow's allocator found too little GPU memory and may try another way.",
    ),
    RecordPattern(
        "cuda.oom",
        rf"(?<!{_ADVICE})(?P<message>\b(?:CUDA|HIP|GPU) out of memory\b.{{0,300}})",
        level="error",
        priority=-2,
        scan=r"(?:CUDA|HIP|GPU) out of memory",
        note="The GPU had too little free memory.",
    ),
    RecordPattern(
        "cuda.oom",
        r"(?P<message>Out of memory (?:while trying to allocate|allocating) (?P<size>[\d.]+ ?\w{1,5}).{0,160})",
        level="error",
        priority=-1,
        scan=r"Out of memory (?:while trying to allocate|allocating) ",
        note="The GPU had too little free memory for this allocation.",
    ),
    RecordPattern(
        "cuda.oom",
        r"(?P<message>(?:cudaMalloc|hipMalloc|cuMemAlloc|cuMemCreate)\w*\b.{0,80}?(?:failed|"
        "error).{0,40}?out of memory.{0,80})",
        level="error",
        scan=r"(?:cudaMalloc|hipMalloc|cuMemAlloc|cuMemCreate).{0,120}(?:failed|error).{0,40}out of memory",
        note="The GPU had too little free memory.",
    ),
)

LIBRARIES = (
    RecordPattern(
        "cuda.library",
        rf"(?P<status>{_LIBRARIES}_(?!SUCCESS)[A-Z_]{{4,60}})(?:[^`'\"]{{0,30}}when calling "
        rf"[`'\"]?(?P<call>\w{{3,80}}))?(?: ; GPU=(?P<device>\d{{1,3}}) ; hostname=(?P<by_host>[\w.-]{{1,253}}))?",
        level="error",
        priority=-1,
        scan=rf"{_LIBRARIES}_(?:NOT|ALLOC|INV|ARCH|MAP|EXEC|INTERNAL|LIC|BAD|RUNTIME|VERSION|SUBLIB|ZERO|IO|"
        rf"CUBLAS)[A-Z_]{{2,50}}",
        note="A CUDA math library failed with this status.",
    ),
    RecordPattern(
        "cuda.library",
        "(?P<status>CUFFT_(?:INVALID|ALLOC|INTERNAL|EXEC|SETUP|UNALIGNED|INCOMPLETE|NO|NOT|LICENSE)[A-Z_]{2,40}|"
        "cuFFT error:? .{3,60}|NVRTC_ERROR_[A-Z_]{4,50}|rocblaslt error: .{3,120}|MIOpen\\(HIP\\): Error \\[.{3,200})",
        level="error",
        priority=-1,
        scan=r"CUFFT_(?:INVALID|ALLOC|INTERNAL|EXEC|SETUP)|cuFFT error|NVRTC_ERROR_|rocblaslt error: |"
        r"MIOpen\(HIP\): Error \[",
        note="A CUDA library failed with this status.",
    ),
    RecordPattern(
        "cuda.library",
        "(?:[Cc]ould not|[Ff]ailed to) create (?P<call>cudnn|cuDNN|cublas|cuBLAS|cusolver|cuSolver|"
        "cusparse) handle:? ?(?P<status>.{0,120})",
        level="error",
        scan=r"(?:ould not|ailed to) create (?:cudnn|cuDNN|cublas|cuBLAS|cusolver|cuSolver|cusparse) handle",
        note="A CUDA math library could not be started.",
    ),
)

DRIVER = (
    RecordPattern(
        "cuda.nvml",
        rf"(?P<message>NVIDIA-SMI has failed because .{{3,200}}|Failed to initialize NVML: (?:{_DRIVER})|"
        rf"NVML: (?:{_DRIVER}))",
        level="error",
        scan=r"NVIDIA-SMI has failed because |Failed to initialize NVML: |NVML: Driver",
        note="nvidia-smi or NVML cannot talk to the GPU driver.",
    ),
    RecordPattern(
        "cuda.nvml",
        r"(?P<message>Can't initialize NVML|NVML_ERROR_(?!NOT_SUPPORTED|NOT_FOUND)[A-Z_]{4,40}|(?:nvmlInit\w{0,12}|"
        r"nvmlDevice\w{3,40})\W{1,4}failed.{0,100})",
        level="warning",
        scan=r"Can't initialize NVML|NVML_ERROR_[A-Z]|nvml(?:Init|Device).{0,40}failed",
        note="NVML, the library that reads GPU states, could not be used.",
    ),
    RecordPattern(
        "cuda.driver",
        r"(?P<message>modprobe: FATAL: Module nvidia\S* not found.{0,80}|"
        r"could not select device driver \"{1,2}.{0,20}gpu.{0,40}|nvidia-container-cli: (?:initialization|detection|"
        "requirement) error.{0,200})",
        level="error",
        scan="modprobe: FATAL: Module nvidia|could not select device driver|"
        "nvidia-container-cli: (?:initialization|detection|requirement) error",
        note="The GPU driver is not there for the host or for the container.",
    ),
    RecordPattern(
        "cuda.driver",
        r"(?P<message>^No devices were found\W*$)",
        level="error",
        scan=r"^No devices were found",
        note="nvidia-smi sees no GPU.",
    ),
    RecordPattern(
        "cuda.driver",
        "(?P<message>(?:The NVIDIA|the NVIDIA|Your) driver on your system is too old.{0,120}|"
        "Found no NVIDIA driver on your system.{0,60})",
        level="error",
        priority=-1,
        scan=r"driver on your system is too old|Found no NVIDIA driver on your system",
        note="The GPU driver is missing or older than the program needs.",
    ),
    RecordPattern(
        "cuda.driver",
        "(?P<message>CUDA initialization: (?:Unexpected error|CUDA unknown error|CUDA driver init|"
        "The NVIDIA driver|Found no).{0,240})",
        level="warning",
        priority=1,
        scan="CUDA initialization: (?:Unexpected error|CUDA unknown error|CUDA driver init|The NVIDIA driver|Found no)",
        note="PyTorch could not start CUDA and goes on without a GPU.",
    ),
    RecordPattern(
        "cuda.driver",
        r"(?P<message>failed call to cuInit: .{3,160})",
        level="warning",
        priority=1,
        note="TensorFlow could not start CUDA and goes on without a GPU; on a host without GPUs that is expected.",
    ),
    RecordPattern(
        "cuda.driver",
        r"(?P<message>with CUDA capability sm_\d+a? is not compatible with the current PyTorch installation)",
        level="warning",
        note="This PyTorch build has no code for this GPU.",
    ),
)

CALM = (
    RecordPattern(
        "cuda.quiet",
        "Unable to register (?:cuDNN|cuFFT|cuBLAS) factory|computation placer already registered|"
        "Could not find cuda drivers on your machine|"
        "Could not find TensorRT|Cannot dlopen some GPU libraries|"
        "Could not load dynamic library '[^']{1,80}'; dlerror",
        level="info",
        priority=2,
        scan="Unable to register cu(?:DNN|FFT|BLAS) factory|computation placer already registered|"
        "Could not find cuda drivers on|Could not find TensorRT|"
        r"Cannot dlopen some GPU libraries|Could not load dynamic library '",
        note="TensorFlow prints this at every start on many healthy machines.",
    ),
    RecordPattern(
        "cuda.quiet",
        rf"{_LIBRARIES}_SUCCESS|cudaErrorNotReady|CUDA_ERROR_NOT_READY|cudaErrorPeerAccessAlreadyEnabled|"
        r"\(cudaSuccess\)|CUDA[ _][Ee]rror:? (?:0\b|none|no error)|"
        r"NVML_ERROR_NOT_(?:SUPPORTED|FOUND)",
        level="info",
        priority=2,
        scan=rf"{_LIBRARIES}_SUCCESS|cudaErrorNotReady|CUDA_ERROR_NOT_READY|cudaErrorPeerAccessAlreadyEnabled|"
        "NVML_ERROR_NOT_(?:SUPPORTED|FOUND)|CUDA[ _][Ee]rror:? (?:0|none|no error)",
        note="A status that is no failure.",
    ),
    RecordPattern(
        "cuda.hint",
        r"CUDA kernel errors might be asynchronously reported|For debugging consider passing (?:CUDA|AMD|HIP)_\w+|"
        "Compile with `TORCH_USE_(?:CUDA|HIP)_DSA`|"
        r"Search for `cudaError\w+' in https",
        level="info",
        priority=1,
        scan=r"kernel errors might be asynchronously reported|For debugging consider passing (?:CUDA|AMD|HIP)_|"
        r"Compile with `TORCH_USE_(?:CUDA|HIP)_DSA`|Search for `cudaError",
        note="Advice that PyTorch prints with every CUDA error.",
    ),
)

RECORDS: tuple[RecordPattern, ...] = (*CALM, *MEMORY, *ERRORS, *LIBRARIES, *DRIVER)
