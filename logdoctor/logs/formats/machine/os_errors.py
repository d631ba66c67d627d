"""Errors of the operating system in any program.

They are about errno, loaders, threads, names, HTTP and builds.

All formats of a named program win over these records (priority -10 to -6).  Kinds and their fields:

- ``os.error`` errno, reason: a call failed with this errno text (``cannot open x: No such file or
  directory``); what a program itself calls a warning keeps that level
- ``os.library`` library (wanted: by a program that could not start), symbol, message: a shared library, symbol or
  version is missing
- ``os.command`` command: a command is not there or cannot run; ``os.script`` message: the shell stopped at a mistake in
  the script; ``os.modules`` message: an environment module or conda environment is not there
- ``os.threads`` message: no more threads or processes; ``os.openmp`` message: OpenMP gave up
- ``os.dns`` host: a name does not resolve; ``os.http`` status, message; ``os.ssl`` message
- ``os.build`` message, what (the file): a compiler, linker or build tool failed

Sources: glibc strerror (2.17-2.39), ld.so, bash, dash, env, libgomp, OpenBLAS, LLVM OpenMP, curl, wget, nvcc, ninja.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from logdoctor.logs.error_numbers import FAILURE_TEXTS, errno_texts
from logdoctor.logs.record_pattern import Message, Multiline, RecordPattern
from logdoctor.model import Value
from logdoctor.pack.regexes import later

_REASONS = "|".join(sorted(FAILURE_TEXTS, key=len, reverse=True))


def with_errno(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Add the number of an errno text as the field ``errno``.

    A line that its source calls a warning or info keeps that level.
    """
    del below
    number = errno_texts().get(str(fields.get("reason", "")))
    level = head.source.level if head.source.level in ("warning", "info") else None
    return Multiline(head.text, {} if number is None else {"errno": number}, level=level)


_WARNS = later(r"(?:^|[:\]] )(?:[Ww]arning|WARNING): ")


def keep_level(head: Message, fields: Mapping[str, Value], below: Iterator[Message]) -> Multiline | None:
    """Keep the level of a line that is a warning or less."""
    del fields, below
    level = head.source.level if head.source.level in ("warning", "info") else None
    return Multiline(head.text, level=level or ("warning" if _WARNS.search(head.text[:200]) else None))


ERRNOS = (
    RecordPattern(
        "os.error",
        r"^.{0,100}?(?<!NCCL )\b(?:[Ww]arning|WARN(?:ING)?|INFO|DEBUG|[Ii]gnor(?:ed|ing)|skipp(?:ed|ing)|"
        rf"[Rr]etry(?:ing)?)\b.{{0,400}}?(?P<reason>{_REASONS})\b",
        level="warning",
        read_lines=with_errno,
        priority=-8,
        scan=rf"(?:{_REASONS})",
        note="A program met this answer of the operating system and goes on.",
    ),
    RecordPattern(
        "os.error",
        rf"(?:[:,(\]>'\"]|\berrno \d{{1,3}}|\b(?:error|reason|due to|because|with|"
        rf"code \d{{1,3}}))\W{{1,4}}(?P<reason>{_REASONS})(?=\W*(?:$|[.;,)(\[]|errno|while|when|\b\d))",
        level="error",
        read_lines=with_errno,
        priority=-10,
        scan=rf"(?:{_REASONS})",
        note="The operating system refused what a program asked for, with this reason.",
    ),
    RecordPattern(
        "os.error",
        rf"^(?P<reason>{_REASONS})\W*(?:\(\d+\))?$",
        level="error",
        read_lines=with_errno,
        priority=-10,
        scan=rf"^(?:{_REASONS})",
        note="The operating system refused what a program asked for, with this reason.",
    ),
)

