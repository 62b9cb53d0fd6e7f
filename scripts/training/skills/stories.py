"""Stories from the story grammar, the requests that they satisfy, and questions about them."""

import re
from dataclasses import dataclass
from random import Random

from skills.plots import (
    BUILDABLES,
    CONTESTS,
    ENDINGS,
    FEARS,
    HABITS,
    MOOD_ENDINGS,
    MOOD_OPENINGS,
    OPENINGS,
    PLOTS,
    WEATHER,
)
from skills.words import (
    ANIMALS,
    BOYS,
    FANTASY,
    FEMALE_ANIMAL_NAMES,
    FOODS,
    GIRLS,
    HERO_ADJECTIVES,
    INSTRUMENTS,
    JOBS,
    MALE_ANIMAL_NAMES,
    MOODS,
    OBJECT_ADJECTIVES,
    OBJECTS,
    PLACES,
)
from skills.wording import an, cap, expand, skip_draw


@dataclass(frozen=True)
class Character:
    """Somebody in a story; `kind` is a noun such as "fox" or "baker"."""

    name: str
    female: bool
    kind: str

    @property
    def he(self) -> str:
        return "she" if self.female else "he"

    @property
    def his(self) -> str:
        return "her" if self.female else "his"

    @property
    def him(self) -> str:
        return "her" if self.female else "him"


@dataclass(frozen=True)
class Story:
    """A story with what a user may ask about it."""

    text: str
    title: str
    summary: str
    lesson: str
    theme: str
    hero: Character
    adjective: str | None
    friend: Character
    place: str
    thing: str
    thing_is_used: bool
    mood: str | None


def story(rng: Random) -> Story:
    """Builds one story."""
    plot = rng.choice(PLOTS)
    hero = _character(rng)
    while True:
        friend = _character(rng)
        # Two names that begin alike are easily mixed up.
        if friend.name[:2] != hero.name[:2] and friend.kind != hero.kind:
            break
    _, place = rng.choice(PLACES)
    thing = rng.choice(OBJECTS)
    painted_thing = rng.choice(OBJECT_ADJECTIVES) + " " + thing
    food = rng.choice(FOODS)
    mood = rng.choice(MOODS) if rng.random() < 0.45 else None
    adjective = rng.choice(HERO_ADJECTIVES) if rng.random() < 0.7 else None
    buildable = rng.choice(BUILDABLES)
    contest = rng.choice(CONTESTS)
    instrument = rng.choice(INSTRUMENTS)
    slots = {
        "H": hero.name,
        "h": hero.he,
        "his": hero.his,
        "him": hero.him,
        "Hh": cap(hero.he),
        "His": cap(hero.his),
        "hk": an(f"{adjective} {hero.kind}") if adjective else _described(rng, hero.kind),
        "F": friend.name,
        "f": friend.he,
        "fhis": friend.his,
        "fhim": friend.him,
        "fk": _described(rng, friend.kind),
        "P": place,
        "P_": cap(place),
        "O": thing,
        "aO": an(thing),
        "AO": painted_thing,
        "aAO": an(painted_thing),
        "OT": _title_case(thing),
        "food": food,
        "foodT": _title_case(food),
        "B": buildable,
        "aB": an(buildable),
        "BT": _title_case(buildable),
        "C": contest,
        "CT": _title_case(contest),
        "I": instrument,
        "fear": rng.choice(FEARS),
    }
    slots["lesson"] = lesson = expand(plot.lesson, rng)

    def fill(template: str) -> str:
        return expand(template, rng).format_map(slots)

    text = "\n\n".join(fill(paragraph) for paragraph in _paragraphs(rng, plot.stages, mood))
    text = re.sub(r" {2,}", " ", text)
    theme = fill(rng.choice(plot.themes))
    return Story(
        text=text,
        title=fill(plot.title),
        summary=fill(plot.summary),
        lesson=lesson,
        theme=theme,
        hero=hero,
        adjective=adjective,
        friend=friend,
        place=place,
        thing=thing,
        thing_is_used=thing in text,
        mood=mood,
    )


def _paragraphs(rng: Random, stages: tuple[str, ...], mood: str | None) -> list[str]:
    """Templates of the paragraphs: an opening, the stages of the plot, one or two endings."""
    sentences = [rng.choice(OPENINGS)]
    if rng.random() < 0.55:
        sentences.append(rng.choice(HABITS))
    if mood:
        sentences.append(MOOD_OPENINGS[mood])
    if rng.random() < 0.4:
        sentences.append(rng.choice(WEATHER))
    opening = " ".join(sentences)

    endings = rng.sample(ENDINGS, 1 if rng.random() < 0.6 else 2)
    if mood:
        endings = endings[::-1] + [MOOD_ENDINGS[mood]]
        if rng.random() < 0.3:
            endings = endings[-1:]
    skip_draw(rng)
    middle = [" ".join(stages[:2]), " ".join(stages[2:4])]
    last = " ".join([*stages[4:], *endings])

    layout = rng.random()
    if layout < 0.55:
        return [f"{opening} {middle[0]}", middle[1], last]
    if layout < 0.75:
        return [" ".join([opening, *middle, last])]
    return [opening, *middle, last]


