"""Draws images that the vision model did not see in training, with a question and the answer of each.

    python3 scripts/training/vision/held_out.py DIR --count 1000

answers.json lists them. Words of the kind "new word" are in no drawing of the training but by chance.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from drawings import Drawing, draw_shapes, draw_text
from questions import NEW_WORDS, QUESTIONS, WORDS, draw_for, exchanges

KINDS = ("one shape", "two shapes", "more shapes", "number", "word", "new word")
FORMATS = (("png", {}), ("png", {}), ("jpg", {"quality": 90}), ("webp", {"quality": 90}))


def draw_kind(rng: np.random.Generator, kind: str) -> Drawing:
    match kind:
        case "one shape":
            return draw_shapes(rng, 1, True)
        case "two shapes":
            return draw_shapes(rng, 2, False)
        case "more shapes":
            return draw_shapes(rng, int(rng.integers(2, 6)), True)
        case "number":
            return draw_for(rng, "number")
        case _:
            return draw_text(rng, str(rng.choice(WORDS if kind == "word" else NEW_WORDS)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where images and answers.json are written")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1_000_000, help="another one than of the training")
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    args.folder.mkdir(parents=True, exist_ok=True)
    listed = []
    for index in range(args.count):
        kind = KINDS[index % len(KINDS)]
        drawing = draw_kind(rng, kind)
        answers = exchanges(drawing)
        asked = str(rng.choice(list(answers)))
        question = str(rng.choice(QUESTIONS[asked]))
        end, options = FORMATS[int(rng.integers(len(FORMATS)))]
        file = f"{index:04}.{end}"
        drawing.image.save(args.folder / file, **options)
        listed.append({"file": file, "kind": kind, "question": question, "answer": answers[asked]})
    text = ",\n".join(json.dumps(each) for each in listed)
    (args.folder / "answers.json").write_text(f"[\n{text}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