LOADER = (
    RecordPattern(
        "os.library",
        r"error while loading shared libraries: (?P<wanted>[^:]{1,300}): (?P<message>.{1,200})",
        level="fatal",
        priority=-6,
        note="A program could not start because this shared library is missing or unreadable.",
    ),
    RecordPattern(
        "os.library",
        r"symbol lookup error: (?:[^:]{1,300}: )?(?P<message>undefined symbol: (?P<symbol>[\w@.]{1,400}))",
        level="fatal",
        priority=-6,
        note="A program needs a symbol that its shared libraries do not have.",
    ),
    RecordPattern(
        "os.library",
        r"(?P<library>[^\s:]{1,300}\.so[\w.-]{0,60}): undefined symbol: (?P<symbol>[\w@.]{1,400})",
        level="error",
        read_lines=keep_level,
        priority=-7,
        scan=r"undefined symbol: ",
        note="A shared library needs a symbol that is not there.",
    ),
    RecordPattern(
        "os.library",
        r"version [`'\"](?P<symbol>(?:GLIBC|GLIBCXX|CXXABI|GCC|OPENSSL|NCCL|"
        r"libcud)[\w.]{1,40})['\"`] not found \(required by (?P<library>[^)]{1,300})\)",
        level="error",
        read_lines=keep_level,
        priority=-7,
        scan=r"version [`'\"][A-Za-z_\d.]{3,40}['\"`] not found \(required by",
        note="A shared library needs a newer system library than this host has.",
    ),
    RecordPattern(
        "os.library",
        r"(?P<library>[^\s:'\"]{1,300}\.so[\w.-]{0,60})['\"]?: cannot open shared object file",
        level="error",
        read_lines=keep_level,
        priority=-7,
        scan=r"cannot open shared object file",
        note="A shared library was not found.",
    ),
    RecordPattern(
        "os.library",
        r"(?i:warning|couldn't load driver|skipping|ignoring).{0,400}?(?P<library>[^\s:'\"]{1,300}\.so[\w.-]{0,60})["
        r"'\"]?: cannot open shared object file",
        level="info",
        priority=-6,
        scan=r"cannot open shared object file",
        note="An optional plug-in is not installed; the program goes on.",
    ),
)

COMMANDS = (
    RecordPattern(
        "os.command",
        r"(?:line \d+: |^\S{1,200}: \d{1,5}: |^\S{0,40}?: ?|^)(?P<command>[^\s:]{1,200}): (?:command not found|"
        "not found$)",
        level="error",
        priority=-7,
        scan=r": (?:command )?not found",
        note="The shell did not find this command.",
    ),
    RecordPattern(
        "os.command",
        r"failed to run command ['‘`](?P<command>[^\"’'`]{1,200})['’`]: ",
        level="error",
        priority=-6,
        note="nohup, timeout, nice or env did not find this program or could not start it.",
    ),
    RecordPattern(
        "os.script",
        r"^\S{1,200}: (?:line )?\d{1,5}: (?P<message>syntax error(?: near unexpected token|: ).{1,80}|unexpected EOF "
        r"while looking for matching .{1,40}"
        r"|[\w\[\]@*]{1,80}: (?:unbound variable|parameter (?:null or )?not set|bad substitution)"
        r"|.{0,80}Syntax error: .{1,80})",
        level="error",
        priority=-6,
        scan=r"syntax error(?: near unexpected token|: )|unexpected EOF while looking for matching|: unbound variable"
        r"|: parameter (?:null or )?not set|bad substitution|Syntax error: ",
        note="The shell stopped at a mistake in the job script, or at a variable that is not set.",
    ),
    RecordPattern(
        "os.modules",
        r"(?P<message>The following module\(s\) are unknown: .{1,160}|Unable to locate a modulefile for .{1,80}"
        r"|EnvironmentLocationNotFound: .{1,160}|Could not find conda environment: .{1,80})",
        level="error",
        priority=-6,
        note="The environment module or conda environment that the script asks for is not there.",
    ),
    RecordPattern(
        "os.command",
        r"(?:env: |exec:? ).{0,12}?[\"‘'`](?P<command>[^\"’'`]{1,200})[\"’'`].{0,40}?(?:No such file or directory|"
        r"executable file not found in \$PATH|not found)",
        level="error",
        priority=-6,
        scan=r"(?:env: |exec:? ).{0,300}(?:No such file or directory|executable file not found|not found)",
        note="This program was not found.",
    ),
    RecordPattern(
        "os.command",
        r"(?P<command>[^\s:]{1,200}): (?:cannot execute(?: binary file)?|cannot execute: required file not found)",
        level="error",
        priority=-7,
        scan=r": cannot execute",
        note="The shell could not start this file.",
    ),
)

