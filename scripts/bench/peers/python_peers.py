"""Libraries of Python that run a language model, one of them in a process, for compare.ts --gguf.

Usage: python_peers.py <library> <model.gguf> <threads> <sequences> <capacity>
Needs: pip install torch transformers accelerate gguf openvino-genai onnxruntime-genai onnx-ir ctranslate2

Answers each line {"prompts": [[id, ...], ...], "tokens": n} with {"prefillMs": ..., "decodeMs": ...}: the
time until every prompt has its first token, and that of n more. What is made of the model for a library
is kept beside it.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

LIBRARY, GGUF = sys.argv[1], Path(sys.argv[2])
THREADS, SEQUENCES, CAPACITY = map(int, sys.argv[3:6])
# What goes to stdout otherwise would be an answer.
ANSWERS, sys.stdout = sys.stdout, sys.stderr


def times(run):
    """A function that computes prompts and calls its argument when each has its first token."""

    def measured(prompts, tokens):
        first = []
        start = time.perf_counter()
        run(prompts, tokens + 1, lambda: first.append(time.perf_counter()))
        end = time.perf_counter()
        return {"prefillMs": 1000 * (first[0] - start), "decodeMs": 1000 * (end - first[0])}

    return measured


def folder():
    """The model as a folder of safetensors."""
    target = GGUF.with_suffix(".hf")
    if not (target / "config.json").exists():
        from transformers import AutoModelForCausalLM, AutoTokenizer

        source, name = str(GGUF.parent), GGUF.name
        AutoModelForCausalLM.from_pretrained(source, gguf_file=name).save_pretrained(target)
        AutoTokenizer.from_pretrained(source, gguf_file=name).save_pretrained(target)
        path = target / "config.json"
        config = json.loads(path.read_text())
        config.pop("quantization_config", None)
        path.write_text(json.dumps(config))
    return target


def transformers():
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(THREADS)
    model = AutoModelForCausalLM.from_pretrained(folder(), dtype=torch.float32)

    @torch.inference_mode()
    def run(prompts, tokens, on_first):
        ids, cache = torch.tensor(prompts), None
        for index in range(tokens):
            result = model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
            ids, cache = result.logits[:, -1].argmax(-1, keepdim=True), result.past_key_values
            if index == 0:
                on_first()

    return times(run)


def openvino():
    import numpy
    import openvino
    import openvino_genai

    pipe = openvino_genai.LLMPipeline(str(GGUF), "CPU", INFERENCE_NUM_THREADS=THREADS)

    def measured(prompts, tokens):
        ids = openvino.Tensor(numpy.array(prompts, dtype=numpy.int64))
        mask = openvino.Tensor(numpy.ones(ids.shape, dtype=numpy.int64))
        config = openvino_genai.GenerationConfig(
            max_new_tokens=tokens + 1, ignore_eos=True, do_sample=False, apply_chat_template=False
        )
        start = time.perf_counter()
        result = pipe.generate(openvino_genai.TokenizedInputs(ids, mask), config)
        total = 1000 * (time.perf_counter() - start)
        assert all(len(each) == tokens + 1 for each in result.tokens)
        prefill = result.perf_metrics.get_ttft().mean
        return {"prefillMs": prefill, "decodeMs": total - prefill}

    return measured


def onnxruntime():
    import onnxruntime_genai as genai

    target = GGUF.with_suffix(".genai-int4")
    if not (target / "genai_config.json").exists():
        command = [sys.executable, "-m", "onnxruntime_genai.models.builder"]
        options = ["-i", str(folder()), "-o", str(target), "-p", "int4", "-e", "cpu"]
        extra = ["--extra_options", "int4_accuracy_level=4"]
        subprocess.run([*command, *options, *extra], check=True, stdout=sys.stderr)
    config = genai.Config(str(target))
    config.overlay(json.dumps({"model": {"decoder": {"session_options": {"intra_op_num_threads": THREADS}}}}))
    model = genai.Model(config)

    def run(prompts, tokens, on_first):
        params = genai.GeneratorParams(model)
        length = len(prompts[0]) + tokens
        params.set_search_options(
            do_sample=False, max_length=length, min_length=length, batch_size=len(prompts)
        )
        generator = genai.Generator(model, params)
        generator.append_tokens(prompts)
        for index in range(tokens):
            generator.generate_next_token()
            if index == 0:
                on_first()

    return times(run)


def ctranslate2():
    import ctranslate2
    from transformers import AutoTokenizer

    target = GGUF.with_suffix(".ct2-int8")
    if not target.exists():
        converter = ctranslate2.converters.TransformersConverter(str(folder()))
        converter.convert(str(target), quantization="int8")
    generator = ctranslate2.Generator(str(target), device="cpu", intra_threads=THREADS)
    tokenizer = AutoTokenizer.from_pretrained(folder())

    def run(prompts, tokens, on_first):
        texts = [tokenizer.convert_ids_to_tokens(ids) for ids in prompts]
        left = len(texts)

        def on_step(step):
            nonlocal left
            left -= step.step == 0
            if left == 0:
                left = -1
                on_first()

        generator.generate_batch(
            texts, max_length=tokens, min_length=tokens, sampling_topk=1, end_token=[],
            include_prompt_in_result=False, callback=on_step,
        )

    return times(run)


LIBRARIES = {
    "transformers": transformers,
    "openvino-genai": openvino,
    "onnxruntime-genai": onnxruntime,
    "ctranslate2": ctranslate2,
}


def main():
    measured = LIBRARIES[LIBRARY]()
    print("{}", file=ANSWERS, flush=True)
    for line in sys.stdin:
        print(json.dumps(measured(**json.loads(line))), file=ANSWERS, flush=True)


main()
