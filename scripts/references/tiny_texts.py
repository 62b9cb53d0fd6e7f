"""Texts, tokenizers and a shape for tiny encoders."""

import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = "the a cat dog sat ran on over mat moon far high who what is . ?".split()
PIECES = ["##s", "##ing", "##er", *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")]
LETTERS = list("abcdefghijklmnopqrstuvwxyz")
MAX_LENGTH = 24
TEXTS = [
    "The cat sat on the mat.",
    "a",
    "Who ran over the moon?",
    "",
    "The dog ran far, far, far over the high moon, and the cats sat on mats.",
]
QUERY = "Who sat on the mat?"

SHAPE = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    # Random weights of the usual size make vectors that are all alike.
    "initializer_range": 0.4,
}


def bert_tokenizer(*more: str) -> transformers.PreTrainedTokenizerFast:
    """@param more special tokens; of a mask token the tokenizer knows that it is one."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *more]
    vocabulary = [*special, *dict.fromkeys([*WORDS, *LETTERS, *PIECES])]
    ids = {token: index for index, token in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    roles = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]"}
    if "[MASK]" in more:
        roles["mask"] = "[MASK]"
    return fast(tokenizer, roles, ["input_ids", "token_type_ids", "attention_mask"])


def unigram_tokenizer() -> transformers.PreTrainedTokenizerFast:
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = [*(f"▁{word}" for word in WORDS), "▁", *WORDS, *LETTERS, ","]
    scores = [(token, 0.0) for token in special]
    scores += [(piece, -float(rank) / 4 - 1) for rank, piece in enumerate(dict.fromkeys(pieces))]
    tokenizer = Tokenizer(models.Unigram(scores, unk_id=3))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    roles = {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>"}
    return fast(tokenizer, roles, ["input_ids", "attention_mask"])


def deberta_tokenizer() -> transformers.DebertaV2Tokenizer:
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    pieces = [*(f"▁{word}" for word in WORDS), "▁", *WORDS, *LETTERS, "T", "W", ",", "The", "▁Who"]
    scores = [(token, 0.0) for token in special]
    scores += [(piece, -float(rank) / 4 - 1) for rank, piece in enumerate(dict.fromkeys(pieces))]
    return transformers.DebertaV2Tokenizer(
        vocab=[*scores, ("[MASK]", 0.0)], unk_id=3, model_max_length=MAX_LENGTH
    )


def fast(
    tokenizer: Tokenizer, roles: dict[str, str], inputs: list[str]
) -> transformers.PreTrainedTokenizerFast:
    names = {f"{role}_token": token for role, token in roles.items()}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=MAX_LENGTH,
        model_input_names=inputs,
        **names,
    )


def rounded(value):
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return {key: rounded(each) for key, each in value.items()} if isinstance(value, dict) else value