THREADS = (
    RecordPattern(
        "os.threads",
        r"(?P<message>fork: (?:retry: )?(?:Resource temporarily unavailable|Cannot allocate memory)|"
        "libgomp: Thread creation failed: .{3,80}|(?:OpenBLAS )?blas_thread_init: (?:pthread_create failed|"
        "RLIMIT_NPROC).{0,160}|"
        r"pthread_create\W{0,4} ?failed.{0,120}|(?:can't|unable to|could not) (?:start new|create(?: native|"
        " new)?) thread.{0,80}|"
        r"failed to create new OS thread.{0,80}|Unable to create new native thread.{0,40}|newosproc.{0,40})",
        level="error",
        priority=-6,
        scan="fork: (?:retry: )?(?:Resource|Cannot allocate)|libgomp: Thread creation failed|blas_thread_init: |"
        "pthread_create.{0,5}failed|"
        "(?:can't|nable to|ould not) (?:start new|create(?: native| new)?) thread|failed to create new OS thread|"
        "Unable to create new native thread",
        note="The system gives this program no more threads or processes.",
    ),
    RecordPattern(
        "os.openmp",
        r"(?P<message>OMP: Error #\d+: .{3,200})",
        level="fatal",
        priority=-6,
        scan=r"OMP: Error #",
        note="The OpenMP library gave up and ended the process.",
    ),
    RecordPattern(
        "os.openmp",
        r"(?P<message>OMP: (?:Warning|Info|Hint):? ?#?\d*.{0,120})",
        level="info",
        priority=-6,
        scan=r"OMP: (?:Warning|Info|Hint)",
        note="A remark of the OpenMP library.",
    ),
)

NET = (
    RecordPattern(
        "os.dns",
        r"(?:(?<![\w.-])(?P<host>[\w.-]{2,200}):? )?(?:(?:\[Errno -\d\] )?(?:Name or service not known|"
        "Temporary failure in name resolution|nodename nor servname provided|No address associated with hostname))",
        level="error",
        read_lines=keep_level,
        priority=-7,
        scan="Name or service not known|Temporary failure in name resolution|nodename nor servname provided|"
        "No address associated with hostname",
        note="A host name could not be resolved.",
    ),
    RecordPattern(
        "os.dns",
        "(?:[Cc]ould not resolve (?:host(?:name)?|proxy):? |unable to resolve host (?:address )?|"
        r"Failed to resolve |no such host: ?)['\"‘]?(?P<host>[\w.-]{2,200})",
        level="error",
        read_lines=keep_level,
        priority=-7,
        scan=r"ould not resolve (?:host|proxy)|unable to resolve host |Failed to resolve |no such host",
        note="A host name could not be resolved.",
    ),
    RecordPattern(
        "os.ssl",
        r"(?P<message>CERTIFICATE_VERIFY_FAILED.{0,160}|SSLError\W.{3,160}|SSL certificate problem: .{3,80}|"
        r"\[SSL: [A-Z_\d]+\].{0,80})",
        level="error",
        read_lines=keep_level,
        priority=-8,
        scan=r"CERTIFICATE_VERIFY_FAILED|SSLError[^a-zA-Z]|SSL certificate problem|\[SSL: [A-Z_]",
        note="An encrypted connection could not be set up.",
    ),
    RecordPattern(
        "os.http",
        r"(?P<message>\b(?P<status>[45]\d\d) (?:Client|Server) Error: .{3,200}|HTTP (?:Error|error|status(?: code)?|"
        r"response code said error)[ :]{1,2}(?P<status>[45]\d\d)\b.{0,160}|"
        r"ERROR (?P<status>[45]\d\d): [A-Z].{2,80}|returned error: (?P<status>[45]\d\d)\b|[Ss]tatus(?: code|"
        r" ?[Cc]ode)?[ :=]{1,3}(?P<status>[45]\d\d)\b)",
        level="error",
        read_lines=keep_level,
        priority=-8,
        scan=r"[45]\d\d (?:Client|Server) Error: |HTTP (?:Error|error|status(?: code)?)[ :]{1,2}[45]\d\d|"
        r"ERROR [45]\d\d: [A-Z]|returned error: [45]\d\d|tatus(?: code| ?[Cc]ode)?[ :=]{1,3}[45]\d\d",
        note="A web server answered with this error status.",
    ),
    RecordPattern(
        "os.http",
        r"(?P<message>curl: \(\d+\) .{3,200}|(?:Max retries exceeded with url|"
        r"Read timed out\. \(read timeout).{0,160})",
        level="error",
        read_lines=keep_level,
        priority=-9,
        scan=r"curl: \(\d+\) |Max retries exceeded with url|Read timed out\. \(read timeout",
        note="A download failed.",
    ),
)

