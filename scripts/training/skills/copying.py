"""Repeating, spelling and picking: exercises that reward looking back at the question."""

import string
from random import Random

from skills.words import (
    ANIMALS,
    BOYS,
    CITIES,
    COLOURS,
    DAYS,
    DRINKS,
    FOODS,
    GIRLS,
    HERO_ADJECTIVES,
    NUMBER_WORDS,
    OBJECT_ADJECTIVES,
    OBJECTS,
    PLACES,
    SIMPLE_WORDS,
    THINGS,
)
from skills.wording import Turns, an, cap, casual, expand


def sentence(rng: Random) -> str:
    """A plain sentence about anything."""
    name = rng.choice(GIRLS + BOYS)
    one, two = rng.sample(SIMPLE_WORDS, 2)
    thing = rng.choice(OBJECTS)
    # All candidates are built before one is chosen: their draws belong to the corpus.
    candidates = [
        f"The {rng.choice(HERO_ADJECTIVES)} {rng.choice(ANIMALS)}"
        f" [sat on|looked at|ran past|slept under|jumped over] the {thing}.",
        f"{name} [has|likes|found|lost|painted] {an(rng.choice(OBJECT_ADJECTIVES) + ' ' + thing)}.",
        f"[My|Your|Our] {thing} is {rng.choice(COLOURS)}.",
        f"I [like|love|want|need] {rng.choice(FOODS)} and {rng.choice(DRINKS)}.",
        f"We [go|walk|travel] to the {rng.choice(PLACES)[0]}"
        f" [today|tomorrow|every day|on {rng.choice(DAYS)}].",
        f"{name} and {rng.choice(BOYS + GIRLS)} [play|sing|read|work] {rng.choice(PLACES)[1]}.",
        f"There are {rng.randrange(2, 99)} {rng.choice(THINGS)} in the [box|bag|basket|drawer].",
        f"The {one} is [near|behind|under|above] the {two}.",
        f"[It is|The weather is] [cold|warm|sunny|rainy] in {rng.choice(CITIES)}.",
        f"[Good morning|Hello|Good night], {name}!",
        f"The train to {rng.choice(CITIES)} leaves at"
        f" {rng.randrange(1, 24)}:{rng.randrange(10, 60)}.",
        f"[Never|Always] [forget|lose|bring] your {thing}!",
    ]
    return expand(rng.choice(candidates), rng)


def echo_text(rng: Random) -> str:
    """A text to repeat: a sentence, words, random letters and digits, numbers or names."""
    roll = rng.random()
    if roll < 0.4:
        return sentence(rng)
    if roll < 0.65:
        words = SIMPLE_WORDS + OBJECTS + COLOURS
        return " ".join(rng.choice(words) for _ in range(rng.randrange(1, 8)))
    if roll < 0.75:
        characters = string.ascii_lowercase + string.digits
        return " ".join(
            "".join(rng.choice(characters) for _ in range(rng.randrange(2, 6)))
            for _ in range(rng.randrange(1, 5))
        )
    if roll < 0.85:
        return " ".join(str(rng.randrange(0, 1000)) for _ in range(rng.randrange(2, 7)))
    if roll < 0.93:
        return ", ".join(rng.choice(GIRLS + BOYS + CITIES) for _ in range(rng.randrange(2, 6)))
    return "".join(rng.choice(string.ascii_letters) for _ in range(rng.randrange(4, 12)))


def echo_ask(rng: Random, text: str) -> str:
    """A request to repeat the text."""
    return rng.choice([
        "Repeat after me: {}",
        "Repeat this: {}",
        "Say exactly: {}",
        "Say: {}",
        "Echo this text: {}",
        "Repeat the following: {}",
        "Please repeat: {}",
        "Copy this: {}",
        "Write this again: {}",
        'Say "{}"',
        'Repeat "{}"',
        'Please say "{}".',
        "Repeat after me, word for word: {}",
        "Can you repeat this? {}",
        "repeat: {}",
        "Echo: {}",
        "Just say {}",
    ]).format(text)


def echo(rng: Random) -> Turns:
    """Repeats a text exactly, or a word several times."""
    text = echo_text(rng)
    if rng.random() < 0.08:
        count = rng.randrange(2, 5)
        word = rng.choice(SIMPLE_WORDS)
        return [(f'Say "{word}" {NUMBER_WORDS[count]} times.', " ".join([word] * count))]
    return [(echo_ask(rng, text), text)]


def long_echo(rng: Random) -> Turns:
    """Repeats 8 to 39 words exactly."""
    pool = rng.choice([
        SIMPLE_WORDS,
        SIMPLE_WORDS + OBJECTS + COLOURS + FOODS,
        GIRLS + BOYS + CITIES,
        [str(number) for number in range(100)],
    ])
    text = " ".join(rng.choice(pool) for _ in range(rng.randrange(8, 40)))
    return [(echo_ask(rng, text), text)]


