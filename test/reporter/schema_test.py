"""A written report fits its schema, the schema is one and lists the names that the code has, and
FORMAT.md names each field and each kind of memory.

SPDX-License-Identifier: Apache-2.0
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import jsonschema
import report_schema


def keys(value):
    """Every field name in `value`, but for the keys of memory_stats and options."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            if name not in ("memory_stats", "options"):
                yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def enumerations(value, name=""):
    """(name, list) of each list of allowed texts in the schema, by the name of what has it."""
    if isinstance(value, dict):
        if "enum" in value:
            yield name, value["enum"]
        for key, inner in value.items():
            yield from enumerations(inner, name if key in ("items", "anyOf", "allOf") else key)
    elif isinstance(value, list):
        for inner in value:
            yield from enumerations(inner, name)


def names_apart(write_sample, schema):
    """What the schema allows beside what the code can write."""
    allowed = list(enumerations(schema))
    printed = subprocess.run([write_sample, "--names"], check=True, capture_output=True, text=True)
    for what, *names in map(str.split, printed.stdout.splitlines()):
        if (what, names) not in allowed:
            yield f"the schema has no enumeration '{what}' of {' '.join(names)}"


def kinds_of(schema):
    return next(names for what, names in enumerations(schema["definitions"]) if what == "kind")


def main(write_sample, folder, expected):
    schema = report_schema.written()
    jsonschema.Draft7Validator.check_schema(report_schema.readable())
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)

    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place) / "report.json"
        subprocess.run([write_sample, path], check=True)
        written = path.read_text()
    failures = [f"written report: {e.json_path}: {e.message}" for e in validator.iter_errors(json.loads(written))]

    sample = expected.read_text()
    failures += [f"{expected.name}: {e.json_path}: {e.message}" for e in validator.iter_errors(json.loads(sample))]
    version = json.loads(written)["tool"]["version"]
    if written != sample.replace('"version":"SAMPLE"', f'"version":"{version}"'):
        failures.append(f"the report written now differs from {expected.name}: change the format's version, or the sample")

    described = set(re.findall(r"\w+", (folder / "FORMAT.md").read_text()))
    failures += [f"FORMAT.md does not name '{name}'" for name in sorted(set(keys(json.loads(written))) - described)]

    failures += names_apart(write_sample, schema)
    missing = [name for name in kinds_of(schema) if name not in described]
    failures += [f"FORMAT.md does not name the kind '{name}'" for name in missing]

    broken = json.loads(written)
    broken["devices"][0]["segments"][0]["blocks"][0]["state"] = "lost"
    if validator.is_valid(broken):
        failures.append("the schema accepts a block state that does not exist")

    print("\n".join(failures) or "written report, sample, schema and description agree")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])))
