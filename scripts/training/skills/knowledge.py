"""Facts: capitals, opposites, plurals, units, general knowledge, kinds of things."""

from random import Random

from skills.facts import (
    CAPITALS,
    GENERAL_KNOWLEDGE,
    OPPOSITES,
    PAST_TENSES,
    PLURALS,
    QUANTITIES,
    SOUNDS,
    YOUNG_ANIMALS,
)
from skills.words import (
    BIRDS,
    COLOURS,
    DRINKS,
    FLOWERS,
    FRUITS,
    INSTRUMENTS,
    METALS,
    ORDINALS,
    PLANETS,
    SPORTS,
    TOOLS,
    VEGETABLES,
)
from skills.wording import Turns, an, cap, casual, join_words, skip_draw

CATEGORIES = {
    "colour": COLOURS,
    "fruit": FRUITS,
    "vegetable": VEGETABLES,
    "tool": TOOLS,
    "instrument": INSTRUMENTS,
    "bird": BIRDS,
    "flower": FLOWERS,
    "metal": METALS,
    "sport": SPORTS,
    "drink": DRINKS,
}
WITHOUT_ARTICLE = ("colour", "sport", "metal", "drink")


def capital(rng: Random) -> Turns:
    """The capital of a country, the country of a capital, or several capitals."""
    country = rng.choice(list(CAPITALS))
    city = CAPITALS[country]
    roll = rng.random()
    if roll < 0.75:
        requests = [
            "What is the capital of {}?",
            "What is the capital of {}?",
            "Capital of {}?",
            "Tell me the capital of {}.",
            "Which city is the capital of {}?",
            "What's the capital city of {}?",
            "Name the capital of {}.",
        ]
        request = casual(rng, rng.choice(requests).format(country))
        return [(request, f"The capital of {country} is {city}.")]
    if roll < 0.9:
        requests = ["{} is the capital of which country?", "Which country has {} as its capital?"]
        request = casual(rng, rng.choice(requests).format(city))
        if city == "London":  # the table has England too
            country = "the United Kingdom"
        return [(request, f"{city} is the capital of {country}.")]
    countries = rng.sample(list(CAPITALS), rng.randrange(2, 4))
    answers = [f"The capital of {country} is {CAPITALS[country]}." for country in countries]
    return [(f"What are the capitals of {join_words(countries)}?", "\n".join(answers))]


def fact(rng: Random) -> Turns:
    """One fact from the tables."""
    roll = rng.random()
    if roll < 0.2:
        return _opposite(rng)
    if roll < 0.3:
        return _sound(rng)
    if roll < 0.38:
        animal, young = rng.choice(YOUNG_ANIMALS)
        requests = [
            "What is a baby {} called?",
            "What do you call a baby {}?",
            "What is a young {} called?",
        ]
        request = casual(rng, rng.choice(requests).format(animal))
        return [(request, f"A baby {animal} is called {an(young)}.")]
    if roll < 0.52:
        singular, plural = rng.choice(PLURALS)
        requests = [
            "What is the plural of {}?",
            'Give the plural of "{}".',
            "Plural of {}?",
            "One {}, two...?",
            "How do you write more than one {}?",
        ]
        request = casual(rng, rng.choice(requests).format(singular))
        return [(request, f"The plural of {singular} is {plural}.")]
    if roll < 0.66:
        verb, past = rng.choice(PAST_TENSES)
        requests = [
            "What is the past tense of {}?",
            'Past tense of "{}"?',
            "Give the past tense of {}.",
            "What is the past of {}?",
        ]
        request = casual(rng, rng.choice(requests).format(verb))
        return [(request, f"The past tense of {verb} is {past}.")]
    if roll < 0.76:
        quantity, answer = rng.choice(QUANTITIES)
        return [(casual(rng, "How many " + quantity + "?"), answer)]
    if roll < 0.8:
        return _planet(rng)
    question, answer = rng.choice(GENERAL_KNOWLEDGE)
    return [(casual(rng, question), answer)]


def _opposite(rng: Random) -> Turns:
    word, opposite = rng.choice(OPPOSITES)
    if rng.random() < 0.5:
        word, opposite = opposite, word
    # A word can stand on both sides of the table: the first line that begins with it decides.
    opposite = next((right for left, right in OPPOSITES if left == word), opposite)
    requests = [
        "What is the opposite of {}?",
        "Opposite of {}?",
        'Give me the opposite of "{}".',
        "Name the opposite of {}.",
        "What word means the opposite of {}?",
    ]
    request = casual(rng, rng.choice(requests).format(word))
    return [(request, f"The opposite of {word} is {opposite}.")]


def _sound(rng: Random) -> Turns:
    animal, sound = rng.choice(SOUNDS)
    requests = ["What sound does {} make?", "What does {} say?", "Which sound does {} make?"]
    request = casual(rng, rng.choice(requests).format(an(animal)))
    skip_draw(rng)
    return [(request, f'{cap(an(animal))} goes "{sound}".')]


def _planet(rng: Random) -> Turns:
    index = rng.randrange(len(PLANETS))
    ordinal = ORDINALS[index]
    one = (
        f"What is the {ordinal} planet from the sun?",
        f"{PLANETS[index]} is the {ordinal} planet from the sun.",
    )
    requests = [
        "List the planets.",
        "Name the planets in order.",
        "What are the planets of the solar system?",
    ]
    everything = (rng.choice(requests), "The planets are " + join_words(PLANETS) + ".")
    return [rng.choice([one, everything])]


def classify(rng: Random) -> Turns:
    """What kind of thing something is."""
    kinds = list(CATEGORIES)
    kind = kinds[rng.randrange(len(kinds))]
    thing = rng.choice(CATEGORIES[kind])
    roll = rng.random()
    if sum(thing in things for things in CATEGORIES.values()) > 1:
        return fact(rng)  # ambiguous, such as "orange"
    named = thing if kind in WITHOUT_ARTICLE else an(thing)
    if roll < 0.4:
        question = rng.choice(["What kind of thing is {}?", "What is {}?"]).format(named)
        return [(question, f"{cap(named)} is {an(kind)}.")]
    asked = rng.choice([kind, kinds[rng.randrange(len(kinds))]])
    if thing in CATEGORIES[asked]:
        return [(f"Is {named} {an(asked)}?", f"Yes, {named} is {an(asked)}.")]
    return [(f"Is {named} {an(asked)}?", f"No, {named} is {an(kind)}.")]
