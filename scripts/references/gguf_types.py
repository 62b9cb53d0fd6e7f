"""Random blocks of each GGUF tensor type, and their values by llama.cpp's own Python package.

Usage: python3 scripts/references/gguf_types.py test/fixtures/gguf-types.json
Needs: pip install gguf (written with 0.19)
"""

import base64
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
}
TYPES = ["F32", "F16", "BF16", *HALVES]


def random_blocks(name: str, count: int, random: np.random.Generator) -> np.ndarray:
    size, block_bytes = GGML_QUANT_SIZES[GGMLQuantizationType[name]]
    if name not in HALVES:
        values = random.standard_normal(count).astype(np.float32)
        if name == "BF16":
            return (values.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
        return values.astype(np.float16 if name == "F16" else np.float32).view(np.uint8)
    blocks = random.integers(0, 256, (count, block_bytes), dtype=np.uint8)
    for offset in HALVES[name]:
        halves = random.standard_normal(count).astype(np.float16)
        blocks[:, offset : offset + 2] = halves.view(np.uint8).reshape(count, 2)
    return blocks.reshape(-1)


def main() -> None:
    random = np.random.default_rng(20)
    cases = []
    for name in TYPES:
        size = GGML_QUANT_SIZES[GGMLQuantizationType[name]][0]
        blocks = random_blocks(name, 2 if size == 256 else 3 if size == 32 else 8, random)
        values = dequantize(blocks, GGMLQuantizationType[name]).reshape(-1).astype("<f4")
        cases.append({
            "type": name,
            "number": int(GGMLQuantizationType[name]),
            "blocks": base64.b64encode(blocks.tobytes()).decode(),
            "values": base64.b64encode(values.tobytes()).decode(),
        })
    with open(sys.argv[1], "w") as file:
        json.dump(cases, file, indent=1)
        file.write("\n")


main()
