"""What Transformers computes from the vision model: accuracy over drawings, and reference.json with a few prompts.

    python3 scripts/training/vision/reference.py models/lookout DRAWINGS --prompts test/fixtures/drawings

Folders of drawings are those of held_out.py.
"""

import argparse
import json
from pathlib import Path

import torch
import transformers
from PIL import Image

from checkpoint import EOS, prompt_of

GREEDY_TOKENS = 12
TOP = 10
PROMPTS = 12
NOTE = (
    "Logits and greedy continuations are computed with the float16 weights of model.safetensors in float32"
    " of the image of each prompt, up to the end token."
)


class Reader:
    """Answers questions about images by Transformers alone."""

    def __init__(self, folder: Path) -> None:
        self.processor = transformers.AutoProcessor.from_pretrained(folder)
        self.model = transformers.AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()

    def inputs(self, image: Path, question: str):
        content = [{"type": "image"}, {"type": "text", "text": question}]
        text = self.processor.apply_chat_template([{"role": "user", "content": content}], add_generation_prompt=True)
        return self.processor(text=text, images=[Image.open(image).convert("RGB")], return_tensors="pt")

    def answer(self, inputs) -> list[int]:
        with torch.no_grad():
            made = self.model.generate(**inputs, max_new_tokens=GREEDY_TOKENS, do_sample=False)
        return made[0, inputs["input_ids"].shape[1] :].tolist()

    def text(self, ids: list[int]) -> str:
        return self.processor.tokenizer.decode(ids, skip_special_tokens=False)

    def prompt(self, folder: Path, each: dict) -> dict:
        inputs = self.inputs(folder / each["file"], each["question"])
        ids = inputs["input_ids"][0].tolist()
        prompt = prompt_of(each["question"])
        assert self.processor.tokenizer(prompt, add_special_tokens=False)["input_ids"] == ids
        with torch.no_grad():
            logits, top_ids = self.model(**inputs).logits[0, -1].topk(TOP)
        greedy = self.answer(inputs)
        return {
            "image": each["file"],
            "question": each["question"],
            "prompt": prompt,
            "ids": ids,
            "top_ids": top_ids.tolist(),
            "top_logits": [round(logit, 4) for logit in logits.tolist()],
            "greedy": greedy,
            "greedy_text": self.text(greedy),
        }


def accuracy_of(reader: Reader, folder: Path) -> dict[str, dict[str, int]]:
    """Right answers by kind of drawing, to the letter."""
    found: dict[str, dict[str, int]] = {}
    for each in json.loads((folder / "answers.json").read_text(encoding="utf-8")):
        said = reader.text(reader.answer(reader.inputs(folder / each["file"], each["question"])))
        counts = found.setdefault(each["kind"], {"correct": 0, "cases": 0})
        counts["cases"] += 1
        counts["correct"] += said.removesuffix(EOS) == each["answer"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path, help="model folder, which gets reference.json")
    parser.add_argument("drawings", type=Path, help="to measure accuracy")
    parser.add_argument("--prompts", type=Path, required=True, help="folder of drawings that are kept")
    args = parser.parse_args()
    reader = Reader(args.model)
    kept = json.loads((args.prompts / "answers.json").read_text(encoding="utf-8"))
    training = json.loads((args.model / "training.json").read_text(encoding="utf-8"))
    made = {
        "model": args.model.name,
        **training,
        "note": NOTE,
        "accuracy": accuracy_of(reader, args.drawings),
        "prompts": [reader.prompt(args.prompts, each) for each in kept[:PROMPTS]],
    }
    (args.model / "reference.json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    (args.model / "training.json").unlink()
    print(json.dumps(made["accuracy"]))


if __name__ == "__main__":
    main()
