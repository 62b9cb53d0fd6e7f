"""Tiny models that see as GGUF files, text and mmproj, by llama.cpp's own converter.

Usage: python3 scripts/references/gguf_vision.py <llama.cpp> test/fixtures/vision test/fixtures/gguf-vision [name...]
Needs: pip install torch transformers sentencepiece; the sources of llama.cpp, as in the package llama-cpp-python

Weights stay as they are. What the models compute is in vision's reference.json. What no converter writes, since all
published models have the same, is added by the keys that llama.cpp reads of other families.
"""

import sys
from pathlib import Path

LLAMA, FOLDERS, TARGET = map(Path, sys.argv[1:4])
sys.path.insert(0, str(LLAMA))
from conversion import get_model_class  # noqa: E402
from conversion.base import ModelBase, gguf  # noqa: E402
from conversion.gemma import Gemma3Model, Gemma3VisionModel  # noqa: E402
from conversion.mistral3 import Mistral3Model  # noqa: E402

# Published models have it inside of text_config.
LLAMA_TEXT = "VLlama3ForCausalLM"


def qwen_facts(writer, _hparams: dict) -> None:
    writer.add_uint32("clip.vision.image_min_pixels", 700)
    writer.add_uint32("clip.vision.image_max_pixels", 1200)


def qwen25_facts(writer, hparams: dict) -> None:
    qwen_facts(writer, hparams)
    writer.add_uint32("clip.vision.window_size", hparams["window_size"])


def no_facts(_writer, _hparams: dict) -> None:
    pass


# By folder: architecture of the text model, None for that of the folder, and facts of images that are added.
CASES = {
    "smolvlm": (LLAMA_TEXT, no_facts),
    "idefics3": (LLAMA_TEXT, no_facts),
    "qwen2-vl": (None, qwen_facts),
    "qwen2.5-vl": (None, qwen25_facts),
    "qwen3-vl": (None, qwen_facts),
    "qwen3-vl-moe": (None, qwen_facts),
    "gemma3": (None, no_facts),
    "mistral3": (None, no_facts),
}


def convert_text(folder: Path, target: Path, architecture: str | None) -> None:
    hparams = ModelBase.load_hparams(folder, False)
    named = architecture or hparams["architectures"][0]
    of = get_model_class(named)
    inner = Mistral3Model.Ministral3Model if of is Mistral3Model else of
    # It tells vocabularies apart by what they make of one text; these split as GPT-2's does.
    inner.set_vocab = inner._set_vocab_gpt2
    inner.get_vocab_base_pre = lambda _self, _tokenizer: "gpt-2"
    if architecture is not None:
        hparams["text_config"]["architectures"] = [architecture]
    model = of(folder, gguf.LlamaFileType.MOSTLY_BF16, target, hparams=hparams)
    if of is Gemma3Model:
        # Layers with a window follow a rule in llama.cpp; those of the tiny model another.
        types = hparams["text_config"]["layer_types"]
        model.gguf_writer.add_sliding_window_pattern([each == "sliding_attention" for each in types])
    model.write()


def published_names(of: type) -> type:
    """The converter, for the names that Transformers 5 writes."""

    class Renaming(of):
        @classmethod
        def filter_tensors(cls, item):
            name, make = item
            if of is Gemma3VisionModel:
                name = name.replace("vision_tower.", "vision_tower.vision_model.")
            return super().filter_tensors((name, make))

    return Renaming


def convert_tower(folder: Path, target: Path, add_facts) -> None:
    [architecture] = ModelBase.load_hparams(folder, False)["architectures"]
    of = published_names(get_model_class(architecture, mmproj=True))
    model = of(folder, gguf.LlamaFileType.MOSTLY_F16, target)
    add_facts(model.gguf_writer, model.hparams_vision)
    model.write()


def main() -> None:
    for name in sys.argv[4:] or CASES:
        architecture, add_facts = CASES[name]
        folder = TARGET / name
        folder.mkdir(parents=True, exist_ok=True)
        convert_text(FOLDERS / name, folder / f"{name}.gguf", architecture)
        convert_tower(FOLDERS / name, folder / f"mmproj-{name}-F16.gguf", add_facts)
        print(folder)


main()
