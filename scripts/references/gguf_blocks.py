"""Values, and what gguf-py's blocks make of them: test/fixtures/gguf-blocks.json.

Usage: python3 scripts/references/gguf_blocks.py
Needs: pip install numpy gguf
"""

import json
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, quants

TARGET = Path(__file__).parents[2] / "test" / "fixtures" / "gguf-blocks.json"


def main() -> None:
    random = np.random.default_rng(31)
    sizes = np.array([[1], [0.02], [3e-4], [10], [0.5], [0.1]])
    values = (random.standard_t(5, (6, 64)) * sizes).astype(np.float32)
    values[4] += 0.7  # far from zero
    values[5, 7] = 4  # one that is much larger than the others
    content = {"values": values}
    for name in ("Q8_0", "Q4_1"):
        kind = GGMLQuantizationType[name]
        content[name] = quants.dequantize(quants.quantize(values, kind), kind)
    rounded = {key: [[float(f"{x:.7g}") for x in row] for row in rows] for key, rows in content.items()}
    TARGET.write_text(json.dumps(rounded) + "\n")


if __name__ == "__main__":
    main()
