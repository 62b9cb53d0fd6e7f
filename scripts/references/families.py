"""Tiny checkpoints of model families with the outputs that Transformers computes from them.

    python3 families.py test/fixtures/families           writes every case
    python3 families.py test/fixtures/families gemma2    writes the named ones

A case is a folder with what `save_pretrained` writes (config.json, model.safetensors in bfloat16) and
reference.json: logits and greedy continuations, computed in float32 from those weights.
"""

import argparse
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
import transformers
from bailing import BailingConfig, BailingMoeForCausalLM, BailingMoeV2ForCausalLM
from safetensors.torch import load_file, save_file
from transformers import PreTrainedModel
from transformers.integrations.mxfp4 import convert_moe_packed_tensors
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

VOCABULARY_SIZE = 64
# Sliding windows and windows before rotary scaling are well below the longer prompt.
WINDOW = 8
ORIGINAL_LENGTH = 16
MAX_LENGTH = 64
SHORT_PROMPT, LONG_PROMPT = 5, 40
# Where tests end the chunks of the longer prompt.
CHUNK_ENDS = [13, 29, 39]
GREEDY_TOKENS = 8
# A smaller lead of the greedy token could be lost to rounding.
MIN_LEAD = 1e-3

SHAPE = {
    "vocab_size": VOCABULARY_SIZE,
    "hidden_size": 32,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": MAX_LENGTH,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
ROPE = {"rope_theta": 1000.0, "original_max_position_embeddings": ORIGINAL_LENGTH}
GRANITE = {
    "embedding_multiplier": 3.0,
    "attention_multiplier": 0.2,
    "residual_multiplier": 0.4,
    "logits_scaling": 2.0,
    # Large enough to show.
    "rms_norm_eps": 0.01,
}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
YARN = {"rope_type": "yarn", "factor": 4.0, **ROPE}


def llama(**config) -> PreTrainedModel:
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**SHAPE, **config}))


def yarn(**config) -> PreTrainedModel:
    rope = {**YARN, **config}
    return llama(num_hidden_layers=1, tie_word_embeddings=True, rope_parameters=rope)


def cohere(model, config, **fields) -> PreTrainedModel:
    return model(config(**{**SHAPE, **fields}, logit_scale=0.5, layer_norm_eps=0.01))


# Several heads of each kind, whose norms have weights of their own.
HEADS = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}


def glm(model, config) -> PreTrainedModel:
    return model(config(**SHAPE, head_dim=16, partial_rotary_factor=0.5))


# Keys of 32 dimensions, of which 8 turn, and values of 20.
LATENT = {
    **SHAPE,
    "num_key_value_heads": 2,
    "q_lora_rank": 24,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 24,
    "qk_rope_head_dim": 8,
    "v_head_dim": 20,
}
LATENT_YARN = {
    **YARN,
    "mscale": 1.0,
    "mscale_all_dim": 0.8,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
}
LATENT_EXPERTS = {
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 8,
    "first_k_dense_replace": 1,
    "n_group": 4,
    "topk_group": 2,
    "routed_scaling_factor": 1.5,
}


def deepseek_v2(**fields) -> PreTrainedModel:
    config = transformers.DeepseekV2Config(**{**LATENT, **LATENT_EXPERTS, **fields})
    return transformers.DeepseekV2ForCausalLM(config)


def deepseek_v3(**fields) -> PreTrainedModel:
    config = transformers.DeepseekV3Config(**{**LATENT, **LATENT_EXPERTS, **fields})
    return transformers.DeepseekV3ForCausalLM(config)


def stablelm(**fields) -> PreTrainedModel:
    config = transformers.StableLmConfig(**{**SHAPE, **fields}, partial_rotary_factor=0.5)
    return transformers.StableLmForCausalLM(config)


GROUPS = {
    "new_decoder_architecture": True,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_kv_heads": 2,
    "ffn_hidden_size": 16,
    "num_hidden_layers": 1,
}


def falcon(**fields) -> PreTrainedModel:
    return transformers.FalconForCausalLM(transformers.FalconConfig(**{**SHAPE, **fields}))


def opt(**fields) -> PreTrainedModel:
    shape = {**SHAPE, **fields}
    del shape["num_key_value_heads"]
    return transformers.OPTForCausalLM(transformers.OPTConfig(**shape))


def phi3(**config) -> PreTrainedModel:
    return transformers.Phi3ForCausalLM(transformers.Phi3Config(**{**SHAPE, **config}))


def phimoe(**config) -> PreTrainedModel:
    return transformers.PhimoeForCausalLM(
        transformers.PhimoeConfig(**{**SHAPE, **EXPERTS, "rms_norm_eps": 0.01, **config})
    )


def long_phimoe(short_mscale, long_mscale):
    return phimoe(
        attention_bias=True,
        lm_head_bias=True,
        rope_parameters={
            "rope_type": "longrope",
            "rope_theta": 1000.0,
            "original_max_position_embeddings": ORIGINAL_LENGTH,
            "short_factor": [1 + 0.05 * i for i in range(8)],
            "long_factor": [1 + 0.5 * i for i in range(8)],
            "short_mscale": short_mscale,
            "long_mscale": long_mscale,
        },
    )


def gemma3n(**config) -> PreTrainedModel:
    shape = {
        **SHAPE,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "sliding_window": WINDOW,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
        "num_kv_shared_layers": 2,
        "hidden_size_per_layer_input": 8,
        "vocab_size_per_layer_input": VOCABULARY_SIZE,
        "intermediate_size": 48,
        "laurel_rank": 16,
        "activation_sparsity_pattern": [0.7, 0.0, 0.0, 0.0],
        "final_logit_softcapping": 2.0,
        "rms_norm_eps": 0.01,
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 50.0},
            "full_attention": {"rope_type": "default", "rope_theta": 1000.0},
        },
        **config,
    }
    shape["num_hidden_layers"] = len(shape["layer_types"])
    return transformers.Gemma3nForCausalLM(transformers.Gemma3nTextConfig(**shape))


def gemma4(**config) -> PreTrainedModel:
    return transformers.Gemma4ForCausalLM(transformers.Gemma4TextConfig(**gemma4_shape(**config)))


def gemma4_unified(**config) -> PreTrainedModel:
    shape = gemma4_shape(layer_types=["sliding_attention", "full_attention"], **config)
    del shape["hidden_size_per_layer_input"]
    return transformers.Gemma4UnifiedForCausalLM(transformers.Gemma4UnifiedTextConfig(**shape))


def gemma4_shape(**config) -> dict:
    shape = {
        **SHAPE,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "global_head_dim": 32,
        "num_global_key_value_heads": 1,
        "sliding_window": WINDOW,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
        "hidden_size_per_layer_input": 0,
        "final_logit_softcapping": 2.0,
        # Large enough that norms of heads do not enlarge what rounding makes of small ones.
        "rms_norm_eps": 0.01,
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 50.0},
            "full_attention": {
                "rope_type": "proportional",
                "partial_rotary_factor": 0.25,
                "rope_theta": 1000.0,
            },
        },
        **config,
    }
    shape["num_hidden_layers"] = len(shape["layer_types"])
    return shape


