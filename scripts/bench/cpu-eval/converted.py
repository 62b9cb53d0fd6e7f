"""Random weights of a shape, by Transformers, and its GGUF file in q8_0, by llama.cpp's own converter.

Usage: python3 converted.py weights FOLDER               where config.json lies
       python3 converted.py gguf FOLDER LLAMA_CPP FILE   of that folder and its tokenizer, with the sources of llama.cpp
Needs: pip install torch transformers
"""

import json
import sys
from pathlib import Path


def write_weights(folder: Path) -> None:
    import torch
    import transformers

    stated = json.loads((folder / "config.json").read_text())
    for name, value in stated.items():
        # JavaScript writes 30, and Transformers takes 30.0.
        if name.endswith("softcapping"):
            stated[name] = float(value)
    (folder / "config.json").write_text(json.dumps(stated))
    torch.manual_seed(1)
    config = transformers.AutoConfig.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.save_pretrained(folder)
    # As it was given, without what this version of Transformers adds.
    (folder / "config.json").write_text(json.dumps({**stated, "dtype": "bfloat16"}))


def write_gguf(folder: Path, llama: Path, target: Path) -> None:
    sys.path.insert(0, str(llama))
    from conversion import get_model_class
    from conversion.base import ModelBase, gguf

    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    config = ModelBase.load_hparams(folder, False)
    vocabulary = sorted(tokenizer["model"]["vocab"].items(), key=lambda entry: entry[1])
    added = {token["id"]: token["special"] for token in tokenizer["added_tokens"]}
    of_added = {None: gguf.TokenType.NORMAL, True: gguf.TokenType.CONTROL}
    kinds = [of_added.get(added.get(id), gguf.TokenType.USER_DEFINED) for _, id in vocabulary]
    merges = tokenizer["model"]["merges"]

    def add_vocabulary(model) -> None:
        writer = model.gguf_writer
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("smollm")
        writer.add_token_list([token for token, _ in vocabulary])
        writer.add_token_types(kinds)
        writer.add_token_merges([pair if isinstance(pair, str) else " ".join(pair) for pair in merges])
        writer.add_bos_token_id(config["bos_token_id"])
        writer.add_eos_token_id(config["eos_token_id"])

    of = get_model_class(config["architectures"][0])
    of.set_vocab = add_vocabulary
    of.no_mtp = True
    of(folder, gguf.LlamaFileType.MOSTLY_Q8_0, target, hparams=config).write()


if sys.argv[1] == "weights":
    write_weights(Path(sys.argv[2]))
else:
    write_gguf(*map(Path, sys.argv[2:5]))