def _character(rng: Random) -> Character:
    roll = rng.random()
    if roll < 0.5:
        kind = rng.choice(ANIMALS)
    elif roll < 0.75:
        kind = rng.choice(["girl", "boy"])
    elif roll < 0.88:
        kind = rng.choice(JOBS)
    else:
        kind = rng.choice(FANTASY)
    if kind in ("girl", "princess", "mermaid", "fairy"):
        female = True
    elif kind in ("boy", "prince", "wizard"):
        female = False
    else:
        female = rng.choice([True, False])
    if kind in ANIMALS or kind in FANTASY and rng.random() < 0.5:
        name = rng.choice(FEMALE_ANIMAL_NAMES if female else MALE_ANIMAL_NAMES)
    else:
        name = rng.choice(GIRLS if female else BOYS)
    return Character(name, female, kind)


def _described(rng: Random, kind: str) -> str:
    """The kind with its article and up to two adjectives."""
    roll = rng.random()
    if roll < 0.3:
        return an(kind)
    if roll < 0.85:
        return an(f"{rng.choice(HERO_ADJECTIVES)} {kind}")
    first, second = rng.sample(HERO_ADJECTIVES, 2)
    return an(f"{first}, {second} {kind}")


def _title_case(text: str) -> str:
    return " ".join(cap(word) for word in text.split())


def story_request(rng: Random, told: Story) -> str:
    """A user request that the story satisfies, naming a random part of its features."""
    hero, friend = told.hero, told.friend
    named_adjective = told.adjective and rng.random() < 0.5
    description = an(f"{told.adjective} {hero.kind}" if named_adjective else hero.kind)
    roll = rng.random()
    if roll < 0.42:
        topic = description
    elif roll < 0.72:
        topic = description + rng.choice([" named ", " called "]) + hero.name
    elif roll < 0.86:
        topic = f"{description} and {an(friend.kind)}"
    elif roll < 0.93:
        with_friend = rng.random() < 0.5
        topic = f"{hero.name} and {friend.name}" if with_friend else f"{hero.name} the {hero.kind}"
    else:
        topic = None
    details = []
    if rng.random() < 0.3:
        lives = "who lives " + told.place
        details.append(rng.choice([lives, told.place, "set " + told.place, lives]))
    if told.thing_is_used and rng.random() < 0.35:
        details.append(rng.choice(["and ", "with "]) + an(told.thing))
    if rng.random() < 0.25 and topic:
        skip_draw(rng)
    topic = " ".join([topic or told.theme, *details])
    mood = told.mood + " " if told.mood and rng.random() < 0.75 else ""
    length = rng.choice(["", "", "short ", "little "])
    genre = rng.choice(["story"] * 5 + ["tale", "bedtime story"])
    what = an(mood + length + genre)
    request = rng.choice([
        "Tell me {what} about {topic}.",
        "Tell me {what} about {topic}.",
        "Write {what} about {topic}.",
        "Write {what} about {topic}.",
        "Please write {what} about {topic}.",
        "Can you tell me {what} about {topic}?",
        "Could you write {what} about {topic}?",
        "I would like {what} about {topic}.",
        "I'd love {what} about {topic}, please.",
        "{cap_what} about {topic}, please.",
        "Make up {what} about {topic}.",
        "Please tell me {what} about {topic}.",
        "tell me {what} about {topic}",
        "write {what} about {topic}",
        "Give me {what} about {topic}.",
        "Do you know {what} about {topic}?",
        "My daughter wants {what} about {topic}.",
        "Let's have {what} about {topic}.",
        "Story time! {cap_topic}.",
        "Hi! Please tell me {what} about {topic}.",
    ])
    return request.format(what=what, topic=topic, cap_what=cap(what), cap_topic=cap(topic))


def story_followup(rng: Random, told: Story) -> tuple[str, str]:
    """A question about the story, or thanks, with its answer."""
    hero, friend = told.hero, told.friend
    # All exchanges are built before one is chosen: their draws belong to the corpus.
    return rng.choice([
        (
            rng.choice([
                f"What was the name of the {hero.kind}?",
                f"What is the {hero.kind} called?",
                "Who is the hero of the story?",
                "What was the main character's name?",
            ]),
            rng.choice([
                f"The {hero.kind} is called {hero.name}.",
                f"{cap(hero.his)} name is {hero.name}.",
                f"The hero is {hero.name}, {an(hero.kind)}.",
            ]),
        ),
        (
            rng.choice([
                f"Who is {friend.name}?",
                f"And who was {friend.name}?",
                f"Who was {hero.name}'s friend?",
            ]),
            rng.choice([
                f"{friend.name} is {an(friend.kind)}.",
                f"{friend.name} is {an(friend.kind)} in the story.",
            ]),
        ),
        (
            rng.choice([
                "Where does the story take place?",
                f"Where did {hero.name} live?",
                f"Where does {hero.name} live?",
            ]),
            f"{hero.name} lives {told.place}.",
        ),
        (
            rng.choice([
                "Give it a title.",
                "What is a good title for it?",
                "Can you give the story a title?",
                "Title, please.",
            ]),
            rng.choice([told.title, f'"{told.title}"', f'A good title is "{told.title}".']),
        ),
        (
            rng.choice([
                "Summarise it in one sentence.",
                "Can you sum it up?",
                "Give me a short summary.",
                "Make it one sentence.",
                "What was it about?",
            ]),
            told.summary,
        ),
        (
            rng.choice([
                "What is the lesson of the story?",
                "What is the moral?",
                "What do we learn from it?",
            ]),
            rng.choice([f"The lesson is that {told.lesson}.", f"It shows that {told.lesson}."]),
        ),
        (
            rng.choice(["Thank you, that was lovely!", "Thanks, I liked it.", "That was nice."]),
            rng.choice([
                "I am glad you liked it!",
                "You are welcome! Would you like another one?",
                "Thank you! I enjoyed telling it.",
            ]),
        ),
    ])
