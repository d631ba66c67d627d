r"""The end of a process in the words of other shells, makes and languages: ``段错误 (核心已转储)``, ``Getötet``.

Shells print strsignal() in the language of the user's locale; which word is which signal stands in the catalogue of
signals.

- ``crash.signal`` signal (number), signal_text, pid, command: as in `crash`

Sources: bash jobs.c, fish proc.cpp, GNU make job.c; the translations of glibc (po/*.po, siglist) and bash.
"""

from __future__ import annotations

from logdoctor.logs.multiline.crash_stacks import read_signal
from logdoctor.logs.record_pattern import RecordPattern

_PLAIN = (
    r"段错误|段錯誤|程式記憶體區段錯誤|总线错误|非法指令|浮点数例外|浮点异常|已杀死|已中止|已放弃|已砍掉|强制终止|強制終了|"
    r"Speicherzugriffsfehler|Ungültiger Maschinenbefehl|Gleitkomma-Ausnahme|Getötet|"
    r"Erreur de segmentation|Erreur du bus|Exception en point flottant|Processus arrêté|"
    r"Violación de segmento|Instrucción ilegal|Excepción de coma flotante|Terminado \(killed\)|"
    r"Ошибка сегментирования|Ошибка шины|Убито|Аварийный останов|"
    r"Errore di segmentazione|Falha de segmentação|Naruszenie ochrony pamięci|세그멘테이션 (?:오류|결함)|죽었음"
)
"""Words that say nothing else where they stand alone in a line."""
_CORED = r"Abgebrochen|Abandon|Abortado|Annullato|Przerwane|中止|중지됨"
"""Words of everyday use: only a core dump behind them tells that a signal is meant."""
_CORE = (
    r"\s*[(（](?:核心已转储|核心已傾印|核心已转存|吐核|コアダンプ|코어 덤프됨|core dumped|"
    r"Speicherabzug geschrieben|[`'‘«]?core['’»]? generado|стек памяти сброшен на диск|core dump creato|"
    r"imagem do núcleo gravada|zrzut pamięci)[)）]"
)
_SCRIPT = r"(?:line|行|Zeile|ligne|línea|строка|riga|linha|줄) ?\d{0,7}.{0,4}?[:：] *(?P<pid>\d+) +"
_LINE = rf"(?:^|{_SCRIPT})"
"""Either the word begins the line, or the shell says which line of the script ran the process of this number."""
_ENGLISH = r"Segmentation fault|Bus error|Aborted|Killed|Floating point exception|Illegal instruction"
_DEADLY = r"Segmentation fault|Bus error|Killed|Floating point exception|Illegal instruction"
_NOTE = "The shell reports that a signal ended a command."

RECORDS: tuple[RecordPattern, ...] = (
    RecordPattern("crash.signal",
           rf"{_LINE}(?P<signal_text>{_PLAIN})(?:{_CORE})?(?:\s*$|"
           r"\s+(?P<command>(?:\w+=\S{0,300}|[\w./~-]+) .{0,400}))",
           "fatal", read_signal, _NOTE, -1, scan=_PLAIN),
    RecordPattern("crash.signal", rf"{_SCRIPT}(?P<signal_text>{_PLAIN})(?:{_CORE})?\s+(?P<command>\S{{1,400}})\s*$",
           "fatal", read_signal, _NOTE, -1, scan=_PLAIN),
    RecordPattern("crash.signal", rf"{_LINE}(?P<signal_text>{_ENGLISH}){_CORE}(?:\s*$|\s+(?P<command>\S.{{0,400}}))",
           "fatal", read_signal, _NOTE, -1, scan=rf"(?:{_ENGLISH})\s*[(（](?!core)"),
    RecordPattern("crash.signal", rf"{_LINE}(?P<signal_text>{_CORED}){_CORE}(?:\s*$|\s+(?P<command>\S.{{0,400}}))",
           "fatal", read_signal, _NOTE, -1, scan=rf"(?:{_CORED}){_CORE}"),
    RecordPattern("crash.signal", rf"^[*`]{{1,3}}(?P<signal_text>{_ENGLISH})(?: \(core dumped\))?[*`]{{1,3}}\s*$",
           "fatal", read_signal, _NOTE, -1, scan=rf"[*`](?:{_ENGLISH})(?: \(core dumped\))?[*`]"),
    RecordPattern("crash.signal", rf"(?:\.{{3}}|%|\]|it/s|s/it) ?(?P<signal_text>{_DEADLY})(?: \(core dumped\))?\s*$", "fatal",
           read_signal, "A signal ended a program within a line.", -1,
           scan=rf"(?:\.\.\.|%|\]|it/s|s/it) ?(?:{_DEADLY})"),
    RecordPattern("crash.signal", r"^(?P<signal_text>Killed): 9\s*$", "fatal", read_signal, _NOTE, -1, scan=r"^Killed: 9"),
    RecordPattern("crash.signal", rf"^g?make(?:\[\d+\])?: \*\*\* \[[^\]]{{1,300}}\] (?P<signal_text>{_ENGLISH})\b",
           "fatal", read_signal, "make saw a signal end a command.", -1, scan=rf"\] (?:{_ENGLISH})"),
    RecordPattern("crash.signal", r"^fish: .{0,60}?'(?P<command>[^']{1,400})'.{0,40}? terminated by signal "
           r"(?P<signal_text>SIG[A-Z]{2,6}) ", "fatal", read_signal, _NOTE, -1),
)  # fmt: skip
