"""When tokens were said, and which tokens are a word, by Transformers' own functions.

    pip install numpy torch transformers==5.24.0
    python3 scripts/references/word_times.py test/fixtures/speech

Writes word-times.json there: times of the greedy tokens of the tiny models that speech.py made, by heads drawn here,
and words of texts with the tokens of the folder `spoken`, which are bytes.
"""

import argparse
import base64
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
import transformers
from transformers.models.whisper import tokenization_whisper

HEADS = {"whisper": [[0, 1], [1, 0]], "large": [[0, 0], [0, 1], [1, 1]], "distil": [[0, 1]]}
# Of the window, those that have sound.
FRAMES = [1000, 37, 9]
TEXTS = [
    ("english", " Hello there, said the cat."),
    ("english", " It's 3.5% (about \u00a37) -- \u201cwell\u201d! \u00bfWhat?"),
    ("english", "don't \"quote\" me: a-b, c/d ...  no"),
    ("german", " Gr\u00fc\u00dfe aus K\u00f6ln; 'naja'."),
    ("japanese", "\u3053\u3093\u306b\u3061\u306f\u3001\u4e16\u754c\u3002"),
    ("chinese", " \u4f60\u597d\uff0c\u4e16\u754c\uff01ok\U0001f600"),
    ("english", " \U0001f600 ok"),
]


def times(folder: Path, name: str) -> dict:
    model = transformers.WhisperForConditionalGeneration.from_pretrained(
        folder / name, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    reference = json.loads((folder / name / "reference.json").read_text())
    encoded = {}
    for window, each in reference["windows"].items():
        data = np.frombuffer(base64.b64decode(each["encoded"]), "<f4")
        encoded[window] = torch.tensor(data).reshape(1, -1, model.config.d_model)
    cases = []
    for prompt in reference["prompts"]:
        ids = prompt["ids"] + prompt["greedy"]
        with torch.no_grad():
            made = model(
                encoder_outputs=(encoded[prompt["window"]],),
                decoder_input_ids=torch.tensor([ids]),
                output_attentions=True,
                use_cache=False,
            )
        outputs = SimpleNamespace(cross_attentions=[made.cross_attentions], sequences=torch.tensor([ids]))
        outputs = type("Outputs", (SimpleNamespace,), {"__contains__": lambda self, key: hasattr(self, key)})(
            **vars(outputs)
        )
        for frames in FRAMES:
            found = model._extract_token_timestamps(
                outputs, HEADS[name], num_frames=frames, num_input_ids=len(prompt["ids"])
            )[0]
            # The last one stands for the end of the text.
            kept = [round(float(each), 2) for each in found[len(prompt["ids"]) : -1]]
            cases.append(
                {"window": prompt["window"], "ids": prompt["ids"], "tokens": prompt["greedy"], "frames": frames, "times": kept}
            )
    return {"heads": HEADS[name], "cases": cases}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    tokens = transformers.PreTrainedTokenizerFast.from_pretrained(folder / "spoken")
    tokens.decode = (lambda decode: lambda ids, **_: decode(ids))(tokens.decode)
    words = []
    for language, text in TEXTS:
        ids = tokens(text, add_special_tokens=False)["input_ids"]
        found, _, indices = tokenization_whisper._combine_tokens_into_words(tokens, ids, language)
        words.append(
            {
                "language": language,
                "text": text,
                "words": [[word, at[0], at[-1] + 1] for word, at in zip(found, indices, strict=True)],
            }
        )
    made = {"times": {name: times(folder, name) for name in HEADS}, "words": words}
    (folder / "word-times.json").write_text(json.dumps(made, indent=1) + "\n")
    print(json.dumps(words, ensure_ascii=False)[:1500])
    print([each["times"] for name in HEADS for each in made["times"][name]["cases"]])


if __name__ == "__main__":
    main()
