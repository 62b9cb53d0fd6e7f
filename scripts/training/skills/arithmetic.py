"""Sums, comparisons and word problems."""

from random import Random

from skills.holdout import held_out
from skills.words import BOYS, GIRLS, THINGS
from skills.wording import Turns, cap, casual

# (left operand, "+", "-" or "x", right operand)
Sum = tuple[int, str, int]

_REQUESTS_FOR_MANY = [
    "Work these out: ",
    "Please calculate: ",
    "Solve these: ",
    "Answer these sums: ",
]


def random_number(rng: Random) -> int:
    """A number of one to three digits."""
    digits = rng.choice([1, 1, 2, 2, 2, 3, 3, 3])
    return rng.randrange(0 if digits == 1 else 10 ** (digits - 1), 10**digits)


def random_sum(rng: Random, train: bool = True) -> Sum:
    """A sum, a difference or a product; with `train=False`, only what the corpus leaves out.

    Products and sums of two one-digit numbers are never left out.
    """
    while True:
        op = rng.choice("+++---x")
        if op == "x":
            a, b = rng.randrange(0, 13), rng.randrange(0, 13)
        else:
            a, b = random_number(rng), random_number(rng)
            if op == "-" and a < b and rng.random() < 0.85:
                a, b = b, a
        if op == "x" or not (a > 9 or b > 9) or held_out(a, op, b) != train:
            return a, op, b


def _easy_sum(rng: Random) -> Sum:
    """A sum of mostly one and two digits that is part of the corpus."""
    while True:
        op = rng.choice("++--x")
        if op == "x":
            return rng.randrange(1, 13), op, rng.randrange(1, 13)
        a, b = (rng.randrange(0, 10 ** rng.choice([1, 2, 2, 2, 2, 3])) for _ in range(2))
        if op == "-" and a < b and rng.random() < 0.9:
            a, b = b, a
        if not (a > 9 or b > 9) or not held_out(a, op, b):
            return a, op, b


def compute(a: int, op: str, b: int) -> int:
    """The result of a sum, a difference or a product."""
    return {"+": a + b, "-": a - b, "x": a * b}[op]


def ask_sum(rng: Random, a: int, op: str, b: int) -> str:
    """A request to work out a sum."""
    # Every word is drawn, whichever is used: the draws belong to the corpus.
    word = {
        "+": rng.choice(["plus", "plus", "plus"]),
        "-": "minus",
        "x": rng.choice(["times", "multiplied by"]),
    }[op]
    symbol = op if op != "x" else rng.choice(["x", "x", "*", "×"])
    requests = [
        "What is {sum}?",
        "What is {sum}?",
        "{sum}",
        "{sum} =",
        "{tight} =",
        "Calculate {sum}.",
        "How much is {sum}?",
        "What's {sum}?",
        "Compute {sum}.",
        "Please work out {sum}.",
        "{sum}?",
        "Solve {sum}.",
        "Can you tell me what {sum} is?",
        "What is {words}?",
        "How much is {words}?",
        "{cap_words}?",
    ]
    requests += {
        "+": ["Add {a} and {b}.", "What is the sum of {a} and {b}?"],
        "-": ["Subtract {b} from {a}.", "Take {b} away from {a}."],
        "x": ["Multiply {a} by {b}.", "What is the product of {a} and {b}?"],
    }[op]
    text = f"{a} {symbol} {b}"
    words = f"{a} {word} {b}"
    request = rng.choice(requests).format(
        sum=text, tight=text.replace(" ", ""), words=words, cap_words=cap(words), a=a, b=b
    )
    return casual(rng, request, 0.1)


def answer_sum(a: int, op: str, b: int) -> str:
    """The answer to `ask_sum`."""
    return f"{a} {op} {b} = {compute(a, op, b)}."


def _many_at_once(rng: Random, sums: list[Sum]) -> Turns:
    request = rng.choice(_REQUESTS_FOR_MANY) + ", ".join(f"{a} {op} {b}" for a, op, b in sums)
    return [(request, "\n".join(f"{a} {op} {b} = {compute(a, op, b)}" for a, op, b in sums))]


