"""A tiny InternVL of random weights that sees, with what Transformers computes from it.

    pip install pillow==12.3.0 numpy torch torchvision transformers==5.24.0
    python3 scripts/references/internvl_vision.py test/fixtures/vision

Folder and reference.json are as vision.py writes them, with its images; of an image there are also the bytes of
its tiles.
"""

import base64
from pathlib import Path

import numpy as np
import torch
import transformers

from vision import TEXT_MODEL, base64_of, read, tokenizer
from vision_folder import bytes_of, folder_writer, write_cases

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<img>", "</img>", "<IMG_CONTEXT>", "<video>"]
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' }}"
    "{% for content in message['content'] %}"
    "{% if content['type'] == 'image' %}{{ '<IMG_CONTEXT>\n' }}{% else %}{{ content['text'] }}{% endif %}"
    "{% endfor %}{{ '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
SIDE, PATCH, TOKENS = 16, 4, 4
CASES = {
    "internvl": {"attention_bias": True, "text": {**TEXT_MODEL, "model_type": "qwen2"}, "tied": True},
    "internvl-plain": {"attention_bias": False, "text": TEXT_MODEL, "tied": False},
}


def processor_of(case: dict):
    tokens = tokenizer(SPECIAL, "<|im_start|>", "<|im_end|>")
    tokens._set_model_specific_special_tokens(
        {
            "start_image_token": "<img>",
            "end_image_token": "</img>",
            "context_image_token": "<IMG_CONTEXT>",
            "video_token": "<video>",
        }
    )
    return transformers.InternVLProcessor(
        transformers.GotOcr2ImageProcessorPil(size={"height": SIDE, "width": SIDE}, max_patches=5),
        tokens,
        transformers.InternVLVideoProcessor(),
        image_seq_length=TOKENS,
        chat_template=TEMPLATE,
    )


def model_of(case: dict, tokens):
    config = transformers.InternVLConfig(
        text_config={
            **case["text"],
            "num_hidden_layers": 2,
            "vocab_size": len(tokens),
            "tie_word_embeddings": case["tied"],
        },
        vision_config={
            "hidden_size": 24,
            "intermediate_size": 40,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "patch_size": PATCH,
            "image_size": SIDE,
            "attention_bias": case["attention_bias"],
        },
        image_token_id=tokens.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=TOKENS,
        tie_word_embeddings=case["tied"],
    )
    return transformers.InternVLForConditionalGeneration(config)


def inputs_of(made, _length: int) -> dict:
    return {"pixel_values": made["pixel_values"]}


def tower(model, processor, path: Path) -> dict:
    image_processor = processor.image_processor
    made = image_processor(read(path), crop_to_patches=True, return_tensors="pt")
    values = made["pixel_values"]
    with torch.no_grad():
        features = model.get_image_features(values, -1, "default").pooler_output
    mean, std = np.array(image_processor.image_mean), np.array(image_processor.image_std)
    bytes_ = bytes_of(values.numpy().transpose(0, 2, 3, 1), mean, std)
    return {
        **grid_of(read(path), image_processor),
        "placeholder": processor.replace_image_token(made, 0),
        "patches": base64.b64encode(bytes_.tobytes()).decode(),
        "embeddings": base64_of(features),
    }


def grid_of(image, image_processor) -> dict:
    from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import get_optimal_tiled_canvas

    bounds = image_processor.min_patches, image_processor.max_patches
    columns, rows = get_optimal_tiled_canvas((image.height, image.width), (SIDE, SIDE), *bounds)
    # One tile is all of the image.
    return {"rows": 0, "columns": 0} if rows * columns == 1 else {"rows": rows, "columns": columns}


if __name__ == "__main__":
    write_cases(__doc__, CASES, folder_writer(processor_of, model_of, tower, len(SPECIAL), inputs_of))
