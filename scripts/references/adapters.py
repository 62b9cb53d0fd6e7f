"""Small LoRA adapters of the checkpoints in test/fixtures/families, with the logits that PEFT computes.

Usage: python3 scripts/references/adapters.py test/fixtures            writes every case
       python3 scripts/references/adapters.py test/fixtures mixtral    writes the named ones
Needs: pip install torch transformers peft (written with 2.15, 5.23 and 0.21)
"""

import json
import sys
from pathlib import Path

import torch
import transformers
from peft import LoraConfig, get_peft_model

PROMPT = [5, 17, 42, 8, 33, 21, 60, 3, 12, 29]
GREEDY_TOKENS = 8
ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
MLP = ["gate_proj", "up_proj", "down_proj"]

# By adapter, the checkpoint and PEFT's configuration.
CASES = {
    "llama-all": ("llama", {"r": 4, "lora_alpha": 8, "target_modules": [*ATTENTION, *MLP]}),
    "llama-query": ("llama", {"r": 2, "lora_alpha": 6, "target_modules": ["q_proj", "v_proj"]}),
    "llama-patterns": ("llama", {
        "r": 4, "lora_alpha": 4, "target_modules": [*ATTENTION, *MLP],
        "rank_pattern": {"layers.1.self_attn.q_proj": 8, "down_proj": 2},
        "alpha_pattern": {r"layers\.\d+\.mlp\.down_proj": 10, "v_proj": 1},
    }),
    "qwen3-rslora": ("qwen3", {
        "r": 4, "lora_alpha": 4, "use_rslora": True, "target_modules": [*ATTENTION, *MLP]}),
    "phi3": ("phi3", {
        "r": 4, "lora_alpha": 8,
        "target_modules": ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]}),
    "gemma2-dora": ("gemma2", {
        "r": 4, "lora_alpha": 8, "use_dora": True, "target_modules": [*ATTENTION, "down_proj"]}),
    "granite-saved": ("granite", {
        "r": 4, "lora_alpha": 8, "target_modules": ["q_proj"],
        "modules_to_save": ["lm_head", "embed_tokens", "norm"]}),
    "olmo2-embedding": ("olmo2", {
        "r": 4, "lora_alpha": 8, "target_modules": ["o_proj", "embed_tokens", "lm_head"]}),
}
# Every other family, with all linear layers that each token is multiplied with.
OTHERS = {
    **dict.fromkeys(
        ["gemma2", "gemma3", "granite", "ministral3", "mistral", "olmo2", "olmo3", "qwen2", "smollm3"],
        [*ATTENTION, *MLP],
    ),
    # Of "gate_proj" and the like PEFT makes all experts.
    **dict.fromkeys(["gpt-oss", "granite-moe", "mixtral", "olmoe", "qwen3-moe"], ATTENTION),
    "granite-hybrid": [*ATTENTION, "input_linear", "output_linear"],
    "gpt2": ["c_attn", "c_proj", "c_fc"],
    "gpt-neox": ["query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"],
    # Its vision model has modules of these names, too.
    "qwen2-vl": rf".*language_model.*\.({'|'.join([*ATTENTION, *MLP])})",
}
CASES.update({
    family: (family, {"r": 2, "lora_alpha": 4, "target_modules": modules})
    for family, modules in OTHERS.items()
})


def write_case(fixtures: Path, name: str) -> None:
    family, config = CASES[name]
    checkpoint = fixtures / "families" / family
    [architecture] = transformers.AutoConfig.from_pretrained(checkpoint).architectures
    base = getattr(transformers, architecture).from_pretrained(
        checkpoint, dtype=torch.float32, attn_implementation="eager")
    torch.manual_seed(len(name))
    model = get_peft_model(base, LoraConfig(task_type="CAUSAL_LM", **config)).eval()
    generator = torch.Generator().manual_seed(7)
    for key, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        noise = torch.randn(parameter.shape, generator=generator)
        with torch.no_grad():
            if "lora_" in key and "magnitude" not in key:
                parameter.copy_(noise * 0.3)
            else:
                parameter.add_(noise * 0.1)
    folder = fixtures / "adapters" / name
    model.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    # Paths of this machine are nobody's business.
    path = folder / "adapter_config.json"
    stored = json.loads(path.read_text())
    stored["base_model_name_or_path"] = family
    path.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n")
    text = list(PROMPT)
    with torch.no_grad():
        first = model(torch.tensor([text]), use_cache=False).logits[0, -1]
        for _ in range(GREEDY_TOKENS):
            logits = model(torch.tensor([text]), use_cache=False).logits[0, -1]
            text.append(int(logits.argmax()))
    reference = {
        "family": family,
        "ids": PROMPT,
        "greedy": text[len(PROMPT):],
        "logits": [float(f"{value:.6g}") for value in first.tolist()],
    }
    (folder / "reference.json").write_text(json.dumps(reference) + "\n")


def main() -> None:
    torch.set_num_threads(1)
    for name in sys.argv[2:] or CASES:
        write_case(Path(sys.argv[1]), name)


if __name__ == "__main__":
    main()
