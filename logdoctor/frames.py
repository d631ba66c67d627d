"""Frames of stacks, in the shapes in which programs print them.

A frame is a line (sometimes two) that names a function, and often its source or its library. A *stack* is a run of such
lines. Its head may be missing, because a log begins within it. Readers of records and the examination share these
shapes.

Sources: CPython `Lib/traceback.py` and `Python/traceback.c`, gdb `stack.c`, glibc `debug/backtracesyms.c`, glog
`signalhandler.cc`, PyTorch `c10/util/Backtrace.cpp`, libgfortran `runtime/backtrace.c`, Linux `kernel/kallsyms.c`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from logdoctor.codes.packages import Package, find_package
from logdoctor.model.numbers import number
from logdoctor.pack.regexes import later

MOST_LINES = 64
"""Lines of a stack that are read."""
MOST_BETWEEN = 4
"""Lines between two frames: source lines, marks and empty lines."""
MOST_CODE = 400

PYTHON = later(r'\s*File "(?P<path>[^"]*)", line (?P<line>\d+)(?:, in (?P<function>.*))?')
"""A frame of a traceback."""
DUMP = later(r'^\s*File "(?P<path>[^"]*)", line (?P<line>\d+) in (?P<function>.*)')
"""A frame of faulthandler, which prints no comma."""
NOTEBOOK = later(
    r"^(?:File )?(?P<path>(?:[/~]|[A-Z]:\\|\.{1,2}/)[^\s:]{1,300}\.py|<ipython-input-[\w-]{1,60}>)"
    r"(?::(?P<line>\d{1,7}),)? in (?P<function>[\w.<>]{1,100})(?:\([^\n]{0,600})?\s*$"
)
"""A frame of a notebook, whose line an arrow marks in the source below it (IPython, `ultratb.py`)."""
_NOTEBOOK_LINE = later(r"-{1,6}> ?(?P<line>\d{1,7}) {1,60}(?P<code>\S[^\n]{0,300})")
SPY = later(r"^\s+(?P<function>\S.{0,300}?) \((?P<path>[^\s():][^():]{0,300})(?::(?P<line>\d+))?\)$")
"""A frame of py-spy."""
NATIVE = later(
    r"^\s*(?:"
    r"#\d+ +(?:0x[0-9a-f]+ in )?(?P<function>[^\s(][^(\n]{0,300}?) ?\((?:.{0,400}?\) from (?P<library>\S+))?"
    r"|#\d+ +0x[0-9a-f]+ (?:in (?P<function>\S{1,300}) |\()(?P<library>/[^\s:+)]{1,300})?"
    r"|(?:PC: )?@ +0x[0-9a-f]+ +(?:[\w.]+ +)?(?P<function>\S.{0,300})"
    r"|\d+ +(?:0x[0-9a-f]+ )?(?P<library>/[^\s(]{1,300})\((?P<function>[^)+]{0,300})"
    r"|\d+ +0x[0-9a-f]+ (?P<function>[\w:~][^\n]{0,300}?)\(\)"
    r"|\[?(?P<library>\S{1,300})\((?P<function>[^()]{0,300})\+0x[0-9a-f]+\)? ?\[0x[0-9a-f]+\]"
    r"|frame #\d+: (?P<function>.{1,600}?) \+ 0x[0-9a-f]+ \(0x[0-9a-f]+ in (?P<library>[^)]+)\)"
    r"|frame #\d+: <unknown function>.{0,20}(?:in (?P<library>[^)]+)\))?"
    r")",
)
"""A frame of gdb, a sanitizer, glog, glibc, UCX or PyTorch."""
NO_FUNCTION = ("(unknown)", "??", "<unknown")
RUNTIME_LIBRARY = later(r"lib(?:c|pthread|stdc\+\+|gcc_s|ucs)[.-]|ld-linux")
STACK_WORDS = later(
    r"^\s*(?:PC: @|0x[0-9a-f]+ in |\[?(?:Switching to|New Thread|Thread debugging)|\(gdb\)|Thread \d+ \(|warning: |"
    "Backtrace|"
    r"C\+\+ Traceback|Error termination|\*\*\* SIG|\[(?:SignalInfo|TimeInfo)|={4,}|File \"<unknown>\"|"
    r"[\w./~-]+:\d+\s*$|"
    r"\d+\s+in |\d+\t|$)"
)
SHAPES = {  # gdb, glog, Fortran, PyTorch, UCX, backtrace_symbols(), Intel Fortran, macOS; Open MPI
    "native": later(
        r" {0,4}#\d{1,3} +0x[0-9a-f]{4,16} in (?P<function>[^\s(]+)(?: \([^\n]{0,400}\))?(?: from (?P<library>/\S+))?"
        r"|#\d{1,3} {1,2}(?P<function>[A-Za-z_~][^\s(]{0,300}) \([^\n]{0,400}\)(?= at \S)"
        r"|#\d{1,3} (?P<function>\S[^\n]{0,300}?) from \S{1,300}:\d+\W{0,3}$"
        r"| {0,4}\d{1,3} +0x[0-9a-f]{8,16} (?P<function>[\w.]+)\(\)"
        r"|[ =]{0,4}(?:0x[0-9a-f]{4,16} +)?(?P<function>[A-Za-z_][\w.]{0,200})\(\) +"
        r"(?P<path>/[^\s:]{1,300}):(?P<line>\d+)\s*$"
        r"| {0,4}\d{1,3} +(?P<library>/[\w./+-]{1,300})\((?P<function>[^\s()+]{0,300})\+0x[0-9a-f]+\)\s*$"
        r"|(?: {0,4}(?:\d{1,3}:?|\[ ?\d{1,3}\]) +)?(?P<library>[\w./+-]{1,300})"
        r"\((?P<function>[^\s()+]{0,300})(?:\+0x[0-9a-f]+)?\) ?\[0x[0-9a-f]+\]"
        r"|(?P<library>[\w./+-]{1,80}) +[0-9A-F]{16} +(?P<function>\S+) +(?:(?P<line>\d+)|Unknown) "
        r"+(?P<path>[\w./+-]{1,100})\s*$"
        r"|\d{1,3} {1,4}(?P<library>[\w.+-]{1,100}) +0x[0-9a-f]{16} (?P<function>\S+) \+ \d+(?: |$)"
        r"| {0,4}(?:PC: )?@ {1,20}0x[0-9a-f]{1,16} +(?:(?:\d{1,12}|\(unknown\)) +)?(?P<function>\S[^\n]{0,300})"
    ),
    "pytorch": later(
        r"\s*frame #\d{1,3}: (?P<function>[^\n]{3,600}?)(?: \+ 0x[0-9a-f]+)? \((?:0x[0-9a-f]+ in )?(?P<library>[^\s)]*)"
    ),
    "julia": later(
        r"(?: {0,4}\[\d{1,3}\] +)?(?P<function>[\w#!.~]{1,200}|top-level scope) at "
        r"(?:(?P<path>[\w./@+-]{1,400}\.\w{1,4}):(?P<line>\d+)(?: \[inlined\])?"
        r"|\S{1,400} \(unknown line\))\s*$"
    ),
    "java": later(
        r"\s{1,12}at (?P<function>[\w$.<>/@-]{3,300})"
        r"\((?:(?P<path>[\w$]{1,100}\.(?:java|scala|kt)):(?P<line>\d+)|Native Method)\)"
    ),
    "go": later(r"\s{0,8}(?P<path>(?P<function>/\S{1,300}\.go)):(?P<line>\d+) \+0x[0-9a-f]+\s*$"),
    "kernel": later(r"\s*(?:\? )?(?P<function>[A-Za-z_][\w.]*)\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[(?P<library>\w+)\])?"),
}
"""Frames of one line each, which the programs print only for a failure, according to their manuals."""
SOURCE = later(r" {3,4}|\s*[~^]+\s*$|\s*$|[\w.]{1,60} = |return |raise ")
"""Lines between frames: empty lines, marks, and source lines, of which ``srun --label`` drops a space."""
_PLACE = later(
    r"(?:(?:^|\s)at |@ \w+ |\s)(?P<path>[^\s:()'\"]{1,300}\.[A-Za-z]\w{0,4}):(?P<line>\d{1,7})(?::\d{1,5})?"
    r"(?: \[inlined\])?\W{0,3}$"
)
"""A source at the end of a frame, or on the line below it."""
_BELOW = later(r"\s*(?:at|@ ?[\w.]{0,80}) |\t")
"""The beginning of the second line of a frame of gfortran, Rust, Julia or Go."""
_NAMED = later(
    r"\s*(?:\d{1,3}: +(?:0x[0-9a-f]+ - )?|\[\d{1,3}\] +)(?P<function>(?:\(::)?[A-Za-z_<#][^\n]{0,300})$"
    r"|(?P<function>[\w./*()-]{1,300}\.[\w.*()-]{1,200})\([^\n]{0,300}\)$|created by (?P<function>\S+)"
)
"""The first line of a frame of Rust, Julia or Go. Only the line below shows that it is one."""
_MARKS = later(r"[\s~^]*$")
"""Marks below a source line."""
_SIGNAL = later(r"<signal handler called>|\b__restore_rt\b")
"""The frames above it are those of the handler."""
_FIRST, _LAST = "most recent call first", "most recent call last"
_THREAD = later(r"\s*(?:Thread (?:0x)?[0-9a-f]+ |TID \d|goroutine \d)")
_CURRENT = "Current thread "
_NATIVE_SOURCE = later(r"\.(?:c|cc|cpp|cxx|cu|cuh|h|hh|hpp|rs|inc)$|^<unknown>$")
_BUILT_ELSEWHERE = later(
    r"^(?:/(?:usr|opt|build|builds|lib|lib64|pytorch|dvs|root|rustc)/|(?!/|\./|[A-Z]:))|rpmbuild|feedstock_root|/site-packages/"
)
"""Path of a native source that the user did not build. The path that a compiler was given is mostly relative there."""
_TREE = later(
    r"/(?:build|builds|BUILD|work)/(?P<tree>[A-Za-z][\w.+-]*)/|/(?P<tree>[A-Za-z][\w.+-]*)/(?:src|include|lib)/"
)
"""Name of the source tree in which a library was built."""
_INTERPRETER = later(
    r"_?Py[A-Z_]|_PyEval|method_vectorcall|cfunction_|function_code_fastcall|pymain|call_function|slot_tp|builtin_"
    r"|(?:__)?clone\d?$|start_thread|__libc_start|_start$|__restore_rt|main$|raise$|abort$|gsignal$|__pthread_kill|killpg$"
    r"|__GI_|std::terminate|__cxa_|__cxxabiv1|execute_native_thread|ucs_(?:handle_|debug_|error_|fatal_)|c10::(?:Error|detail)"
    r"|__assert|__libc_message|malloc_printerr|_int_(?:free|malloc)|__libc_(?:malloc|free|calloc|realloc)|cfree|malloc_consolidate|\.annobin_|opal_backtrace|mca_base_show|skgesig"
)
"""Functions of a run-time, which say nothing of the failure."""
_APIS = {
    "libnccl.so": later(r"p?nccl[A-Z]"),
    "libcuda.so": later(r"cu[A-Z]"),
    "libmpi.so": later(r"P?MPI_[A-Z]|[OM]MPI|PMPI|MPI[DR]"),
    "libtorch.so": later(r"(?:c10d?|at|torch)::"),
    "libibverbs.so": later(r"ibv_|mlx[45]_"),
    "libfabric.so": later(r"fi_[a-z]"),
    "libucp.so": later(r"uc[mpst]_"),
}
"""Native libraries, and the names of their functions."""
_ENTRY = later(r"p?nccl[A-Z]|P?MPI_[A-Z]|cu(?:da)?[A-Z]|hip[A-Z]|ibv_|uc[pst]_|fi_[a-z]|H5[A-Z]")
"""Functions that a library offers to programs."""
_LIBRARY = later(
    r"[/\\](?:site|dist)-packages[/\\]|[/\\](?:lib(?:64)?[/\\]python\d|(?i:python[\d.]*[/\\]lib)[/\\])|^<frozen "
    r"|^(?:\.{1,3}/)?(?:torch|transformers|accelerate|deepspeed|pytorch_lightning|trl|peft)/(?=[^\n]*\.py$)"
    r"|^/usr/(?:local/)?bin/|[/\\](?:bin|Scripts)[/\\](?![^/\\]*\.py$)[^/\\]+$|\.exe[/\\]__main__\.py$"
)
"""Path of a frame in an installed package, in the start script of an installed program, or in Python itself.

