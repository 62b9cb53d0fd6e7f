"""Tiny models of vision.py that see as GGUF files, text and mmproj, by llama.cpp's own converter.

Usage: python3 scripts/references/gguf_vision.py <llama.cpp> test/fixtures/vision test/fixtures/gguf-vision
Needs: pip install torch transformers; the sources of llama.cpp, as in the package llama-cpp-python

Weights stay as they are. What the models compute is in vision's reference.json.
"""

import sys
from pathlib import Path

LLAMA, FOLDERS, TARGET = map(Path, sys.argv[1:4])
sys.path.insert(0, str(LLAMA))
from conversion import get_model_class  # noqa: E402
from conversion.base import ModelBase, ModelType, gguf  # noqa: E402

NAMES = ["smolvlm", "idefics3"]
# Published models have it inside of text_config.
TEXT_MODEL = "VLlama3ForCausalLM"


def convert_text(folder: Path, target: Path) -> None:
    of = get_model_class(TEXT_MODEL)
    # It tells vocabularies apart by what they make of one text; these split as GPT-2's does.
    of.set_vocab = of._set_vocab_gpt2
    of.get_vocab_base_pre = lambda _self, _tokenizer: "gpt-2"
    hparams = ModelBase.load_hparams(folder, False)
    hparams["text_config"]["architectures"] = [TEXT_MODEL]
    of(folder, gguf.LlamaFileType.MOSTLY_BF16, target, hparams=hparams).write()


def convert_tower(folder: Path, target: Path) -> None:
    [architecture] = ModelBase.load_hparams(folder, False)["architectures"]
    of = get_model_class(architecture, mmproj=True)
    of(folder, gguf.LlamaFileType.MOSTLY_F16, target).write()


def main() -> None:
    for name in NAMES:
        folder = TARGET / name
        folder.mkdir(parents=True, exist_ok=True)
        convert_text(FOLDERS / name, folder / f"{name}.gguf")
        convert_tower(FOLDERS / name, folder / f"mmproj-{name}-F16.gguf")
        print(folder)


main()
