"""Llama in plain PyTorch, with the tensor names of Hugging Face.

Rotary positions (rotate-half), grouped-query attention, RMSNorm, tied embeddings.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

NORM_EPSILON = 1e-5
ROPE_THETA = 10000.0
MAX_POSITIONS = 2048
INITIAL_STD = 0.02

# keys and values of one layer, each [B, kv_heads, S, head_dim]; empty before the first call
LayerCache = list[Tensor]


@dataclass(frozen=True)
class Config:
    """The shape of a model."""

    hidden_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate_size: int
    vocabulary_size: int


CONFIGS = {
    "summit": Config(
        hidden_size=256,
        layers=6,
        heads=4,
        kv_heads=2,
        head_dim=64,
        intermediate_size=704,
        vocabulary_size=4096,
    ),
    "foothill": Config(
        hidden_size=128,
        layers=3,
        heads=2,
        kv_heads=1,
        head_dim=64,
        intermediate_size=352,
        vocabulary_size=4096,
    ),
}


def rope_tables(length: int, head_dim: int, offset: int) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the positions from `offset` on, each [length, head_dim]."""
    frequencies = 1.0 / ROPE_THETA ** (torch.arange(0, head_dim, 2).float() / head_dim)
    angles = torch.outer(torch.arange(offset, offset + length).float(), frequencies)
    angles = torch.cat([angles, angles], -1)
    return angles.cos(), angles.sin()


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


class RMSNorm(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + NORM_EPSILON) * self.weight


class Attention(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        query_size = config.heads * config.head_dim
        kv_size = config.kv_heads * config.head_dim
        self.q_proj = nn.Linear(config.hidden_size, query_size, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, kv_size, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, kv_size, bias=False)
        self.o_proj = nn.Linear(query_size, config.hidden_size, bias=False)

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, cache: LayerCache | None
    ) -> Tensor:
        B, T, _ = x.shape
        heads, kv_heads, head_dim = self.config.heads, self.config.kv_heads, self.config.head_dim
        group = heads // kv_heads
        q = _rotate(self.q_proj(x).view(B, T, heads, head_dim).transpose(1, 2), cos, sin)
        k = _rotate(self.k_proj(x).view(B, T, kv_heads, head_dim).transpose(1, 2), cos, sin)
        v = self.v_proj(x).view(B, T, kv_heads, head_dim).transpose(1, 2)
        if cache is not None:
            if cache:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            cache[:] = [k, v]
        S = k.shape[2]
        # The query heads of a group share one key head: fold them into the rows of the product.
        q = q.reshape(B, kv_heads, group * T, head_dim)
        scores = torch.matmul(q, k.transpose(-1, -2)) * (1 / math.sqrt(head_dim))
        scores = scores.view(B, kv_heads, group, T, S) + mask
        weights = torch.softmax(scores, -1).view(B, kv_heads, group * T, S)
        out = torch.matmul(weights, v).view(B, heads, T, head_dim)
        return self.o_proj(out.transpose(1, 2).reshape(B, T, heads * head_dim))


class MLP(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.self_attn = Attention(config)
        self.mlp = MLP(config)
        self.input_layernorm = RMSNorm(config.hidden_size)
        self.post_attention_layernorm = RMSNorm(config.hidden_size)

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, cache: LayerCache | None
    ) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, mask, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocabulary_size, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm = RMSNorm(config.hidden_size)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                into_residual = name.endswith(("o_proj.weight", "down_proj.weight"))
                std = INITIAL_STD / math.sqrt(2 * config.layers) if into_residual else INITIAL_STD
                nn.init.normal_(parameter, 0, std)

    def forward(
        self,
        ids: Tensor,
        mask: Tensor | None = None,
        cache: list[LayerCache] | None = None,
        offset: int = 0,
    ) -> Tensor:
        """The last hidden states [B, T, hidden_size] of token ids [B, T].

        `mask` is additive and broadcastable to [B, kv_heads, group, T, S]; causal when None.
        `offset` is the number of positions in the cache.
        """
        T = ids.shape[1]
        cos, sin = rope_tables(T, self.config.head_dim, offset)
        if mask is None:
            mask = torch.triu(torch.full((T, T + offset), float("-inf")), 1 + offset)
        x = self.embed_tokens(ids)
        for index, layer in enumerate(self.layers):
            x = layer(x, cos, sin, mask, None if cache is None else cache[index])
        return self.norm(x)

    def logits(self, hidden: Tensor) -> Tensor:
        """The logits [..., vocabulary_size] of hidden states [..., hidden_size]."""
        return F.linear(hidden, self.embed_tokens.weight)

    @torch.no_grad()
    def generate(
        self,
        ids: list[int],
        max_tokens: int,
        stop: Collection[int] = (),
        temperature: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> list[int]:
        """Continues token ids, greedily at temperature 0; a stop token is the last one."""
        cache: list[LayerCache] = [[] for _ in self.layers]
        out = []
        current = torch.tensor([ids])
        position = 0
        while len(out) < max_tokens:
            hidden = self.forward(current, cache=cache, offset=position)
            position += current.shape[1]
            logits = self.logits(hidden[0, -1])
            if temperature == 0:
                token = int(logits.argmax())
            else:
                probabilities = torch.softmax(logits / temperature, -1)
                token = int(torch.multinomial(probabilities, 1, generator=generator))
            out.append(token)
            if token in stop:
                break
            current = torch.tensor([[token]])
        return out

    def parameter_count(self) -> int:
        """The number of parameters; the tied embedding counts once."""
        return sum(parameter.numel() for parameter in self.parameters())
