"""Questions about a drawing, and their answers."""

import string

import numpy as np

from drawings import COLORS, SHAPES, Drawing, draw_shapes, draw_text

COUNTS = ("", "One", "Two", "Three", "Four", "Five")
MAX_DIGITS = 3
MAX_LETTERS = 3

ANYTHING = ("What is it?", "What is this?", "What do you see?", "What is in this image?")
QUESTIONS = {
    "anything": ANYTHING,
    "count": ("How many?", "How many are there?", "How many shapes are there?"),
    "color": ("Which color?", "Which color is it?", "What color is it?"),
    "shape": ("Which shape?", "Which shape is it?", "What shape is it?"),
    "number": ("Which number?", "Which number is it?", "What does it say?", "Read it."),
    "word": ("Which word?", "Which word is it?", "What does it say?", "Read it."),
}

WORDS = (
    "ant bag bat bed bug bus cab can cap cat cod cog cop cup dad dog dot egg god gun nap nut pad pan pea pen pet"
    " pot pup sad sea set son sun tag tan tap ten toe top tub tug"
).split()
# Never drawn in training but by chance.
NEW_WORDS = "bee bad cot cub gas got net pod sap tea".split()
LETTERS = sorted({letter for word in WORDS for letter in word})


def draw_for(rng: np.random.Generator, kind: str) -> Drawing:
    """
    A drawing of kind "shapes", "number" or "word".
    A part of the words in training are letters by chance, so that letters are read and not words known.
    """
    if kind == "shapes":
        count = int(rng.choice([1, 2, 3, 4, 5], p=[0.4, 0.3, 0.12, 0.1, 0.08]))
        return draw_shapes(rng, count, count != 2 or rng.random() < 0.35)
    if kind == "number":
        digits = int(rng.integers(1, MAX_DIGITS + 1))
        return draw_text(rng, "".join(rng.choice(list(string.digits), size=digits)))
    if rng.random() < 0.6:
        return draw_text(rng, str(rng.choice(WORDS)))
    letters = int(rng.integers(1, MAX_LETTERS + 1))
    return draw_text(rng, "".join(rng.choice(LETTERS, size=letters)))


def kind_of(drawing: Drawing) -> str:
    if drawing.shapes:
        return "shapes"
    return "number" if drawing.text.isdigit() else "word"


def exchanges(drawing: Drawing) -> dict[str, str]:
    """Answers by what is asked (a key of QUESTIONS)."""
    kind = kind_of(drawing)
    if kind == "number":
        return {"anything": f"The number {drawing.text}.", "number": drawing.text}
    if kind == "word":
        return {"anything": f'The word "{drawing.text}".', "word": drawing.text}
    colors, kinds = zip(*drawing.shapes)
    count = COUNTS[len(kinds)]
    if len(set(drawing.shapes)) > 1:
        (color, shape), (other, second) = drawing.shapes
        both = f"{_article(color)} {color} {shape} and {_article(other).lower()} {other} {second}."
        return {"anything": both, "count": f"{count}."}
    color, shape = colors[0], kinds[0]
    if len(kinds) == 1:
        return {
            "anything": f"{_article(color)} {color} {shape}.",
            "count": f"{count}.",
            "color": f"{color.capitalize()}.",
            "shape": f"A {shape}.",
        }
    return {
        "anything": f"{count} {color} {shape}s.",
        "count": f"{count}.",
        "color": f"{color.capitalize()}.",
        "shape": f"{shape.capitalize()}s.",
    }


def phrases() -> list[str]:
    """Texts whose words the tokenizer has whole: all but what is read."""
    colors = [word for color in COLORS for word in (f"{color.capitalize()}.", f"a {color}")]
    shapes = [word for shape in SHAPES for word in (f"a {shape}", f"two {shape}s", f"{shape.capitalize()}s.")]
    counts = [f"{count}." for count in COUNTS[1:]]
    answers = ["The number 1.", 'The word "a".', "A red circle and an orange star.", "An orange star."]
    asked = [question for each in QUESTIONS.values() for question in each]
    return [*asked, *colors, *shapes, *counts, *answers, "User:", "Assistant:"]


def _article(word: str) -> str:
    return "An" if word[0] in "aeiou" else "A"