Logs that people post hold also paths that they cut before the name of the package."""
_SHORTENED = later(
    r"^(?:accelerate|apex|datasets|deepspeed|flash_attn|horovod|jax|jaxlib|lightning|megatron|mpi4py|numpy|pandas|PIL|"
    r"pyarrow|pytorch_lightning|ray|requests|safetensors|scipy|tokenizers|torch|torchdata|torchvision|tqdm|transformers|"
    r"triton|urllib3|vllm|webdataset|asyncio|collections|concurrent|ctypes|encodings|http|importlib|json|logging|"
    r"multiprocessing|re|unittest|urllib)/|^(?:codecs|contextlib|copy|csv|functools|gzip|lzma|pathlib|pickle|queue|random|"
    r"runpy|selectors|shutil|socket|ssl|subprocess|tarfile|tempfile|threading|zipfile)\.py$"
)
"""The same as py-spy prints it, below the folder from which it was imported. Only the name tells it from own code."""


def short_path(path: str) -> str:
    """Return a source path without the part that differs between machines.

    ``/opt/lib/site-packages/torch/nn/mod.py`` gives ``torch/nn/mod.py``, ``/home/u/a/b/c.py`` gives ``a/b/c.py``.
    """
    path = path.replace("\\", "/")
    for mark in ("site-packages/", "dist-packages/"):
        if mark in path:
            return path.rpartition(mark)[2]
    return "/".join(path.split("/")[-3:])


def is_library(path: str) -> bool:
    return _LIBRARY.search(path) is not None


def is_shortened_library(path: str) -> bool:
    """Return whether a path of py-spy is of a library that many programs use."""
    return _SHORTENED.search(path) is not None


def package_of(path: str) -> str:
    """Return the package of a library's frame, ``python`` for Python's own library, "" for the user's code."""
    if not is_library(path):
        return ""
    installed = short_path(path) if "-packages" in path else ""
    return installed.partition("/")[0].removesuffix(".py") or "python"


