"""Small helpers for wording: articles, lists, casual spelling, random choices within a text."""

import re
from random import Random

from skills.words import BOYS, GIRLS

Turns = list[tuple[str, str]]

_INNERMOST_CHOICE = re.compile(r"\[([^\[\]]*)\]")


def skip_draw(rng: Random) -> None:
    """Draws a number that nothing uses: it keeps the sequence of the released corpus."""
    rng.random()


def expand(template: str, rng: Random) -> str:
    """Replaces each `[a|b|c]` by one of its choices, innermost first, and joins double spaces."""
    while True:
        template, count = _INNERMOST_CHOICE.subn(
            lambda match: rng.choice(match.group(1).split("|")), template
        )
        if count == 0:
            return re.sub(r" {2,}", " ", template).strip()


def an(phrase: str) -> str:
    """The phrase with its indefinite article."""
    sounds_like_consonant = phrase.startswith(("uni", "one", "use"))
    starts_with_vowel = phrase[0].lower() in "aeiou" and not sounds_like_consonant
    return ("an " if starts_with_vowel else "a ") + phrase


def cap(text: str) -> str:
    """The text with a capital first letter, and the rest as it is."""
    return text[0].upper() + text[1:]


def join_words(items: list[str]) -> str:
    """The items as a list in a sentence: "a", "a and b", "a, b and c"."""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


def casual(rng: Random, request: str, chance: float = 0.12) -> str:
    """Sometimes spells a request casually: no capital, often no final mark."""
    if rng.random() < chance:
        request = request[0].lower() + request[1:]
        return request.rstrip(".?") if rng.random() < 0.7 else request
    return request


def person(rng: Random) -> str:
    """A first name."""
    return rng.choice(GIRLS + BOYS)


def fake_name(rng: Random) -> str:
    """A capitalized name of two or three random syllables that means nothing."""
    return cap("".join(_syllable(rng) for _ in range(rng.randrange(2, 4))))


def _syllable(rng: Random) -> str:
    return (
        rng.choice("b br d dr f g gr h k kl l m n p pl qu r s st t tr v w z".split())
        + rng.choice("a e i o u ai oo ee".split())
        + rng.choice(["", "n", "r", "l", "x", "m", "sh", "ck", ""])
    )


def parse_dialogues(text: str) -> list[tuple[list[str], list[str]]]:
    """Parses blocks of wordings of a question, followed by `=> ` lines with wordings of an answer.

    Returns (questions, answers) for each block; an empty line ends a block.
    """
    dialogues = []
    for block in text.strip().split("\n\n"):
        lines = block.split("\n")
        questions = [line for line in lines if not line.startswith("=> ")]
        answers = [line.removeprefix("=> ") for line in lines if line.startswith("=> ")]
        dialogues.append((questions, answers))
    return dialogues
