"""Random blocks of each GGUF tensor type, and their values by llama.cpp's own Python package.

Usage: python3 scripts/references/gguf_types.py test/fixtures/gguf-types.json libggml-base.so
Needs: pip install gguf (written with 0.19), and llama.cpp's library (b11434) for types that it lacks.
"""

import base64
import ctypes
import json
import sys

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

# Where a block has float16 numbers, which must not be infinite.
HALVES = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
    "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "MXFP4": [],
    "IQ4_NL": [0], "IQ4_XS": [0],
    "IQ2_XXS": [0], "IQ2_XS": [0], "IQ2_S": [0], "IQ3_XXS": [0], "IQ3_S": [0], "IQ1_S": [0], "IQ1_M": [],
    "TQ1_0": [52], "TQ2_0": [64], "Q1_0": [0], "Q2_0": [0],
}
# Number, values and bytes of a block of types that are in the library alone.
NEWER = {"Q1_0": (41, 128, 18), "Q2_0": (42, 64, 18)}
TYPES = ["F32", "F16", "BF16", *HALVES]


def sizes_of(name: str) -> tuple[int, int]:
    return NEWER[name][1:] if name in NEWER else GGML_QUANT_SIZES[GGMLQuantizationType[name]]


def values_of(name: str, blocks: np.ndarray, library: ctypes.CDLL) -> np.ndarray:
    if name not in NEWER:
        return dequantize(blocks, GGMLQuantizationType[name]).reshape(-1).astype("<f4")
    _, size, block_bytes = NEWER[name]
    values = np.zeros(len(blocks) // block_bytes * size, np.float32)
    row = getattr(library, f"dequantize_row_{name.lower()}")
    row(ctypes.c_void_p(blocks.ctypes.data), ctypes.c_void_p(values.ctypes.data), ctypes.c_int64(len(values)))
    return values


def random_blocks(name: str, count: int, random: np.random.Generator) -> np.ndarray:
    size, block_bytes = sizes_of(name)
    if name not in HALVES:
        values = random.standard_normal(count).astype(np.float32)
        if name == "BF16":
            return (values.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
        return values.astype(np.float16 if name == "F16" else np.float32).view(np.uint8)
    blocks = random.integers(0, 256, (count, block_bytes), dtype=np.uint8)
    for offset in HALVES[name]:
        halves = random.standard_normal(count).astype(np.float16)
        blocks[:, offset : offset + 2] = halves.view(np.uint8).reshape(count, 2)
    if name == "IQ1_M":
        # Its float16 is scattered over the high bits of four numbers.
        halves = random.standard_normal(count).astype(np.float16).view(np.uint16)
        for part in range(4):
            at = 49 + 2 * part
            blocks[:, at] = (blocks[:, at] & 15) | (((halves >> (4 * part)) & 15) << 4)
    return blocks.reshape(-1)


def main() -> None:
    random = np.random.default_rng(20)
    library = ctypes.CDLL(sys.argv[2])
    cases = []
    for name in TYPES:
        size = sizes_of(name)[0]
        blocks = random_blocks(name, 8 if size == 1 else 3 if size == 32 else 2, random)
        values = values_of(name, blocks, library)
        cases.append({
            "type": name,
            "number": NEWER[name][0] if name in NEWER else int(GGMLQuantizationType[name]),
            "blocks": base64.b64encode(blocks.tobytes()).decode(),
            "values": base64.b64encode(values.tobytes()).decode(),
        })
    with open(sys.argv[1], "w") as file:
        json.dump(cases, file, indent=1)
        file.write("\n")


main()
