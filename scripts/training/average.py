"""Writes the mean of two checkpoints of one run."""

import argparse
from pathlib import Path

import torch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=Path, help="a checkpoint")
    parser.add_argument("second", type=Path, help="a later one, whose counters are kept")
    parser.add_argument("output", type=Path, help="checkpoint to write")
    args = parser.parse_args()
    first, second = torch.load(args.first), torch.load(args.second)
    second["model"] = {
        name: (tensor + first["model"][name]) / 2 for name, tensor in second["model"].items()
    }
    torch.save(second, args.output)


if __name__ == "__main__":
    main()
