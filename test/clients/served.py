"""A server for the clients in this folder: of what `npm run build` made, at ports that are free."""

import os
import re
import signal
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tell(what, value):
    print(f"{what:34} {value}", flush=True)


@contextmanager
def served(*flags, grpc=False):
    """Yields its addresses, over HTTP and gRPC (None without); it must end well."""
    with tempfile.TemporaryDirectory(prefix="chairlift-clients-") as scratch:
        cache = os.environ.get("CHAIRLIFT_CACHE") or scratch
        command = ["node", "dist/cli/main.js", "serve", *flags, "--port", "0"]
        command += ["--grpc-port", "0"] if grpc else []
        server = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "CHAIRLIFT_CACHE": cache},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            addresses = read_addresses(server, grpc)
            tell("server", addresses)
            yield addresses
        finally:
            server.send_signal(signal.SIGTERM)
            code = server.wait(timeout=60)
        tell("server ended with", code)
        assert code == 0


def read_addresses(server, grpc):
    seen = ""
    for line in server.stdout:
        seen += line
        over_http = re.search(r" at http://(\S+)", seen)
        over_grpc = re.search(r"gRPC at (\S+)", seen)
        if over_http and (over_grpc or not grpc):
            return over_http[1], over_grpc[1] if over_grpc else None
    raise RuntimeError(f"the server ended:\n{seen}")
