"""The schema of what `vramscope VERB --json` writes, and its tables in LISTINGS.md.

SPDX-License-Identifier: Apache-2.0
"""

import json
import pathlib
import re

import jsonschema

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "reporter/view"
FILE = FOLDER / "listings.schema.json"
SCHEMA = json.loads(FILE.read_text())
PAGE = FOLDER / "LISTINGS.md"
UNITS = {"bytes": "bytes", "ns": "ns"}


def validator(name):
    """Of the definition with that name, `several` for a listing of several reports."""
    return jsonschema.Draft7Validator({**SCHEMA, "anyOf": [{"$ref": f"#/definitions/{name}"}]})


def write_schema(text):
    FILE.write_text(text)
    SCHEMA.update(json.loads(text))


def problems(name, listing):
    """What in the listing is not as its definition says."""
    return [f"{error.json_path}: {error.message[:200]}" for error in validator(name).iter_errors(listing)]


def fields(schema, path=""):
    """(path, schema) of each field: devices[].index."""
    if "items" in schema:
        yield from fields(schema["items"], path + "[]")
    for name, inner in schema.get("properties", {}).items():
        whole = f"{path}.{name}".removeprefix("[].").removeprefix(".")
        yield whole, inner
        yield from fields(inner, whole)


def type_of(schema):
    kind = "string" if "$ref" in schema else schema.get("type", "any")  # those of $defs are words
    kinds = kind if isinstance(kind, list) else [kind]
    if "array" in kinds and "properties" not in schema["items"]:
        kinds = [f"array of {schema['items']['type']}"]
    return " or ".join(kinds)


def unit_of(name, schema):
    return schema.get("x-unit") or UNITS.get(re.split(r"[_.]", name)[-1], "")


def table(name):
    schema = SCHEMA["definitions"][name]
    lines = ["| field | type | unit | meaning |", "|---|---|---|---|"]
    for path, field in fields(schema):
        meaning = field["description"]
        if "enum" in field and not all(f"`{word}`" in meaning for word in field["enum"]):
            meaning += ": " + ", ".join(f"`{word}`" for word in field["enum"])
        lines.append(f"| `{path}` | {type_of(field)} | {unit_of(path, field)} | {meaning} |")
    if len(lines) == 2:
        lines = [f"An object of integers: {schema['description']}."]
    return "\n".join(lines)


def with_tables(page):
    """The page with each table as the schema has it."""
    pattern = re.compile(r"(<!-- fields of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
    return pattern.sub(lambda found: found[1] + "\n" + table(found[2]) + "\n\n" + found[3], page)
