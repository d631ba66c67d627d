"""The documents of rules, each put together from its files.

A rule takes what it lacks from the rule that its ``like`` names, a variant also from the rule of its signature. The
words in other languages are in ``i18n/<language>/<family>.yaml``, by the id of the rule.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from pathlib import Path

from logdoctor.model import RuleError
from logdoctor.model.own_files import read_source
from logdoctor.pack.yaml_lines import Document, Faults, parse
from logdoctor.ruleset import SUFFIX, TRANSLATIONS, RuleFile, archived, rule_files, shipped_archive

SHARED = ("remedy", "references", "failure_class")
"""Keys that a variant takes from the rule of its signature."""
ALIKE = ("title", "cause", "remedy", "references", "strength", "evidence")
"""Keys that a rule takes from the rule that its ``like`` names."""

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
        document = _translated(document, file.id, translations)
        for base_id, keys in _bases(document, file):
            if base_id in by_id and base_id != file.id:
                base = documents[by_id[base_id].path][1]
                document = _completed(document, file.id, base, base_id, keys, translations)
            elif keys is ALIKE:
                why = "'like' names another rule of the same folder"
                errors.append(RuleError(f"there is no rule '{base_id}'", document.where(("like",)), why))
        yield file, document


def languages(folder: Path) -> list[str]:
    """Return the languages of a folder's translations."""
    return sorted(path.name for path in (folder / TRANSLATIONS).glob("*") if path.is_dir())


def _parse(path: Path, errors: list[RuleError]) -> Document | None:
    try:
        return parse(_read(path), str(path))
    except RuleError as error:
        errors.append(error)
        return None


def _read(path: Path) -> str:
    archive = shipped_archive()
    if archive in path.parents:
        return archived(archive)[path.relative_to(archive).as_posix()].decode()
    return read_source(path, "the rule file could not be read")


def _translated(document: Document, rule_id: str, translations: Translations) -> Document:
    """Add the words in other languages."""
    for lang, files in translations.items():
        if rule_id in files:
            document = document.take(("text", lang), files[rule_id], (rule_id,))
    return document


def _bases(document: Document, file: RuleFile) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the rules from which a rule takes what it lacks, and the keys that it takes from each."""
    if "like" in document.data:
        yield str(document.data["like"]), ALIKE
    if file.signature:
        yield file.signature, SHARED


def _completed(
    document: Document, rule_id: str, base: Document | None, base_id: str, keys: Sequence[str], words: Translations
) -> Document:
    """Take the keys that the document lacks from the base, in every language in which the rule has words."""
    if base is None or not isinstance(base.data, dict):
        return document
    for key in keys:
        if key in base.data and key not in document.data:
            document = document.take((key,), base, (key,))
            for lang, files in words.items():
                if rule_id in files and base_id in files and key in files[base_id].data[base_id]:
                    document = document.take(("text", lang, key), files[base_id], (base_id, key))
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