def letters(rng: Random) -> Turns:
    """Spells, reverses, capitalizes and counts the letters of a word."""
    word = rng.choice(SIMPLE_WORDS)
    kind = rng.randrange(9)
    if rng.random() < 0.1:
        word = rng.choice(GIRLS + BOYS).lower()
    spelled = "-".join(word)
    if kind < 2:
        requests = [
            'Spell "{}".',
            "Spell the word {}.",
            "How do you spell {}?",
            "Spell {}, letter by letter.",
        ]
        return [(casual(rng, rng.choice(requests).format(word)), spelled)]
    if kind < 4:
        requests = ['Reverse the word "{}".', "Write {} backwards.", "Spell {} backwards."]
        backwards = word[::-1]
        answer = f"{spelled} backwards is {'-'.join(backwards)}: {backwards}."
        return [(rng.choice(requests).format(word), answer)]
    if kind == 4:
        requests = ['Write "{}" in capital letters.', "Put {} in uppercase.", "Uppercase: {}"]
        return [(rng.choice(requests).format(word), word.upper())]
    if kind == 5:
        requests = ['How many letters are in "{}"?', "How many letters does the word {} have?"]
        answer = f"{spelled}: the word has {len(word)} letters."
        return [(rng.choice(requests).format(word), answer)]
    if kind == 6:
        question = f'What is the first letter of "{word}"?'
        return [(question, f'The first letter of "{word}" is {word[0].upper()}.')]
    if kind == 7:
        question = f'What is the last letter of "{word}"?'
        return [(question, f'The last letter of "{word}" is {word[-1].upper()}.')]
    words = rng.sample(SIMPLE_WORDS, rng.randrange(2, 6))
    requests = ["Reverse the order of these words: {}", "Write these words in reverse order: {}"]
    return [(rng.choice(requests).format(" ".join(words)), " ".join(words[::-1]))]


def casing(rng: Random) -> Turns:
    """Puts a text in uppercase or lowercase."""
    if rng.random() < 0.5:
        text = sentence(rng)
    else:
        text = " ".join(rng.sample(SIMPLE_WORDS, rng.randrange(1, 5)))
    if rng.random() < 0.6:
        requests = [
            "Write this in uppercase: {}",
            "Make this uppercase: {}",
            "Put this in capital letters: {}",
            "Say this in all caps: {}",
        ]
        return [(rng.choice(requests).format(text), text.upper())]
    requests = [
        "Write this in lowercase: {}",
        "Make this lowercase: {}",
        "Put this in small letters: {}",
    ]
    request = rng.choice(requests)
    return [(request.format(text.upper() if rng.random() < 0.7 else text), text.lower())]


def pick_words(rng: Random) -> Turns:
    """Answers about the items of a list: first, last, how many, neighbours, one removed."""
    words = rng.sample(SIMPLE_WORDS, rng.randrange(3, 7))
    kind = rng.randrange(5)
    listed = ", ".join(words)
    if kind == 0:
        question = f"What is the first word in this list: {listed}?"
        return [(question, f"The first word is {words[0]}.")]
    if kind == 1:
        question = f"What is the last word in this list: {listed}?"
        return [(question, f"The last word is {words[-1]}.")]
    if kind == 2:
        answer = f"There are {NUMBER_WORDS[len(words)]} words in the list."
        return [(f"How many words are in this list: {listed}?", answer)]
    index = rng.randrange(len(words))
    word = words[index]
    if kind == 3:
        if index + 1 < len(words):
            neighbour, side = words[index + 1], "after"
        else:
            neighbour, side = words[index - 1], "before"
        question = f"Here is a list: {listed}. What comes {side} {word}?"
        return [(question, f"{cap(neighbour)} comes {side} {word}.")]
    rest = words[:index] + words[index + 1 :]
    return [(f"Remove {word} from this list: {listed}", ", ".join(rest))]


def use_word(rng: Random) -> Turns:
    """Makes a sentence with a given word."""
    usable = set(SIMPLE_WORDS + OBJECTS + FOODS + ANIMALS)
    while True:
        text = sentence(rng)
        stripped = [word.strip(".,!") for word in text.split()]
        words = [word for word in stripped if len(word) > 3 and word in usable]
        if words:
            break
    word = rng.choice(words)
    requests = [
        'Make a sentence with the word "{}".',
        "Use the word {} in a sentence.",
        "Write a sentence with {}.",
        'Give me a sentence that contains "{}".',
    ]
    return [(casual(rng, rng.choice(requests).format(word)), text)]
