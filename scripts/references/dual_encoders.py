"""Tiny CLIP and SigLIP models of random weights, with what Transformers computes from them.

    pip install pillow==12.3.0 numpy torch torchvision transformers==5.24.0
    python3 dual_encoders.py test/fixtures/dual-encoders test/fixtures/vision/images         writes both models
    python3 dual_encoders.py test/fixtures/images.json.gz test/fixtures/dual-pixels.json     pixels of drawn images

A model is a folder as `save_pretrained` writes it (bfloat16, computed in float32) and reference.json: ids
and normalized vectors of texts, normalized vectors of images, logits and probabilities of both. Texts are
computed one by one. Images are read as images.py and tiles.py say; pixels are hashes of bytes.
"""

import base64
import gzip
import hashlib
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from PIL import Image, ImageOps
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from tiles import RESAMPLE, read

TEXTS = [
    "A photo of a cat.",
    "a",
    "Two RED circles  on a white\nmat, isn't it?",
    "",
    "The dog ran far over 12 moons, and the cats sat on mats in Köln.",
    "cut <|endoftext|> here",
]
CORPUS = [*TEXTS[:5], "a photo of the red dog", "the white cat sat on a mat", "circles and moons"] * 4
SHAPE = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 24}


def clip_tokenizer(length: int):
    whole = Tokenizer(models.BPE(end_of_word_suffix="</w>"))
    empty = transformers.CLIPTokenizer()
    whole.normalizer = empty.backend_tokenizer.normalizer
    whole.pre_tokenizer = empty.backend_tokenizer.pre_tokenizer
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=600, initial_alphabet=alphabet, end_of_word_suffix="</w>")
    whole.train_from_iterator(CORPUS, trainer)
    trained = json.loads(whole.to_str())["model"]
    words = [*trained["vocab"], *(f"{letter}</w>" for letter in alphabet)]
    ids = {word: index for index, word in enumerate(dict.fromkeys(words))}
    # The highest ids, as old configurations need it.
    for special in ["<|startoftext|>", "<|endoftext|>"]:
        ids[special] = len(ids)
    merges = [tuple(merge) for merge in trained["merges"]]
    return transformers.CLIPTokenizer(vocab=ids, merges=merges, model_max_length=length)


def siglip_tokenizer(length: int):
    whole = Tokenizer(models.Unigram())
    whole.normalizer = normalizers.Sequence(
        [normalizers.Lowercase(), normalizers.Replace(Regex(r"[!-/:-@\[-`{-~]"), ""), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    )
    whole.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=["<unk>", "</s>"], unk_token="<unk>")
    whole.train_from_iterator(CORPUS, trainer)
    whole.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=whole, unk_token="<unk>", eos_token="</s>", pad_token="</s>", model_max_length=length
    )


def clip():
    tokenizer = clip_tokenizer(20)
    text = SHAPE | {"vocab_size": len(tokenizer), "max_position_embeddings": 20, "eos_token_id": tokenizer.eos_token_id}
    vision = SHAPE | {"hidden_size": 24, "image_size": 30, "patch_size": 7}
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=12)
    images = transformers.CLIPImageProcessorPil(size={"shortest_edge": 33}, crop_size={"height": 30, "width": 30})
    return transformers.CLIPModel(config), tokenizer, images, {}


def siglip():
    tokenizer = siglip_tokenizer(16)
    text = SHAPE | {"vocab_size": len(tokenizer), "max_position_embeddings": 16}
    vision = SHAPE | {"image_size": 32, "patch_size": 8}
    config = transformers.SiglipConfig(text_config=text, vision_config=vision)
    images = transformers.SiglipImageProcessorPil(size={"height": 32, "width": 32}, resample=2)
    return transformers.SiglipModel(config), tokenizer, images, {"padding": "max_length"}


