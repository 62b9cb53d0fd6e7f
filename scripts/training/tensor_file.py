"""Reads and writes safetensors files of float16 tensors."""

import json
import math
import struct
from pathlib import Path

import numpy as np

HEADER_ALIGNMENT = 8


def write_safetensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """Writes float16 tensors in the order of the dictionary."""
    header: dict[str, dict] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, tensor in tensors.items():
        if tensor.dtype != np.float16:
            raise ValueError(f"tensor {name} is {tensor.dtype}, expected float16")
        end = offset + tensor.nbytes
        header[name] = {"dtype": "F16", "shape": tensor.shape, "data_offsets": [offset, end]}
        offset = end
    encoded = json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % HEADER_ALIGNMENT)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(encoded)))
        file.write(encoded)
        for tensor in tensors.values():
            file.write(np.ascontiguousarray(tensor).tobytes())


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """Reads a file of float16 tensors."""
    data = path.read_bytes()
    (header_size,) = struct.unpack_from("<Q", data)
    start = 8 + header_size
    header = json.loads(data[8:start])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "F16":
            raise ValueError(f"tensor {name} in {path} is {entry['dtype']}, expected F16")
        offset = start + entry["data_offsets"][0]
        count = math.prod(entry["shape"])
        tensors[name] = np.frombuffer(data, np.float16, count, offset).reshape(entry["shape"])
    return tensors
