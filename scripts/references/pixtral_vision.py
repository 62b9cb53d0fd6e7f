"""Tiny models with Pixtral's tower of random weights, with what Transformers computes from them.

    pip install pillow==12.3.0 numpy torch torchvision transformers==5.24.0
    python3 scripts/references/pixtral_vision.py test/fixtures/vision

Mistral 3, whose patches are merged, and LLaVA. Folders and reference.json are as qwen_vision.py writes them.
"""

import base64
from pathlib import Path

import numpy as np
import torch
import transformers

from vision import TEXT_MODEL, base64_of, read, tokenizer
from vision_folder import bytes_of, write_cases, write_folder

SPECIAL = ["<|endoftext|>", "<s>", "</s>", "[INST]", "[/INST]", "[IMG]", "[IMG_BREAK]", "[IMG_END]"]
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}{{ '[INST]' }}{% endif %}"
    "{% for content in message['content'] %}"
    "{% if content['type'] == 'image' %}{{ '[IMG]' }}{% else %}{{ content['text'] }}{% endif %}{% endfor %}"
    "{% if message['role'] == 'user' %}{{ '[/INST]' }}{% else %}{{ eos_token }}{% endif %}{% endfor %}"
)
PATCH = 4
# One image is made smaller; others are only made whole cells.
LONGEST = 36
TOWER = {
    "model_type": "pixtral",
    "hidden_size": 32,
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "patch_size": PATCH,
    "image_size": LONGEST,
}
CASES = {
    "mistral3": {
        "prefix": "Mistral3",
        "merge": 2,
        "tower": {"hidden_act": "silu"},
        "text": {**TEXT_MODEL, "model_type": "mistral"},
        "model": {"spatial_merge_size": 2, "vision_feature_layer": -1},
        "tied": False,
    },
    "llava-pixtral": {
        "prefix": "Llava",
        "merge": 1,
        "tower": {"hidden_act": "gelu", "rope_parameters": {"rope_type": "axial", "rope_theta": 100.0}},
        "text": {**TEXT_MODEL, "model_type": "mistral"},
        "model": {"vision_feature_select_strategy": "full", "vision_feature_layer": -2},
        "tied": False,
    },
}


def processor_of(case: dict):
    # Tokens of all images of a prompt have to fit into the tiny text model.
    longest = LONGEST if case["merge"] > 1 else LONGEST // 2
    image_processor = transformers.PixtralImageProcessorPil(size={"longest_edge": longest}, patch_size=PATCH)
    return transformers.PixtralProcessor(
        image_processor,
        tokenizer(SPECIAL, "<s>", "</s>"),
        patch_size=PATCH,
        spatial_merge_size=case["merge"],
        chat_template=TEMPLATE,
    )


def model_of(case: dict, tokens):
    prefix = case["prefix"]
    config = getattr(transformers, f"{prefix}Config")(
        text_config={
            **case["text"],
            "head_dim": 16,
            "sliding_window": None,
            "num_hidden_layers": 2,
            "vocab_size": len(tokens),
            "tie_word_embeddings": case["tied"],
        },
        vision_config={**TOWER, **case["tower"]},
        image_token_index=tokens.convert_tokens_to_ids("[IMG]"),
        tie_word_embeddings=case["tied"],
        **case["model"],
    )
    return getattr(transformers, f"{prefix}ForConditionalGeneration")(config)


def inputs_of(made, _length: int) -> dict:
    return {"pixel_values": made["pixel_values"], "image_sizes": made["image_sizes"]}


def tower(model, processor, path: Path, merge: int) -> dict:
    image_processor = processor.image_processor
    made = image_processor(read(path), patch_size=PATCH * merge, return_tensors="pt")
    values = made["pixel_values"]
    (height, width) = made["image_sizes"][0].tolist()
    config = model.config
    more = {} if merge > 1 else {"vision_feature_select_strategy": config.vision_feature_select_strategy}
    with torch.no_grad():
        found = model.get_image_features(
            values, image_sizes=made["image_sizes"], vision_feature_layer=config.vision_feature_layer, **more
        )
    (features,) = found.pooler_output
    mean, std = np.array(image_processor.image_mean), np.array(image_processor.image_std)
    bytes_ = bytes_of(values.numpy()[0].transpose(1, 2, 0), mean, std)
    # Cell by cell, row by row in the image and in each.
    cells = bytes_.reshape(height // PATCH // merge, merge, PATCH, width // PATCH // merge, merge, PATCH, 3)
    patches = cells.transpose(0, 3, 1, 4, 2, 5, 6)
    return {
        "rows": height // PATCH // merge,
        "columns": width // PATCH // merge,
        "placeholder": processor.replace_image_token({"image_sizes": made["image_sizes"]}, 0),
        "patches": base64.b64encode(patches.tobytes()).decode(),
        "embeddings": base64_of(features),
    }


def write(folder: Path, image_folder: Path, case: dict) -> None:
    processor = processor_of(case)
    write_folder(
        folder,
        image_folder,
        processor,
        lambda: model_of(case, processor.tokenizer),
        lambda model, path: tower(model, processor, path, case["merge"]),
        len(SPECIAL),
        inputs_of,
    )


if __name__ == "__main__":
    write_cases(__doc__, CASES, write)
