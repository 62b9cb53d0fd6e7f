"""Tiny Gemma 3 of random weights that sees, with what Transformers computes from it.

    pip install pillow==12.3.0 numpy torch torchvision transformers==5.24.0
    python3 scripts/references/gemma_vision.py test/fixtures/vision

The folder and reference.json are as vision.py writes them, with its images; of an image there are also the
bytes that it is resized to. Its window is shorter than an image, and greedy tokens are others where attention is
causal, so that both bounds of attention show.
"""

import base64
from pathlib import Path

import torch
import transformers

from vision import base64_of, read, tokenizer
from vision_folder import bytes_of, write_cases, write_folder

SPECIAL = [
    "<|endoftext|>",
    "<bos>",
    "<end_of_turn>",
    "<start_of_turn>",
    "<start_of_image>",
    "<end_of_image>",
    "<image_soft_token>",
]
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<start_of_turn>' + ('model' if message['role'] == 'assistant' else message['role']) + '\n' }}"
    "{% if message['content'] is string %}{{ message['content'] | trim }}"
    "{% else %}{% for item in message['content'] %}{% if item['type'] == 'image' %}{{ '<start_of_image>' }}"
    "{% elif item['type'] == 'text' %}{{ item['text'] | trim }}{% endif %}{% endfor %}{% endif %}"
    "{{ '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
)
SIDE = 32
TOKENS = 16
MEAN = [0.5, 0.5, 0.5]
STD = [0.5, 0.5, 0.5]
TEXT = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "query_pre_attn_scalar": 16,
    "max_position_embeddings": 512,
    "sliding_window": 7,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
}
TOWER = {
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": SIDE,
    "patch_size": 4,
    "vision_use_head": False,
}


def processor_of():
    tokens = tokenizer(SPECIAL, "<bos>", "<end_of_turn>")
    named = {
        "image_token": "<image_soft_token>",
        "boi_token": "<start_of_image>",
        "eoi_token": "<end_of_image>",
    }
    tokens = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokens.backend_tokenizer,
        bos_token="<bos>",
        eos_token="<end_of_turn>",
        pad_token="<|endoftext|>",
        clean_up_tokenization_spaces=False,
        extra_special_tokens=named,
    )
    image_processor = transformers.Gemma3ImageProcessorPil(
        size={"height": SIDE, "width": SIDE}, image_mean=MEAN, image_std=STD
    )
    return transformers.Gemma3Processor(
        image_processor, tokens, chat_template=TEMPLATE, image_seq_length=TOKENS
    )


def model_of(tokens):
    config = transformers.Gemma3Config(
        text_config={**TEXT, "vocab_size": len(tokens)},
        vision_config=TOWER,
        mm_tokens_per_image=TOKENS,
        image_token_index=tokens.convert_tokens_to_ids("<image_soft_token>"),
        boi_token_index=tokens.convert_tokens_to_ids("<start_of_image>"),
        eoi_token_index=tokens.convert_tokens_to_ids("<end_of_image>"),
    )
    return transformers.Gemma3ForConditionalGeneration(config)


def inputs_of(made, length: int) -> dict:
    types = made["token_type_ids"]
    longer = torch.cat([types, torch.zeros(1, length - types.shape[1], dtype=types.dtype)], dim=1)
    return {"pixel_values": made["pixel_values"], "token_type_ids": longer}


def says_so_anyway(model, processor, image_folder: Path, made: dict) -> bool:
    """Whether the greedy tokens are the same where the tokens of an image do not see each other."""
    files = [read(image_folder / name) for name in made["images"]]
    values = processor.image_processor(files, return_tensors="pt")["pixel_values"]
    ids = list(made["ids"])
    for token in made["greedy"]:
        types = torch.zeros(1, len(ids), dtype=torch.long)
        with torch.no_grad():
            given = {"pixel_values": values, "token_type_ids": types, "use_cache": False}
            last = model(input_ids=torch.tensor([ids]), **given).logits[0, -1]
        if int(last.argmax()) != token:
            return False
        ids.append(token)
    return True


def tower(model, processor, path: Path) -> dict:
    values = processor.image_processor(read(path), return_tensors="pt")["pixel_values"]
    with torch.no_grad():
        features = model.get_image_features(values).pooler_output
    bytes_ = bytes_of(values.numpy()[0].transpose(1, 2, 0), MEAN, STD)
    return {
        "rows": 0,
        "columns": 0,
        "placeholder": processor.replace_image_token({"num_crops": [0]}, 0),
        "patches": base64.b64encode(bytes_.tobytes()).decode(),
        "embeddings": base64_of(features),
    }


def write(folder: Path, image_folder: Path, _case: None) -> None:
    processor = processor_of()
    write_folder(
        folder,
        image_folder,
        processor,
        lambda: model_of(processor.tokenizer),
        lambda model, path: tower(model, processor, path),
        len(SPECIAL),
        inputs_of,
        lambda model, made: says_so_anyway(model, processor, image_folder, made),
    )


if __name__ == "__main__":
    write_cases(__doc__, {"gemma3": None}, write)
