"""/openapi.json against what is answered: Schemathesis makes requests up, valid and not, for every operation.

    python3 -m venv clients && clients/bin/pip install 'schemathesis==4.32.5'
    npm run build && clients/bin/python test/clients/schemathesis.py

Statuses, media types and bodies must be documented. `--examples N` makes more up for each operation, `--seed`
others, `--only PATH` those of one.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from served import served, tell

CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
]

# 5xx are failures, but those that say what a server is not for (501), not ready for (503) or too slow
# for (504): a request can ask for a model that is not there, and for an answer within 0.001 s. That they
# are documented where they are given is looked at as with any other status.
CONFIG = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "501", "503", "504"]
"""

LEFT_OUT = [
    # Events until the client leaves: Schemathesis reads answers to their end.
    "/models/sse",
    "/admin/steps",
    # It would silence the server's log, which says what went wrong.
    "/admin/log-level",
]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--examples", type=int, default=12)
    parser.add_argument("--seed", type=int, default=27)
    parser.add_argument("--only", help="a path; all if left out")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chairlift-schemathesis-") as scratch:
        config = Path(scratch) / "schemathesis.toml"
        config.write_text(CONFIG)
        flags = ["--batch-dir", f"{scratch}/batches", "--log-level", "error", "--request-timeout", "20"]
        # The server gives up first, so that it is its answer that is looked at.
        with served(*flags) as (http, _grpc):
            command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(config)]
            command += ["run", f"http://{http}/openapi.json", "--checks", ",".join(CHECKS)]
            command += ["--seed", str(options.seed), "--phases", "examples,coverage,fuzzing"]
            command += ["--max-examples", str(options.examples)]
            # One worker: ast.parse of CPython 3.11, which Hypothesis calls, fails now and then in two threads.
            command += ["--generation-database", "none", "--request-timeout", "60", "--workers", "1"]
            command += ["--continue-on-failure", "--no-color", "--warnings", "off"]
            if options.only is None:
                for path in LEFT_OUT:
                    command += ["--exclude-path", path]
            else:
                command += ["--include-path", options.only]
            code = subprocess.run(command, cwd=scratch).returncode
    tell("schemathesis ended with", code)
    return code


if __name__ == "__main__":
    sys.exit(main())