# Experts of layers, and MLPs twice as wide in layers without.
LLAMA4 = {
    **SHAPE,
    "num_hidden_layers": 4,
    "head_dim": 16,
    "intermediate_size": 8,
    "intermediate_size_mlp": 16,
    "num_local_experts": 4,
    # Large enough that norms of heads do not enlarge what rounding makes of small ones.
    "rms_norm_eps": 0.01,
}


def llama4(**config) -> PreTrainedModel:
    fields = {**LLAMA4, **config}
    return transformers.Llama4ForCausalLM(transformers.Llama4TextConfig(**fields))


def gpt_neox(**config) -> PreTrainedModel:
    shape = {**SHAPE, "intermediate_size": 48, "num_hidden_layers": 2}
    del shape["num_key_value_heads"]
    return transformers.GPTNeoXForCausalLM(transformers.GPTNeoXConfig(**shape, **config))


def lfm2(**config) -> PreTrainedModel:
    layers = ["conv", "full_attention", "conv"]
    shape = {**SHAPE, "num_hidden_layers": len(layers), "layer_types": layers}
    return transformers.Lfm2ForCausalLM(transformers.Lfm2Config(**{**shape, **config}))


def lfm3(**config) -> PreTrainedModel:
    layers = ["conv", "full_attention", "sliding_attention"]
    shape = {
        **SHAPE,
        "num_hidden_layers": len(layers),
        "layer_types": layers,
        "head_dim": 32,
        "sliding_window": WINDOW,
        # Large enough that norms of heads do not enlarge what rounding makes of small ones.
        "norm_eps": 0.01,
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 50.0},
            "full_attention": {
                "rope_type": "proportional",
                "partial_rotary_factor": 0.5,
                "rope_theta": 1000.0,
            },
        },
    }
    return transformers.Lfm3ForCausalLM(transformers.Lfm3Config(**{**shape, **config}))


# Grouped heads, and a group of queries and keys for two of values.
DELTA = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "linear_conv_kernel_dim": 4,
    "layer_types": ["linear_attention", "full_attention", "linear_attention"],
    "num_hidden_layers": 3,
    "head_dim": 32,
    # Large enough that norms of heads do not enlarge what rounding makes of small ones.
    "rms_norm_eps": 0.01,
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 1000.0,
        "partial_rotary_factor": 0.25,
    },
}


def qwen3_5(**config) -> PreTrainedModel:
    return transformers.Qwen3_5ForCausalLM(
        transformers.Qwen3_5TextConfig(**{**SHAPE, **DELTA, **config})
    )


def granite_hybrid(layers: list[str], **config) -> PreTrainedModel:
    fields = {
        **SHAPE,
        **GRANITE,
        "num_hidden_layers": len(layers),
        "layer_types": layers,
        "num_local_experts": 0,
        "num_experts_per_tok": 0,
        "shared_intermediate_size": 24,
        "tie_word_embeddings": True,
        "mamba_n_heads": 4,
        **config,
    }
    return transformers.GraniteMoeHybridForCausalLM(transformers.GraniteMoeHybridConfig(**fields))


def granite_moe_swa(**config) -> PreTrainedModel:
    fields = {**SHAPE, **GRANITE, **EXPERTS, "sliding_window": WINDOW, "shared_intermediate_size": 0}
    return transformers.GraniteMoeSWAForCausalLM(
        transformers.GraniteMoeSWAConfig(**{**fields, **config})
    )


def afmoe(**config) -> PreTrainedModel:
    fields = {
        **SHAPE,
        "head_dim": 32,
        "sliding_window": WINDOW,
        "layer_types": ["sliding_attention", "full_attention"],
        "rms_norm_eps": 0.01,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 8,
        "route_scale": 1.5,
    }
    return transformers.AfmoeForCausalLM(transformers.AfmoeConfig(**{**fields, **config}))


