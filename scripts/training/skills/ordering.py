"""Counting, naming things of a kind, sorting, and the calendar."""

from random import Random

from skills.holdout import held_out
from skills.words import DAYS, KINDS, MONTH_LENGTHS, MONTHS, NUMBER_WORDS, ORDINALS, SIMPLE_WORDS
from skills.wording import Turns, cap, casual, join_words, skip_draw


def count_case(rng: Random, train: bool = True) -> tuple[int, int, int]:
    """(first, last, step) of a counting exercise; with `train=False`, what the corpus leaves out.

    The step is positive; counting goes down if the first number is the larger one.
    """
    while True:
        step = rng.choice([1, 1, 1, 1, 2, 2, 3, 5, 5, 10, 4])
        count = rng.randrange(2, 16 if step == 1 else 12)
        first = rng.choice(
            [1, rng.randrange(0, 30), rng.randrange(0, 100), step * rng.randrange(0, 6)]
        )
        last = first + step * count
        if rng.random() < 0.3:
            first, last = last, first
        from_the_start = step == 1 and min(first, last) in (0, 1)
        if from_the_start or held_out("count", first, last, step) != train:
            return first, last, step


def count_ask(rng: Random, first: int, last: int, step: int) -> str:
    """A request to count."""
    requests = [
        "Count from {first} to {last}",
        "Please count from {first} to {last}",
        "Can you count from {first} to {last}",
        "Count {direction} from {first} to {last}",
        "List the numbers from {first} to {last}",
    ]
    if first > last:
        requests = [
            "Count down from {first} to {last}",
            "Count backwards from {first} to {last}",
            "Please count down from {first} to {last}",
            "Count from {first} to {last}",
        ]
    request = rng.choice(requests).format(first=first, last=last, direction="up")
    if step != 1:
        request += rng.choice([
            f" by {step}",
            f" in steps of {step}",
            f" by {step}s" if step in (2, 5, 10) else f" by {step}",
        ])
    return casual(rng, request + ("?" if request.startswith("Can") else "."))


def count_answer(first: int, last: int, step: int) -> str:
    """The answer to `count_ask`."""
    if first > last:
        return ", ".join(map(str, range(first, last - 1, -step)))
    return ", ".join(map(str, range(first, last + 1, step)))


def counting(rng: Random) -> Turns:
    """Counts up or down, by steps."""
    case = count_case(rng)
    return [(count_ask(rng, *case), count_answer(*case))]


def listing(rng: Random) -> Turns:
    """Names things of a kind, in several layouts."""
    kind = rng.choice(list(KINDS))
    items = KINDS[kind]
    if rng.random() < 0.9:
        count = rng.randrange(2, min(9, len(items)) + 1)
    else:
        count = 10 if len(items) > 9 else 5
    chosen = rng.sample(items, count)
    number = NUMBER_WORDS[count] if rng.random() < 0.6 else str(count)
    request = rng.choice([
        "Name {number} {kind}.",
        "List {number} {kind}.",
        "Give me {number} {kind}.",
        "Tell me {number} {kind}.",
        "Can you name {number} {kind}?",
        "Please list {number} {kind}.",
        "What are {number} {kind}?",
        "I need {number} {kind}.",
        "Write down {number} {kind}.",
    ])
    request = casual(rng, request.format(number=number, kind=kind))
    roll = rng.random()
    if roll < 0.35:
        request += rng.choice(["", "", " Use a numbered list."])
        return [(request, "\n".join(f"{i}. {cap(item)}" for i, item in enumerate(chosen, 1)))]
    if roll < 0.5:
        request += rng.choice([" Use bullet points.", " As a bullet list, please."])
        return [(request, "\n".join(f"- {cap(item)}" for item in chosen))]
    if roll < 0.6 and kind != "countries":
        return [(request, cap(join_words(chosen)) + ".")]
    if roll < 0.8:
        return [(request, f"Here are {NUMBER_WORDS[count]} {kind}: {join_words(chosen)}.")]
    skip_draw(rng)
    return [(request + " Separate them with commas.", ", ".join(chosen))]


