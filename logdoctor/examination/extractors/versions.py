"""Versions of packages, drivers and files."""

from __future__ import annotations

from collections.abc import Iterator

from logdoctor.examination.extractors import Found, extracts
from logdoctor.pack.regexes import later

_V = (
    r"v?\d{1,9}(?:\.\d{1,9}){0,4}(?:\.[x*])?"
    r"(?:[-+.]?(?:rc|beta|alpha|post|dev|cuda|cu|rocm|git|b|a)[\w.+-]{0,20}|\+[\w.]{1,20})?(?![\w/:])"
)
_DOTTED = rf"(?=v?\d+\.[\dx*]){_V}"
_OPERATOR = r"(?:[<>=!~]=|[<>=])"
_NAME = r"[A-Za-z][\w.+-]{0,40}[\w+]"
_NO_NAME = (
    r"(?:version|versions|against|with|using|by|for|of|is|was|the|a|an|but|and|or|has|have|needs"
    r"|least|found|class|model|checkpoint|step|epoch|weights|config|data|dataset|about|only|in|after|batch|rank|loss)\b"
)
_PATTERNS = tuple(
    (tuple(hints.split("|")), later(rf"(?ix){pattern}"))
    for hints, pattern in (
        (
            "requires|needs|depends",
            rf"(?:^|[ ])(?P<name_package>{_NAME})[ ](?P<package>{_DOTTED})[ ](?:requires|needs|depends[ ]on)\b",
        ),
        (
            "require|need|depends|minimum|at least",
            (
                rf"\b(?:requires?|needs?|depends[ ]on|required:?|minimum:?|at[ ]least)[ ]"
                rf"(?:(?!{_NO_NAME})(?P<name_required>{_NAME})[ ]?)?(?:version[ ])?"
                rf"(?P<required>(?:{_OPERATOR}[ ]?){_V}|{_DOTTED}|(?<=version[ ]){_V})"
            ),
        ),
        (
            "have|but|installed",
            (
                rf"\b(?:you[ ]have|but|installed:?)[ ](?:found[ ])?(?!{_NO_NAME})(?P<name_found>{_NAME})[ ]"
                rf"(?:version[ ])?(?P<found>{_DOTTED})[ ]?(?:which|is[ ]installed|\(installed\))"
            ),
        ),
        (
            "compile|built|linked|build",
            (
                r"\b(?:compiled|built|linked|compile|build|compiling)[ ](?:\w{1,20}[ ])?(?:against|with|for|using"
                r"|on)[ ](?:the[ ]|a[ ]module[ ]of[ ])?"
                rf"(?P<name_compiled>{_NAME})(?:[ ]version|[ ]release)?[ =](?P<compiled>{_DOTTED})"
            ),
        ),
        (
            "compiled|built|linked",
            (
                rf"\b(?:compiled|built|linked)[ ](?:\w{{1,20}}[ ])?(?:against|with|for|using)[ ](?:version[ ]"
                rf")(?P<compiled>{_V})"
            ),
        ),
        (
            "compile ",
            rf"\bcompile[ ](?P<name_compiled>{_NAME})[ ]\((?P<compiled>{_DOTTED})\)",
        ),
        (
            "loaded|run|using|linked",
            (
                rf"\b(?:loaded|running|runs?|run[ ](?:in|with|on)|using|linked[ ]at[ ]run[ ]?time)[ ]"
                rf"(?!{_NO_NAME})(?P<name_loaded>{_NAME})[ ](?:version[ ])?(?P<loaded>{_DOTTED})"
            ),
        ),
        (
            "loaded|used|running",
            (
                rf"(?P<name_loaded>\b{_NAME})[ ](?:version[ ])?(?P<loaded>{_DOTTED})[ ](?:is|was|are|gets)[ ]"
                rf"(?:loaded|used|running)\b"
            ),
        ),
        (
            "driver version",
            rf"\b(?P<name_driver>(?:{_NAME}[ ])?driver)[ ]version:?[ ](?:is[ ])?(?P<driver>{_DOTTED})",
        ),
        (
            "driver",
            rf"\bdriver\b[^\n]{{0,80}}?\(found[ ]version[ ](?P<driver>\d{{3,6}}|{_DOTTED})\)",
        ),
        (
            "/ runtime",
            rf"[ ]/[ ](?P<name_loaded>runtime)(?:[ ]version)?[ ](?P<loaded>{_DOTTED})",
        ),
        (
            "detected",
            rf"\bdetected[ ](?P<name_found>{_NAME})[ ]version[ ]\((?P<found>{_DOTTED})\)",
        ),
        (
            "version `",
            (
                r"\bversion[ ]`(?P<required>\w[\w.]{1,40})'[ ]not[ ]found(?:[ ]\(required[ ]by[ ]"
                r"(?P<name_required>[^\s()]{1,200})\))?"
            ),
        ),
        (
            "version",
            (
                rf"(?:(?P<name_found>\b(?!{_NO_NAME}){_NAME})[ ])?(?:has|is|have|of|found|got|was|with|file)[ ]"
                rf"(?:format[ ]|protocol[ ]|class[ ])?version[ ](?P<found>{_V})"
            ),
        ),
        (
            "version",
            (
                rf"\bversion\b[^\n]{{1,80}}?\b(?P<name_required>(?:this[ ])?\w{{1,30}})[ ](?:needs|expects"
                rf"|requires|wants)[ ](?:version[ ])?(?P<required>{_V})"
            ),
        ),
        (
            "version",
            (
                rf"\b(?:expected|expects|required|requires|needs|wanted)[ ](?:\w{{1,20}}[ ])?version[ ](?:[ ]"
                rf"?is[ ])?(?P<required>{_V})"
            ),
        ),
        (
            "rank ",
            r"\b(?P<name_found>rank[ ]\d{1,6})[ ]version[ ](?P<found>\d[\d.]{1,12})",
        ),
        (
            "version",
            rf"^(?P<name_found>{_NAME})[ ]version:?[ ](?P<found>{_DOTTED})",
        ),
        (
            "version",
            rf"\bversions?[ ](?:up[ ]to|below|before|until)[ ](?P<supported>{_V})",
        ),
        (
            "requested|required|needed|expected",
            (
                rf"(?P<name_required>\b(?!{_NO_NAME}){_NAME})[ ](?P<required>{_DOTTED})[ ](?:(?:is|was)[ ]"
                rf")?(?:requested|required|needed|expected)\b"
            ),
        ),
        (
            "allows|supports|accepts|provides|offers",
            (
                rf"\b(?:allows|supports|accepts|provides|offers)[ ](?:only[ ])?(?:version[ ]"
                rf")?(?P<supported>{_DOTTED})"
            ),
        ),
        (
            "cuda version",
            rf"\b(?:(?P<name_found>CUDA)[ ]Version):[ ](?P<found>{_DOTTED})",
        ),
        (
            "found|installed",
            (
                rf"(?P<name_found>\b(?!{_NO_NAME}){_NAME})[ ](?P<found>{_DOTTED})[ ](?:is|was)[ ](?:found"
                rf"|installed)\b"
            ),
        ),
    )
)
_ADDRESS = later(r"\d{1,3}(?:\.\d{1,3}){3}")
_PINNED = later(rf"(?i)(?<![\w.-])({_NAME})==({_DOTTED}|\d[\w.]{{0,20}})(?![\w.]*,?[ ]but\b)")
_DIGIT = later(r"(?<![\w.])v?\d+\.[\dx*]|[vV]ersions?:? [v`]?\w|[<>=] ?\d")
SAMPLES = {
    "manifest.json has version 3, this reader needs 4; run migrate": (
        "version.found=3 (manifest.json)",
        "version.required=4 (this reader)",
    ),
    "[pip3] nvidia-nccl-cu12==2.27.5": ("version.found=2.27.5 (nvidia-nccl-cu12)",),
    "torch==2.6.0+cu124": ("version.found=2.6.0+cu124 (torch)",),
    "xformers 0.0.22 requires torch==2.0.1, but you have torch 2.1.0 which is incompatible.": (
        "version.package=0.0.22 (xformers)",
        "version.required===2.0.1 (torch)",
        "version.found=2.1.0 (torch)",
    ),
    "libx 1.18 was compiled against hdf5 1.14.2, but hdf5 1.12.0 is loaded": (
        "version.compiled=1.14.2 (hdf5)",
        "version.loaded=1.12.0 (hdf5)",
    ),
    "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0.1 as it may crash.": (
        "version.compiled=1.x (NumPy)",
        "version.loaded=2.0.1 (NumPy)",
    ),
    "The detected CUDA version (12.1) mismatches the version that was used to compile PyTorch (11.8).": (
        "version.found=12.1 (CUDA)",
        "version.compiled=11.8 (PyTorch)",
    ),
    "The NVIDIA driver on your system is too old (found version 11040).": ("version.driver=11040",),
    "CUDA 12.4 requires driver >= 550.54": ("version.package=12.4 (CUDA)", "version.required=>= 550.54 (driver)"),
    "requires driver version >= 535": ("version.required=>= 535 (driver)",),
    "CUDA driver version 12.1 / runtime 12.4": ("version.driver=12.1 (CUDA driver)", "version.loaded=12.4 (runtime)"),
    "Driver Version: 535.104.05   CUDA Version: 12.2": (
        "version.driver=535.104.05 (Driver)",
        "version.found=12.2 (CUDA)",
    ),
    "Mismatched NCCL version detected : rank 0 version 22105 rank 3 version 22304": (
        "version.found=22105 (rank 0)",
        "version.found=22304 (rank 3)",
    ),
    "NCCL version 2.21.5+cuda12.4": ("version.found=2.21.5+cuda12.4 (NCCL)",),
    "/lib64/libc.so.6: version `GLIBC_2.34' not found (required by /opt/x/bin/orted)": (
        "version.required=GLIBC_2.34 (/opt/x/bin/orted)",
    ),
    "Main has been compiled by a more recent version (class file version 61.0), this version of the Java Runtime "
    "only recognizes"
    " class file versions up to 52.0": ("version.found=61.0", "version.supported=52.0"),
    "FIPS mode mismatch: provider 3.0 requested, host policy allows 1.1 only": (
        "version.required=3.0 (provider)",
        "version.supported=1.1",
    ),
    "connected to 10.0.0.5 with loss 3.14 expected 2.1": (),
    "requires 4 GPUs, found 2": (),
    "using 10.1.2.3 was used 3.5 seconds": (),
    "loaded model 1.5 in 3.2 s": (),
    "driver gave up at step 3.0": (),
}


