"""The acceptance run for GPU machines, here on the simulated device."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import subprocess
import sys

import harness


class GpuCheck(harness.Case):
    def check(self, *arguments):
        return subprocess.run(
            [sys.executable, str(harness.SOURCE / "scripts/gpu-check"), *map(str, arguments)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=600,
        )

    def test_it_passes_on_the_simulated_device(self):
        path = pathlib.Path(self.folder) / "result.json"
        done = self.check("--sim", "--build", harness.BUILD, "--json", path)
        self.assertEqual(0, done.returncode, done.stdout[-3000:] + done.stderr)
        result = json.loads(path.read_text())
        verdicts = {row["verdict"] for row in result["programs"]}
        self.assertIn("same", verdicts)
        self.assertNotIn("FAILED", verdicts)
        for mode in ("native", *harness.MODES):
            names = {row["what"] for row in result["measurements"][mode]}
            self.assertIn("cuMemAlloc 16 MiB", names)
            self.assertIn("cuMemAlloc during global capture", names)

    def test_an_empty_build_folder_is_told_in_one_line(self):
        done = self.check("--sim", "--build", self.folder)
        self.assertEqual(2, done.returncode)
        self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)


if __name__ == "__main__":
    harness.main()