class Frame(Struct, frozen=True):
    """A frame of a stack."""

    shape: str
    """The name of its shape: ``python``, ``dump`` or a key of `SHAPES`."""
    function: str = ""
    """The function, without arguments."""
    path: str = ""
    """The source file, as printed."""
    line: int = 0
    library: str = ""
    """The native library, program or kernel module."""
    code: str = ""
    """The source lines that a traceback shows below it."""

    @property
    def is_python(self) -> bool:
        return self.shape in ("python", "dump") and not _NATIVE_SOURCE.search(self.path)

    @property
    def place(self) -> str:
        """Return the file and line, the library's file name, or ""."""
        file = self.path.replace("\\", "/").rpartition("/")[2]
        if file and file != "<unknown>":
            return f"{file}:{self.line}" if self.line else file
        return self.library.rpartition("/")[2]

    @property
    def told(self) -> str:
        """Return the frame for a sentence: ``pool.py:41 in collect``, ``check_quota (quota.c:233)``."""
        if not self.function or self.is_python:
            return f"{self.place} in {self.function}" if self.function and self.place else self.function or self.place
        return f"{self.function} ({self.place})" if self.place else self.function

    @property
    def is_runtime(self) -> bool:
        """Return whether the frame is of an interpreter, of the C library, or has no name."""
        if self.is_python:
            return self.path.startswith("<frozen ")
        if not (self.function or self.path):
            return not self.library or ".so" in self.library
        return _INTERPRETER.match(self.function) is not None

    @property
    def is_entry(self) -> bool:
        """Return whether the function is one that a native library offers to programs."""
        return not self.is_python and _ENTRY.match(self.function) is not None

    @property
    def is_hook(self) -> bool:
        """Return whether a library stands in for the CUDA driver, which itself has no sources and is libcuda.so."""
        api = _APIS["libcuda.so"].match(self.function) is not None and not self.is_python
        built = bool(self.path and self.path != "<unknown>") or bool(self.library and "libcuda" not in self.library)
        return api and built

    @property
    def package(self) -> str:
        """Return the package, native library or source tree, "" for the user's code and what is not known."""
        if self.is_python:
            return package_of(self.path)
        known = self._known()
        if known is not None:
            return known.package
        tree = _TREE.search(self.path) if self.is_foreign else None
        return tree["tree"] if tree else self.library.rpartition("/")[2] if ".so" in self.library else ""

    @property
    def owner(self) -> Package | None:
        """Return the row of the table of packages."""
        return find_package(package_of(self.path)) if self.is_python else self._known()

    @property
    def is_foreign(self) -> bool:
        """Return whether the frame is surely not of the user's own code."""
        if self.is_python:
            return is_library(self.path) or self.path.startswith("<")
        if self.shape == "kernel" or ".so" in self.library or self.is_entry:
            return True
        return bool(self.path) and _BUILT_ELSEWHERE.search(self.path) is not None

    @property
    def is_own(self) -> bool:
        """Return whether the frame is of the user's own code, as far as its path or program tells."""
        is_known = self.path != "<unknown>" and bool(self.path or self.library)
        return is_known and not self.is_foreign and not self.is_runtime

    def _known(self) -> Package | None:
        if self.library:
            return find_package(self.library)
        if self.is_hook or self.path.startswith("/"):
            return None
        return next((find_package(library) for library, api in _APIS.items() if api.match(self.function)), None)


