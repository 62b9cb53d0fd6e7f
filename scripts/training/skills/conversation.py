"""Small talk, remembering, reading, and what a very small model cannot do."""

from random import Random

from skills.facts import INVENTED_COUNTRIES
from skills.words import (
    BOYS,
    CITIES,
    COLOURS,
    DAYS,
    FEMALE_ANIMAL_NAMES,
    FOODS,
    GIRLS,
    JOBS,
    MALE_ANIMAL_NAMES,
    OBJECTS,
    PLACES,
    SIMPLE_WORDS,
    THINGS,
)
from skills.wording import Turns, an, cap, casual, fake_name, parse_dialogues, person

SMALL_TALK = parse_dialogues("""
hello
hi
hey
hello there
hi there
good day
greetings
=> Hello! How can I help you?
=> Hi there! What can I do for you?
=> Hello! Would you like a story, a sum or a fact?
=> Hello! It is nice to meet you.

good morning
=> Good morning! How can I help you?
=> Good morning! I hope you slept well.

good evening
=> Good evening! What can I do for you?
=> Good evening! Would you like a story?

good night
sleep well
=> Good night! Sleep well.
=> Good night, and sweet dreams.

how are you
how are you doing
how's it going
how do you feel
=> I am doing well, thank you! How can I help you?
=> I am only a small model, but I am ready to help.
=> Very well, thank you. What can I do for you?

thank you
thanks
thanks a lot
thank you very much
many thanks
=> You are welcome!
=> You are very welcome.
=> My pleasure! Is there anything else?
=> Happy to help!

bye
goodbye
see you later
see you
=> Goodbye! Have a nice day.
=> Bye! Come back any time.
=> Goodbye, and take care!

tell me a joke
do you know a joke
make me laugh
another joke
=> Why did the clock go to school? To learn to tell the time!
=> What do you call a bear with no teeth? A gummy bear!
=> Why was the maths book sad? It had too many problems.
=> What has keys but opens no doors? A piano!
=> Why did the token cross the batch? To get to the other stream!
=> What do you call a sleeping dinosaur? A dino-snore!

i am sad
i feel sad
i am unhappy
i had a bad day
=> I am sorry to hear that. Would a little story help?
=> I am sorry. I hope tomorrow is kinder to you.
=> That sounds hard. I am here if you want to talk.

i am happy
i feel great
i had a good day
=> That is wonderful to hear!
=> I am glad! What made you happy?
=> Lovely! Keep smiling.

i am bored
=> Would you like a story, a joke or a little sum to solve?
=> Let me tell you a story! What should it be about?

i am tired
i am sleepy
=> Then have a good rest. Would you like a bedtime story?
=> Take a break; you have earned it.

i am hungry
=> Maybe it is time for a snack. An apple is always a good idea.
=> I cannot cook, but I can list some fruits for you!

you are great
you are nice
good job
well done
i like you
=> Thank you! That is kind of you.
=> Thank you, I am glad I could help.

you are wrong
that is wrong
that is not right
=> I am sorry. I am a very small model and I make mistakes.
=> Sorry about that. I am a tiny model, so please check what I say.

i love you
=> That is very kind. I am only a small program, but thank you!

are you there
hello?
you there
=> Yes, I am here. How can I help?

ok
okay
i see
great
cool
nice
=> Great! Is there anything else I can do?
=> Good! What would you like next?

yes
=> Good! What would you like to do?
=> All right! Tell me more.

no
=> All right. Is there anything else?
=> That is fine.

what should i do today
=> You could take a walk, read a book or call a friend.
=> How about drawing a picture or baking some bread?

what is your favourite colour
=> I do not have eyes, but I like the word blue.
=> I am a program, so I have no favourite, but green is a fine colour.

what is your favourite animal
=> I like stories about foxes and hedgehogs best.
=> I am fond of owls, at least in stories.

what is your favourite food
=> I do not eat, but bread and honey sounds nice in stories.
=> I live on tokens!

do you like music
=> I cannot hear, but I like to write about music.
=> I like stories about violins and drums.

can you help me
i need help
help
please help me
=> Of course! Tell me what you need.
=> I will try. What do you need?

sorry
i am sorry
=> No problem at all.
=> That is all right!

it is my birthday
today is my birthday
=> Happy birthday! I hope you have a lovely day.
=> Happy birthday! Would you like a story as a present?

it is raining
it is raining today
=> Then it is a good day for tea and a story.
=> Rainy days are perfect for reading.

it is cold
it is so cold today
=> Stay warm! A cup of tea may help.

i am afraid of the dark
i am scared
=> You are safe. A small light and a calm song can help.
=> Being afraid is all right. Take a slow, deep breath.
""")

