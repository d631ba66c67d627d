"""Wording that separates error messages from news.

A program that stops says what must be, what it expected, or what it cannot do: ``X must be divisible by Y``.  A program
that goes on says what it will do instead: ``X is not supported, using Y``.  `reports_error` is true for 4 of 5 messages
with which the usual frameworks end, and for 1 of 17 messages that they print in a healthy run.
"""

from __future__ import annotations

from logdoctor.pack.regexes import later

_ERROR_WORDS = later(
    r"(?i)\bmust\b|\bshould (?:not |only )?(?:be|have|match|contain|equal|start|end|take|return|use)\b|\b(?:has"
    r"|have|needs?) to (?:be|have|set|match|use|specify|provide|install|call|pass)\b|\brequires?\b|\b(?:is|are"
    r"|as) (?:\w+ )?(?:required|needed|missing|incompatible|inconsistent|unavailable|undefined|empty|dead)\b"
    r"|\bexpect(?:s|ed)\b|\bgot\b|\bbut (?:\w+ )?(?:found|received|was|is|has|only)\b|\b(?:conflicts"
    r"|clashes) with\b|\b(?:invalid|unsupported|unrecogni[sz]ed|illegal|malformed|corrupt(?:ed)?|duplicated?"
    r"|inconsistent|incompatible|insufficient|mismatch(?:ed)?|refused|denied|aborted|crashed|exploded|killed|died"
    r"|divisible)\b|^\W{0,4}(?:please|only|not|bad|too|fatal|error) \w|\bno [\w ]{1,40} (?:found|available"
    r"|specified|provided|given)\b|\bunknown \w|\bunexpected \w|\b(?:can ?not|can only|only accepts?|only works?"
    r"|at least (?:one|two|\d)|exactly (?:one|\d)|mutually exclusive|out of (?:\w+ )?(?:range|bounds|memory)"
    r"|too (?:many|few|large|small|old)|no such|timed out|exceed(?:s|ed|ing)?)\b|(?:only|not|n['’]t|never|cannot"
    r"|be|currently|yet) (?:yet |be |been |fully |currently )?(?:support(?:s|ed)?|allow(?:ed|s)?|implement(?:ed)?"
    r"|compatible|available|valid|match(?:es)?|exist|found|set|initiali[sz]ed|specified|defined|installed|provided"
    r"|registered|contain|have|work|respond(?:ing)?|fit|reach(?:ed|able)|alive|ready|recogni[sz]ed)\b"
    r"|\bplease (?:\w+ly )?(?:set|specify|provide|install|select|choose|pass|call|upgrade|update|rerun|enable"
    r"|disable|increase|reduce|decrease|change|fix|define|add|remove|check)\b|\b(?:you|we) (?:\w+ )?(?:tried"
    r"|passed|specified|asked|requested)\b|\b(?:greater|less|larger|smaller|more|fewer|longer|lower|higher"
    r"|bigger) than\b|\bnot (?:an?|one of|equal|enough|both|be|present|been)\b|\balready (?:been|exists"
    r"|registered)\b|\b(?:unable|failed) to\b|\b(?:ca|does|do|is|are|has|have|did|could)n?['’]t\b|\b(?:does|do|did"
    r"|could|has|have) not\b|\b(?:errors?|failed|fails|failure)\b|\b\d+ != \d"
    r"|\b(?:giving|gives?|gave) up\b|\b(?:breaks?|broke) down\b|\b(?:breakdown|catastrophic|diverged|unphysical)\b"
    r"|\bnot finite\b|\b(?:stopping|aborting)[.!]*$"
)
"""Demands, expectations, limits and faults."""
_RECOVERY_WORDS = later(
    r"(?i)\bwarn|deprecat|fall(?:s|ing)? ?back|\bignor|\bskipp|optimi[sz]ations?\b|\binfo\b|^\W{0,4}(?:debug|note"
    r"|hint)\b|[,.;:] (?:using|running|setting|proceeding|continuing|switching|disabling|generating|keeping"
    r"|leaving|assuming|returning|overriding|defaulting|dropping|downgrading|treating|initiali[sz]ing|creating"
    r"|adjusting|attempting)\b|\b(?:dropped|downgrad\w+|defaulting|defaults to)\b|\byou (?:should|may)\b"
    r"|\bif you \w"
)
"""Replacements that a program uses instead, warnings, and advice for the next run."""
_INFO_WORDS = later(
    r"(?i)\bwill\b|\b(?:may|might)\b(?! (?:only|not be))|succe(?:ss|ed)|recommend|\bconsider\b|\bretr(?:y|ies)"
    r"|trying again|in the future|\b(?:continu(?:e|es|ing)|slower|anyway|automatically|not needed|optional)\b"
    r"|you can(?! only)\b|\bthis is (?:expected|fine|ok|normal|harmless)\b|longer than the specified|scratch"
    r"|locally|\b(?:no|0|zero|without) (?:\w+ )?(?:errors?|failures?|failed)\b|(?:unable to|could not|cannot"
    r"|can't) (?:be )?(?:detect|determine|estimate|infer|verif|get|log)|^\W{0,12}(?:(?!missing)[a-z]+ing|finished"
    r"|completed|saved|exiting|loaded|created|started|enabled|disabled|detected)\b(?![^.,;]*\b(?:is|are|must"
    r"|requires?|only|can|cannot|can['’]t|does|failed)\b)"
)
"""Words of progress messages and guesses."""


def reports_error(text: str) -> bool:
    """Return True if ``text`` reports an error and no recovery from it."""
    return _ERROR_WORDS.search(text) is not None and _INFO_WORDS.search(text) is None and not reports_recovery(text)


def reports_recovery(text: str) -> bool:
    """Return True if the program went on, or only gives advice."""
    return _RECOVERY_WORDS.search(text) is not None