def sorting(rng: Random) -> Turns:
    """Sorts words alphabetically or numbers by size."""
    count = rng.randrange(3, 7)
    if rng.random() < 0.4:
        items = rng.sample(SIMPLE_WORDS, count)
        request = rng.choice([
            "Sort these words alphabetically: {list}",
            "Put these words in alphabetical order: {list}",
            "Sort the words {phrase} alphabetically.",
        ])
        order = ""
        ordered = sorted(items)
    else:
        numbers = rng.sample(range(rng.choice([10, 20, 100, 100, 1000])), count)
        descending = rng.random() < 0.35
        request = rng.choice([
            "Sort these numbers from {order}: {list}",
            "Put these numbers in order from {order}: {list}",
            "Sort {phrase} from {order}.",
            "Order these from {order}: {list}",
        ])
        order = "largest to smallest" if descending else "smallest to largest"
        ordered = list(map(str, sorted(numbers, reverse=descending)))
        items = list(map(str, numbers))
    request = request.format(list=", ".join(items), phrase=join_words(items), order=order)
    return [(casual(rng, request), ", ".join(ordered))]


def calendar(rng: Random) -> Turns:
    """Days and months: their order, names and lengths."""
    kind = rng.randrange(10)
    day = rng.randrange(7)
    month = rng.randrange(12)
    today, yesterday, tomorrow = DAYS[day], DAYS[day - 1], DAYS[(day + 1) % 7]
    this_month, next_month = MONTHS[month], MONTHS[(month + 1) % 12]
    if kind == 0:
        requests = ["What day comes after {}?", "Which day is after {}?", "What day follows {}?"]
        request = rng.choice(requests).format(today)
        answer = f"{tomorrow} comes after {today}."
    elif kind == 1:
        requests = ["What day comes before {}?", "Which day is before {}?"]
        request = rng.choice(requests).format(today)
        answer = f"{yesterday} comes before {today}."
    elif kind == 2:
        requests = [
            "What month comes after {}?",
            "Which month follows {}?",
            "Which month is after {}?",
        ]
        request = rng.choice(requests).format(this_month)
        answer = f"{next_month} comes after {this_month}."
    elif kind == 3:
        requests = ["What month comes before {}?", "Which month is before {}?"]
        request = rng.choice(requests).format(this_month)
        answer = f"{MONTHS[month - 1]} comes before {this_month}."
    elif kind == 4:
        requests = ["How many days are in {}?", "How many days does {} have?"]
        request = rng.choice(requests).format(this_month)
        answer = f"{this_month} has {MONTH_LENGTHS[this_month]} days"
        answer += ", or 29 in a leap year." if this_month == "February" else "."
    elif kind == 5:
        request = rng.choice([
            "List the days of the week.",
            "What are the days of the week?",
            "Name the days of the week.",
        ])
        answer = rng.choice([
            "The days of the week are " + join_words(DAYS) + ".",
            ", ".join(DAYS),
        ])
    elif kind == 6:
        request = rng.choice([
            "List the months of the year.",
            "What are the months of the year?",
            "Name the twelve months.",
        ])
        answer = rng.choice([
            "The months of the year are " + join_words(MONTHS) + ".",
            ", ".join(MONTHS),
        ])
    elif kind == 7:
        request = f"If today is {today}, what day is tomorrow?"
        answer = f"If today is {today}, tomorrow is {tomorrow}."
    elif kind == 8:
        request = f"If today is {today}, what day was yesterday?"
        answer = f"If today is {today}, yesterday was {yesterday}."
    else:
        ordinal = ORDINALS[month]
        requests = ["What is the {} month of the year?", "Which month is the {} one?"]
        request = rng.choice(requests).format(ordinal)
        answer = f"{this_month} is the {ordinal} month of the year."
    return [(casual(rng, request), answer)]
