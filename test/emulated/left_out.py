"""Runs a test in Python without cases that cannot pass here, some of which would wait in vain for long.

left_out.py TEST ARGUMENT... with LEFT_OUT, a JSON dictionary of patterns of their names and of why.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import runpy
import sys
import unittest

LEFT_OUT = json.loads(os.environ["LEFT_OUT"])
run = unittest.TestCase.run


def run_or_skip(case, result=None):
    name = case.id().split(".")[-1].removeprefix("test_").replace("_", " ")
    for pattern, why in LEFT_OUT.items():
        if re.fullmatch(pattern, name):
            return result.addSkip(case, why)
    return run(case, result)


unittest.TestCase.run = run_or_skip
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
