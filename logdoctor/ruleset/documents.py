"""The documents of rules, each put together from its files.

A variant takes what it lacks from the rule of its signature. The words in other languages are in
``i18n/<language>/<family>.yaml``, by the id of the rule.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path

from logdoctor.model import RuleError
from logdoctor.model.own_files import read_source
from logdoctor.pack.yaml_lines import Document, Faults, parse
from logdoctor.ruleset import SUFFIX, TRANSLATIONS, RuleFile, rule_files

SHARED = ("remedy", "references", "failure_class")
"""Keys that a variant takes from the rule of its signature."""
STEPS = "remedy"

Translations = dict[str, dict[str, Document]]
"""The file that holds the words of a rule, by language and id."""


def read_documents(folder: Path, errors: list[RuleError]) -> Iterator[tuple[RuleFile, Document | None]]:
    """Yield each rule file of a folder with its document, None if it cannot be read. Faults go to ``errors``."""
    documents = {file.path: (file, _parse(file.path, errors)) for file in rule_files(folder)}
    by_id: dict[str, RuleFile] = {}
    for file, _ in documents.values():
        if (first := by_id.setdefault(file.id, file)) is not file:
            what = f"there is another rule '{file.id}'"
            errors.append(RuleError(what, str(file.path), f"it is {first.path}", "rename one of them"))
    translations = _read_translations(folder, by_id, errors)
    for file, document in documents.values():
        if document is None or not isinstance(document.data, dict):
            yield file, document
            continue
        base_file = by_id.get(file.signature)
        base = documents[base_file.path][1] if base_file and base_file is not file else None
        yield file, _translated(_completed(document, base), file, translations)


def languages(folder: Path) -> list[str]:
    """Return the languages of a folder's translations."""
    return sorted(path.name for path in (folder / TRANSLATIONS).glob("*") if path.is_dir())


def _parse(path: Path, errors: list[RuleError]) -> Document | None:
    try:
        return parse(read_source(path, "the rule file could not be read"), str(path))
    except RuleError as error:
        errors.append(error)
        return None


def _completed(document: Document, base: Document | None) -> Document:
    if base is not None and isinstance(base.data, dict):
        for key in SHARED:
            document = document.take((key,), base, (key,)) if key in base.data else document
    return document


def _translated(document: Document, file: RuleFile, translations: Translations) -> Document:
    """Add the words in other languages. Where the steps are those of the base, so are the translated ones."""
    for lang, files in translations.items():
        if file.id in files:
            words = files[file.id]
            document = document.take(("text", lang), words, (file.id,))
            steps_of = files.get(file.signature, words).data.get(file.signature)
            if (STEPS,) in document.taken and isinstance(steps_of, dict) and STEPS in steps_of:
                document = document.take(("text", lang, STEPS), files[file.signature], (file.signature, STEPS))
    return document


def _read_translations(folder: Path, ids: Container[str], errors: list[RuleError]) -> Translations:
    translations: Translations = {}
    for lang in languages(folder):
        files = translations[lang] = {}
        for path in sorted((folder / TRANSLATIONS / lang).glob("*" + SUFFIX)):
            document = _parse(path, errors) or Document({}, file=str(path))
            faults = Faults(document, str(path))
            for rule_id in _entries(document, ids, faults):
                files[rule_id] = document
            errors += faults.errors
    return translations


def _entries(document: Document, ids: Container[str], faults: Faults) -> Iterator[str]:
    """Yield the ids of the rules that a file of translations is about."""
    if not isinstance(document.data, dict):
        faults.add((), "a file of translations holds one mapping", "", "cuda.oom: {title: …, cause: …, remedy: […]}")
        return
    for rule_id, words in document.data.items():
        if rule_id not in ids:
            faults.add((rule_id,), f"there is no rule '{rule_id}' in this folder", "", "see: logdoctor rules list")
        elif not isinstance(words, dict):
            faults.add((rule_id,), "the words of a rule are one mapping", "", "title: …, cause: …, remedy: […]")
        else:
            yield rule_id
