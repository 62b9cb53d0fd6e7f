"""Shape, tokenizer and processor of the vision model: SmolVLM's architecture at a fortieth of its size."""

import copy
import json
import re
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from drawings import SIDE
from questions import phrases

PATCH = 8
WIDTH = 128
SHUFFLE = 2
IMAGE_TOKENS = (SIDE // PATCH // SHUFFLE) ** 2
PAD, BOS, EOS, AROUND, IMAGE, WHOLE = SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<end_of_utterance>",
    "<fake_token_around_image>",
    "<image>",
    "<global-img>",
)
TEMPLATE = (
    "<|im_start|>{% for message in messages %}{{ message['role'] | capitalize }}:"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% elif part['type'] == 'text' %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<end_of_utterance>\n"
    "{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}"
)
MAX_POSITIONS = 512


def make_tokenizer() -> transformers.PreTrainedTokenizerFast:
    """
    Bytes, and the words of `phrases` whole. Merges begin with a space or a capital, so that small letters
    and digits without a space before them, which are read from images, have a token each.
    """
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: index for index, token in enumerate([*SPECIAL, *alphabet])}
    merges = []
    words = {word for phrase in phrases() for word in re.findall(r"(?: |(?<!\w)[A-Z])[A-Za-z]+", phrase)}
    for word in sorted(words):
        byte_word = word.replace(" ", "Ġ")
        for end in range(2, len(byte_word) + 1):
            if byte_word[:end] not in vocabulary:
                vocabulary[byte_word[:end]] = len(vocabulary)
                merges.append((byte_word[: end - 1], byte_word[end - 1]))
    whole = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    whole.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    whole.decoder = decoders.ByteLevel()
    whole.add_special_tokens(list(SPECIAL))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=whole,
        bos_token=BOS,
        eos_token=EOS,
        pad_token=PAD,
        model_max_length=MAX_POSITIONS,
        clean_up_tokenization_spaces=False,
    )


def make_processor(tokenizer: transformers.PreTrainedTokenizerFast) -> transformers.SmolVLMProcessor:
    image_processor = transformers.SmolVLMImageProcessorPil(
        do_image_splitting=False,
        size={"longest_edge": SIDE},
        max_image_size={"longest_edge": SIDE},
        image_mean=[0.5] * 3,
        image_std=[0.5] * 3,
    )
    return transformers.SmolVLMProcessor(
        image_processor,
        tokenizer,
        video_processor=transformers.SmolVLMVideoProcessor(),
        image_seq_len=IMAGE_TOKENS,
        chat_template=TEMPLATE,
    )


def make_model(tokenizer: transformers.PreTrainedTokenizerFast) -> transformers.SmolVLMForConditionalGeneration:
    """With fresh weights."""
    config = transformers.SmolVLMConfig(
        text_config={
            "model_type": "llama",
            "hidden_size": WIDTH,
            "intermediate_size": 256,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 32,
            "max_position_embeddings": MAX_POSITIONS,
            "rms_norm_eps": 1e-5,
            "vocab_size": len(tokenizer),
            "tie_word_embeddings": True,
            "bos_token_id": tokenizer.bos_token_id,
            "eos_token_id": tokenizer.eos_token_id,
            "pad_token_id": tokenizer.pad_token_id,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        },
        vision_config={
            "hidden_size": WIDTH,
            "intermediate_size": 3 * WIDTH,
            "num_hidden_layers": 4,
            "num_attention_heads": 4,
            "patch_size": PATCH,
            "image_size": SIDE,
        },
        scale_factor=SHUFFLE,
        image_token_id=tokenizer.convert_tokens_to_ids(IMAGE),
        tie_word_embeddings=True,
    )
    return transformers.SmolVLMForConditionalGeneration(config)


def load_model(folder: Path) -> transformers.SmolVLMForConditionalGeneration:
    """In float32."""
    return transformers.SmolVLMForConditionalGeneration.from_pretrained(folder, dtype=torch.float32)


def prompt_of(question: str) -> str:
    """As processor and template write it for an image and a question."""
    image = AROUND + WHOLE + IMAGE * IMAGE_TOKENS + AROUND
    return f"{BOS}User:{image}{question}{EOS}\nAssistant:"


def write_folder(folder: Path, model: transformers.SmolVLMForConditionalGeneration, training: dict) -> None:
    """A checkpoint in float16 as Transformers has it, and what is to be told of its training."""
    tokenizer = make_tokenizer()
    copy.deepcopy(model).eval().to(torch.float16).save_pretrained(folder)
    make_processor(tokenizer).save_pretrained(folder)
    # Written for models that see videos too.
    (folder / "video_preprocessor_config.json").unlink(missing_ok=True)
    (folder / "model.safetensors").chmod(0o644)
    generation = {
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": [tokenizer.eos_token_id, tokenizer.pad_token_id],
        "pad_token_id": tokenizer.pad_token_id,
        # There is one right answer; without sampling servers would take their own defaults.
        "do_sample": True,
        "top_k": 1,
    }
    names = {"bos_token": BOS, "eos_token": EOS, "pad_token": PAD}
    _write_json(folder / "generation_config.json", generation)
    _write_json(folder / "special_tokens_map.json", names)
    _write_json(folder / "training.json", training)


def _write_json(path: Path, value: dict) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