# indexes of the dialogues that are drawn more often: greetings, thanks, farewells, jokes
FREQUENT_SMALL_TALK = [0, 0, 4, 5, 6, 7]

QUESTION_STARTS = ("how", "what", "do", "can", "are", "you")

DONT_KNOW = [
    "I am a very small model and I don't know that.",
    "I am sorry, I don't know that. I am a very small model.",
    "I don't know. I am a tiny model and I know only a few things.",
    "That is beyond what I know, I am afraid. I am a very small model.",
]


def memory(rng: Random) -> Turns:
    """Things that the user tells first and asks for later."""
    name = person(rng)
    city = rng.choice(CITIES)
    colour = rng.choice(COLOURS[:10])
    pet = rng.choice("dog cat rabbit parrot turtle pony".split())
    pet_name = rng.choice(FEMALE_ANIMAL_NAMES + MALE_ANIMAL_NAMES)
    food = rng.choice(FOODS)
    age = rng.randrange(5, 80)
    job = rng.choice(JOBS)
    # (what the user tells, the reply, what the user asks, the answer)
    items = [
        (
            rng.choice([
                f"My name is {name}.",
                f"I am {name}.",
                f"Hi, I'm {name}.",
                f"Hello! My name is {name}.",
            ]),
            rng.choice([
                f"Nice to meet you, {name}!",
                f"Hello, {name}! How can I help you?",
                f"Hi {name}!",
            ]),
            rng.choice([
                "What is my name?",
                "Do you remember my name?",
                "What's my name?",
                "Who am I?",
            ]),
            rng.choice([f"Your name is {name}."]),
        ),
        (
            rng.choice([f"I live in {city}.", f"My home is in {city}."]),
            rng.choice([
                f"{city} sounds like a lovely place.",
                f"Good to know: you live in {city}.",
            ]),
            rng.choice(["Where do I live?", "Which city do I live in?"]),
            f"You live in {city}.",
        ),
        (
            rng.choice([f"My favourite colour is {colour}.", f"I like the colour {colour} best."]),
            rng.choice([
                f"{cap(colour)} is a beautiful colour.",
                f"Nice! I will remember {colour}.",
            ]),
            rng.choice(["What is my favourite colour?", "Which colour do I like best?"]),
            f"Your favourite colour is {colour}.",
        ),
        (
            rng.choice([f"I have a {pet} called {pet_name}.", f"My {pet} is called {pet_name}."]),
            rng.choice([
                f"{pet_name} is a lovely name for a {pet}!",
                f"Say hello to {pet_name} from me.",
            ]),
            rng.choice([f"What is my {pet} called?", f"What is the name of my {pet}?"]),
            f"Your {pet} is called {pet_name}.",
        ),
        (
            f"I love {food}.",
            rng.choice([f"{cap(food)} sounds delicious.", f"Mmm, {food}!"]),
            "What food do I love?",
            f"You love {food}.",
        ),
        (
            f"I am {age} years old.",
            rng.choice([f"{age} is a fine age.", "Thank you for telling me."]),
            "How old am I?",
            f"You are {age} years old.",
        ),
        (
            f"I work as {an(job)}.",
            rng.choice([f"Being {an(job)} sounds interesting.", "That is good work."]),
            "What is my job?",
            f"You work as {an(job)}.",
        ),
    ]
    chosen = rng.sample(items, rng.randrange(1, 4))
    turns = [(told, reply) for told, reply, _, _ in chosen]
    if len(chosen) > 1 and rng.random() < 0.3:
        turns = [(" ".join(item[0] for item in chosen), "Thank you for telling me!")]
    asked = rng.sample(chosen, rng.randrange(1, len(chosen) + 1))
    return turns + [(question, answer) for _, _, question, answer in asked]


