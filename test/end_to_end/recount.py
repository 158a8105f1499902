"""Asks the judge in test/recount: every value of a report must equal what its parts add up to."""
# SPDX-License-Identifier: Apache-2.0
import functools
import json
import subprocess
import sys

from harness import INSTALLATION, SOURCE

PENDING, FREE = "active_pending_free", "inactive"


@functools.cache
def validator():
    import jsonschema

    sys.path.insert(0, str(SOURCE / "test/reporter"))
    import report_schema

    return jsonschema.Draft7Validator(report_schema.written())


def live_bytes(report):
    """Requested bytes of all live blocks."""
    segments = [segment for device in report["devices"] for segment in device["segments"]]
    segments += report["host"]["segments"] + report["host"]["registrations"]
    return sum(
        block["requested_size"]
        for segment in segments
        for block in segment["blocks"]
        if block["state"] != FREE
    )


def problems(report, program, amid_calls=False):
    """One line for each disagreement of a report with itself, by the judge in test/recount."""
    flags = ["--amid-calls"] if amid_calls else []
    try:
        done = subprocess.run(
            [program, *flags, "-"], input=json.dumps(report), capture_output=True, text=True, check=False
        )
    except OSError as error:
        return [f"cannot run {program}: {error.strerror}"]
    lines = done.stdout.splitlines()
    if done.returncode > 1 or done.returncode < 0 or bool(done.returncode) != bool(lines):
        lines.append(f"the judge ended with {done.returncode}: {done.stderr}")
    return lines


def check(case, report, amid_calls=False):
    """Fails the case when the report disagrees with its schema or with itself. `amid_calls`: other
    threads of its program may have been inside calls."""
    errors = sorted(validator().iter_errors(report), key=lambda error: error.path)
    case.assertEqual([], [f"{error.json_path}: {error.message}" for error in errors])
    case.assertEqual([], problems(report, INSTALLATION.recount, amid_calls))
