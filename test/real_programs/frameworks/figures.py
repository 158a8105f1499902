"""Where a script leaves what its framework counted, for check_frameworks.py."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib


def leave(counters, allocations=(), used=()):
    """Counters of the framework; what it took of the device, [address, bytes] each, in order; and addresses
    of which it used memory, [address, bytes] each."""
    figures = {"counters": counters, "allocations": list(allocations), "used": list(used)}
    pathlib.Path(os.environ["FRAMEWORK_FIGURES"]).write_text(json.dumps(figures))