BUILD = (
    RecordPattern(
        "os.build",
        "(?P<message>nvcc fatal *: .{3,200}|ptxas (?:fatal|error) *: .{3,200}|ninja: (?:build stopped|error|"
        "fatal): .{3,160}|"
        r"collect2: (?:fatal )?error: .{3,120}|(?:/usr/bin/)?ld(?:\.\w+)?: (?:cannot find|"
        ".{1,200}undefined reference).{0,200}|undefined reference to .{3,200}|"
        r"CMake Error.{0,200}|(?:gcc|g\+\+|c\+\+|gfortran|flang|clang(?:\+\+)?|nvcc|hipcc|cc1plus|f951|"
        r"x86_64\S*-(?:gcc|g\+\+|gfortran|"
        "cc)): (?:fatal )?error: .{3,200})",
        level="error",
        priority=-6,
        scan="nvcc fatal|ptxas (?:fatal|error)|ninja: (?:build stopped|error|fatal)|collect2: |"
        r"ld(?:\.\w+)?: cannot find|undefined reference to |CMake Error|(?:gcc|\+\+|gfortran|f951|flang|"
        "clang|nvcc|hipcc|cc1plus|"
        "cc): (?:fatal )?error: ",
        note="A compiler, linker or build tool failed.",
    ),
    RecordPattern(
        "os.build",
        r"^(?:(?!/usr/|/opt/)(?=(?P<what>[^\s:()]{1,300})))?[^\s:()]{1,300}\.(?:[chfCHF]|cc|cpp|cxx|c\+\+|hh|hpp|hxx|inl|[it]pp|tcc|cuh?|cuf|hip|for"
        r"|[fF](?:90|95|03|08|pp))"
        r"(?::\d+(?::\d+)?|\(\d+\)): (?:catastrophic |fatal )?error(?: #?\d+)?: (?P<message>.{3,300})",
        level="error",
        priority=-7,
        scan=r"\.\w{1,4}(?::\d+|\(\d+).{0,8}: (?:catastrophic |fatal )?error",
        note="A source file did not compile.",
    ),
    RecordPattern(
        "os.build",
        r"^(?:NV|PG)(?:FORTRAN|C\+\+|CC?)-[SF]-\d{4}-(?P<message>.{3,200}?)(?: \((?P<what>[^\s:()]{1,300}): \d+\))?$",
        level="error",
        priority=-7,
        scan=r"(?:NV|PG)(?:FORTRAN|C\+\+|CC?)-[SF]-\d{4}-",
        note="A source file did not compile.",
    ),
    RecordPattern(
        "os.build",
        r"^make(?:\[\d+\])?: (?P<message>\*\*\* \[.{0,200}?(?P<what>[^\s:\]/]{1,100}\.(?:o|lo|so|a|mod|obj))\]"
        r" Error \d+)",
        level="error",
        priority=-4,
        scan=r"make: \*\*\* |\]: \*\*\* ",
        note="A build step failed: an object or library was not made.",
    ),
)

RECORDS: tuple[RecordPattern, ...] = (*ERRNOS, *LOADER, *COMMANDS, *THREADS, *NET, *BUILD)
