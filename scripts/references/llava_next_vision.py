"""A tiny LLaVA-NeXT of random weights that sees, with what Transformers computes from it.

    pip install pillow==12.3.0 numpy torch torchvision transformers==5.24.0
    python3 scripts/references/llava_next_vision.py test/fixtures/vision

Folder and reference.json are as vision.py writes them, with its images; of an image there are also the bytes of
its tiles, the whole image last.
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
# Height and width; images of some shapes have margins on all of them.
CANVASES = [[12, 24], [24, 12], [12, 36]]
CASES = {"llava-next": {"text": {**TEXT_MODEL, "model_type": "mistral", "sliding_window": None}}}


def processor_of(_case: dict):
    return transformers.LlavaNextProcessor(
        transformers.LlavaNextImageProcessorPil(
            size={"shortest_edge": SIDE},
            crop_size={"height": SIDE, "width": SIDE},
            image_grid_pinpoints=CANVASES,
        ),
        tokenizer(SPECIAL, "<s>", "</s>"),
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    )


def model_of(case: dict, tokens):
    config = transformers.LlavaNextConfig(
        text_config={
            **case["text"],
            "num_hidden_layers": 2,
            "vocab_size": len(tokens),
            "tie_word_embeddings": False,
        },
        vision_config={
            "model_type": "clip_vision_model",
            "projection_dim": 24,
            "hidden_size": 24,
            "intermediate_size": 40,
            "num_hidden_layers": 3,
            "num_attention_heads": 2,
            "patch_size": PATCH,
            "image_size": SIDE,
        },
        image_token_index=tokens.convert_tokens_to_ids("<image>"),
        image_grid_pinpoints=CANVASES,
    )
    return transformers.LlavaNextForConditionalGeneration(config)


def inputs_of(made, _length: int) -> dict:
    return {name: made[name] for name in ("pixel_values", "image_sizes")}


def tower(model, processor, path: Path) -> dict:
    image_processor = processor.image_processor
    image = read(path)
    made = image_processor(image, return_tensors="pt")
    values = made["pixel_values"]
    with torch.no_grad():
        (features,) = model.get_image_features(values, made["image_sizes"]).pooler_output
    mean, std = np.array(image_processor.image_mean), np.array(image_processor.image_std)
    whole, *tiles = bytes_of(values.numpy()[0].transpose(0, 2, 3, 1), mean, std)
    height, width = select_best_resolution((image.height, image.width), CANVASES)
    return {
        "rows": height // SIDE,
        "columns": width // SIDE,
        "placeholder": processor.replace_image_token(made, 0),
        "patches": base64.b64encode(np.stack([*tiles, whole]).tobytes()).decode(),
        "embeddings": base64_of(features),
    }


if __name__ == "__main__":
    write_cases(__doc__, CASES, folder_writer(processor_of, model_of, tower, len(SPECIAL), inputs_of))
