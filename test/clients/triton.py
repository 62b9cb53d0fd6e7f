"""Triton's own clients, over HTTP and gRPC, against a server of the embedded models, a text encoder, and an
ONNX graph by its own tensors.

    python3 -m venv triton && triton/bin/pip install 'tritonclient[http,grpc]==2.73.0'
    npm run build && triton/bin/python test/clients/triton.py

Prints what it did; what is not as it should be ends it with an error.
"""

import json
import queue
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from served import ROOT, served, tell
from tritonclient.utils import InferenceServerException

MODEL = "summit"
QUESTION = "<|im_start|>user\nWhat is 23 + 45?<|im_end|>\n<|im_start|>assistant\n"
SAMPLING = json.dumps({"temperature": 0, "max_tokens": 32})


@contextmanager
def repository():
    """The embedded models and a tiny encoder; its export also as a graph of any kind."""
    with tempfile.TemporaryDirectory(prefix="chairlift-triton-") as made:
        folder = Path(made)
        encoder = ROOT / "test/fixtures/encoders/bert"
        for name in ["summit", "foothill"]:
            (folder / name).symlink_to(ROOT / "models" / name)
        (folder / "bert").symlink_to(encoder)
        (folder / "graph").mkdir()
        shutil.copy(encoder / "onnx/model.onnx", folder / "graph")
        yield made


def text_inputs(client, stream):
    text = client.InferInput("text_input", [1], "BYTES")
    text.set_data_from_numpy(np.array([QUESTION.encode()], dtype=np.object_))
    sampling = client.InferInput("sampling_parameters", [1], "BYTES")
    sampling.set_data_from_numpy(np.array([SAMPLING.encode()], dtype=np.object_))
    streams = client.InferInput("stream", [1], "BOOL")
    streams.set_data_from_numpy(np.array([stream]))
    exclude = client.InferInput("exclude_input_in_output", [1], "BOOL")
    exclude.set_data_from_numpy(np.array([True]))
    return [text, sampling, streams, exclude]


def both(name, module, client):
    """What the two clients have in common."""
    as_json = {"as_json": True} if module is grpcclient else {}
    assert client.is_server_live() and client.is_server_ready()
    metadata = client.get_server_metadata(**as_json)
    tell(f"{name} server", f"{metadata['name']} {metadata['version']}, {len(metadata['extensions'])} extensions")
    started = time.monotonic()
    answer = client.infer(MODEL, text_inputs(module, False)).as_numpy("text_output")[0].decode()
    tell(f"{name} infer", f"{answer!r} in {time.monotonic() - started:.2f} s")
    assert "68" in answer, answer
    assert client.is_model_ready(MODEL)
    metadata = client.get_model_metadata(MODEL, **as_json)
    names = [tensor["name"] for tensor in metadata["inputs"]]
    tell(f"{name} metadata", f"{metadata['name']} {metadata['versions']} {names}")
    config = client.get_model_config(MODEL, **as_json)
    config = config.get("config", config)
    tell(f"{name} config", f"{config['backend']}, decoupled {config['model_transaction_policy']['decoupled']}")
    statistics = client.get_inference_statistics(MODEL, **as_json)["model_stats"][0]
    success = statistics["inference_stats"]["success"]
    tell(f"{name} statistics", f"{success['count']} in {int(success['ns']) / 1e9:.2f} s")
    assert int(success["count"]) >= 1
    index = client.get_model_repository_index(**as_json)
    index = index["models"] if module is grpcclient else index
    tell(f"{name} index", {entry["name"]: entry["state"] for entry in index})
    client.unload_model(MODEL)
    assert not client.is_model_ready(MODEL)
    started = time.monotonic()
    client.load_model(MODEL)
    tell(f"{name} unload, load", f"ready again after {time.monotonic() - started:.2f} s")
    assert client.is_model_ready(MODEL)
    client.unload_model(MODEL)
    again = client.infer(MODEL, text_inputs(module, False)).as_numpy("text_output")[0].decode()
    tell(f"{name} unload, infer", "loads by itself, the same text" if again == answer else again)
    assert again == answer
    try:
        client.infer("sumit", text_inputs(module, False))
        raise AssertionError("an unknown model was served")
    except InferenceServerException as error:
        tell(f"{name} unknown model", f"{error.status()} {error.message()}")
    return answer


def tensors(name, module, client):
    """A text encoder, and the same graph by its own tensors."""
    texts = np.array([b"the cat", b"a dog sat"], dtype=np.object_)
    given = module.InferInput("text_input", [2], "BYTES")
    given.set_data_from_numpy(texts)
    vectors = client.infer("bert", [given]).as_numpy("embedding")
    tell(f"{name} infer of an encoder", f"{vectors.shape}, lengths {np.linalg.norm(vectors, axis=1)}")
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    # Of a model that generates text, with the inputs that its metadata lists.
    given = text_inputs(module, False)
    wanted = [module.InferRequestedOutput("embedding")]
    of_text = client.infer(MODEL, given, outputs=wanted).as_numpy("embedding")
    tell(f"{name} embedding of {MODEL}", of_text.shape)
    assert np.isfinite(of_text).all() and of_text.size > 1
    inputs = []
    for input_name, values in [
        ("input_ids", [[2, 5, 3]]),
        ("attention_mask", [[1, 1, 1]]),
        ("token_type_ids", [[0, 0, 0]]),
    ]:
        tensor = module.InferInput(input_name, [1, 3], "INT64")
        tensor.set_data_from_numpy(np.array(values, dtype=np.int64))
        inputs.append(tensor)
    states = client.infer("graph", inputs).as_numpy("last_hidden_state")
    tell(f"{name} infer of a graph", f"{states.dtype} {states.shape}")
    assert states.shape[:2] == (1, 3) and np.isfinite(states).all()
    try:
        client.infer("graph", inputs[:1])
        raise AssertionError("an input was missing")
    except InferenceServerException as error:
        tell(f"{name} input missing", f"{error.status()} {error.message()}")
    return vectors, states


def stream(client, answer):
    results = queue.Queue()
    client.start_stream(callback=lambda result, error: results.put((result, error)))
    for request in range(3):
        client.async_stream_infer(
            MODEL,
            text_inputs(grpcclient, True),
            request_id=str(request),
            enable_empty_final_response=True,
        )
    texts = {"0": [], "1": [], "2": []}
    left = set(texts)
    while left:
        result, error = results.get(timeout=60)
        assert error is None, error
        response = result.get_response()
        texts[response.id].append(result.as_numpy("text_output")[0].decode())
        if response.parameters["triton_final_response"].bool_param:
            left.remove(response.id)
    client.stop_stream()
    pieces = [len(parts) for parts in texts.values()]
    tell("grpc stream, three at once", f"{pieces} pieces")
    assert all("".join(parts) == answer for parts in texts.values()), texts
    # Tokens that are ready together come in one piece.
    assert min(pieces) > 1


def main():
    with repository() as folder, served("--model-repository", folder, "--log-level", "warn", grpc=True) as (http, grpc):
        http_client = httpclient.InferenceServerClient(http, network_timeout=300)
        over_http = both("http", httpclient, http_client)
        client = grpcclient.InferenceServerClient(grpc)
        over_grpc = both("grpc", grpcclient, client)
        assert over_http == over_grpc
        pairs = zip(tensors("http", httpclient, http_client), tensors("grpc", grpcclient, client))
        assert all(np.array_equal(a, b) for a, b in pairs)
        stream(client, over_grpc)
        client.close()


if __name__ == "__main__":
    sys.exit(main())
