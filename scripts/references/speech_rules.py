"""Which tokens Transformers leaves a text of speech, by those before: the rules of suppressed tokens and timestamps.

    pip install torch transformers==5.24.0
    python3 scripts/references/speech_rules.py test/fixtures/speech-rules.json
"""

import argparse
import json
import random
from pathlib import Path
from types import SimpleNamespace

import torch
from transformers.generation.logits_process import (
    SuppressTokensAtBeginLogitsProcessor,
    SuppressTokensLogitsProcessor,
    WhisperTimeStampLogitsProcessor,
)

VOCAB = 40
END = 20
NO_TIMESTAMPS = 25
FIRST = 26
PROMPT = [21, 22]
SUPPRESSED = [3, 7, 23]
SUPPRESSED_FIRST = [5, END]
CASES = 120


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    draw = random.Random(3)
    cases = []
    for number in range(CASES):
        max_initial = draw.choice([None, 0, 4])
        config = SimpleNamespace(
            no_timestamps_token_id=NO_TIMESTAMPS,
            eos_token_id=END,
            bos_token_id=END,
            max_initial_timestamp_index=max_initial,
            _detect_timestamp_from_logprob=True,
        )
        time = FIRST
        written = []
        for _ in range(draw.randrange(7)):
            if draw.random() < 0.5:
                time = min(VOCAB - 1, time + draw.randrange(4))
                written.append(time)
            else:
                written.append(draw.randrange(END))
        logits = [round(draw.gauss(0, 2), 3) for _ in range(VOCAB)]
        if number % 3 == 0:
            logits[draw.randrange(END)] += 12
        ids = torch.tensor([PROMPT + written])
        scores = torch.tensor([logits])
        begin = len(PROMPT)
        for processor in (
            SuppressTokensAtBeginLogitsProcessor(SUPPRESSED_FIRST, begin),
            SuppressTokensLogitsProcessor(SUPPRESSED),
            WhisperTimeStampLogitsProcessor(config, begin),
        ):
            scores = processor(ids, scores)
        allowed = [token for token, score in enumerate(scores[0].tolist()) if score > float("-inf")]
        cases.append({"maxInitial": max_initial, "written": written, "logits": logits, "allowed": allowed})
    rule = {"suppressed": SUPPRESSED, "suppressedFirst": SUPPRESSED_FIRST, "first": FIRST, "none": NO_TIMESTAMPS, "end": END}
    parser.parse_args().file.write_text(json.dumps({"rule": rule, "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
