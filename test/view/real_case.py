# Reports that PyTorch, JAX, CuPy and NCCL left on an H200 (real/README.md), and what verbs say of them.
# SPDX-License-Identifier: Apache-2.0
import json
import lzma
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
from tool_case import ToolTest  # noqa: E402

REAL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "real")
NAMES = sorted(name.removesuffix(".json.xz") for name in os.listdir(REAL) if name.endswith(".xz"))
MIB = 1 << 20


class RealReports(ToolTest):
    def real(self, name):
        path = self.path(name + ".json")
        if not os.path.exists(path):
            with lzma.open(os.path.join(REAL, name + ".json.xz")) as packed, open(path, "wb") as file:
                file.write(packed.read())
        return path

    def text(self, *arguments):
        result = self.call(*arguments)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return result.stdout

    def json(self, *arguments):
        return json.loads(self.text(*arguments, "--json"))
