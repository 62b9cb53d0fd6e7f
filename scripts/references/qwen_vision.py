"""Tiny Qwen2-VL, Qwen2.5-VL and Qwen3-VL (dense and of experts) of random weights, with what Transformers computes from them.

    pip install pillow==12.3.0 numpy torch torchvision transformers==5.24.0
    python3 scripts/references/qwen_vision.py test/fixtures/vision

Folders and reference.json are as vision.py writes them, with its images; of an image there are also the
bytes that it is resized to, and their grid of tokens. All of it is computed by Transformers.
"""

import base64
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file

from vision import TEXT_MODEL, base64_of, read, tokenizer
from vision_folder import bytes_of, write_cases, write_folder

SPECIAL = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
]
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}"
    "{% else %}{% for content in message['content'] %}{% if content['type'] == 'image' %}"
    "<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif 'text' in content %}{{ content['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PROCESSORS = {"Qwen3VLMoe": "Qwen3VL"}
PATCH = 4
MERGE = 2
MEAN = [0.48, 0.46, 0.41]
STD = [0.27, 0.26, 0.28]
# One image is made smaller, one larger, and two keep about their size.
PIXELS = {"shortest_edge": 700, "longest_edge": 1200}
SHARED = {
    "depth": 3,
    "num_heads": 2,
    "patch_size": PATCH,
    "spatial_merge_size": MERGE,
    "temporal_patch_size": 2,
}
TOWERS = {
    "Qwen2VL": {"embed_dim": 32, "hidden_size": 32, "mlp_ratio": 2, "hidden_act": "quick_gelu"},
    "Qwen2_5_VL": {
        "hidden_size": 32,
        "out_hidden_size": 32,
        "intermediate_size": 40,
        "hidden_act": "silu",
        # Two tokens along each side: windows at the right and below have fewer.
        "window_size": 16,
        "fullatt_block_indexes": [1],
    },
    "Qwen3VL": {
        "hidden_size": 32,
        "out_hidden_size": 32,
        "intermediate_size": 40,
        "hidden_act": "gelu_pytorch_tanh",
        # A table of 4 x 4, read in between for each image.
        "num_position_embeddings": 16,
        "deepstack_visual_indexes": [0, 1],
    },
}
TOWERS["Qwen3VLMoe"] = TOWERS["Qwen3VL"]
TEXTS = {
    # Pairs by frames, rows and columns in turn; layers that get embeddings of earlier layers of the tower.
    "Qwen3VL": {
        "num_hidden_layers": 3,
        "head_dim": 16,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10000.0,
            "mrope_section": [4, 2, 2],
            "mrope_interleaved": True,
        },
    },
}
TEXTS["Qwen3VLMoe"] = {
    **TEXTS["Qwen3VL"],
    # Neither is the other's width: an exchange of rows and columns is seen.
    "num_experts": 6,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 12,
}


def processor_of(prefix: str):
    image_processor = transformers.Qwen2VLImageProcessorPil(
        size=PIXELS,
        patch_size=PATCH,
        merge_size=MERGE,
        temporal_patch_size=2,
        image_mean=MEAN,
        image_std=STD,
    )
    make = getattr(transformers, f"{PROCESSORS.get(prefix, prefix)}Processor")
    return make(
        image_processor,
        tokenizer(SPECIAL, "<|im_start|>", "<|im_end|>"),
        video_processor=transformers.Qwen2VLVideoProcessor(),
        chat_template=TEMPLATE,
    )


def model_of(prefix: str, tokens, tied: bool):
    text = {**TEXT_MODEL, "num_hidden_layers": 2, "vocab_size": len(tokens), "tie_word_embeddings": tied}
    del text["model_type"]
    text["rope_parameters"] = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
    text.update(TEXTS.get(prefix, {}))
    config = getattr(transformers, f"{prefix}Config")(
        text_config=text,
        vision_config={**SHARED, **TOWERS[prefix]},
        image_token_id=tokens.convert_tokens_to_ids("<|image_pad|>"),
        video_token_id=tokens.convert_tokens_to_ids("<|video_pad|>"),
        vision_start_token_id=tokens.convert_tokens_to_ids("<|vision_start|>"),
        vision_end_token_id=tokens.convert_tokens_to_ids("<|vision_end|>"),
        tie_word_embeddings=tied,
    )
    return getattr(transformers, f"{prefix}ForConditionalGeneration")(config)


def inputs_of(made, length: int) -> dict:
    types = made["mm_token_type_ids"]
    longer = torch.cat([types, torch.zeros(1, length - types.shape[1], dtype=types.dtype)], dim=1)
    return {
        "pixel_values": made["pixel_values"],
        "image_grid_thw": made["image_grid_thw"],
        "mm_token_type_ids": longer,
    }


def tower(model, processor, path: Path) -> dict:
    made = processor.image_processor(read(path), return_tensors="pt")
    values, grid = made["pixel_values"], made["image_grid_thw"]
    with torch.no_grad():
        made = model.get_image_features(values, grid)
    # Those of earlier layers beside them.
    deep = [each[0] if isinstance(each, (list, tuple)) else each for each in made.get("deepstack_features") or []]
    features = torch.cat([made.pooler_output[0], *deep], dim=-1)
    _frames, height, width = grid[0].tolist()
    # [patches, channels, frames, side, side]: bytes again, of the first frame, a pixel's channels together.
    shape = (-1, 3, 2, PATCH, PATCH)
    pixels = values.numpy().reshape(shape)[:, :, 0].transpose(0, 2, 3, 1)
    bytes_ = bytes_of(pixels, MEAN, STD)
    text = processor.replace_image_token({"image_grid_thw": grid}, 0)
    return {
        "rows": height // MERGE,
        "columns": width // MERGE,
        "placeholder": text,
        "patches": base64.b64encode(bytes_.tobytes()).decode(),
        "embeddings": base64_of(features),
    }


CASES = {
    "qwen2-vl": ("Qwen2VL", False),
    "qwen2.5-vl": ("Qwen2_5_VL", True),
    "qwen3-vl": ("Qwen3VL", True),
    "qwen3-vl-moe": ("Qwen3VLMoe", False),
}


def write(folder: Path, image_folder: Path, case: tuple[str, bool]) -> None:
    prefix, tied = case
    processor = processor_of(prefix)
    write_folder(
        folder,
        image_folder,
        processor,
        lambda: model_of(prefix, processor.tokenizer, tied),
        lambda model, path: tower(model, processor, path),
        len(SPECIAL),
        inputs_of,
    )
    if prefix == "Qwen3VLMoe":
        publish_experts(folder / "model.safetensors")


def publish_experts(path: Path) -> None:
    """Turns experts to what is published, [in, out]: Transformers 5 saves [out, in], and reads both."""
    tensors = load_file(path)
    for name, tensor in tensors.items():
        if ".mlp.experts." in name:
            tensors[name] = tensor.transpose(1, 2).contiguous()
    save_file(tensors, path, {"format": "pt"})


if __name__ == "__main__":
    write_cases(__doc__, CASES, write)
