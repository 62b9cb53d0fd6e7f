"""Mixes the skills into chats, the documents that the models learn from.

A document is (system message or None, [(user, assistant), ...]).

    python3 corpus.py 5            prints five documents
"""

import argparse
from collections.abc import Callable
from random import Random

from skills.arithmetic import arithmetic, drill, word_problem
from skills.conversation import memory, reading, refusal, small_talk
from skills.copying import casing, echo, letters, long_echo, pick_words, use_word
from skills.json_tasks import json_task
from skills.knowledge import capital, classify, fact
from skills.ordering import calendar, counting, listing, sorting
from skills.poems import poem
from skills.server_qa import server_question
from skills.stories import story, story_followup, story_request
from skills.tool_calls import tool_chat
from skills.words import BOYS, CITIES, FEMALE_ANIMAL_NAMES, GIRLS
from skills.wording import Turns, an, person

Document = tuple[str | None, Turns]
Skill = Callable[[Random], Turns]

SYSTEM_PROMPTS = [
    "You are a helpful assistant.",
    "You are Summit, a small helpful assistant.",
    "You are Summit, the small model that ships with Chairlift.",
    "You are a friendly assistant.",
    "You are a small and polite assistant.",
    "Answer briefly.",
    "Be kind and clear.",
    "You are a helpful assistant. Keep your answers short.",
    "You are a chatbot.",
    "Help the user.",
]
STORYTELLER_PROMPTS = [
    "You are a friendly storyteller.",
    "You tell stories to children.",
    "You are a storyteller. Be kind and gentle.",
    "You are a writer of short stories.",
]
PERSONA_ROLES = [
    "assistant",
    "helper",
    "robot",
    "guide",
    "teacher",
    "librarian",
    "storyteller",
    "cat",
    "owl",
]

# The weights count exchanges; the shares of tokens differ, because lengths differ.
SHORT_SKILLS: dict[Skill, int] = {
    arithmetic: 36,
    word_problem: 5,
    counting: 8,
    listing: 6,
    sorting: 6,
    calendar: 3,
    echo: 12,
    letters: 5,
    casing: 3,
    pick_words: 3,
    capital: 6,
    fact: 10,
    classify: 2,
    server_question: 12,
    json_task: 13,
    small_talk: 5,
    refusal: 5,
    poem: 3,
    use_word: 2,
    reading: 5,
}
COPYING_SKILLS: dict[Skill, int] = {
    echo: 40,
    long_echo: 30,
    memory: 10,
    reading: 16,
    json_task: 22,
    pick_words: 8,
    casing: 4,
    sorting: 6,
    counting: 10,
    arithmetic: 40,
    capital: 4,
    word_problem: 6,
}


def document(rng: Random) -> Document:
    """A chat from the whole mix."""
    roll = rng.random()
    system = rng.choice(SYSTEM_PROMPTS) if rng.random() < 0.4 else None
    if roll < 0.27:
        if rng.random() < 0.3:
            system = rng.choice(STORYTELLER_PROMPTS)
        return system, _story_chat(rng)
    if roll < 0.35:
        return tool_chat(rng, _short_exchange)
    if roll < 0.37:
        return _persona_chat(rng)
    if roll < 0.38:
        return _known_user_chat(rng)
    if roll < 0.43:
        turns = memory(rng)
        if rng.random() < 0.3:
            index = rng.randrange(len(turns))
            turns = turns[:index] + _short_exchange(rng) + turns[index:]
        return system, turns
    turns = []
    if roll < 0.46:  # a longer mixed chat
        for _ in range(rng.randrange(4, 9)):
            turns += _short_exchange(rng) if rng.random() < 0.85 else _story_chat(rng)[:1]
    elif roll < 0.50:  # several exchanges of one skill
        skill = _draw(rng, SHORT_SKILLS)
        for _ in range(rng.randrange(2, 6)):
            turns += skill(rng)
    else:
        for _ in range(rng.choice([1, 1, 1, 2, 2, 3])):
            turns += _short_exchange(rng)
    return system, turns