def minicpm(**config) -> PreTrainedModel:
    """Granite computes the same by other names: see RENAMED."""
    shape = {**SHAPE, **config}
    scales = {
        "embedding_multiplier": 3.0,
        "residual_multiplier": 0.5 / shape["num_hidden_layers"] ** 0.5,
        "logits_scaling": 2.0,
        "attention_multiplier": (shape["hidden_size"] // shape["num_attention_heads"]) ** -0.5,
    }
    return transformers.GraniteForCausalLM(
        transformers.GraniteConfig(**shape, **scales, rms_norm_eps=0.01, tie_word_embeddings=True)
    )


# Groups of heads that share B and C.
MAMBA = {
    "mamba_num_heads": 4,
    "mamba_head_dim": 16,
    "ssm_state_size": 32,
    "n_groups": 2,
    "head_dim": 16,
    "layer_norm_epsilon": 0.01,
}


def minicpm3(original: int, theta: float) -> PreTrainedModel:
    rope = {
        "rope_type": "longrope",
        "rope_theta": theta,
        "short_factor": [1.0, 1.1, 1.2, 1.3],
        "long_factor": [1.0, 1.5, 2.0, 2.5],
        "original_max_position_embeddings": original,
    }
    config = transformers.MiniCPM3Config(**{**LATENT, "v_head_dim": None}, rope_parameters=rope)
    return transformers.MiniCPM3ForCausalLM(config)


def nemotron_h(layers: list[str], **config) -> PreTrainedModel:
    return transformers.NemotronHForCausalLM(
        transformers.NemotronHConfig(**{**SHAPE, **MAMBA, "layers_block_type": layers, **config})
    )


def falcon_h1(**config) -> PreTrainedModel:
    return transformers.FalconH1ForCausalLM(
        transformers.FalconH1Config(
            **SHAPE,
            head_dim=16,
            mamba_n_heads=4,
            mamba_d_head=16,
            mamba_d_ssm=64,
            mamba_d_state=32,
            rms_norm_eps=0.01,
            rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
            embedding_multiplier=2.0,
            lm_head_multiplier=0.5,
            key_multiplier=0.6,
            attention_in_multiplier=1.2,
            attention_out_multiplier=0.7,
            ssm_in_multiplier=1.3,
            ssm_out_multiplier=0.8,
            ssm_multipliers=[0.9, 1.1, 0.7, 1.4, 0.6],
            mlp_multipliers=[0.8, 1.5],
            **config,
        )
    )


def mamba2(**config) -> PreTrainedModel:
    shape = {name: SHAPE[name] for name in ("vocab_size", "hidden_size", "num_hidden_layers")}
    tokens = {name: SHAPE[name] for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    mixer = {"num_heads": 4, "head_dim": 16, "state_size": 32, "layer_norm_epsilon": 0.01}
    return transformers.Mamba2ForCausalLM(
        transformers.Mamba2Config(**shape, **tokens, **mixer, **config)
    )


def kimi_linear(layers: list[str]) -> PreTrainedModel:
    model = transformers.KimiLinearForCausalLM(
        transformers.KimiLinearConfig(
            **{
                **LATENT,
                "q_lora_rank": None,
                "num_hidden_layers": len(layers),
                "layer_types": layers,
                "linear_head_dim": 16,
                "linear_num_heads": 3,
                "num_local_experts": 8,
                "num_experts_per_tok": 2,
                "moe_intermediate_size": 8,
                "n_group": 4,
                "topk_group": 2,
                "rms_norm_eps": 0.01,
                "routed_scaling_factor": 1.5,
            }
        )
    )
    for name, parameter in model.named_parameters():
        if name.endswith("A_log"):
            # States are kept long enough that they show.
            torch.nn.init.constant_(parameter, -1.5)
    return model


BAILING = {
    **SHAPE,
    "head_dim": 16,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "num_shared_experts": 2,
    "moe_intermediate_size": 8,
    "first_k_dense_replace": 0,
    "num_nextn_predict_layers": 0,
    "norm_topk_prob": True,
    "norm_head": False,
    "score_function": "softmax",
    "tie_word_embeddings": False,
    "use_bias": False,
    "use_qkv_bias": False,
    # Large enough to show.
    "rms_norm_eps": 0.01,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0},
}


def bailing_2(rope: dict, **config) -> PreTrainedModel:
    second = {
        "num_experts": 8,
        "num_shared_experts": 1,
        "first_k_dense_replace": 1,
        "n_group": 4,
        "topk_group": 2,
        "routed_scaling_factor": 2.5,
        "score_function": "sigmoid",
        "rope_parameters": {**rope, "partial_rotary_factor": 0.5},
    }
    return BailingMoeV2ForCausalLM(BailingConfig(**{**BAILING, **second, **config}))


def gpt_oss(**config) -> PreTrainedModel:
    # A limit low enough that it shows.
    shape = {**SHAPE, **EXPERTS, "head_dim": 16, "sliding_window": WINDOW, "swiglu_limit": 1.5}
    rope = {**YARN, "truncate": False}
    return transformers.GptOssForCausalLM(
        transformers.GptOssConfig(**{**shape, **config}, rope_parameters=rope)
    )


VISION = {
    "hidden_size": 8,
    "intermediate_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}
MROPE = {"rope_type": "default", "rope_theta": 1000.0, "mrope_section": [2, 3, 3]}


def multimodal(model, config, text: dict, vision: dict, **others) -> PreTrainedModel:
    return model(config(text_config=text, vision_config=vision, **others))


CASES: dict[str, Callable[[], PreTrainedModel]] = {
    "llama": lambda: llama(
        attention_bias=True,
        mlp_bias=True,
        rope_parameters={
            "rope_type": "llama3",
            "factor": 4.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            **ROPE,
        },
    ),
    "llama-linear": lambda: llama(
        head_dim=32,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "linear", "factor": 4.0, "rope_theta": 1000.0},
    ),
    "llama-yarn": yarn,
    "llama-yarn-mscale": lambda: yarn(
        beta_fast=8.0, beta_slow=0.5, mscale=0.7, mscale_all_dim=0.3, truncate=False
    ),
    "mistral": lambda: transformers.MistralForCausalLM(
        transformers.MistralConfig(**SHAPE, sliding_window=WINDOW, tie_word_embeddings=True)
    ),
    "ministral3": lambda: transformers.Ministral3ForCausalLM(
        transformers.Ministral3Config(
            **SHAPE,
            head_dim=32,
            rope_parameters={
                **YARN,
                "original_max_position_embeddings": MAX_LENGTH,
                "mscale": 1.0,
                "mscale_all_dim": 1.0,
                "llama_4_scaling_beta": 0.1,
            },
        )
    ),
    "qwen2": lambda: transformers.Qwen2ForCausalLM(
        transformers.Qwen2Config(
            **SHAPE,
            use_sliding_window=True,
            sliding_window=WINDOW,
            max_window_layers=1,
            tie_word_embeddings=True,
        )
    ),
    "qwen3": lambda: transformers.Qwen3ForCausalLM(
        transformers.Qwen3Config(
            **SHAPE,
            head_dim=32,
            attention_bias=True,
            use_sliding_window=True,
            sliding_window=WINDOW,
            layer_types=["sliding_attention", "full_attention"],
        )
    ),
    "phi3": lambda: phi3(sliding_window=WINDOW),
    "phi3-longrope": lambda: phi3(
        num_attention_heads=1,
        original_max_position_embeddings=ORIGINAL_LENGTH,
        tie_word_embeddings=True,
        rope_parameters={
            "rope_type": "longrope",
            "rope_theta": 1000.0,
            "partial_rotary_factor": 0.5,
            "short_factor": [1 + 0.05 * i for i in range(8)],
            "long_factor": [1 + 0.5 * i for i in range(8)],
        },
    ),
    "phimoe": lambda: long_phimoe(1.25, 1.35),
    # With the factors of Phi-3.5 MoE, which its GGUF files do not say.
    "phimoe-published": lambda: long_phimoe(1.243163121016122, 1.243163121016122),
    # Without biases, and with experts that are nearly equal more often.
    "phimoe-plain": lambda: phimoe(
        router_jitter_noise=0.4, rope_parameters={"rope_type": "default", "rope_theta": 1000.0}
    ),
    "gemma2": lambda: transformers.Gemma2ForCausalLM(
        transformers.Gemma2Config(
            **SHAPE,
            head_dim=32,
            query_pre_attn_scalar=24,
            sliding_window=WINDOW,
            attn_logit_softcapping=2.0,
            final_logit_softcapping=2.0,
        )
    ),
    "gemma3": lambda: transformers.Gemma3ForCausalLM(
        transformers.Gemma3TextConfig(
            **SHAPE,
            head_dim=16,
            query_pre_attn_scalar=24,
            sliding_window=WINDOW,
            layer_types=["sliding_attention", "full_attention"],
            rope_parameters={
                "sliding_attention": {"rope_type": "default", "rope_theta": 50.0},
                "full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 1000.0},
            },
        )
    ),
    # As E2B: several hidden states of each token, and layers that read the keys of others.
    "gemma3n": gemma3n,
    # The last tokens have no embeddings of layers of their own.
    "gemma3n-few": lambda: gemma3n(
        layer_types=["sliding_attention", "full_attention", "full_attention"],
        num_kv_shared_layers=1,
        vocab_size_per_layer_input=VOCABULARY_SIZE - 40,
        altup_num_inputs=2,
        altup_correct_scale=False,
        activation_sparsity_pattern=[0.0, 0.6, 0.0],
    ),
    # As 31B: values are keys before their norm, in layers without a window.
    "gemma4": lambda: gemma4(attention_k_eq_v=True),
    # As 12B, whose configuration knows neither experts nor embeddings of layers.
    "gemma4-unified": lambda: gemma4_unified(attention_k_eq_v=True),
    # As E2B: layers with an embedding of their own, of which the last ones read the keys of others. Inside of
    # a model that sees and hears.
    "gemma4-small": lambda: transformers.Gemma4ForConditionalGeneration(
        transformers.Gemma4Config(
            text_config=gemma4_shape(
                num_key_value_heads=1,
                num_kv_shared_layers=2,
                use_double_wide_mlp=True,
                hidden_size_per_layer_input=8,
                vocab_size_per_layer_input=VOCABULARY_SIZE,
            )
        )
    ),
    # As 26B-A4B: experts beside an MLP.
    "gemma4-moe": lambda: gemma4(
        attention_k_eq_v=True,
        layer_types=["sliding_attention", "full_attention"],
        enable_moe_block=True,
        num_experts=4,
        top_k_experts=2,
        moe_intermediate_size=8,
    ),
    # As Scout: experts in all layers, and every fourth has no rotary embedding. Inside of a model that sees.
    "llama4": lambda: multimodal(
        transformers.Llama4ForConditionalGeneration,
        transformers.Llama4Config,
        {
            **LLAMA4,
            "rope_parameters": {
                "rope_type": "llama3",
                "factor": 4.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 1.0,
                **ROPE,
            },
        },
        {
            **VISION,
            "image_size": 8,
            "patch_size": 4,
            "vision_output_dim": 8,
            "projector_input_dim": 8,
            "projector_output_dim": 8,
        },
    ),
    # As Maverick: MLPs and experts in turn, heads without norms.
    "llama4-interleaved": lambda: llama4(
        use_qk_norm=False, interleave_moe_layer_step=2, no_rope_layer_interval=2, num_experts_per_tok=2
    ),
    # As MobileLLM-R1: without experts, and rotary embedding in all layers.
    "llama4-small": lambda: llama4(
        num_hidden_layers=2,
        moe_layers=[],
        interleave_moe_layer_step=0,
        no_rope_layers=[1, 1],
        attention_chunk_size=None,
        tie_word_embeddings=True,
    ),
    "gemma3-multimodal": lambda: multimodal(
        transformers.Gemma3ForConditionalGeneration,
        transformers.Gemma3Config,
        {**SHAPE, "head_dim": 16, "sliding_window": WINDOW, "sliding_window_pattern": 2},
        {**VISION, "image_size": 8, "patch_size": 4},
        mm_tokens_per_image=4,
    ),
    "mistral3": lambda: multimodal(
        transformers.Mistral3ForConditionalGeneration,
        transformers.Mistral3Config,
        {**SHAPE, "model_type": "mistral", "head_dim": 16},
        {**VISION, "model_type": "pixtral", "head_dim": 4, "image_size": 8, "patch_size": 4},
        tie_word_embeddings=False,
    ),
    "qwen2-vl": lambda: multimodal(
        transformers.Qwen2_5_VLForConditionalGeneration,
        transformers.Qwen2_5_VLConfig,
        {**SHAPE, "rope_parameters": MROPE},
        {**VISION, "depth": 1, "num_heads": 2, "out_hidden_size": 32, "fullatt_block_indexes": [0]},
    ),
    "qwen3-vl": lambda: multimodal(
        transformers.Qwen3VLForConditionalGeneration,
        transformers.Qwen3VLConfig,
        {**SHAPE, "head_dim": 32, "rope_parameters": {**MROPE, "mrope_interleaved": True}},
        {
            **VISION,
            "depth": 1,
            "num_heads": 2,
            "out_hidden_size": 32,
            "num_position_embeddings": 4,
            "deepstack_visual_indexes": [0],
        },
        tie_word_embeddings=True,
    ),
    "smolvlm": lambda: multimodal(
        transformers.SmolVLMForConditionalGeneration,
        transformers.SmolVLMConfig,
        {**SHAPE, "model_type": "llama"},
        {**VISION, "image_size": 8, "patch_size": 4},
    ),
    "smollm3": lambda: transformers.SmolLM3ForCausalLM(
        transformers.SmolLM3Config(**SHAPE, no_rope_layer_interval=2)
    ),
    "granite": lambda: transformers.GraniteForCausalLM(
        transformers.GraniteConfig(**SHAPE, **GRANITE)
    ),
    "granite-hybrid": lambda: granite_hybrid(
        ["full_attention"] * SHAPE["num_hidden_layers"], position_embedding_type="rope"
    ),
    "granite-mamba": lambda: granite_hybrid(
        ["mamba", "full_attention", "mamba"], mamba_d_state=32, mamba_d_conv=4
    ),
    # As 4.0 Tiny: experts in all layers, and one that all tokens share.
    "granite-mamba-moe": lambda: granite_hybrid(
        ["mamba", "full_attention", "mamba"],
        **EXPERTS,
        mamba_d_state=32,
        mamba_d_conv=4,
        tie_word_embeddings=False,
    ),
    "nemotron-h": lambda: nemotron_h(["linear_attention", "full_attention", "linear_attention", "mlp"]),
    # As Nemotron 3 Nano, but that it ends with attention.
    "nemotron-h-moe": lambda: nemotron_h(
        ["linear_attention", "moe", "full_attention"],
        intermediate_size=8,
        n_routed_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=8,
        moe_shared_expert_intermediate_size=24,
        routed_scaling_factor=1.5,
    ),
    "kimi-linear": lambda: kimi_linear(["linear_attention", "full_attention", "linear_attention"]),
    "falcon-h1": falcon_h1,
    "mamba2": lambda: mamba2(n_groups=2),
    # With biases elsewhere than by default, and limits that show.
    "mamba2-tied": lambda: mamba2(
        n_groups=1,
        use_bias=True,
        use_conv_bias=False,
        tie_word_embeddings=True,
        time_step_limit=(0.5, 1.5),
    ),
    "falcon-h1-norm": lambda: falcon_h1(mamba_n_groups=2, mamba_rms_norm=True),
    "minicpm": minicpm,
    "minimax-m2": lambda: transformers.MiniMaxM2ForCausalLM(
        transformers.MiniMaxM2Config(
            **SHAPE, **EXPERTS, head_dim=32, rotary_dim=16, rope_theta=1000.0
        )
    ),
    "gemma": lambda: transformers.GemmaForCausalLM(
        transformers.GemmaConfig(**SHAPE, head_dim=32, hidden_act="gelu")
    ),
    "cohere": lambda: cohere(transformers.CohereForCausalLM, transformers.CohereConfig),
    "command-r-plus": lambda: cohere(
        transformers.CohereForCausalLM, transformers.CohereConfig, **HEADS, use_qk_norm=True
    ),
    "cohere2": lambda: cohere(
        transformers.Cohere2ForCausalLM,
        transformers.Cohere2Config,
        # The last of four attends to everything.
        num_hidden_layers=4,
        sliding_window=WINDOW,
    ),
    "glm": lambda: glm(transformers.GlmForCausalLM, transformers.GlmConfig),
    "glm4": lambda: glm(transformers.Glm4ForCausalLM, transformers.Glm4Config),
    "ernie4.5": lambda: transformers.Ernie4_5ForCausalLM(
        transformers.Ernie4_5Config(**SHAPE, head_dim=32, use_bias=True)
    ),
    "exaone4": lambda: transformers.Exaone4ForCausalLM(
        transformers.Exaone4Config(
            **SHAPE,
            sliding_window=WINDOW,
            sliding_window_pattern="LG",
            layer_types=["sliding_attention", "full_attention"],
        )
    ),
    "exaone4-full": lambda: transformers.Exaone4ForCausalLM(
        transformers.Exaone4Config(
            **SHAPE,
            sliding_window=None,
            layer_types=["full_attention"] * SHAPE["num_hidden_layers"],
            tie_word_embeddings=True,
        )
    ),
    "seed-oss": lambda: transformers.SeedOssForCausalLM(
        transformers.SeedOssConfig(**SHAPE, head_dim=32, attention_out_bias=True, mlp_bias=True)
    ),
    "phi": lambda: transformers.PhiForCausalLM(
        transformers.PhiConfig(
            **{**SHAPE, "intermediate_size": 128, "num_key_value_heads": 2},
            partial_rotary_factor=0.5,
        )
    ),
    "stablelm": lambda: stablelm(use_qkv_bias=True),
    "stablelm-parallel": lambda: stablelm(use_parallel_residual=True, tie_word_embeddings=True),
    "stablelm-12b": lambda: stablelm(
        **HEADS, use_parallel_residual=True, qk_layernorm=True, layer_norm_eps=0.01
    ),
    "starcoder2": lambda: transformers.Starcoder2ForCausalLM(
        transformers.Starcoder2Config(**SHAPE, norm_epsilon=0.01)
    ),
    "arcee": lambda: transformers.ArceeForCausalLM(transformers.ArceeConfig(**SHAPE)),
    "nemotron": lambda: transformers.NemotronForCausalLM(
        transformers.NemotronConfig(**SHAPE, partial_rotary_factor=0.5, mlp_bias=True)
    ),
    # As the 7B, the 11B and the 40B.
    "falcon": lambda: falcon(ffn_hidden_size=24),
    "falcon-groups": lambda: falcon(**GROUPS, num_ln_in_parallel_attn=1),
    "falcon-norms": lambda: falcon(**GROUPS),
    "opt": lambda: opt(ffn_dim=24),
    "apertus": lambda: transformers.ApertusForCausalLM(
        transformers.ApertusConfig(
            **SHAPE, head_dim=32, rope_parameters={"rope_type": "default", "rope_theta": 1000.0}
        )
    ),
    "hunyuan-moe": lambda: transformers.HunYuanMoEV1ForCausalLM(
        transformers.HunYuanMoEV1Config(
            **SHAPE,
            head_dim=32,
            num_experts=4,
            moe_topk=2,
            rms_norm_eps=0.01,
            tie_word_embeddings=True,
            rope_parameters={"rope_type": "dynamic", "factor": 1.0, "alpha": 20.0, "rope_theta": 1000.0},
        )
    ),
    "hunyuan": lambda: transformers.HunYuanDenseV1ForCausalLM(
        transformers.HunYuanDenseV1Config(
            **SHAPE,
            head_dim=32,
            attention_bias=True,
            rms_norm_eps=0.01,
            rope_parameters={"rope_type": "dynamic", "factor": 1.0, "alpha": 20.0, "rope_theta": 1000.0},
        )
    ),
    "glm4-moe": lambda: transformers.Glm4MoeForCausalLM(
        transformers.Glm4MoeConfig(
            **SHAPE,
            head_dim=16,
            partial_rotary_factor=0.5,
            n_routed_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=8,
            routed_scaling_factor=1.5,
            use_qk_norm=True,
        )
    ),
    # As DeepSeek V2 Lite: queries without a latent, experts of all groups.
    "deepseek-v2-lite": lambda: deepseek_v2(
        q_lora_rank=None, n_group=1, topk_group=1, n_shared_experts=2, rope_parameters=LATENT_YARN
    ),
    "deepseek-v2": lambda: deepseek_v2(
        topk_method="group_limited_greedy", n_shared_experts=1, rms_norm_eps=0.01
    ),
    "deepseek-v3": lambda: deepseek_v3(
        rope_parameters={**LATENT_YARN, "mscale": 0.8}, rms_norm_eps=0.01
    ),
    # With biases, and pairs of dimensions as elsewhere.
    "deepseek-v3-halves": lambda: deepseek_v3(
        rope_interleave=False, attention_bias=True, n_group=1, topk_group=1, norm_topk_prob=False
    ),
    # Values as large as keys.
    "glm4-moe-lite": lambda: transformers.Glm4MoeLiteForCausalLM(
        transformers.Glm4MoeLiteConfig(
            **{
                **LATENT,
                "v_head_dim": 32,
                "n_routed_experts": 4,
                "num_experts_per_tok": 2,
                "moe_intermediate_size": 8,
            }
        )
    ),
    # As llama.cpp has its factors.
    "minicpm3": lambda: minicpm3(ORIGINAL_LENGTH, 1000.0),
    # As published, which is what files of GGUF leave out.
    "minicpm3-published": lambda: minicpm3(MAX_LENGTH, 10_000.0),
    # Transformers would empty the row of padding in the LM head, which is tied.
    "youtu": lambda: transformers.YoutuForCausalLM(
        transformers.YoutuConfig(**{**LATENT, "pad_token_id": None}, rms_norm_eps=0.01)
    ),
    "ernie4.5-moe": lambda: transformers.Ernie4_5_MoeForCausalLM(
        transformers.Ernie4_5_MoeConfig(
            **SHAPE, moe_num_experts=4, moe_k=2, moe_intermediate_size=8
        )
    ),
    # Layers without a window have no rotary embedding.
    "exaone-moe": lambda: transformers.ExaoneMoeForCausalLM(
        transformers.ExaoneMoeConfig(
            **SHAPE,
            sliding_window=WINDOW,
            sliding_window_pattern="LG",
            layer_types=["sliding_attention", "full_attention"],
            rms_norm_eps=0.01,
            num_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=8,
            num_shared_experts=2,
        )
    ),
    "bamba": lambda: transformers.BambaForCausalLM(
        transformers.BambaConfig(
            **{**SHAPE, "num_hidden_layers": 3, "hidden_size": 64, "num_attention_heads": 2},
            attn_layer_indices=[1],
            mamba_n_heads=4,
            mamba_n_groups=2,
            mamba_d_state=16,
            rms_norm_eps=0.01,
            rope_parameters={"rope_type": "default", "rope_theta": 1000.0, "partial_rotary_factor": 0.5},
        )
    ),
    "ling": lambda: BailingMoeForCausalLM(BailingConfig(**{**BAILING, "norm_head": True})),
    # With a head as it is, shares as they are, biases, and a layer without experts.
    "ring": lambda: BailingMoeForCausalLM(
        BailingConfig(
            **{
                **BAILING,
                "norm_topk_prob": False,
                "first_k_dense_replace": 1,
                "use_bias": True,
                "use_qkv_bias": True,
            }
        )
    ),
    # With a module that predicts, which is not read.
    "ling2": lambda: bailing_2(BAILING["rope_parameters"], num_nextn_predict_layers=1),
    "ring2-yarn": lambda: bailing_2(YARN),
    "dots1": lambda: transformers.Dots1ForCausalLM(
        transformers.Dots1Config(
            **SHAPE,
            sliding_window=WINDOW,
            max_window_layers=1,
            rms_norm_eps=0.01,
            n_routed_experts=4,
            n_shared_experts=2,
            num_experts_per_tok=2,
            moe_intermediate_size=8,
            first_k_dense_replace=1,
            norm_topk_prob=True,
            routed_scaling_factor=1.5,
        )
    ),
    # As published: no layer has a window.
    "dots1-full": lambda: transformers.Dots1ForCausalLM(
        transformers.Dots1Config(
            **SHAPE,
            rms_norm_eps=0.01,
            n_routed_experts=4,
            n_shared_experts=1,
            num_experts_per_tok=2,
            moe_intermediate_size=8,
            first_k_dense_replace=1,
        )
    ),
    # As llama.cpp knows them: every fourth layer has no window.
    "afmoe": lambda: afmoe(
        num_hidden_layers=4, layer_types=None, num_dense_layers=3, mup_enabled=True
    ),
    "afmoe-plain": lambda: afmoe(num_dense_layers=0, num_shared_experts=1, tie_word_embeddings=True),
    "cwm": lambda: transformers.CwmForCausalLM(
        transformers.CwmConfig(
            **{**SHAPE, "eos_token_id": [2, 3]},
            head_dim=32,
            sliding_window=WINDOW,
            layer_types=["full_attention", "sliding_attention"],
            rope_parameters={
                "rope_type": "llama3",
                "factor": 4.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                **ROPE,
            },
        )
    ),
    "helium": lambda: transformers.HeliumForCausalLM(
        transformers.HeliumConfig(
            **SHAPE,
            head_dim=16,
            attention_bias=True,
            mlp_bias=True,
            rope_parameters={"rope_type": "default", "rope_theta": 1000.0},
        )
    ),
    "vaultgemma": lambda: transformers.VaultGemmaForCausalLM(
        transformers.VaultGemmaConfig(
            **SHAPE,
            head_dim=32,
            query_pre_attn_scalar=24,
            sliding_window=WINDOW,
            attn_logit_softcapping=2.0,
            final_logit_softcapping=2.0,
        )
    ),
    "olmo2": lambda: transformers.Olmo2ForCausalLM(transformers.Olmo2Config(**SHAPE)),
    "olmo3": lambda: transformers.Olmo3ForCausalLM(
        transformers.Olmo3Config(
            **SHAPE,
            sliding_window=WINDOW,
            layer_types=["sliding_attention", "full_attention"],
            tie_word_embeddings=True,
            rope_parameters={
                "sliding_attention": {"rope_type": "default", "rope_theta": 1000.0},
                "full_attention": YARN,
            },
        )
    ),
    "mixtral": lambda: transformers.MixtralForCausalLM(
        transformers.MixtralConfig(**SHAPE, **EXPERTS)
    ),
    "qwen2-moe": lambda: transformers.Qwen2MoeForCausalLM(
        transformers.Qwen2MoeConfig(
            **SHAPE,
            num_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=8,
            shared_expert_intermediate_size=24,
        )
    ),
    "qwen3-moe": lambda: transformers.Qwen3MoeForCausalLM(
        transformers.Qwen3MoeConfig(
            **SHAPE,
            head_dim=32,
            num_experts=6,
            num_experts_per_tok=3,
            moe_intermediate_size=8,
            mlp_only_layers=[0],
            norm_topk_prob=True,
            tie_word_embeddings=True,
        )
    ),
    # As llama.cpp knows them: with experts in all layers.
    "qwen3-moe-sparse": lambda: transformers.Qwen3MoeForCausalLM(
        transformers.Qwen3MoeConfig(
            **SHAPE,
            head_dim=32,
            num_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=8,
            norm_topk_prob=True,
        )
    ),
    "olmoe": lambda: transformers.OlmoeForCausalLM(
        transformers.OlmoeConfig(**SHAPE, num_experts=4, num_experts_per_tok=2)
    ),
    "granite-moe": lambda: transformers.GraniteMoeForCausalLM(
        transformers.GraniteMoeConfig(**SHAPE, **GRANITE, **EXPERTS)
    ),
    "granite-shared": lambda: transformers.GraniteMoeSharedForCausalLM(
        transformers.GraniteMoeSharedConfig(
            **SHAPE, **GRANITE, **EXPERTS, shared_intermediate_size=24
        )
    ),
    # Rotary embedding in layers with a window alone.
    "granite-swa": lambda: transformers.GraniteSWAForCausalLM(
        transformers.GraniteSWAConfig(
            **{**SHAPE, "num_hidden_layers": 3},
            **GRANITE,
            sliding_window=WINDOW,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"],
            layer_rope_theta=[1000.0, 0.0, 1000.0],
        )
    ),
    "granite-moe-swa": lambda: granite_moe_swa(tie_word_embeddings=False),
    "granite-shared-swa": lambda: granite_moe_swa(shared_intermediate_size=24),
    "gpt2": lambda: transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=VOCABULARY_SIZE,
            n_positions=MAX_LENGTH,
            n_embd=32,
            n_layer=2,
            n_head=2,
            n_inner=48,
            bos_token_id=1,
            eos_token_id=2,
        )
    ),
    "gpt-neox": lambda: gpt_neox(rotary_pct=0.5),
    "gpt-neox-sequential": lambda: gpt_neox(use_parallel_residual=False, hidden_act="gelu_new"),
    # MLPs of 16 channels: 14 are two thirds.
    "lfm2": lambda: lfm2(intermediate_size=21, block_multiple_of=8),
    "lfm2-bias": lambda: lfm2(
        conv_bias=True, conv_L_cache=4, block_auto_adjust_ff_dim=False, tie_word_embeddings=False
    ),
    "lfm3": lfm3,
    "lfm2-moe": lambda: transformers.Lfm2MoeForCausalLM(
        transformers.Lfm2MoeConfig(
            **{
                **SHAPE,
                "num_hidden_layers": 3,
                "layer_types": ["conv", "full_attention", "conv"],
                "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0},
            },
            num_dense_layers=1,
            num_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=8,
        )
    ),
    "qwen3-next": lambda: transformers.Qwen3NextForCausalLM(
        transformers.Qwen3NextConfig(
            **{**SHAPE, **DELTA, "num_hidden_layers": 2, "layer_types": DELTA["layer_types"][:2]},
            num_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=8,
            shared_expert_intermediate_size=24,
        )
    ),
    "qwen3.5": lambda: qwen3_5(attention_bias=True),
    "qwen3.5-moe": lambda: transformers.Qwen3_5MoeForCausalLM(
        transformers.Qwen3_5MoeTextConfig(
            **{**SHAPE, **DELTA, "num_hidden_layers": 2, "layer_types": DELTA["layer_types"][:2]},
            num_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=8,
            shared_expert_intermediate_size=24,
        )
    ),
    "gpt-oss": gpt_oss,
    # Blocks have 32 values.
    "gpt-oss-mxfp4": lambda: gpt_oss(intermediate_size=32, num_hidden_layers=1),
    # With the limit that all of them have, and GGUF files do not say.
    "gpt-oss-mxfp4-limit": lambda: gpt_oss(intermediate_size=32, swiglu_limit=7.0),
}


