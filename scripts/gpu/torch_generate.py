"""Decode steps of transformers on the GPU, for scripts/gpu/bench.ts.

usage: torch_generate.py CONFIG_JSON ROWS PROMPT_TOKENS STEPS

Prints a line of JSON with every number: the medians so far, and why there are no more.
"""

import json
import statistics
import sys
import time


def measure(config, rows, prompt_tokens, steps, measured):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.float16 if device == "cuda" else torch.float32
    torch.manual_seed(1)
    torch.set_default_dtype(dtype)
    with torch.device(device):
        model = LlamaForCausalLM(LlamaConfig(**config)).eval()

    def synchronized():
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    for count in rows:
        ids = torch.randint(3, config["vocab_size"], (count, prompt_tokens), device=device)
        with torch.inference_mode():
            begin = synchronized()
            out = model(ids, use_cache=True)
            token = out.logits[:, -1].argmax(-1, keepdim=True)
            prefill = synchronized() - begin
            times = []
            for _ in range(steps + 4):
                begin = synchronized()
                out = model(token, past_key_values=out.past_key_values, use_cache=True)
                token = out.logits[:, -1].argmax(-1, keepdim=True)
                times.append(synchronized() - begin)
        step = statistics.median(times[4:])
        measured.append(
            {
                "rows": count,
                "stepMs": 1000 * step,
                "tokensPerSecond": count / step,
                "prefillTokensPerSecond": count * prompt_tokens / prefill,
            }
        )
        print(json.dumps({"steps": measured}), flush=True)
        del out


def main():
    config, rows, prompt_tokens, steps = sys.argv[1:]
    measured = []
    try:
        rows = [int(count) for count in rows.split(",")]
        measure(json.loads(config), rows, int(prompt_tokens), int(steps), measured)
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        print(json.dumps({"error": reason, **({"steps": measured} if measured else {})}))


main()
