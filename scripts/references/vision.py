"""Tiny models that see, of random weights, with what Transformers computes from them.

    pip install pillow==12.3.0 numpy torch torchvision num2words transformers==5.24.0
    python3 scripts/references/vision.py test/fixtures/vision            writes images and both models
    python3 scripts/references/vision.py test/fixtures/vision smolvlm    writes the named ones

A model is a folder as `save_pretrained` writes it (bfloat16, computed in float32) and reference.json: what
the tower makes of each image, and prompts with images as messages, with their tokens, logits and greedy
continuations. Images are read as images.py and tiles.py say.
"""

import argparse
import base64
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import transformers
from PIL import Image, ImageDraw, ImageOps
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

PREFIXES = {"smolvlm": "SmolVLM", "idefics3": "Idefics3"}
GREEDY_TOKENS = 16
# A smaller lead of the greedy token could be lost to rounding.
MIN_LEAD = 5e-3
# Of the greedy tokens.
MIN_KINDS = 8
GRID = 3
SPECIAL = [
    "<|endoftext|>",
    "<|im_start|>",
    "<end_of_utterance>",
    "<fake_token_around_image>",
    "<image>",
    "<global-img>",
    *(f"<row_{row}_col_{column}>" for row in range(1, GRID + 1) for column in range(1, GRID + 1)),
]
TEXT = "The cat sat on the mat. What is in this image? Compare these two.\n\nUser: Assistant: "
TEMPLATE = (
    "<|im_start|>{% for message in messages %}{{message['role'] | capitalize}}"
    "{% if message['content'][0]['type'] == 'image' %}{{':'}}{% else %}{{': '}}{% endif %}"
    "{% for line in message['content'] %}{% if line['type'] == 'text' %}{{line['text']}}"
    "{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end_of_utterance>\n"
    "{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)
TEXT_MODEL = {
    "model_type": "llama",
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
}
VISION_MODEL = {
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_attention_heads": 2,
    "patch_size": 8,
}


def images() -> dict[str, Image.Image]:
    def drawn(width: int, height: int, *shapes: tuple[str, str, list[int]]) -> Image.Image:
        across, down = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
        image = Image.fromarray(np.stack([across, down, 255 - across], -1).astype(np.uint8))
        for kind, color, box in shapes:
            getattr(ImageDraw.Draw(image), kind)(box, fill=color)
        return image

    ghost = drawn(40, 40, ("rectangle", "navy", [4, 4, 30, 20])).convert("RGBA")
    ghost.putalpha(Image.linear_gradient("L").resize(ghost.size))
    return {
        "wide.png": drawn(61, 23, ("ellipse", "red", [5, 3, 30, 20])),
        "tall.jpg": drawn(19, 45, ("rectangle", "white", [3, 3, 12, 12])),
        "ghost.png": ghost,
        "turned.jpg": drawn(30, 20, ("ellipse", "yellow", [1, 1, 9, 9])),
    }


def write_images(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    turned = Image.Exif()
    turned[0x0112] = 6
    for name, image in images().items():
        options = {"exif": turned} if name.startswith("turned") else {}
        image.save(folder / name, **options)


PROMPTS = {
    "one image": [{"role": "user", "content": ["wide.png", "What is in this image?"]}],
    "two images": [{"role": "user", "content": ["Compare ", "tall.jpg", " and ", "ghost.png", "."]}],
    "turns": [
        {"role": "user", "content": ["ghost.png", "What is this?"]},
        {"role": "assistant", "content": ["The cat."]},
        {"role": "user", "content": ["turned.jpg", "And this?"]},
    ],
}


def tokenizer(special: list[str], bos: str, eos: str) -> transformers.PreTrainedTokenizerFast:
    whole = Tokenizer(models.BPE())
    whole.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    whole.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    # Real ones have a token for two line breaks, as the processor writes them after the last row.
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, special_tokens=special)
    whole.train_from_iterator([TEXT, "\n\n"] * 4, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=whole,
        bos_token=bos,
        eos_token=eos,
        pad_token="<|endoftext|>",
        clean_up_tokenization_spaces=False,
    )


def randomize(model: torch.nn.Module, seed: int) -> None:
    """Weights wide enough that every part of the model shows in the logits."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if name.endswith("bias"):
                parameter.copy_(noise * 0.3)
            elif parameter.dim() == 1:
                parameter.copy_(1 + noise * 0.3)
            elif "embed_tokens" in name or "lm_head" in name:
                # Small enough that what layers add outweighs the token itself.
                parameter.copy_(noise * 0.1)
            else:
                parameter.copy_(noise * parameter[0].numel() ** -0.5)
            # Those that are stored: rotary frequencies, which are not, stay as they are.
            parameter.copy_(parameter.to(torch.bfloat16).to(torch.float32))


def processor_of(kind: str, side: int, longest: int, tokens_per_tile: int):
    prefix = PREFIXES[kind]
    image_processor = getattr(transformers, f"{prefix}ImageProcessorPil")(
        size={"longest_edge": longest},
        max_image_size={"longest_edge": side},
        image_mean=[0.5] * 3 if kind == "smolvlm" else [0.48, 0.46, 0.41],
        image_std=[0.5] * 3 if kind == "smolvlm" else [0.27, 0.26, 0.28],
    )
    parts = {"image_seq_len": tokens_per_tile, "chat_template": TEMPLATE}
    if kind == "smolvlm":
        parts["video_processor"] = transformers.SmolVLMVideoProcessor()
    make = getattr(transformers, f"{prefix}Processor")
    tokens = tokenizer(SPECIAL, "<|im_start|>", "<end_of_utterance>")
    return make(image_processor, tokens, **parts)


def model_of(kind: str, side: int, layers: int, scale: int, tokens: transformers.PreTrainedTokenizerFast, tied: bool):
    prefix = PREFIXES[kind]
    shape = {"num_hidden_layers": layers}
    config = getattr(transformers, f"{prefix}Config")(
        text_config={**TEXT_MODEL, **shape, "vocab_size": len(tokens), "tie_word_embeddings": tied},
        vision_config={**VISION_MODEL, **shape, "image_size": side},
        scale_factor=scale,
        image_token_id=tokens.convert_tokens_to_ids("<image>"),
        tie_word_embeddings=tied,
    )
    return getattr(transformers, f"{prefix}ForConditionalGeneration")(config)


def base64_of(values: torch.Tensor) -> str:
    return base64.b64encode(values.detach().numpy().astype("<f4").tobytes()).decode()


def read(path: Path) -> Image.Image:
    return ImageOps.exif_transpose(Image.open(path))


def part_of(text_or_image: str) -> dict[str, str]:
    is_image = text_or_image in images()
    return {"type": "image"} if is_image else {"type": "text", "text": text_or_image}


def tower(model, processor, path: Path) -> dict:
    made = processor.image_processor(read(path), return_row_col_info=True, return_tensors="pt")
    features = model.get_image_features(made["pixel_values"], made["pixel_attention_mask"])
    rows, columns = made["rows"][0][0], made["cols"][0][0]
    text = processor.replace_image_token({"rows": [[rows]], "cols": [[columns]]}, 0)
    return {
        "rows": int(rows),
        "columns": int(columns),
        "placeholder": text,
        "embeddings": base64_of(features.pooler_output[0]),
    }


def pixels_of(made, _length: int) -> dict:
    return {key: made[key] for key in ("pixel_values", "pixel_attention_mask")}


def prompt(
    model, processor, folder: Path, turns: list[dict], num_special=len(SPECIAL), inputs=pixels_of
) -> dict | None:
    """
    Tokens, and logits before the first and the last generated; None for what would show too little.
    `inputs` are those of the model beside ids, for so many of these.
    """
    names = [part for turn in turns for part in turn["content"] if part in images()]
    messages = [
        {"role": turn["role"], "content": [part_of(part) for part in turn["content"]]} for turn in turns
    ]
    text = processor.apply_chat_template(messages, add_generation_prompt=True)
    files = [read(folder / name) for name in names]
    made = processor(text=text, images=[files], add_special_tokens=False, return_tensors="pt")
    ids = made["input_ids"][0].tolist()
    greedy: list[int] = []
    logits = []
    for _ in range(GREEDY_TOKENS):
        text_ids = ids + greedy
        given = inputs(made, len(text_ids))
        with torch.no_grad():
            last = model(input_ids=torch.tensor([text_ids]), use_cache=False, **given).logits[0, -1]
        (best, second), (token, _) = last.topk(2)
        if best - second < MIN_LEAD or int(token) < num_special:
            return None
        logits.append(last)
        greedy.append(int(token))
    if len(set(greedy)) < MIN_KINDS:
        return None
    return {
        "messages": messages,
        "images": names,
        "text": text,
        "ids": ids,
        "greedy": greedy,
        "logits": [base64_of(logits[0]), base64_of(logits[-1])],
    }


def case(kind: str, side: int, longest: int, layers: int, scale: int, tied: bool) -> Callable[[Path, Path], None]:
    def write(folder: Path, image_folder: Path) -> None:
        tokens_per_tile = (side // VISION_MODEL["patch_size"] // scale) ** 2
        processor = processor_of(kind, side, longest, tokens_per_tile)
        for seed in range(1000):
            model = model_of(kind, side, layers, scale, processor.tokenizer, tied)
            model.set_attn_implementation("eager")
            randomize(model, seed)
            model.eval()
            prompts = {name: prompt(model, processor, image_folder, turns) for name, turns in PROMPTS.items()}
            if None not in prompts.values():
                break
        with torch.no_grad():
            towers = {name: tower(model, processor, image_folder / name) for name in images()}
        shutil.rmtree(folder, ignore_errors=True)
        model.to(torch.bfloat16).save_pretrained(folder)
        (folder / "generation_config.json").unlink()
        processor.save_pretrained(folder)
        if kind == "smolvlm":
            # Published folders have the older files.
            processor.image_processor.save_pretrained(folder)
            config = {"image_seq_len": tokens_per_tile, "processor_class": "SmolVLMProcessor"}
            (folder / "processor_config.json").write_text(json.dumps(config, indent=2) + "\n")
        reference = {"images": towers, "prompts": prompts}
        (folder / "reference.json").write_text(json.dumps(reference, indent=1) + "\n")
        print(folder.name, "seed", seed, [len(each["ids"]) for each in prompts.values()])

    return write


CASES = {
    "smolvlm": case("smolvlm", side=32, longest=96, layers=2, scale=2, tied=True),
    # Patches do not cover a tile, and a tile is one token.
    "idefics3": case("idefics3", side=29, longest=64, layers=1, scale=3, tied=False),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(CASES)}")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    image_folder = arguments.folder / "images"
    if not arguments.names:
        write_images(image_folder)
    for name in arguments.names or CASES:
        CASES[name](arguments.folder / name, image_folder)


if __name__ == "__main__":
    main()
