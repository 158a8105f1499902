"""The acceptance run for GPU machines, here on the simulated device."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import subprocess
import sys

import harness


class GpuCheck(harness.Case):
    def check(self, *arguments):
        """(the finished run, its JSON document)"""
        path = pathlib.Path(self.folder) / "result.json"
        done = subprocess.run(
            [sys.executable, str(harness.SOURCE / "scripts/gpu-check"), "--json", str(path)]
            + [str(argument) for argument in arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=600,
        )
        return done, json.loads(path.read_text()) if path.exists() else None

    def on_simulator(self, *arguments):
        done, result = self.check("--sim", "--build", harness.BUILD, *arguments)
        self.assertEqual(0, done.returncode, done.stdout[-3000:] + done.stderr)
        return result

    def test_programs_behave_the_same_on_the_simulated_device(self):
        result = self.on_simulator("--parts", "programs", "--only", "free")
        rows = {(row["what"], row["mode"]): row["verdict"] for row in result["programs"]}
        for mode in harness.MODES:
            self.assertEqual("same", rows["double_free", mode])
        self.assertEqual("by design", rows["capture_free free", "cache"])
        self.assertTrue(result["complete"])

    def test_each_mode_is_measured(self):
        result = self.on_simulator("--parts", "measurements")
        for mode in ("native", *harness.MODES):
            names = {row["what"] for row in result["measurements"][mode]}
            self.assertIn("cuMemAlloc 16 MiB", names)
            self.assertIn("cuMemAlloc during global capture", names)
            self.assertIn("start to end of no_cuda", names)

    def test_each_question_says_what_the_simulated_device_does(self):
        result = self.on_simulator("--parts", "questions")
        self.assertGreater(len(result["questions"]), 30)
        for answer in result["questions"]:
            if answer["simulator"] != "a time" and "no kernels" not in answer["here"]:
                self.assertEqual(answer["simulator"], answer["here"], answer["question"])

    def test_questions_that_stand_in_the_list_are_found_there(self):
        listed = (harness.SOURCE / "test/simulator/OPEN.md").read_text()
        script = harness.SOURCE / "test/programs/gpu_questions.py"
        questions = self.run_program([sys.executable, str(script), "--list"]).stdout.splitlines()
        self.assertGreater(len(questions), 30)
        rows = [row for row in (json.loads(question)["row"] for question in questions) if row]
        for row in rows:
            self.assertEqual(1, listed.count("| " + row), row)
        self.assertGreater(len(rows), 10)
        places = [listed.index("| " + row) for row in rows]
        self.assertEqual(sorted(places), places, "the worst consequence is asked first")

    def test_a_missing_package_or_device_is_a_row(self):
        done, result = self.check("--build", harness.BUILD, "--parts", "programs", "--only", "cupy")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        verdicts = {row["verdict"] for row in result["programs"]}
        self.assertLessEqual(verdicts, {"skipped", "ran", "same"})

    def test_a_run_whose_time_is_over_keeps_what_it_has(self):
        result = self.on_simulator("--parts", "programs", "--only", "free", "--budget", "1")
        self.assertFalse(result["complete"])
        self.assertEqual({"skipped"}, {row["verdict"] for row in result["programs"]})

    def test_an_empty_build_folder_is_told_in_one_line(self):
        done, _ = self.check("--sim", "--build", self.folder)
        self.assertEqual(2, done.returncode)
        self.assertEqual(1, len(done.stderr.splitlines()), done.stderr)


if __name__ == "__main__":
    harness.main()