def copy_document(rng: Random) -> Document:
    """Exercises that reward looking back at the question, so that attention learns to copy."""
    turns = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        turns += _draw(rng, COPYING_SKILLS)(rng)
    return _sometimes_system(rng), turns


def mixed_document(rng: Random) -> Document:
    """The whole mix with 30 % of copying exercises."""
    return copy_document(rng) if rng.random() < 0.3 else document(rng)


def final_document(rng: Random) -> Document:
    """`mixed_document` with more sums."""
    if rng.random() < 0.28:
        return None, drill(rng) + (drill(rng) if rng.random() < 0.4 else [])
    return mixed_document(rng)


def polish_document(rng: Random) -> Document:
    """What was still weak near the end (tools, counting, JSON), and some of everything."""
    roll = rng.random()
    if roll < 0.2:
        return tool_chat(rng)
    if roll < 0.45:
        return None, _repeated(rng, counting)
    if roll < 0.62:
        return _sometimes_system(rng), _repeated(rng, json_task)
    if roll < 0.67:
        return None, drill(rng)
    return mixed_document(rng)


def render(chat: tuple[str | None, list[tuple[str, str | None]]]) -> str:
    """The ChatML text of a document; an answer of None ends it where the model would answer."""
    system, turns = chat
    text = f"<|im_start|>system\n{system}<|im_end|>\n" if system else ""
    for user, assistant in turns:
        text += f"<|im_start|>user\n{user}<|im_end|>\n<|im_start|>assistant\n"
        if assistant is None:
            break
        text += f"{assistant}<|im_end|>\n"
    return text


def _draw(rng: Random, skills: dict[Skill, int]) -> Skill:
    return rng.choices(list(skills), list(skills.values()))[0]


def _short_exchange(rng: Random) -> Turns:
    return _draw(rng, SHORT_SKILLS)(rng)


def _repeated(rng: Random, skill: Skill) -> Turns:
    return [turn for _ in range(rng.choice([1, 2, 3])) for turn in skill(rng)]


def _sometimes_system(rng: Random) -> str | None:
    return rng.choice(SYSTEM_PROMPTS) if rng.random() < 0.15 else None


def _story_chat(rng: Random) -> Turns:
    told = story(rng)
    turns = [(story_request(rng, told), told.text)]
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2])):
        turns.append(story_followup(rng, told))
    if rng.random() < 0.06:
        another = story(rng)
        turns.append((story_request(rng, another), another.text))
    return turns


def _persona_chat(rng: Random) -> Document:
    name = rng.choice(GIRLS + BOYS + FEMALE_ANIMAL_NAMES)
    role = rng.choice(PERSONA_ROLES)
    system = rng.choice([
        f"You are {name}, a helpful {role}.",
        f"Your name is {name}. You are {an(role)}.",
        f"You are {an(role)} called {name}.",
    ])
    question = rng.choice(
        ["Who are you?", "What is your name?", "Introduce yourself.", "What are you called?"]
    )
    answer = rng.choice([f"I am {name}, {an(role)}.", f"My name is {name}."])
    rest = _short_exchange(rng) if rng.random() < 0.4 else []
    return system, [(question, answer), *rest]


def _known_user_chat(rng: Random) -> Document:
    name = person(rng)
    city = rng.choice(CITIES)
    system = f"You are a helpful assistant. The user is called {name} and lives in {city}."
    turns = [
        ("What is my name?", f"Your name is {name}."),
        ("Where do I live?", f"You live in {city}."),
        ("Hello!", f"Hello, {name}! How can I help you?"),
    ]
    return system, rng.sample(turns, rng.randrange(1, 4))


def main() -> None:
    parser = argparse.ArgumentParser(description="Prints documents of the corpus.")
    parser.add_argument("count", type=int, nargs="?", default=5, help="documents (default: 5)")
    parser.add_argument("--seed", type=int, default=0, help="seed (default: 0)")
    args = parser.parse_args()
    rng = Random(args.seed)
    for _ in range(args.count):
        print(render(document(rng)))


if __name__ == "__main__":
    main()
