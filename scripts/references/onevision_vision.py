"""A tiny LLaVA-OneVision of random weights that sees, with what Transformers computes from it.

    pip install pillow==12.3.0 numpy torch torchvision transformers==5.24.0
    python3 scripts/references/onevision_vision.py test/fixtures/vision

Folder and reference.json are as llava_next_vision.py writes them; of an image there is also what it is among others.
"""

import base64
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers.image_processing_utils import select_best_resolution

from llava_vision import SPECIAL, TEMPLATE
from vision import TEXT_MODEL, base64_of, read, tokenizer
from vision_folder import bytes_of, folder_writer, write_cases

SIDE, PATCH = 12, 4
CELLS = SIDE // PATCH
# Two tiles' worth of tokens at most: images of most shapes are made smaller.
ASPECT = "anyres_max_2"
CANVASES = [[rows * SIDE, columns * SIDE] for rows in range(1, 4) for columns in range(1, 4)]
CASES = {"llava-onevision": {"text": {**TEXT_MODEL, "model_type": "qwen2"}}}


def processor_of(_case: dict):
    return transformers.LlavaOnevisionProcessor(
        transformers.LlavaOnevisionImageProcessorPil(
            size={"height": SIDE, "width": SIDE},
            image_grid_pinpoints=CANVASES,
            image_mean=[0.5, 0.4, 0.6],
            image_std=[0.5, 0.4, 0.3],
        ),
        tokenizer([*SPECIAL, "<video>"], "<s>", "</s>"),
        transformers.LlavaOnevisionVideoProcessor(),
        num_image_tokens=CELLS**2,
        vision_feature_select_strategy="full",
        vision_aspect_ratio=ASPECT,
        chat_template=TEMPLATE,
    )


def model_of(case: dict, tokens):
    config = transformers.LlavaOnevisionConfig(
        text_config={
            **case["text"],
            "num_hidden_layers": 2,
            "vocab_size": len(tokens),
            "tie_word_embeddings": True,
        },
        vision_config={
            "model_type": "siglip_vision_model",
            "vision_use_head": False,
            "hidden_size": 24,
            "intermediate_size": 40,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "patch_size": PATCH,
            "image_size": SIDE,
        },
        image_token_index=tokens.convert_tokens_to_ids("<image>"),
        video_token_index=tokens.convert_tokens_to_ids("<video>"),
        image_grid_pinpoints=CANVASES,
        vision_aspect_ratio=ASPECT,
        tie_word_embeddings=True,
    )
    return transformers.LlavaOnevisionForConditionalGeneration(config)


def inputs_of(made, _length: int) -> dict:
    return {name: made[name] for name in ("pixel_values", "image_sizes", "batch_num_images")}


def seen(model, processor, image, num_images: int) -> dict:
    """The first of so many equal images."""
    image_processor = processor.image_processor
    made = image_processor([[image] * num_images], return_tensors="pt")
    with torch.no_grad():
        features, *_ = model.get_image_features(**inputs_of(made, 0)).pooler_output
    mean, std = np.array(image_processor.image_mean), np.array(image_processor.image_std)
    whole, *tiles = bytes_of(made["pixel_values"].numpy()[0].transpose(0, 2, 3, 1), mean, std)
    return {
        "placeholder": processor.replace_image_token(made, 0),
        "patches": base64.b64encode(np.stack([*tiles, whole]).tobytes()).decode(),
        "embeddings": base64_of(features),
    }


def tower(model, processor, path: Path) -> dict:
    image = read(path)
    height, width = select_best_resolution((image.height, image.width), CANVASES)
    return {
        "rows": height // SIDE,
        "columns": width // SIDE,
        **seen(model, processor, image, 1),
        "amongOthers": {"rows": 0, "columns": 0, **seen(model, processor, image, 2)},
    }


if __name__ == "__main__":
    write_cases(__doc__, CASES, folder_writer(processor_of, model_of, tower, len(SPECIAL) + 1, inputs_of))