def arithmetic(rng: Random) -> Turns:
    """Sums, one by one or many at once; bigger and smaller; even and odd; the next number."""
    roll = rng.random()
    if roll < 0.62:
        sums = [random_sum(rng) for _ in range(rng.choice([1, 1, 2, 3, 4, 5]))]
        return [(ask_sum(rng, *each), answer_sum(*each)) for each in sums]
    if roll < 0.82:
        return _many_at_once(rng, [random_sum(rng) for _ in range(rng.randrange(2, 7))])
    if roll < 0.9:
        return _comparison(rng)
    if roll < 0.94:
        n = rng.randrange(0, 200)
        return [(f"Is {n} even or odd?", f"{n} is {'even' if n % 2 == 0 else 'odd'}.")]
    n = rng.randrange(1, 300)
    turn = rng.choice([
        (f"What number comes after {n}?", f"{n + 1} comes after {n}."),
        (f"What number comes before {n}?", f"{n - 1} comes before {n}."),
        (f"What is double {n}?", f"Double {n} is {2 * n}."),
    ])
    return [turn]


def _comparison(rng: Random) -> Turns:
    a, b = random_number(rng), random_number(rng)
    if rng.random() < 0.1:
        b = a
    question = rng.choice([
        f"Which is bigger, {a} or {b}?",
        f"Which number is larger: {a} or {b}?",
        f"Is {a} bigger than {b}?",
    ])
    if a == b:
        return [(question, rng.choice([f"They are equal: both are {a}."]))]
    if question.startswith("Is"):
        if a > b:
            return [(question, f"Yes, {a} is bigger than {b}.")]
        return [(question, f"No, {a} is smaller than {b}.")]
    bigger = "larger" if "larger" in question else "bigger"
    return [(question, f"{max(a, b)} is {bigger} than {min(a, b)}.")]


def drill(rng: Random) -> Turns:
    """Many sums, mostly of one and two digits."""
    sums = [_easy_sum(rng) for _ in range(rng.randrange(4, 9))]
    if rng.random() < 0.45:
        return [(ask_sum(rng, *each), answer_sum(*each)) for each in sums]
    return _many_at_once(rng, sums)


def word_problem(rng: Random) -> Turns:
    """A sum told as a little story."""
    name = rng.choice(GIRLS + BOYS)
    things = rng.choice(THINGS)
    other = rng.choice([each for each in GIRLS + BOYS if each != name])
    kind = rng.randrange(7)
    while True:
        if rng.random() < 0.6:
            a, b = rng.randrange(1, 20), rng.randrange(1, 20)
        else:
            a, b = rng.randrange(10, 100), rng.randrange(1, 100)
        if kind in (2, 3, 5) and a < b:
            a, b = b, a
        if a != b:
            break
    if kind in (4, 6):
        a, b = rng.randrange(2, 13), rng.randrange(2, 13)

    if kind == 0:
        gets = rng.choice(["buys", "finds", "gets"])
        question = f"{name} has {a} {things} and {gets} {b} more. "
        question += f"How many {things} does {name} have now?"
        answer = f"{a} + {b} = {a + b}. {name} has {a + b} {things} now."
    elif kind == 1:
        question = f"{name} has {a} {things} and {other} has {b} {things}. "
        question += f"How many {things} do they have together?"
        answer = f"{a} + {b} = {a + b}. Together they have {a + b} {things}."
    elif kind == 2:
        loses = rng.choice(["gives away", "loses", "sells"])
        question = f"{name} has {a} {things} and {loses} {b}. How many {things} are left?"
        answer = f"{a} - {b} = {a - b}. {name} has {a - b} {things} left."
    elif kind == 3:
        question = f"There are {a} {things} on the table. {name} takes {b} of them. "
        question += f"How many {things} remain?"
        left = f"is 1 {things[:-1]}" if a - b == 1 else f"are {a - b} {things}"
        answer = f"{a} - {b} = {a - b}. There {left} left on the table."
    elif kind == 4:
        question = f"{name} has {a} boxes with {b} {things} in each box. "
        question += f"How many {things} is that?"
        answer = f"{a} x {b} = {a * b}. {name} has {a * b} {things}."
    elif kind == 5:
        question = f"{name} is {a} years old and {other} is {b} years old. "
        question += f"How many years older is {name}?"
        years = "year" if a - b == 1 else "years"
        answer = f"{a} - {b} = {a - b}. {name} is {a - b} {years} older."
    else:
        question = f"One ticket costs {b} coins. How much do {a} tickets cost?"
        answer = f"{a} x {b} = {a * b}. {a} tickets cost {a * b} coins."
    return [(question, answer)]
