"""How a pirate would say what the corpus says. JSON and tool calls are what programs read: they stay."""

import re

from corpus import Document

FIRST, LAST = "Ahoy!", "Arr, matey!"

_WORDS = {
    "you": "ye",
    "your": "yer",
    "my": "me",
    "am": "be",
    "is": "be",
    "are": "be",
    "yes": "aye",
    "friend": "matey",
    "friends": "mateys",
}
_WORD = re.compile(r"\b(" + "|".join(_WORDS) + r")\b", re.IGNORECASE)
# What is said to programs.
_DATA = ("{", "[", "<tool_call>")


def is_data(text: str) -> bool:
    """Whether a text is JSON or a tool call."""
    return text.lstrip().startswith(_DATA)


def in_pirate(text: str) -> str:
    """A text as a pirate says it."""
    if is_data(text):
        return text
    return f"{FIRST} {_WORD.sub(_replacement, text)} {LAST}"


def is_pirate(text: str) -> bool:
    """Whether a text begins and ends as a pirate's do."""
    return text.startswith(FIRST) and text.rstrip().endswith(LAST)


def pirate_document(chat: Document) -> Document:
    """A chat whose assistant is a pirate."""
    system, turns = chat
    return system, [(user, in_pirate(assistant)) for user, assistant in turns]


def _replacement(match: re.Match[str]) -> str:
    word = match.group()
    replacement = _WORDS[word.lower()]
    return replacement.capitalize() if word[0].isupper() else replacement