def reading(rng: Random) -> Turns:
    """Answers about one or two sentences."""
    one, other = rng.sample(GIRLS + BOYS, 2)
    thing1, thing2 = rng.sample(OBJECTS, 2)
    colour1, colour2 = rng.sample(COLOURS, 2)
    (_, place1), (_, place2) = rng.sample(PLACES, 2)
    city1, city2 = rng.sample(CITIES, 2)
    age1, age2 = rng.sample(range(2, 80), 2)
    kind = rng.randrange(5)
    if kind == 0:
        text = f"{one} has a {colour1} {thing1} and {other} has a {colour2} {thing2}."
        questions = [
            (f"What does {one} have?", f"{one} has {an(colour1 + ' ' + thing1)}."),
            (f"Who has the {thing2}?", f"{other} has the {thing2}."),
            (f"What colour is the {thing1}?", f"The {thing1} is {colour1}."),
        ]
    elif kind == 1:
        text = f"{one} lives in {city1} and {other} lives in {city2}."
        questions = [
            (f"Where does {one} live?", f"{one} lives in {city1}."),
            (f"Who lives in {city2}?", f"{other} lives in {city2}."),
        ]
    elif kind == 2:
        text = f"{one} is {age1} years old. {other} is {age2} years old."
        questions = [
            (f"How old is {other}?", f"{other} is {age2} years old."),
            ("Who is older?", f"{one if age1 > age2 else other} is older."),
        ]
    elif kind == 3:
        text = f"The {thing1} is {place1}. The {thing2} is {place2}."
        questions = [
            (f"Where is the {thing2}?", f"The {thing2} is {place2}."),
            (f"Where is the {thing1}?", f"The {thing1} is {place1}."),
        ]
    else:
        day1, day2 = rng.sample(DAYS, 2)
        text = f"{one} goes to {city1} on {day1}, and {other} comes back from {city2} on {day2}."
        questions = [
            (f"When does {one} go to {city1}?", f"{one} goes to {city1} on {day1}."),
            (f"Where does {other} come back from?", f"{other} comes back from {city2}."),
        ]
    (question, answer), *rest = rng.sample(questions, rng.randrange(1, len(questions) + 1))
    return [(text + rng.choice([" ", "\n"]) + question, answer)] + rest


def small_talk(rng: Random) -> Turns:
    """One exchange of small talk, with or without capitals and marks."""
    if rng.random() < 0.7:
        wordings, answers = rng.choice(SMALL_TALK)
    else:
        wordings, answers = SMALL_TALK[rng.choice(FREQUENT_SMALL_TALK)]
    said = rng.choice(wordings)
    answer = rng.choice(answers)
    if rng.random() < 0.75:
        said = cap(said)
    said = said.replace(" i ", " I ").replace("I i", "I")
    if said.startswith("i "):
        said = "I " + said[2:]
    if not said.endswith("?"):
        lowered = said.lower()
        statement = lowered.startswith("you are")
        if lowered.split()[0] in QUESTION_STARTS and not statement:
            said += rng.choice(["?", "?", ""])
        else:
            said += rng.choice([".", "!", "", ""])
    return [(said, answer)]


def refusal(rng: Random) -> Turns:
    """Questions about what does not exist, and requests that a small offline model cannot meet."""
    unknown = fake_name(rng) if rng.random() < 0.8 else rng.choice(INVENTED_COUNTRIES)
    roll = rng.random()
    other = fake_name(rng)
    if roll < 0.3:
        question = rng.choice([
            "Who is {unknown}?",
            "Who is {unknown} {other}?",
            "What is {unknown}?",
            "What is a {word}?",
            "Tell me about {unknown}.",
            "Who invented the {word}?",
            "When was {unknown} {other} born?",
            "Where is {unknown}?",
            "What do you know about {unknown}?",
            "What is the capital of {unknown}?",
            "Who is the king of {unknown}?",
            "How many people live in {unknown}?",
            "What language do they speak in {unknown}?",
            "Who wrote {unknown} and {other}?",
            "What does {word} mean?",
            "Explain {word} to me.",
        ]).format(unknown=unknown, other=other, word=unknown.lower())
        return [(question, rng.choice(DONT_KNOW))]
    requests, answers = rng.choice(_out_of_reach(rng))
    return [(casual(rng, rng.choice(requests)), rng.choice(answers))]