def read_frame(text: str) -> Frame | None:
    """Return the frame that a line is, if it surely is one."""
    if 'File "' in text:
        for shape, pattern in (("dump", DUMP), ("python", PYTHON)):
            if match := pattern.match(text):
                return Frame(shape, _name(match["function"] or ""), match["path"], number(match["line"]) or 0)
        return None
    if (".py" in text or "<ipython" in text) and (match := NOTEBOOK.match(text)):
        return Frame("python", match["function"], match["path"], number(match["line"]) or 0)
    if not any(mark in text for mark in ("0x", "#", " at ", "\tat ", "000", "() ")):
        return None
    for shape, pattern in SHAPES.items():
        if match := pattern.match(text):
            values = match.groupdict()
            place = None if values.get("path") else _PLACE.search(text)
            found = values if place is None else {**values, **place.groupdict()}
            function = str(values["function"] or "")
            name = "" if function.startswith(NO_FUNCTION) or shape == "go" else _name(function)
            line = number(found.get("line")) or 0
            return Frame(shape, name, found.get("path") or "", line, values.get("library") or "")
    return None


def find_frame(line: str) -> Frame | None:
    """Return the frame that a line is, behind the prefix of a launcher if it has one."""
    rests = (line, *(line.partition(end)[2] for end in (": ", "] ", ">:", "| ")))
    return next((frame for rest in rests if (frame := read_frame(rest))), None)