@extracts(
    "version",
    "version versions compiled compile compiling built linked requires required requested runtime loaded pip "
    "installed"
    " incompatible",
)
def extract(text: str) -> Iterator[Found]:
    """Yield versions that a word or sign beside them explains, each with the first pattern that fits."""
    taken: set[int] = set()
    found: list[tuple[int, Found]] = []
    low = text.lower()
    asked = [pattern for hints, pattern in _PATTERNS if any(hint in low for hint in hints)]
    for pattern in asked if _DIGIT.search(text) else ():
        for match in pattern.finditer(text):
            groups = match.groupdict()
            role = next(role for role, value in groups.items() if value and not role.startswith("name_"))
            if match.start(role) in taken or _ADDRESS.fullmatch(match[role]):
                continue
            taken.add(match.start(role))
            found.append(
                (
                    match.start(role),
                    Found(role, match[role], of=groups.get(f"name_{role}") or "", said=match[0].strip()),
                )
            )
    yield from (fact for _, fact in sorted(found, key=lambda item: item[0]))


@extracts("version")
def extract_pinned(text: str) -> Iterator[Found]:
    """Yield the versions of ``name==1.2``, the form of pip."""
    if "==" in text:
        for match in _PINNED.finditer(text):
            yield Found("found", match[2], of=match[1], said=match[0])
