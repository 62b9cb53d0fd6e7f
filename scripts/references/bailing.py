"""Ling and Ring of inclusionAI (`bailing_moe`), which Transformers has no classes of.

They compute what the code does that these models are published with (modeling_bailing_moe.py and
modeling_bailing_moe_v2.py), written anew and in short, for tiny checkpoints: every expert computes every token.
"""

import torch
from torch import nn
from torch.nn import functional
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS


class BailingConfig(PretrainedConfig):
    model_type = "bailing_moe"

    @property
    def is_second(self) -> bool:
        """Of Ling and Ring 2.0."""
        return self.score_function == "sigmoid"


class Norm(nn.Module):
    """By the root of the mean square."""

    def __init__(self, size: int, config: BailingConfig):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.epsilon = config.rms_norm_eps

    def forward(self, states):
        return functional.rms_norm(states, self.weight.shape, self.weight, self.epsilon)


class Mlp(nn.Module):
    def __init__(self, config: BailingConfig, width: int):
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.down_proj = nn.Linear(width, config.hidden_size, bias=False)

    def forward(self, states):
        return self.down_proj(functional.silu(self.gate_proj(states)) * self.up_proj(states))


class Router(nn.Module):
    """Shares of experts, [tokens, experts]: the first version's by a softmax, the second's by sigmoids."""

    def __init__(self, config: BailingConfig):
        super().__init__()
        self.config = config
        self.weight = nn.Parameter(torch.empty(config.num_experts, config.hidden_size))
        if config.is_second:
            self.register_buffer("expert_bias", torch.zeros(config.num_experts))

    def forward(self, states):
        config = self.config
        scores = functional.linear(states, self.weight)
        scores = scores.sigmoid() if config.is_second else scores.softmax(-1)
        picked = self.corrected(scores) if config.is_second else scores
        of_token = picked.topk(config.num_experts_per_tok, -1).indices
        shares = torch.zeros_like(scores).scatter(-1, of_token, scores.gather(-1, of_token))
        # The second version has them add up to 1 whatever its configuration says.
        if config.is_second or config.norm_topk_prob:
            shares = shares / shares.sum(-1, keepdim=True)
        return shares * (config.routed_scaling_factor if config.is_second else 1.0)

    def corrected(self, scores):
        """Scores by which experts are picked: those of other groups than a token's are out of reach."""
        groups = self.config.n_group
        by_group = (scores + self.expert_bias).unflatten(-1, (groups, -1))
        of_groups = by_group.topk(2, -1).values.sum(-1)
        kept = of_groups.topk(self.config.topk_group, -1).indices
        is_kept = torch.zeros_like(of_groups).scatter(-1, kept, 1.0).bool()
        return by_group.masked_fill(~is_kept[..., None], float("-inf")).flatten(-2)


class Experts(nn.Module):
    def __init__(self, config: BailingConfig):
        super().__init__()
        width = config.moe_intermediate_size
        self.gate = Router(config)
        self.experts = nn.ModuleList(Mlp(config, width) for _ in range(config.num_experts))
        self.shared_experts = Mlp(config, width * config.num_shared_experts)

    def forward(self, states):
        outputs = torch.stack([expert(states) for expert in self.experts], -1)
        routed = (outputs * self.gate(states)[:, None, :]).sum(-1)
        return routed + self.shared_experts(states)


