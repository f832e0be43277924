"""Model files with one entry changed."""

import json


def changed(model, path, value):
    """Return the text of a model's file with another value at a path of keys and places."""
    content = json.loads(model.to_json())
    *steps, last = path
    part = content
    for step in steps:
        part = part[step]
    part[last] = value
    return json.dumps(content)
