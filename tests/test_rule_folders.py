"""Folders of rules: one folder a signature, with its rule, its variants and the translations of all."""

from __future__ import annotations

from pathlib import Path

from rule_texts import BOOK, LICENCE, rule_file

from logdoctor.authoring.lint import lint
from logdoctor.model import StepWords
from logdoctor.ruleset import shipped_rules
from logdoctor.ruleset.loading import Ruleset, read

SIGNATURE = "action: retry"


def write(folder: Path, name: str, *changes: tuple[str, str]) -> None:
    """Write the licence rule into a file below ``folder``, given without its suffix."""
    rule_file(folder, name.replace("/", "."), LICENCE, *changes)


def rules(book: Ruleset) -> list[tuple[str, str]]:
    return [(rule.id, rule.signature) for rule in book.rules]


def test_folders_on_top_of_rules_that_were_read_have_no_more_faults(tmp_path):
    """An installed logdoctor reads own rules on top of the compiled ones."""
    write(tmp_path, "site/licence/rule", (SIGNATURE, f"{SIGNATURE}\nbecause: [{{of: cuda.oom, reason: it is so}}]"))
    assert read([shipped_rules(), tmp_path], BOOK.rules).faults == ()


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


STEPS = "remedy: ['Start it again']\n"
PAGES = "references: ['https://example.org/licences']\n"


def test_variant_takes_what_it_lacks_from_the_rule_of_its_signature(tmp_path):
    write(tmp_path, "site/licence/rule", (STEPS, f"{STEPS}failure_class: not set up\n"))
    write(tmp_path, "site/licence/late", (STEPS, ""), (PAGES, ""))
    variant, base = read([tmp_path]).rules
    assert (variant.id, variant.failure_class) == ("site.late", "not set up")
    assert variant.references == base.references == ("https://example.org/licences",)
    assert variant.say("en").remedy == base.say("en").remedy == (StepWords(("Start it again",)),)


def test_own_parts_of_a_variant_stay(tmp_path):
    write(tmp_path, "site/licence/rule")
    write(tmp_path, "site/licence/late", ("Start it again", "Wait"))
    assert read([tmp_path]).rules[0].say("en").remedy == (StepWords(("Wait",)),)


def test_rule_without_steps_whose_signature_has_none_is_a_fault(tmp_path):
    write(tmp_path, "site/licence/late", (STEPS, ""))
    assert [fault.what for fault in read([tmp_path]).faults] == ["'remedy' is missing or empty"]


def test_fault_in_what_variants_take_is_told_once_where_it_is(tmp_path):
    write(tmp_path, "site/licence/rule", (STEPS, "remedy: [{a: b}]\n"))
    write(tmp_path, "site/licence/late", (STEPS, ""))
    write(tmp_path, "site/licence/later", (STEPS, ""))
    assert [fault.where for fault in read([tmp_path]).faults] == [f"{tmp_path}/site/licence/rule.yaml:4"]


def test_lint_issue_of_what_variants_take_is_told_once(tmp_path):
    write(tmp_path, "site/licence/rule", ("Start it again", "TODO"))
    write(tmp_path, "site/licence/late", (STEPS, ""))
    assert [issue.rule for issue in lint([tmp_path]).issues if issue.code == "todo"] == ["site.licence"]


CHINESE = "{title: 许可证服务器无应答, cause: 许可证服务器没有应答。, remedy: [重新提交]}"


def translate(folder: Path, text: str) -> None:
    path = folder / "i18n" / "zh" / "site.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")


def test_translations_of_a_family_stand_in_one_file(tmp_path):
    write(tmp_path, "site/licence/rule")
    translate(tmp_path, f"site.licence: {CHINESE}\n")
    (rule,) = read([tmp_path]).rules
    assert rule.say("zh").title == ("许可证服务器无应答",)
    assert rule.say("en").title[0].startswith("The licence server")


def test_rule_without_a_translation_speaks_english_and_is_counted(tmp_path):
    write(tmp_path, "site/licence/rule")
    write(tmp_path, "site/printer", ("licence server", "printer"))
    translate(tmp_path, f"site.licence: {CHINESE}\n")
    assert read([tmp_path]).rules[1].say("zh").title[0].startswith("The printer")
    assert lint([tmp_path]).untranslated == {"zh": 1}


def test_faults_of_translations_name_their_file_and_line(tmp_path):
    write(tmp_path, "site/licence/rule")
    missing = "site.licence:\n  title: 许可证\n  remedy: [重新提交]\n"
    translate(tmp_path, f"{missing}site.nosuch: {CHINESE}\nsite.printer: 打印机\n")
    file = f"{tmp_path}/i18n/zh/site.yaml"
    assert [(fault.what, fault.where) for fault in read([tmp_path]).faults] == [
        ("there is no rule 'site.nosuch' in this folder", f"{file}:4"),
        ("there is no rule 'site.printer' in this folder", f"{file}:5"),
        ("the language 'zh' lacks 'cause'", f"{file}:1"),
    ]


def test_lint_compares_translations_and_names_their_file_and_line(tmp_path):
    write(tmp_path, "site/licence/rule")
    translate(tmp_path, "site.licence:\n  title: 许可证\n  cause: 无应答\n  remedy:\n    - 执行 `lmstat`\n")
    (issue,) = lint([tmp_path]).issues
    assert (issue.code, issue.where) == ("translation", f"{tmp_path}/i18n/zh/site.yaml:5")


def test_unreadable_translations_leave_the_rules_in_english(tmp_path):
    write(tmp_path, "site/licence/rule")
    translate(tmp_path, "site.licence: [unclosed\n")
    book = read([tmp_path])
    assert [rule.id for rule in book.rules] == ["site.licence"]
    assert ["i18n/zh/site.yaml:" in fault.where for fault in book.faults] == [True]


def test_translated_steps_of_a_variant_are_those_of_its_base_as_in_english(tmp_path):
    write(tmp_path, "site/licence/rule")
    write(tmp_path, "site/licence/late", (STEPS, ""))
    translate(tmp_path, f"site.licence: {CHINESE}\nsite.late: {{title: 许可证, cause: 太晚}}\n")
    variant = read([tmp_path]).rule("site.late")
    assert (variant.say("zh").title, variant.say("zh").remedy) == (("许可证",), (StepWords(("重新提交",)),))