def read_stack(texts: Sequence[str]) -> tuple[Frame, ...]:
    """Return the frames of the first stack in the lines, the innermost first.

    Of a dump of all threads it is the stack of the current one.
    """
    current = next((at for at, text in enumerate(texts) if _CURRENT in text), 0)
    frames: list[Frame] = []
    order, above = "", ""
    for text in texts[current : current + MOST_LINES]:
        if _FIRST in text or _LAST in text:
            if frames:
                break
            order = _FIRST if _FIRST in text else _LAST
        elif frames and _THREAD.match(text):
            break
        elif _SIGNAL.search(text):
            frames.clear()
        else:
            _add(frames, text, above)
        above = text
    return tuple(reversed(frames)) if _is_outermost_first(frames, order) else tuple(frames)


def is_stack_line(text: str, below: str = "") -> bool:
    """Return whether a line belongs to a stack. ``below`` is the line below it."""
    if read_frame(text) is not None or _NOTEBOOK_LINE.match(text):
        return True
    if _BELOW.match(text) and _PLACE.search(text):
        return True
    return _NAMED.match(text) is not None and _BELOW.match(below) is not None and _PLACE.search(below) is not None


def _add(frames: list[Frame], text: str, above: str) -> None:
    """Add the frame that a line is, or the place that it gives to the frame above."""
    frame = read_frame(text)
    place = _PLACE.search(text) if (frame is None or frame.shape == "go") and _BELOW.match(text) else None
    if frame is not None and frame.shape == "go":
        named = _NAMED.match(above)
        frames.append(replace(frame, function=_name(named["function"]) if named else ""))
    elif frame is not None:
        frames.append(frame)
    elif frames and (marked := _NOTEBOOK_LINE.match(text)):
        frames[-1] = replace(frames[-1], line=number(marked["line"]) or 0, code=marked["code"])
    elif frames and frames[-1].is_python and text.startswith("  ") and not _MARKS.match(text):
        frames[-1] = replace(frames[-1], code=f"{frames[-1].code} {text.strip()}".strip()[:MOST_CODE])
    elif place is not None:
        last = frames[-1] if frames and not frames[-1].path and read_frame(above) == frames[-1] else None
        named = _NAMED.match(above)
        if last is not None:
            frames[-1] = replace(last, path=place["path"], line=number(place["line"]) or 0)
        elif named is not None:
            shape = "julia" if "@ " in text else "rust"
            frames.append(Frame(shape, _name(named["function"]), place["path"], number(place["line"]) or 0))


