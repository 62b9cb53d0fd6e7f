"""The exercises that a model is measured with.

    python3 exercises.py models/summit     writes models/summit/eval.jsonl for `chairlift eval`
"""

import argparse
import json
from pathlib import Path
from random import Random
from typing import NamedTuple

from corpus import document, render
from skills.arithmetic import answer_sum, random_sum, word_problem
from skills.copying import echo_ask, echo_text, sentence
from skills.facts import CAPITALS
from skills.json_tasks import json_extract, json_object, json_task
from skills.ordering import count_answer, count_ask, count_case, sorting
from skills.tool_calls import tool_chat

# (question, expected answer, system message)
Case = tuple[str, str, str | None]

DOCUMENTS = 400
DOCUMENTS_SEED = 4711

# Left out of eval.jsonl: part of another exercise, and one that no model of this size can do.
NOT_IN_FILE = {"arithmetic_heldout_2digit", "sorting"}


class Exercise(NamedTuple):
    """Questions of one kind."""

    name: str
    cases: list[Case]
    max_tokens: int
    # "text": the answer itself; "json": anything that parses; "json-value": the same value.
    check: str = "text"


def exercises(seed: int = 2024) -> list[Exercise]:
    """Every exercise, with fresh questions."""
    rng = Random(seed)

    def alone(turns: list[tuple[str, str]]) -> list[Case]:
        return [(question, answer, None) for question, answer in turns]

    made = []
    drawn = [random_sum(rng, train=False) for _ in range(3000)]
    held_out = [each for each in drawn if each[1] != "x" and (each[0] > 9 or each[2] > 9)][:200]
    sums = [(f"What is {a} {op} {b}?", answer_sum(a, op, b)) for a, op, b in held_out]
    made.append(Exercise("arithmetic_heldout", alone(sums), 16))
    below_100 = [turn for turn, (a, _, b) in zip(sums, held_out) if a < 100 and b < 100]
    made.append(Exercise("arithmetic_heldout_2digit", alone(below_100), 16))
    factors = range(1, 13)
    table = [(f"What is {a} x {b}?", answer_sum(a, "x", b)) for a in factors for b in factors]
    made.append(Exercise("multiplication_table", alone(table), 16))

    counts = []
    while len(counts) < 50:
        first, last, step = count_case(rng, train=False)
        if step != 1 or min(first, last) not in (0, 1):
            counts.append((first, last, step))
    counting = [(count_ask(rng, *case), count_answer(*case)) for case in counts]
    made.append(Exercise("counting_heldout", alone(counting), 80))

    requests = [json_task(rng)[0] for _ in range(50)]
    made.append(Exercise("json_valid", alone(requests), 120, "json"))
    exact = [(json_object(rng) if i % 2 else json_extract(rng))[0] for i in range(50)]
    made.append(Exercise("json_exact", alone(exact), 120, "json-value"))

    capitals = [
        (f"What is the capital of {country}?", f"The capital of {country} is {city}.")
        for country, city in CAPITALS.items()
    ]
    made.append(Exercise("capitals", alone(capitals), 24))
    texts = [(echo_ask(rng, text), text) for text in (echo_text(rng) for _ in range(50))]
    made.append(Exercise("echo", alone(texts), 64))
    sentences = [sentence(rng) for _ in range(50)]
    repeated = [(f"Repeat after me: {text}", text) for text in sentences]
    made.append(Exercise("echo_sentences", alone(repeated), 64))

    calls: list[Case] = []
    while len(calls) < 40:
        system, ((question, answer), *_) = tool_chat(rng)
        if answer.startswith("<tool_call>"):
            calls.append((question, answer, system))
    made.append(Exercise("tool_calls", calls, 80))
    made.append(Exercise("sorting", alone([sorting(rng)[0] for _ in range(40)]), 64))
    made.append(Exercise("word_problems", alone([word_problem(rng)[0] for _ in range(40)]), 40))
    return made


def _lines() -> list[dict]:
    rng = Random(DOCUMENTS_SEED)
    lines: list[dict] = [{"text": render(document(rng))} for _ in range(DOCUMENTS)]
    for name, cases, max_tokens, check in exercises():
        if name in NOT_IN_FILE:
            continue
        for question, answer, system in cases:
            line = {"task": name, "prompt": question, "answer": answer, "check": check}
            line["max_tokens"] = max_tokens
            if system is not None:
                line["system"] = system
            lines.append(line)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes eval.jsonl of a model folder.")
    parser.add_argument("folder", type=Path, help="model folder")
    args = parser.parse_args()
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in _lines())
    (args.folder / "eval.jsonl").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
