"""A written report fits its schema, the schema is one, and FORMAT.md names each field.

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

    broken = json.loads(written)
    broken["devices"][0]["segments"][0]["blocks"][0]["state"] = "lost"
    if validator.is_valid(broken):
        failures.append("the schema accepts a block state that does not exist")

    print("\n".join(failures) or "written report, sample, schema and description agree")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])))