def _is_outermost_first(frames: Sequence[Frame], order: str) -> bool:
    """Return whether the innermost frame comes last, as in a traceback. Without a head the sources tell it."""
    if order:
        return order == _LAST
    return bool(frames) and frames[0].shape == "python" and not any(_NATIVE_SOURCE.search(f.path) for f in frames)


def _name(function: str) -> str:
    """Return the name of a function without arguments and templates, the last two parts of a long one.

    ``c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout(std::optional<long>)`` gives ``WorkNCCL::checkTimeout``.
    """
    name = "".join(_outside(function.strip())).strip()
    name = name.rpartition(" ")[2] if "::" in name else name
    parts = name.split("::")
    return "::".join(parts[-2:]) if len(parts) > 3 else name


def _outside(function: str) -> Iterator[str]:
    """Yield the characters outside of templates, up to the arguments."""
    if function.startswith(("<", "(")):  # <module>, <lambda>, (anonymous namespace)::f
        end = function.find(">") if function[0] == "<" else function.find(")")
        yield function[: end + 1]
        function = function[end + 1 :]
    depth = 0
    for at, sign in enumerate(function):
        if sign == "<" and not function.startswith(("<locals>", "<lambda>", "<module>"), at):
            depth += 1
        elif sign == ">" and depth:
            depth -= 1
        elif sign == "(" and not depth and not function.startswith(("(anonymous", "(*"), at):
            return
        elif not depth:
            yield sign
