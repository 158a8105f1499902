"""The lines of the CI job in the manual, executed as they stand there."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import shutil
import subprocess

import harness

PAGE = harness.SOURCE / "reporter/manual/ci.md"


def recipe():
    """The first block of code below the heading."""
    section = PAGE.read_text(encoding="utf-8").split("\n## A CI job without a GPU\n")[1]
    block = re.search(r"((?:^    .*\n)+)", section, re.MULTILINE).group(1)
    return [line[4:] for line in block.splitlines()]


class Recipe(harness.Case):
    def setUp(self):
        super().setUp()
        shutil.copy(harness.program("train_nvcc_static"), os.path.join(self.folder, "train"))
        self.environment = harness.environment()
        self.environment["PATH"] = f"{harness.TOOL.parent}:{self.environment['PATH']}"
        self.run_lines = [line for line in recipe() if "check" not in line]
        self.execute([*self.run_lines, "vramscope merge -o baseline.json vram", "rm -r vram"], 0)

    def execute(self, lines, status):
        done = subprocess.run(["bash", "-e", "-c", "\n".join(lines)], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, check=False)
        self.assertEqual(status, done.returncode, done.stdout + done.stderr)
        return done.stdout

    def test_passes_as_it_stands(self):
        said = self.execute(recipe(), 0)
        self.assertEqual(2, len(re.findall("^passed: ", said, re.MULTILINE)), said)

    def test_fails_where_the_program_takes_more_than_the_limit(self):
        lower = [line.replace("--max-peak 200MiB", "--max-peak 100MiB") for line in recipe()]
        said = self.execute(lower, 1)
        self.assertIn("above the limit of 100 MiB", said)
        self.assertIn("main (train.cu:", said)

    def test_fails_where_it_takes_more_than_the_baseline(self):
        self.execute(["sed -i 's/\"peak_bytes\":[0-9]*/\"peak_bytes\":1/g' baseline.json"], 0)
        self.assertIn("above the baseline's", self.execute(recipe(), 1))


if __name__ == "__main__":
    harness.main()
