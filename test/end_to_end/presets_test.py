"""Presets set what a framework reads, never what the user set, and serve it as its own allocator would."""
# SPDX-License-Identifier: Apache-2.0
import json
import os

import harness
from python_case import PythonTest


class Presets(PythonTest):
    def test_presets_set_what_the_framework_reads_and_never_the_users_own(self):
        wanted = {
            "pytorch": {
                "PYTORCH_NO_CUDA_MEMORY_CACHING": "1",
                "VRAMSCOPE_POLICY": "pytorch",
                "VRAMSCOPE_ALLOC_CONF": "growing_segments:True",
            },
            "jax": {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "XLA_PYTHON_CLIENT_ALLOCATOR": "platform"},
            "cupy": {},
        }
        for preset, variables in wanted.items():
            run = self.run_tool("run", "--sim", "--preset", preset, "env")
            for name, value in variables.items():
                self.assertIn(f"{name}={value}\n", run.stdout)
                self.assertIn(f"{name}={value}", run.stderr)
                if name.startswith("VRAMSCOPE_"):
                    continue
                refused = self.run_tool("run", "--sim", "--preset", preset, "env", **{name: "other"})
                self.assertEqual((125, "", 1), (refused.returncode, refused.stdout, refused.stderr.count("\n")))
                same = self.run_tool("run", "--sim", "--preset", preset, "true", **variables)
                self.assertEqual(0, same.returncode)
                self.assertNotIn("sets", same.stderr)
        self.assertIn("set_allocator(None)", run.stderr)
        self.assertEqual(125, self.run_tool("run", "--preset", "unknown", "true").returncode)

    def test_a_preset_leaves_how_memory_is_served_to_who_has_chosen_it(self):
        chosen = (
            (["--policy", "native-safe"], {}),
            (["--mode", "observe"], {}),
            (["--alloc-conf", "max_split_size_mb:40"], {}),
            ([], {"VRAMSCOPE_POLICY": "native-safe"}),
            ([], {"VRAMSCOPE_MODE": "dedicated"}),
        )
        for options, variables in chosen:
            run = self.run_tool("run", "--sim", "--preset", "pytorch", *options, "env", **variables)
            self.assertIn("PYTORCH_NO_CUDA_MEMORY_CACHING=1\n", run.stdout)
            self.assertNotIn("growing_segments", run.stdout + run.stderr, options)
            self.assertNotIn("VRAMSCOPE_POLICY=pytorch", run.stdout, options)
        run = self.run_tool("run", "--sim", "--preset", "pytorch", "--mode", "cache", "env")
        self.assertIn("VRAMSCOPE_ALLOC_CONF=growing_segments:True\n", run.stdout)

    def run_preset(self, *program, simulator="", options=()):
        run = self.run_tool(
            "run", "--sim", "--preset", "pytorch", "-o", "r.json", *options, *program, VRAMSCOPE_SIM=simulator
        )
        self.assertEqual(0, run.returncode, run.stderr)
        with open(f"{self.folder}/r.json", encoding="utf-8") as file:
            report = json.load(file)
        text = self.listing("report", "r.json")
        os.remove(f"{self.folder}/r.json")
        return run, report, text

    def test_the_preset_of_pytorch_serves_from_pages_and_without_them_as_pytorch(self):
        program = harness.program("contents")
        native = self.run_program([program])
        run, report, text = self.run_preset(program)
        self.assertEqual(native.stdout, run.stdout)
        self.assertTrue(any(s["is_expandable"] for s in report["devices"][0]["segments"]))
        self.assertIn(", policy pytorch with growing_segments, ", text)

        run, report, text = self.run_preset(program, simulator="lacks=cuMemCreate")
        self.assertEqual(native.stdout, run.stdout)
        self.assertFalse(any(s["is_expandable"] for s in report["devices"][0]["segments"]))
        self.assertIn(", policy pytorch without growing_segments, ", text)
        self.assertIn("use no pages", text)
        self.assertNotIn("use no pages", run.stderr)

    def test_under_the_preset_of_pytorch_a_refused_export_names_the_policy_to_use(self):
        program = [harness.program("ipc_export"), "large"]
        line = "cuIpcGetMemHandle: this memory is part of a shared segment and cannot be exported; run with --policy native-safe"
        run, report, text = self.run_preset(*program)
        self.assertIn("export of a large block: 801\n", run.stdout)
        self.assertIn(line, report["warnings"])
        self.assertIn(line, " ".join(text.split()))
        closing = [row for row in run.stderr.splitlines() if row.startswith("vramscope: GPU 0: ")]
        self.assertTrue(closing[0].endswith("; " + line), run.stderr)

        run, report, text = self.run_preset(*program, options=["--policy", "native-safe"])
        self.assertNotIn(": 801\n", run.stdout)
        self.assertNotIn("cannot be exported", run.stderr)


if __name__ == "__main__":
    harness.main()
