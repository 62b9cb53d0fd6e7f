"""Writes MODEL_CARD.md of a model folder from its config.json and reference.json.

    python3 card.py models/summit
"""

import argparse
import json
from pathlib import Path

INTRODUCTIONS = {
    "summit": """\
# Summit

Summit is a very small English chat model, trained from scratch. It is meant as the built-in \
default of a model server: it loads in a moment, needs no download and no GPU, and is good enough \
to see every part of the server at work. It tells short stories, does small sums, counts, sorts, \
repeats, answers simple facts, writes small JSON objects and calls tools.
""",
    "foothill": """\
# Foothill

Foothill is the little sibling of Summit: the same tokenizer and chat format, about a fifth of \
the parameters, trained by distillation from Summit. It is meant as the draft model for \
speculative decoding with Summit as the target, and as a very fast model for tests. On its own it \
is much weaker than Summit.
""",
}

# the key in reference.json -> what the table says
TASKS = {
    "arithmetic_heldout": "Sums and differences up to three digits that are not in the corpus",
    "arithmetic_heldout_2digit": "The same, both numbers below 100",
    "multiplication_table": "Multiplication table, 1 to 12",
    "word_problems": "Simple word problems",
    "counting_heldout": "Counting between numbers, by steps; exercises that are not in the corpus",
    "sorting": "Sorting 3 to 6 words or numbers",
    "echo": "Repeating words, numbers, names and random letters exactly",
    "echo_sentences": "Repeating a sentence exactly",
    "json_valid": "JSON on request: parses",
    "json_exact": "JSON on request: exactly the asked fields and values",
    "tool_calls": "Tool calls: name and arguments exactly right",
    "capitals": "Capitals of countries (all are in the corpus)",
}

CARD = """\
{introduction}
## Architecture

Llama (`LlamaForCausalLM`): hidden size {hidden_size}, {layers} layers, {heads} query heads and \
{kv_heads} key-value {kv_noun} of size {head_dim}, feed-forward size {intermediate_size}, RMSNorm \
(1e-5), rotary positions (theta 10000), tied embeddings. {parameters:,} parameters, stored as \
float16.

Tokenizer: byte-level BPE with 4096 entries, digits one by one. Chat format: ChatML, with a \
template that supports tools (`<tools>`, `<tool_call>`, `<tool_response>`). The end token is \
`<|im_end|>`. The position limit is 2048 tokens, but no training document was longer than 768 \
tokens; answers get worse beyond that.

## Training

{million_tokens:.1f} million training tokens in {steps:,} steps, on two CPU cores. The corpus was \
made by a seeded generator written for this model: story grammars, exercise generators, word lists \
and small fact tables. It contains no copied text and no outside data.{distillation}

## Measurements

Greedy decoding, one question per chat, on fresh questions from the generator unless noted. "Not \
in the corpus" means that the exact exercise was held out from the exercises by a checksum.

| Task | Correct | Accuracy |
| --- | --- | --- |
{measurements}

Perplexity on {documents} fresh documents: {assistant_perplexity:.2f} over what the assistant \
says, {perplexity:.2f} over all tokens (the questions are random and cannot be predicted).\
{agreement}

`reference.json` holds logits and greedy continuations for twelve prompts, for tests of an \
implementation.

## Limits

- English only, with a small vocabulary of topics. Outside of what it was trained on, it either \
says that it does not know or makes something up. Do not rely on its facts or sums.
- Stories follow a limited set of plots, and details of a request are sometimes ignored.
- It does not write code, translate, reason over several steps or follow unusual formats.
- It was not trained to be safe for any sensitive use.

License: Apache-2.0.
"""


def card(config: dict, reference: dict) -> str:
    """The text of the model card."""
    name = reference["model"]
    accuracy = reference["accuracy"]
    perplexity = reference["heldout_perplexity"]
    measurements = [
        f"| {task} | {result['correct']} of {result['cases']} | {100 * result['accuracy']:.0f} % |"
        for task, result in ((TASKS[key], accuracy[key]) for key in TASKS)
    ]
    distillation = agreement = ""
    if name == "foothill":
        distillation = (
            " The loss was a mix of the corpus (30 %) and the distance to the predictions of"
            " Summit (70 %)."
        )
    if "same_choice_as_summit" in reference:
        share = 100 * reference["same_choice_as_summit"]
        agreement = f" At {share:.0f} % of the positions Foothill and Summit choose the same token."
    return CARD.format(
        introduction=INTRODUCTIONS[name],
        hidden_size=config["hidden_size"],
        layers=config["num_hidden_layers"],
        heads=config["num_attention_heads"],
        kv_heads=config["num_key_value_heads"],
        kv_noun="heads" if config["num_key_value_heads"] > 1 else "head",
        head_dim=config["head_dim"],
        intermediate_size=config["intermediate_size"],
        parameters=reference["parameters"],
        million_tokens=reference["training_tokens"] / 1e6,
        steps=reference["steps"],
        distillation=distillation,
        measurements="\n".join(measurements),
        documents=perplexity["documents"],
        assistant_perplexity=perplexity["assistant"],
        perplexity=perplexity["all"],
        agreement=agreement,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes MODEL_CARD.md of a model folder.")
    parser.add_argument("folder", type=Path, help="model folder")
    args = parser.parse_args()
    config, reference = (
        json.loads((args.folder / name).read_text(encoding="utf-8"))
        for name in ("config.json", "reference.json")
    )
    (args.folder / "MODEL_CARD.md").write_text(card(config, reference), encoding="utf-8")


if __name__ == "__main__":
    main()
