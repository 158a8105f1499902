"""The schema of reports: of all that may be read, and of those that this version writes.

SPDX-License-Identifier: Apache-2.0
"""

import json
import pathlib

PATH = pathlib.Path(__file__).resolve().parents[2] / "reporter/report/report.schema.json"


def readable():
    """What any report of this version of the format, also a later tool's, keeps to."""
    return json.loads(PATH.read_text())


def _stricter(part):
    if isinstance(part, list):
        return [_stricter(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    result = {name: _stricter(inner) for name, inner in part.items() if name != "x-written"}
    if isinstance(part.get("properties"), dict):
        result["required"] = [name for name, inner in part["properties"].items() if "x-added" not in inner]
    if "x-written" in part:
        result["allOf"] = result.get("allOf", []) + [_stricter(part["x-written"])]
    return result


def written():
    """What a report that this tool writes keeps to: every field is there, every word is known."""
    return _stricter(readable())
