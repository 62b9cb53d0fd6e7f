"""Whether calls of drawn tools keep to their grammars and schemas, by lark, re and jsonschema.

pip install lark jsonschema; takes what drawn-calls.ts writes. A text that has not ended within its tokens
is counted apart.
"""

import collections
import json
import re
import sys

import jsonschema
import lark


def is_right(call):
    text = call["text"]
    if call["kind"] == "strict":
        jsonschema.validate(json.loads(text), call["parameters"])
        return True
    definition = call["input"]["definition"]
    if call["kind"] == "regex":
        return re.fullmatch(definition, text) is not None
    lark.Lark(definition, parser="earley", lexer="dynamic_complete", ambiguity="resolve").parse(text)
    return True


counts = collections.Counter()
for line in open(sys.argv[1]):
    call = json.loads(line)
    if call["text"] is None and not call["hasEnded"]:
        counts[call["kind"], "without end"] += 1
        continue
    try:
        right = call["text"] is not None and is_right(call)
    except (lark.exceptions.LarkError, jsonschema.ValidationError, ValueError) as error:
        right = False
        print(str(error)[:300])
    if not right:
        print("wrong:", json.dumps(call))
    counts[call["kind"], "right" if right else "wrong"] += 1
for (kind, outcome), count in sorted(counts.items()):
    print(kind, outcome, count)