def randomize(model: torch.nn.Module) -> None:
    """Weights wide enough that every part of the model shows in the vectors."""
    generator = torch.Generator().manual_seed(33)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if name.startswith("logit_"):
                parameter.fill_(1.5 if name == "logit_scale" else -1.25)
            elif name.endswith("bias"):
                parameter.copy_(noise * 0.3)
            elif parameter.dim() == 1:
                parameter.copy_(1 + noise * 0.3)
            elif "embedding" in name:
                parameter.copy_(noise * 0.7)
            else:
                parameter.copy_(noise * parameter[0].numel() ** -0.5)
            parameter.copy_(parameter.to(torch.bfloat16).to(torch.float32))


def vectors(features) -> torch.Tensor:
    return torch.nn.functional.normalize(features.pooler_output, dim=-1)


def write(folder: Path, image_folder: Path, made) -> None:
    model, tokenizer, images, padding = made
    randomize(model)
    model.eval()
    files = sorted(path.name for path in image_folder.iterdir())
    pixels = images([ImageOps.exif_transpose(Image.open(image_folder / name)) for name in files], return_tensors="pt")
    limits = {"truncation": True, "max_length": tokenizer.model_max_length, **padding}
    encoded = [tokenizer(text, **limits)["input_ids"] for text in TEXTS]
    with torch.no_grad():
        texts = torch.cat([vectors(model.get_text_features(torch.tensor([ids]))) for ids in encoded])
        seen = vectors(model.get_image_features(**pixels))
        # Each text by itself is what the model makes of it with all of them.
        whole = [model(input_ids=torch.tensor([ids]), **pixels).logits_per_image[:, 0] for ids in encoded]
    logits = torch.stack(whole, -1)
    probs = logits.softmax(-1) if model.config.model_type == "clip" else logits.sigmoid()
    shutil.rmtree(folder, ignore_errors=True)
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    images.save_pretrained(folder)
    reference = {
        "texts": TEXTS,
        "ids": encoded,
        "images": files,
        "textVectors": texts.tolist(),
        "imageVectors": seen.tolist(),
        "logits": logits.tolist(),
        "probs": probs.tolist(),
    }
    (folder / "reference.json").write_text(json.dumps(reference) + "\n")
    spread = [(rows @ rows.T).min().item() for rows in (texts, seen)]
    print(folder.name, "least cosines", spread, [len(ids) for ids in encoded])


def pixels_of(index: int, kind: str, file: bytes, random) -> dict:
    """A hash of what a processor of either model makes of an image, before it is rescaled."""
    side = int(random.integers(5, 60))
    resample = "bicubic" if random.random() < 0.7 else "bilinear"
    plain = {"resample": RESAMPLE[resample], "do_rescale": False, "do_normalize": False}
    if index % 2:
        shorter = side + int(random.integers(0, 12))
        processor = transformers.CLIPImageProcessorPil(
            size={"shortest_edge": shorter}, crop_size={"height": side, "width": side}, **plain
        )
        case = {"size": {"shortest_edge": shorter}, "crop": side}
    else:
        processor = transformers.SiglipImageProcessorPil(size={"height": side, "width": side}, **plain)
        case = {"size": {"height": side, "width": side}, "crop": None}
    made = processor(read(kind, file), return_tensors="np")["pixel_values"][0]
    assert (made == made.astype(np.uint8)).all()
    digest = hashlib.sha256(made.astype(np.uint8).transpose(1, 2, 0).tobytes()).hexdigest()
    return {**case, "resample": resample, "sha256": digest[:16]}


def main() -> None:
    source, out = Path(sys.argv[1]), Path(sys.argv[2])
    torch.set_num_threads(1)
    if source.suffix == ".gz":
        random = np.random.default_rng(35)
        with gzip.open(source) as packed:
            images = json.load(packed)["cases"]
        cases = [
            pixels_of(index, each["kind"], base64.b64decode(each["file"]), random)
            for index, each in enumerate(images)
        ]
        out.write_text("[\n" + ",\n".join(json.dumps(each) for each in cases) + "\n]\n")
        return
    for make in (clip, siglip):
        write(source / make.__name__, out, make())


if __name__ == "__main__":
    main()
