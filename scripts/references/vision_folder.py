"""Writes tiny models that see as folders, with what Transformers computes from them: shared by the scripts of families."""

import argparse
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from vision import PROMPTS, images, prompt, randomize

SEEDS = 20000


def write_folder(
    folder: Path,
    image_folder: Path,
    processor,
    make_model: Callable,
    tower: Callable,
    num_special: int,
    inputs: Callable,
    is_dull: Callable = lambda _model, _made: False,
) -> None:
    """
    The first seed of weights whose prompts all show something, with `tower` of each image, given a model and a path.
    `num_special` and `inputs` are as in `prompt`; `is_dull` says of a model and a prompt that it shows too little.
    """
    for seed in range(SEEDS):
        model = make_model()
        model.set_attn_implementation("eager")
        randomize(model, seed)
        model.eval()
        prompts = {}
        for name, turns in PROMPTS.items():
            made = prompt(model, processor, image_folder, turns, num_special, inputs)
            if made is None or is_dull(model, made):
                break
            prompts[name] = made
        if len(prompts) == len(PROMPTS):
            break
    towers = {name: tower(model, image_folder / name) for name in images()}
    shutil.rmtree(folder, ignore_errors=True)
    model.to(torch.bfloat16).save_pretrained(folder)
    (folder / "generation_config.json").unlink()
    processor.save_pretrained(folder)
    # Written for models that see videos too.
    (folder / "video_preprocessor_config.json").unlink(missing_ok=True)
    reference = {"images": towers, "prompts": prompts}
    (folder / "reference.json").write_text(json.dumps(reference, indent=1) + "\n")
    print(folder.name, "seed", seed, [len(each["ids"]) for each in prompts.values()])


def bytes_of(pixels: np.ndarray, mean: np.ndarray, std: np.ndarray) -> np.ndarray:
    """Normalized pixels, a pixel's channels together, as the bytes that they were made of."""
    pixels = pixels.astype(np.float64)
    found = np.rint((pixels * std + mean) * 255)
    assert np.abs((found / 255 - mean) / std - pixels).max() < 1e-5
    return found.astype(np.uint8)


def folder_writer(
    processor_of: Callable,
    model_of: Callable,
    tower: Callable,
    num_special: int,
    inputs: Callable,
) -> Callable[[Path, Path, object], None]:
    """Writes the folder of a case, whose processor and model are told by it."""

    def write(folder: Path, image_folder: Path, case) -> None:
        processor = processor_of(case)
        write_folder(
            folder,
            image_folder,
            processor,
            lambda: model_of(case, processor.tokenizer),
            lambda model, path: tower(model, processor, path),
            num_special,
            inputs,
        )

    return write


def write_cases(description: str, cases: dict, write: Callable[[Path, Path, object], None]) -> None:
    """The command line: a folder, and the names of cases, or all of them."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(cases)}")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for name in arguments.names or cases:
        write(arguments.folder / name, arguments.folder / "images", cases[name])
