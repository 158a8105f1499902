"""run --sim-device: the simulated device is like a GPU that one names, and a report says so."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib

import harness

MIB = 1 << 20
MODELS = {  # name behind "Vramscope simulated ", memory in bytes, compute capability, cuBLAS's workspace in MiB
    "h200": ("NVIDIA H200", 150109880320, "9.0", 32),
    "h100": ("NVIDIA H100 80GB HBM3", 85017755648, "9.0", 32),
    "a100": ("NVIDIA A100-SXM4-80GB", 85100068864, "8.0", 4),
    "l4": ("NVIDIA L4", 23612293120, "8.9", 4),
    "rtx4090": ("NVIDIA GeForce RTX 4090", 25393692672, "8.9", 4),
    "t4": ("Tesla T4", 15843721216, "7.5", 4),
    "orin": ("Orin", 32110190592, "8.7", 4),
    "gb10": ("NVIDIA GB10", 130663006208, "12.1", 4),
    "gh200": ("NVIDIA GH200 480GB", 102005473280, "9.0", 32),
}


class SimDevice(harness.Case):
    def report(self, *options, **variables):
        path = pathlib.Path(self.folder) / "r.json"
        path.unlink(missing_ok=True)
        done = self.run_tool("run", "--sim", *options, "-o", path, harness.program("products"), **variables)
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(path.read_text())

    def device(self, *options, **variables):
        (device,) = self.report(*options, **variables)["devices"]
        return device["name"], device["total_bytes"], device["compute_capability"]

    def test_each_model_is_what_the_program_meets(self):
        for key, (name, memory, capability, workspace) in MODELS.items():
            with self.subTest(key):
                report = self.report("--sim-device", key)
                (device,) = report["devices"]
                told = device["name"], device["total_bytes"], device["compute_capability"]
                self.assertEqual((f"Vramscope simulated {name}", memory, capability), told)
                (taken,) = (one for one in report["kinds"] if one["kind"] == "device")
                self.assertEqual(2 * (workspace * MIB + 1024), taken["peak_bytes"])

    def test_nothing_is_changed_without_it(self):
        self.assertEqual(("Vramscope simulated device", 16 << 30, "9.0"), self.device())

    def test_sim_memory_overrides_the_models(self):
        less = ("Vramscope simulated NVIDIA L4", 1 << 30, "8.9")
        self.assertEqual(less, self.device("--sim-memory", "1GiB", "--sim-device", "l4"))
        self.assertEqual(MODELS["t4"][1], self.device("--sim-device", "t4", VRAMSCOPE_SIM="capacity=1GiB")[1])

    def test_doctor_looks_at_the_model_and_names_it_in_the_next_command(self):
        done = self.run_tool("doctor", "--sim", "--sim-device", "rtx4090", "/bin/true")
        self.assertIn("1 device, simulated as rtx4090", done.stdout)
        self.assertTrue(done.stdout.endswith("\nNext: vramscope run --sim --sim-device rtx4090 /bin/true\n"), done.stdout)


if __name__ == "__main__":
    harness.main()