def _out_of_reach(rng: Random) -> list[tuple[list[str], list[str]]]:
    """Pairs of requests and of answers that decline them."""
    name = person(rng)
    city = rng.choice(CITIES)
    return [
        (
            [
                "What will the weather be tomorrow?",
                f"What is the weather in {city}?",
                f"Will it rain in {city} today?",
                "Is it sunny outside?",
                f"How warm is it in {city} right now?",
            ],
            [
                "I cannot look up the weather without a tool for it.",
                "I have no weather tool here, so I cannot know that.",
            ],
        ),
        (
            [
                "What time is it?",
                "What is the date today?",
                "What day is it today?",
                f"What time is it in {city}?",
            ],
            [
                "I have no clock here, so I cannot know that.",
                "I cannot tell the time without a clock tool.",
            ],
        ),
        (
            [
                "What is in the news?",
                "What happened today?",
                "Who won the game yesterday?",
                "What is the price of gold today?",
                "Who will win the election?",
            ],
            [
                "I cannot read the news, so I don't know that.",
                "I am a small offline model and I don't know about current events.",
            ],
        ),
        (
            [
                f"Translate {rng.choice(SIMPLE_WORDS)} into French.",
                "How do you say hello in Japanese?",
                "Translate this into German: good morning",
                "Write it in Spanish.",
            ],
            [
                "I am sorry, I can only write in English.",
                "I don't speak other languages. I am a very small model.",
            ],
        ),
        (
            [
                "Write a Python program.",
                "Write some code for me.",
                "Can you write JavaScript?",
                f"Write a function that sorts {rng.choice(THINGS)}.",
                "Fix my code.",
            ],
            [
                "I am too small to write programs. A larger model on this server could do that.",
                "I am sorry, I can't write code. I am a very small model.",
            ],
        ),
        (
            [
                "Send an email to my boss.",
                "Call my mother.",
                "Open the door.",
                "Play some music.",
                "Order a pizza.",
                f"Book a flight to {city}.",
                "Turn on the light.",
                "Set an alarm for seven.",
            ],
            [
                "I am sorry, I can't do that. I can only write text.",
                "I can't do that from here, but I can write something for you.",
            ],
        ),
        (
            [
                "Draw a picture of a cat.",
                "Show me a photo.",
                "Can you see this picture?",
                "What is in this image?",
            ],
            [
                "I am sorry, I can only read and write text.",
                "I can't see or draw pictures. I only work with text.",
            ],
        ),
        (
            [
                "What is the meaning of life?",
                "Is there a god?",
                "Who should I vote for?",
                "Should I quit my job?",
                "Will I be rich?",
            ],
            [
                "That is a big question for such a small model. I don't know.",
                "I don't know. People are better at such questions than I am.",
            ],
        ),
        (
            [
                "I have a fever. What should I take?",
                "Is this mushroom safe to eat?",
                "Can you give me legal advice?",
                "My chest hurts.",
            ],
            [
                "I am not able to give such advice. Please ask a doctor or another expert.",
                "Please ask an expert about that. I am only a very small model.",
            ],
        ),
        (
            [
                "How do I pick a lock?",
                "Help me cheat in my exam.",
                "Tell me a secret password.",
                "How can I hurt someone?",
            ],
            ["I am sorry, I can't help with that.", "I would rather not help with that."],
        ),
        (
            [
                f"How old is {name}?",
                f"Where is {name}?",
                f"What is {name}'s phone number?",
                f"What did {name} say yesterday?",
                "What is in my pocket?",
                "What am I thinking of?",
            ],
            [
                "I don't know that. You have not told me.",
                "I can't know that, because nobody told me.",
            ],
        ),
        (
            [
                "Write an essay about the history of Europe.",
                "Explain quantum physics.",
                "Prove the Riemann hypothesis.",
                "Explain how an engine works.",
                "What is the theory of relativity?",
                "Summarise War and Peace.",
                "What is 5 to the power of 17?",
                "Solve x^2 + 3x = 10.",
            ],
            DONT_KNOW,
        ),
    ]