# With the usual seed, rounding has a router pick another expert. Others exceed the bounds of quantized logits with some
# seeds, Falcon-H1, Kimi-Linear and these: LFM3 with three of six, by two fifths at most; Bamba with two of five, by 2.5
# times; dots.llm1 with one of two, by a tenth; AFMoE with two of five, and without its factor with two of three, by two thirds;
# Ling with four of six in each version, where another expert is picked, up to eleven times.
SEEDS = {
    "deepseek-v2-lite": 1,
    "ernie4.5-moe": 1,
    "glm4-moe": 3,
    "qwen3-moe": 2,
    "qwen3-next": 1,
    "qwen3.5-moe": 4,
    "lfm2-moe": 3,
    "lfm3": 1,
    "bamba": 1,
    "afmoe-plain": 2,
    "afmoe": 1,
    "ling": 3,
    "ling2": 4,
    "dots1": 1,
    "nemotron-h-moe": 2,
    "kimi-linear": 8,
    "falcon-h1": 1,
    "falcon-h1-norm": 1,
    "gpt-oss-mxfp4-limit": 1,
    "llama4": 3,
    "llama4-interleaved": 3,
}


# Buffers with values that checkpoints have.
SAVED_BUFFERS = ("correction_bias", "expert_bias", "layer_scalar")


