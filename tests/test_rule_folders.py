"""Folders of rules: one folder a signature, with its rule, its variants and the translations of all."""

from __future__ import annotations

from pathlib import Path

from rule_texts import LICENCE, rule_file

from logdoctor.ruleset.loading import Ruleset, read

SIGNATURE = "action: retry"


def write(folder: Path, name: str, *changes: tuple[str, str]) -> None:
    """Write the licence rule into a file below ``folder``, given without its suffix."""
    rule_file(folder, name.replace("/", "."), LICENCE, *changes)


def rules(book: Ruleset) -> list[tuple[str, str]]:
    return [(rule.id, rule.signature) for rule in book.rules]


def test_folder_says_the_signature_of_its_rule_and_of_its_variants(tmp_path):
    write(tmp_path, "site/licence/rule")
    write(tmp_path, "site/licence/seats-taken")
    write(tmp_path, "site/licence/licence-late")
    book = read([tmp_path])
    assert book.faults == ()
    assert rules(book) == [(f"site.{name}", "site.licence") for name in ("licence", "licence-late", "seats-taken")]


def test_flat_file_says_its_own_signature(tmp_path):
    write(tmp_path, "site/licence", (SIGNATURE, f"{SIGNATURE}\nsignature: site.seats"))
    assert rules(read([tmp_path])) == [("site.licence", "site.seats")]


def test_benign_rule_is_healthy_without_saying_so(tmp_path):
    write(tmp_path, "benign/licence", (SIGNATURE, "role: benign"))
    (rule,) = read([tmp_path]).rules
    assert (rule.signature, rule.action) == ("healthy", "none")


def test_signature_key_in_the_folder_of_a_signature_is_a_fault(tmp_path):
    write(tmp_path, "site/licence/rule", (SIGNATURE, f"{SIGNATURE}\nsignature: site.seats"))
    (fault,) = read([tmp_path]).faults
    assert (fault.what, fault.where) == ("the folder says the signature", f"{tmp_path}/site/licence/rule.yaml:4")


def test_second_file_of_an_id_is_a_fault(tmp_path):
    write(tmp_path, "site/licence/rule")
    write(tmp_path, "site/licence")
    (fault,) = read([tmp_path]).faults
    assert fault.what == "there is another rule 'site.licence'"


def test_variant_of_a_shipped_signature_can_stand_in_a_folder_of_its_own(tmp_path):
    write(tmp_path / "ours", "net/dns/rule")
    write(tmp_path / "site", "net/dns/dns-of-our-site")
    assert rules(read([tmp_path / "ours", tmp_path / "site"])) == [
        ("net.dns", "net.dns"),
        ("net.dns-of-our-site", "net.dns"),
    ]
