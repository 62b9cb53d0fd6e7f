"""Tiny LLaVA of random weights that see, by CLIP and by SigLIP, with what Transformers computes from them.

    pip install pillow==12.3.0 numpy torch torchvision transformers==5.24.0
    python3 scripts/references/llava_vision.py test/fixtures/vision

Folders and reference.json are as vision.py writes them, with its images; of an image there are also the bytes of
the square that is seen.
"""

import base64
from pathlib import Path

import numpy as np
import torch
import transformers

from vision import TEXT_MODEL, base64_of, read, tokenizer
from vision_folder import bytes_of, folder_writer, write_cases

SPECIAL = ["<|endoftext|>", "<s>", "</s>", "<image>"]
TEMPLATE = (
    "{% for message in messages %}{{ message['role'].upper() + ': ' }}"
    "{% for content in message['content'] %}"
    "{% if content['type'] == 'image' %}{{ '<image>\n' }}{% else %}{{ content['text'] }}{% endif %}"
    "{% endfor %}{% if message['role'] != 'user' %}{{ '</s>' }}{% endif %}{{ ' ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
)
PATCH = 8
TOWER = {
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "patch_size": PATCH,
}
CASES = {
    # The last layer is not seen, nor pixels that fill no patch.
    "llava": {
        "side": 34,
        "tower": {"model_type": "clip_vision_model", "projection_dim": 24},
        "text": TEXT_MODEL,
        "model": {"vision_feature_layer": -2, "vision_feature_select_strategy": "default"},
        "tied": False,
    },
    "llava-siglip": {
        "side": 32,
        "tower": {"model_type": "siglip_vision_model", "vision_use_head": False},
        "text": {**TEXT_MODEL, "model_type": "qwen2"},
        "model": {
            "vision_feature_layer": -1,
            "vision_feature_select_strategy": "full",
            "projector_hidden_act": "gelu_new",
            "multimodal_projector_bias": False,
        },
        "tied": True,
    },
}


def processor_of(case: dict):
    side = case["side"]
    is_clip = case["tower"]["model_type"] == "clip_vision_model"
    if is_clip:
        image_processor = transformers.CLIPImageProcessorPil(size={"shortest_edge": side + 3}, crop_size=side)
    else:
        image_processor = transformers.SiglipImageProcessorPil(size={"height": side, "width": side})
    return transformers.LlavaProcessor(
        image_processor,
        tokenizer(SPECIAL, "<s>", "</s>"),
        patch_size=PATCH,
        vision_feature_select_strategy=case["model"]["vision_feature_select_strategy"],
        num_additional_image_tokens=1 if is_clip else 0,
        chat_template=TEMPLATE,
    )


def model_of(case: dict, tokens):
    config = transformers.LlavaConfig(
        text_config={
            **case["text"],
            "num_hidden_layers": 2,
            "vocab_size": len(tokens),
            "tie_word_embeddings": case["tied"],
        },
        vision_config={**TOWER, **case["tower"], "image_size": case["side"]},
        image_token_index=tokens.convert_tokens_to_ids("<image>"),
        tie_word_embeddings=case["tied"],
        **case["model"],
    )
    return transformers.LlavaForConditionalGeneration(config)


def inputs_of(made, _length: int) -> dict:
    return {"pixel_values": made["pixel_values"]}


def tower(model, processor, path: Path) -> dict:
    image_processor = processor.image_processor
    made = image_processor(read(path), return_tensors="pt")
    values = made["pixel_values"]
    layer, strategy = model.config.vision_feature_layer, model.config.vision_feature_select_strategy
    with torch.no_grad():
        (features,) = model.get_image_features(values, layer, strategy).pooler_output
    mean, std = np.array(image_processor.image_mean), np.array(image_processor.image_std)
    bytes_ = bytes_of(values.numpy()[0].transpose(1, 2, 0), mean, std)
    return {
        "rows": 0,
        "columns": 0,
        "placeholder": processor.replace_image_token(made, 0),
        "patches": base64.b64encode(bytes_.tobytes()).decode(),
        "embeddings": base64_of(features),
    }


if __name__ == "__main__":
    write_cases(__doc__, CASES, folder_writer(processor_of, model_of, tower, len(SPECIAL), inputs_of))