# Mixtures in which what is picked counts for much: SparseMixer's second expert has as much weight as another
# that nearly was in its place, and Llama 4's is the only one.
ALIKE = (
    transformers.PhimoeForCausalLM,
    transformers.Gemma4ForCausalLM,
    transformers.Llama4ForCausalLM,
    transformers.Llama4ForConditionalGeneration,
)
# Cases in which rounding the cache, too, had a router pick another expert.
ALIKE_CASES = ("deepseek-v3", "qwen3-moe-sparse")
# Scores are not divided by the root of a head's size: trained norms of queries are smaller.
UNSCALED = (
    transformers.Gemma3nForCausalLM,
    transformers.Gemma4ForCausalLM,
    transformers.Gemma4ForConditionalGeneration,
    transformers.Gemma4UnifiedForCausalLM,
)


def randomize(model: PreTrainedModel, seed: int, alike: bool = False) -> None:
    """Weights wide enough that every part of the model shows in the logits."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        buffers = model.named_buffers()
        saved = [each for each in buffers if each[0].endswith(SAVED_BUFFERS)]
        for name, parameter in [*model.named_parameters(), *saved]:
            noise = torch.randn(parameter.shape, generator=generator)
            # Cohere's norms of heads have a row of weights for each.
            if parameter.dim() == 2 and not name.endswith(("bias", "_norm.weight")):
                is_table = re.search("embed|lm_head|wte|wpe|coefs", name) is not None
                # Small enough that what layers add outweighs the token itself, and how streams are mixed.
                parameter.copy_(noise * (0.2 if is_table else parameter.shape[1] ** -0.5))
            elif parameter.dim() == 3:
                # All experts of a layer; gpt-oss and Llama 4 have their matrices transposed.
                is_transposed = re.search("GptOss|Llama4", type(model).__name__) is not None
                if alike or isinstance(model, ALIKE):
                    # Experts are alike, so that rounding, which may have another one picked, changes little.
                    noise = 0.1 * noise + torch.randn(noise.shape[1:], generator=generator)
                parameter.copy_(noise * parameter.shape[1 if is_transposed else 2] ** -0.5)
            elif name.endswith("bias"):
                parameter.copy_(noise * 0.3)
            else:
                # A norm: around 0 where the model adds 1 to it, else around 1.
                parameter.add_(noise * 0.3)
                if isinstance(model, UNSCALED) and "q_norm" in name:
                    parameter.mul_(parameter.shape[0] ** -0.5)


def logits_of(model: PreTrainedModel, ids: list[int]) -> torch.Tensor:
    """Logits at every position, [ids, vocabulary]; without a cache."""
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0]


def continue_greedily(model: PreTrainedModel, ids: list[int]) -> list[int] | None:
    """The prompt and what follows; None if a token leads by too little."""
    text = list(ids)
    for _ in range(GREEDY_TOKENS):
        (best, second), (token, _) = logits_of(model, text)[-1].topk(2)
        if best - second < MIN_LEAD:
            return None
        text.append(int(token))
    return text


def tell_length(model: PreTrainedModel, length: int) -> None:
    """Has LongRoPE's frequencies be those of a length, as Microsoft's code for Phi-3.5 MoE has them.

    Transformers 5.24 takes those of short texts for all, since it does not hand on the length.
    """
    rotary = model.model.rotary_emb
    if rotary.rope_type == "longrope":
        rotary.rope_init_fn = partial(ROPE_INIT_FUNCTIONS["longrope"], seq_len=length)


def reference(model: PreTrainedModel, num_tokens: int, max_model_len: int) -> dict:
    """What tests compare with: logits by the number of tokens that lead to them."""
    if isinstance(model, transformers.PhimoeForCausalLM):
        tell_length(model, max_model_len)
    generator = torch.Generator().manual_seed(0)
    text = None
    while text is None:
        ids = torch.randint(3, VOCABULARY_SIZE, (num_tokens,), generator=generator).tolist()
        text = continue_greedily(model, ids)
    logits = logits_of(model, text)
    lengths = {*(end for end in CHUNK_ENDS if end < len(ids)), len(ids), len(text)}
    return {
        "max_model_len": max_model_len,
        "ids": ids,
        "greedy": text[len(ids) :],
        "logits": {
            str(length): [float(f"{value:.6g}") for value in logits[length - 1].tolist()]
            for length in sorted(lengths)
        },
    }


def pack_experts(folder: Path) -> None:
    """Gives a written gpt-oss the matrices of its experts in MXFP4, random ones."""
    path = folder / "model.safetensors"
    generator = torch.Generator().manual_seed(0)
    packed = {}
    for name, tensor in load_file(path).items():
        if not re.search(r"experts\.\w+_proj$", name):
            packed[name] = tensor
            continue
        experts, columns, rows = tensor.shape
        groups = (experts, rows, columns // 32)
        draw = {"generator": generator, "dtype": torch.uint8}
        packed[f"{name}_blocks"] = torch.randint(0, 256, (*groups, 16), **draw)
        # Powers of two by which values of about 3 come to those of other matrices.
        packed[f"{name}_scales"] = torch.randint(122, 125, groups, **draw)
    save_file(packed, path, {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "mxfp4"}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def unpack_experts(folder: Path) -> PreTrainedModel:
    """What Transformers makes of those, without the kernels that it needs to load them itself."""
    config = transformers.AutoConfig.from_pretrained(folder)
    del config.quantization_config
    tensors = load_file(folder / "model.safetensors")
    for name in [name for name in tensors if name.endswith("_blocks")]:
        base = name.removesuffix("_blocks")
        scales = tensors.pop(f"{base}_scales")
        tensors[base] = convert_moe_packed_tensors(tensors.pop(name), scales, dtype=torch.float32)
    model = transformers.GptOssForCausalLM._from_config(
        config, dtype=torch.float32, attn_implementation="eager"
    )
    model.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return model.eval()


# Fields of configurations as they are published, in place of those that Transformers writes, or of a family
# that computes the same.
RENAMED = {
    **dict.fromkeys(
        ["gemma4", "gemma4-moe"],
        {
            "per_layer_config": None,
            "global_head_dim": 32,
            "num_global_key_value_heads": 1,
            "use_bidirectional_attention": "vision",
        },
    ),
    "gemma4-small": {
        "vision_config": {"model_type": "gemma4_vision", "hidden_size": 768},
        "audio_config": {"model_type": "gemma4_audio", "hidden_size": 1024},
    },
    "hunyuan-moe": {
        "moe_topk": [2, 2],
        "moe_intermediate_size": [16, 16],
        "num_shared_expert": [1, 1],
        "use_qk_norm": True,
    },
    "nemotron-h": {
        "num_hidden_layers": 4,
        "hybrid_override_pattern": "M*M-",
        **dict.fromkeys(
            [
                "layers_block_type",
                "mtp_layers_block_type",
                "n_routed_experts",
                "n_shared_experts",
                "num_experts_per_tok",
                "moe_intermediate_size",
                "moe_shared_expert_intermediate_size",
            ]
        ),
    },
    "kimi-linear": {
        "linear_attn_config": {
            "full_attn_layers": [2],
            "kda_layers": [1, 3],
            "head_dim": 16,
            "num_heads": 3,
            "short_conv_kernel_size": 4,
        },
        "first_k_dense_replace": 1,
        "mla_use_nope": True,
        "moe_layer_freq": 1,
        "moe_router_activation_func": "sigmoid",
        "rope_theta": 10000.0,
        **dict.fromkeys(
            [
                "layer_types",
                "mlp_layer_types",
                "linear_head_dim",
                "linear_num_heads",
                "linear_conv_kernel_dim",
                "qk_head_dim",
            ]
        ),
    },
    **dict.fromkeys(
        ["ling", "ring"],
        {
            "rope_theta": 1000.0,
            **dict.fromkeys(["rope_parameters", "score_function", "num_nextn_predict_layers"]),
        },
    ),
    "ling2": {"rope_theta": 1000.0, "partial_rotary_factor": 0.5, "rope_parameters": None},
    "ring2-yarn": {
        "model_type": "bailing_moe_v2",
        "rope_theta": 1000.0,
        "rope_scaling": {
            "type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": ORIGINAL_LENGTH,
        },
        "rotary_dim": 8,
        "rope_parameters": None,
    },
    "minicpm": {
        "model_type": "minicpm",
        "architectures": ["MiniCPMForCausalLM"],
        "scale_emb": 3.0,
        "scale_depth": 0.5,
        "dim_model_base": 16,
        **dict.fromkeys([*GRANITE.keys() - {"rms_norm_eps"}, "tie_word_embeddings"]),
    },
}


# Parts of names of tensors as they are published, where Transformers 5.24 writes others: it calls MLPs as experts.
RENAMED_TENSORS = {"kimi-linear": (r"block_sparse_moe\.(?=(gate|up|down)_proj)", "mlp.")}


def rename_tensors(folder: Path, written: str, published: str) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path)
    renamed = {re.sub(written, published, name): tensor for name, tensor in tensors.items()}
    save_file(renamed, path, {"format": "pt"})


def rename(folder: Path, fields: dict) -> None:
    path = folder / "config.json"
    config = {**json.loads(path.read_text()), **fields}
    stated = {key: value for key, value in config.items() if value is not None}
    path.write_text(json.dumps(stated, indent=2) + "\n")


def write_case(folder: Path, build: Callable[[], PreTrainedModel]) -> None:
    model = build()
    model.set_attn_implementation("eager")
    model.eval()
    randomize(model, SEEDS.get(folder.name, 0), folder.name in ALIKE_CASES)
    model.to(torch.bfloat16).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    if folder.name in RENAMED_TENSORS:
        rename_tensors(folder, *RENAMED_TENSORS[folder.name])
    # Read back: what save_pretrained left out counts.
    if "mxfp4" in folder.name:
        pack_experts(folder)
        model = unpack_experts(folder)
    else:
        model = type(model).from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager"
        )
    if isinstance(model, transformers.Llama4ForConditionalGeneration):
        # Transformers 5.24 computes nothing without images.
        model = model.language_model
    # LongRoPE's factors depend on how long texts may become.
    references = [
        reference(model, SHORT_PROMPT, ORIGINAL_LENGTH),
        reference(model, LONG_PROMPT, MAX_LENGTH),
    ]
    lines = ",\n".join(json.dumps(entry) for entry in references)
    (folder / "reference.json").write_text(f"[\n{lines}\n]\n")
    if folder.name in RENAMED:
        rename(folder, RENAMED[folder.name])


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes test cases of model families.")
    parser.add_argument("output", type=Path, help="folder of the cases' folders")
    parser.add_argument("cases", nargs="*", metavar="case", help=f"of {', '.join(CASES)}")
    args = parser.parse_args()
    torch.set_num_threads(1)
    for name in args.cases or CASES:
        write_case(args.output / name, CASES[name])


if __name__ == "__main__":
    main()