class Attention(nn.Module):
    def __init__(self, config: BailingConfig):
        super().__init__()
        self.heads = (config.num_attention_heads, config.num_key_value_heads)
        self.size = config.head_dim
        queries, keys = (count * self.size for count in self.heads)
        width = config.hidden_size
        self.query_key_value = nn.Linear(width, queries + 2 * keys, bias=config.use_qkv_bias)
        self.dense = nn.Linear(queries, width, bias=config.use_bias)
        if config.is_second:
            self.query_layernorm = Norm(self.size, config)
            self.key_layernorm = Norm(self.size, config)

    def forward(self, states, rotate):
        heads, of_keys = self.heads
        fused = self.query_key_value(states).unflatten(-1, (-1, self.size)).transpose(0, 1)
        queries, keys, values = fused.split([heads, of_keys, of_keys])
        if hasattr(self, "query_layernorm"):
            queries, keys = self.query_layernorm(queries), self.key_layernorm(keys)
        keys, values = (each.repeat_interleave(heads // of_keys, 0) for each in (keys, values))
        scores = rotate(queries) @ rotate(keys).transpose(1, 2) / self.size**0.5
        after = torch.ones_like(scores[0], dtype=torch.bool).triu(1)
        shares = scores.masked_fill(after, float("-inf")).softmax(-1)
        return self.dense((shares @ values).transpose(0, 1).flatten(1))


class Layer(nn.Module):
    def __init__(self, config: BailingConfig, number: int):
        super().__init__()
        has_experts = number >= config.first_k_dense_replace
        self.input_layernorm = Norm(config.hidden_size, config)
        self.attention = Attention(config)
        self.post_attention_layernorm = Norm(config.hidden_size, config)
        self.mlp = Experts(config) if has_experts else Mlp(config, config.intermediate_size)
        if number >= config.num_hidden_layers:
            # A module that predicts the token after the next: it is in checkpoints, and not used here.
            for name in ("enorm", "hnorm", "final_layernorm"):
                setattr(self, name, Norm(config.hidden_size, config))
            self.eh_proj = nn.Linear(2 * config.hidden_size, config.hidden_size, bias=False)

    def forward(self, states, rotate):
        states = states + self.attention(self.input_layernorm(states), rotate)
        return states + self.mlp(self.post_attention_layernorm(states))


class Decoder(nn.Module):
    def __init__(self, config: BailingConfig):
        super().__init__()
        self.config = config
        layers = range(config.num_hidden_layers + config.num_nextn_predict_layers)
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config, number) for number in layers)
        self.norm = Norm(config.hidden_size, config)

    def forward(self, ids):
        states = self.word_embeddings(ids)
        rotate = self.rotation(len(ids))
        for layer in self.layers[: self.config.num_hidden_layers]:
            states = layer(states, rotate)
        return self.norm(states)

    def rotation(self, length: int):
        """Turns dimensions i and i + half of those that turn, the first of each head: [heads, length, size]."""
        config = self.config
        rope = config.rope_parameters
        size = int(config.head_dim * rope.get("partial_rotary_factor", 1.0))
        frequencies, factor = rope["rope_theta"] ** -(torch.arange(0, size, 2) / size), 1.0
        if rope["rope_type"] != "default":
            frequencies, factor = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config, "cpu")
        angles = torch.outer(torch.arange(length).float(), frequencies)
        cosines, sines = angles.cos() * factor, angles.sin() * factor

        def rotate(states):
            turning, others = states[..., :size], states[..., size:]
            first, second = turning.chunk(2, -1)
            turned = (first * cosines - second * sines, second * cosines + first * sines)
            return torch.cat([*turned, others], -1)

        return rotate


class BailingMoeForCausalLM(PreTrainedModel):
    """Ling and Ring up to 1.5."""

    config_class = BailingConfig
    base_model_prefix = "model"

    def __init__(self, config: BailingConfig):
        super().__init__(config)
        self.model = Decoder(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def forward(self, input_ids, use_cache=False):
        head = self.lm_head.weight
        if self.config.norm_head:
            # Each column's length is 1: that of a hidden dimension, over all tokens.
            head = head / (head.norm(dim=0, keepdim=True) + 1e-7)
        logits = [functional.linear(self.model(ids), head) for ids in input_ids]
        return CausalLMOutput(logits=torch.stack(logits))


class BailingMoeV2ForCausalLM(BailingMoeForCausalLM):
    """Ling and Ring 2.0."""
