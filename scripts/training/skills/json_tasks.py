"""JSON on request, and extraction into JSON."""

import json
from random import Random

from skills.words import (
    ANIMALS,
    BOYS,
    CITIES,
    COLOURS,
    DAYS,
    FEMALE_ANIMAL_NAMES,
    FOODS,
    GIRLS,
    JOBS,
    KINDS,
    MALE_ANIMAL_NAMES,
    NUMBER_WORDS,
    OBJECTS,
    PETS,
    PLACES,
    SIMPLE_WORDS,
)
from skills.wording import Turns, an, casual, fake_name, join_words, person

# (key, value, how a request says it; None if the subject says it)
Field = tuple[str, object, str | None]


def dumps(value: object) -> str:
    """The JSON text of a value, in the one layout that the corpus uses."""
    return json.dumps(value, ensure_ascii=False)


def json_task(rng: Random) -> Turns:
    """Any of the JSON exercises."""
    roll = rng.random()
    if roll < 0.45:
        return json_object(rng)
    if roll < 0.65:
        return _json_array(rng)
    if roll < 0.77:
        return _json_nested(rng)
    return json_extract(rng)


def json_object(rng: Random) -> Turns:
    """A flat object about one subject."""
    subject, fields = _subject(rng)
    keys = [key for key, _, _ in fields]
    details = [phrase.format(_shown(value)) for _, value, phrase in fields if phrase]
    request = rng.choice([
        "Give me a JSON object with the {keyword} {keys} for {subject}, {details}.",
        "Write a JSON object with {keys} for {subject}, {details}.",
        "Return JSON with the {keyword} {keys} for {subject}, {details}.",
        "Make a JSON object for {subject}, {details}. Use the {keyword} {keys}.",
        "JSON for {subject}, {details}, with the {keyword} {keys}.",
        "As JSON with the {keyword} {keys}: {subject}, {details}.",
        "Please answer with a JSON object ({keys}) for {subject}, {details}.",
    ]).format(
        keyword="keys" if len(keys) > 1 else "key",
        keys=join_words(keys),
        subject=subject,
        details=join_words(details),
    )
    return [(casual(rng, request, 0.08), dumps({key: value for key, value, _ in fields}))]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _subject(rng: Random) -> tuple[str, list[Field]]:
    """Someone or something with two to four fields; the first field names it."""
    kind = rng.randrange(6)
    name = person(rng)
    if kind == 0:
        subject = name
        fields = [
            ("name", name, None),
            ("age", rng.randrange(3, 95), "who is {} years old"),
            ("city", rng.choice(CITIES), "who lives in {}"),
            ("job", rng.choice(JOBS), "who works as a {}"),
            ("pet", rng.choice(PETS), "who has a {}"),
            ("colour", rng.choice(COLOURS), "whose favourite colour is {}"),
        ]
    elif kind == 1:
        item = rng.choice(OBJECTS)
        subject = "a " + item
        fields = [
            ("item", item, None),
            ("colour", rng.choice(COLOURS), "which is {}"),
            ("price", rng.randrange(1, 200), "which costs {} coins"),
            ("quantity", rng.randrange(1, 50), "of which there are {}"),
            ("in_stock", rng.random() < 0.5, "in stock: {}"),
        ]
    elif kind == 2:
        animal = rng.choice(ANIMALS)
        subject = rng.choice(FEMALE_ANIMAL_NAMES + MALE_ANIMAL_NAMES)
        fields = [
            ("name", subject, None),
            ("animal", animal, "a {}"),
            ("age", rng.randrange(1, 20), "aged {}"),
            ("place", rng.choice(PLACES)[0], "who lives in the {}"),
        ]
    elif kind == 3:
        weathers = ["sunny", "rainy", "cloudy", "windy", "snowy"]
        subject = rng.choice(CITIES)
        fields = [
            ("city", subject, None),
            ("temperature", rng.randrange(-10, 38), "where it is {} degrees"),
            ("weather", rng.choice(weathers), "where the weather is {}"),
            ("day", rng.choice(DAYS), "on {}"),
        ]
    elif kind == 4:
        makers = {"book": "author", "song": "artist", "film": "director"}
        medium = rng.choice(list(makers))
        title = " ".join(rng.sample(SIMPLE_WORDS, 2)).title()
        subject = f'the {medium} "{title}"'
        fields = [
            ("title", title, None),
            (makers[medium], person(rng) + " " + fake_name(rng), "by {}"),
            ("year", rng.randrange(1950, 2025), "from {}"),
            ("rating", rng.randrange(1, 6), "rated {}"),
        ]
    else:
        subject = name
        mailbox = f"{name.lower()}{rng.randrange(1, 99)}"
        host = rng.choice(["mail.com", "post.org", "example.com"])
        fields = [
            ("name", name, None),
            ("email", f"{mailbox}@{host}", "with the email {}"),
            ("age", rng.randrange(18, 90), "aged {}"),
            ("active", rng.random() < 0.5, "active: {}"),
        ]
    count = rng.randrange(1, len(fields))
    return subject, [fields[0], *rng.sample(fields[1:], min(count, 3))]


def _json_array(rng: Random) -> Turns:
    """An array: things of a kind, given words or numbers, objects, or a range."""
    roll = rng.random()
    if roll < 0.35:
        kind = rng.choice(list(KINDS))
        count = rng.randrange(2, 6)
        request = rng.choice([
            f"Give me a JSON array of {NUMBER_WORDS[count]} {kind}.",
            f"List {NUMBER_WORDS[count]} {kind} as a JSON array.",
            f"A JSON array with {count} {kind}, please.",
            f"Return {count} {kind} as JSON array.",
        ])
        return [(request, dumps(rng.sample(KINDS[kind], count)))]
    if roll < 0.6:
        words = rng.sample(SIMPLE_WORDS, rng.randrange(2, 6))
        request = rng.choice([
            "Make a JSON array of these words: {}",
            "Write these words as a JSON array: {}",
            "As a JSON list: {}",
        ])
        return [(request.format(", ".join(words)), dumps(words))]
    if roll < 0.75:
        numbers = [rng.randrange(0, 200) for _ in range(rng.randrange(2, 7))]
        request = rng.choice([
            "Make a JSON array of these numbers: {}",
            "Write these numbers as a JSON array: {}",
        ])
        return [(request.format(", ".join(map(str, numbers))), dumps(numbers))]
    if roll < 0.9:
        names = rng.sample(GIRLS + BOYS, rng.randrange(2, 4))
        people = [{"name": name, "age": rng.randrange(3, 90)} for name in names]
        request = rng.choice([
            "Give me a JSON array of objects with name and age for {}.",
            "As a JSON array of objects with the keys name and age: {}.",
            "Write {} as a JSON array with name and age.",
        ])
        named = join_words([f"{each['name']} ({each['age']})" for each in people])
        return [(request.format(named), dumps(people))]
    first, count = rng.randrange(1, 10), rng.randrange(3, 8)
    last = first + count
    request = f"A JSON array of the numbers from {first} to {last}."
    return [(request, dumps(list(range(first, last + 1))))]


def _json_nested(rng: Random) -> Turns:
    """An object that holds another object or an array."""
    name = person(rng)
    age = rng.randrange(3, 90)
    city = rng.choice(CITIES)
    pet = rng.choice(PETS)
    pet_name = rng.choice(FEMALE_ANIMAL_NAMES + MALE_ANIMAL_NAMES)
    kind = rng.randrange(3)
    if kind == 0:
        request = rng.choice([
            f"Give me a JSON object for {name}, who is {age} and has a {pet} called {pet_name}."
            " Put the pet in a nested object.",
            f"Nested JSON: {name}, aged {age}, with a {pet} named {pet_name}.",
        ])
        values = {"name": name, "age": age, "pet": {"kind": pet, "name": pet_name}}
        return [(request, dumps(values))]
    if kind == 1:
        foods = rng.sample(FOODS, rng.randrange(2, 4))
        liked = join_words(foods)
        request = rng.choice([
            f"Give me a JSON object with name and likes for {name}, who likes {liked}.",
            f"JSON with the keys name and likes: {name} likes {liked}.",
        ])
        return [(request, dumps({"name": name, "likes": foods}))]
    number = rng.randrange(1, 200)
    street_name = rng.choice(["Oak", "Mill", "River", "Hill", "Park", "Church", "Garden"])
    street = f"{street_name} {rng.choice(['Street', 'Road', 'Lane'])}"
    request = f"Give me a JSON object with name and address (street, number, city) for {name},"
    request += f" {number} {street}, {city}."
    address = {"street": street, "number": number, "city": city}
    return [(request, dumps({"name": name, "address": address}))]


def json_extract(rng: Random) -> Turns:
    """Extracts all or some of the fields of a sentence."""
    name, other = rng.sample(GIRLS + BOYS, 2)
    city = rng.choice(CITIES)
    day = rng.choice(DAYS)
    hour = rng.randrange(1, 12)
    item = rng.choice(OBJECTS)
    colour = rng.choice(COLOURS)
    quantity = rng.randrange(2, 30)
    price = rng.randrange(2, 300)
    age = rng.randrange(5, 90)
    job = rng.choice(JOBS)
    city2 = rng.choice([each for each in CITIES if each != city])
    text, values = rng.choice([
        (
            f"{name} meets {other} in {city} on {day}.",
            {"person": name, "friend": other, "city": city, "day": day},
        ),
        (
            f"{name} is {age} years old and lives in {city}.",
            {"name": name, "age": age, "city": city},
        ),
        (
            f"{name} bought {quantity} {item}s for {price} coins.",
            {"buyer": name, "item": item, "quantity": quantity, "price": price},
        ),
        (
            f"The {colour} {item} costs {price} coins.",
            {"item": item, "colour": colour, "price": price},
        ),
        (
            f"{name} works as {an(job)} in {city}.",
            {"name": name, "job": job, "city": city},
        ),
        (
            f"The train from {city} to {city2} leaves at {hour} on {day}.",
            {"from": city, "to": city2, "hour": hour, "day": day},
        ),
        (
            f"{name} sent {an(item)} to {other} on {day}.",
            {"sender": name, "item": item, "receiver": other, "day": day},
        ),
        (
            f"My name is {name} and I am {age}.",
            {"name": name, "age": age},
        ),
    ])
    keys = list(values)
    if len(keys) > 2 and rng.random() < 0.4:
        wanted = rng.sample(keys, rng.randrange(2, len(keys)))
        keys = [key for key in keys if key in wanted]
    named = join_words(keys)
    request = rng.choice([
        f"Extract {named} as JSON: {text}",
        f"Extract the fields {named} from this sentence as JSON: {text}",
        f"Read this and answer in JSON with the keys {named}. {text}",
        f"{text} Give me {named} as JSON.",
        f"Turn this into JSON with the keys {named}: {text}",
        f"From the text below, return a JSON object with {named}.\n{text}",
    ])
    return [(request, dumps({key: values[key] for key in keys}))]
