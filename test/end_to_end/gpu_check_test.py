"""The acceptance run for GPU machines, here on the simulated device."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import subprocess
import tarfile
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

    def test_the_driver_loads_the_library_and_attach_finds_programs_that_run(self):
        result = self.on_simulator("--parts", "ways")
        verdicts = {(row["what"], row["mode"]): row["verdict"] for row in result["programs"]}
        for row in (("linked", "injected"), ("train", "injected"), ("churn", "attached"), ("gpu_attached.py driver", "attached")):
            self.assertEqual("same", verdicts[row], result["programs"])
        self.assertNotIn("FAILED", verdicts.values(), result["programs"])

    def test_an_archive_has_all_that_it_needs_and_runs_elsewhere(self):
        elsewhere = pathlib.Path(self.folder) / "else where"
        elsewhere.mkdir()
        archive = elsewhere / "check.tar.xz"
        done, _ = self.check("--build", harness.BUILD, "--pack", archive)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertLess(archive.stat().st_size, 48 << 20)
        with tarfile.open(elsewhere / archive.name) as packed:  # tar needs xz beside it
            packed.extractall(elsewhere)
        run = elsewhere / "vramscope-gpu-check/run"
        for only, what, part, mode in (
            ("vramscope", "vramscope run, report, leaks", "programs", "cache"),
            ("churn", "churn", "ways", "attached"),
            ("gpu_load", "gpu_load", "load", "cache"),
        ):
            out = elsewhere / only
            done = subprocess.run(
                [str(run), "--sim", "--parts", part, "--only", only],
                cwd=elsewhere, capture_output=True, text=True, timeout=600,
                env={"PATH": os.environ["PATH"], "OUT": str(out)},
            )  # fmt: skip
            result = out / "result.json"
            self.assertIn("passed, 0 failed", (out / "summary.txt").read_text())
            rows = [row for row in json.loads(result.read_text())["programs"] if row["mode"] == mode]
            self.assertIn(what, [row["what"] for row in rows])
            self.assertEqual({"same"}, {row["verdict"] for row in rows}, done.stdout)
        self.assertEqual(["native.out"], [path.name for path in out.glob("programs/gpu_load/native.out")])
        told = subprocess.run(
            ["ldd", str(elsewhere / "vramscope-gpu-check/build/reporter/view/vramscope")],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        libraries = [line for line in told.stdout.splitlines() if "libdw" in line]
        self.assertIn("vramscope-gpu-check/build/reporter/view/libraries", libraries[0] if libraries else told.stdout)

    def test_an_archive_that_cannot_be_written_is_named(self):
        done, _ = self.check("--build", harness.BUILD, "--pack", "/dev/null/check.tar.xz")
        self.assertEqual(2, done.returncode)
        self.assertIn("/dev/null/check.tar.xz", done.stderr)

    def test_blocks_are_freed_under_kernels_in_each_mode_and_policy(self):
        result = self.on_simulator("--parts", "load")
        verdicts = {(row["what"], row["mode"]): row["verdict"] for row in result["programs"]}
        for mode in harness.MODES:
            self.assertEqual("same", verdicts["gpu_load", mode])
        policies = {what for what, mode in verdicts if mode == "cache" and "VRAMSCOPE_POLICY=pytorch" in what}
        self.assertEqual(3, len(policies))

    def test_killed_programs_leave_what_they_counted_themselves(self):
        result = self.on_simulator("--parts", "kills", "--jobs", "4")
        self.assertEqual([""] * 8, [row["problem"] for row in result["kills"]])

    def test_threads_are_measured_in_each_mode_and_without_stacks(self):
        result = self.on_simulator("--parts", "threads")
        for column in ("native", *harness.MODES, "cache, no stacks"):
            names = {row["what"] for row in result["measurements"][column]}
            for what in ("cuCtxSynchronize", "pair of 1 MiB", "pair, a size for each thread"):
                self.assertLessEqual({f"{what}, threads: {count}" for count in (1, 2, 4, 8, 16)}, names)

    def test_a_part_that_does_not_exist_is_named(self):
        done, _ = self.check("--parts", "programs,thread")
        self.assertEqual(2, done.returncode)
        self.assertIn("no part thread; known are questions, ways, kills", done.stderr)

    def test_what_is_kept_stays_small(self):
        sys.path.insert(0, str(harness.SOURCE / "test/gpu_check"))
        import programs
        import results

        folder = results.Folder(pathlib.Path(self.folder) / "kept")
        report = pathlib.Path(self.folder) / "ours"
        report.mkdir()
        (report / "r.json").write_bytes(os.urandom(results.LARGEST_REPORT + 1000))  # does not pack
        done = programs.Outcome(1, "x" * (2 * results.LARGEST_OUTPUT), "", 0.0, [])
        nothing = report / "nothing"  # to pack the report 200 times would take minutes
        for number in range(200):
            folder.add((f"program{number}", "a/b"), "cache at-reuse", (), done, report if number == 0 else nothing)
        kept = [path for path in folder.path.rglob("*") if path.is_file()]
        self.assertLess(sum(path.stat().st_size for path in kept), results.LARGEST)
        self.assertEqual({"cache-at-reuse.out"}, {path.name for path in kept})
        self.assertIn("program0_a_b", {path.parent.name for path in kept})

    def test_each_mode_is_measured(self):
        result = self.on_simulator("--parts", "measurements")
        for mode in ("native", *harness.MODES):
            names = {row["what"] for row in result["measurements"][mode]}
            self.assertIn("cuMemAlloc 16 MiB", names)
            self.assertIn("cuMemAlloc during global capture", names)
            self.assertIn("start to end of no_cuda", names)

    def check_answers(self, answers):
        for answer in answers:
            asked = answer["simulator"] != "a time" and not answer["here"].startswith(("not asked", "not measured"))
            if asked:
                self.assertEqual(answer["simulator"], answer["here"], answer["question"])

    def test_each_question_says_what_the_simulated_device_does(self):
        result = self.on_simulator("--parts", "questions")
        self.assertGreater(len(result["questions"]), 30)
        self.check_answers(result["questions"])

    def test_all_fifteen_questions_about_pages_are_asked(self):
        result = self.on_simulator("--parts", "pages")
        found = {}
        for answer in result["questions"]:
            found.setdefault(answer["ask"], []).append(answer["here"])
        self.assertEqual({f"G{number}" for number in range(1, 16)}, set(found))
        self.check_answers(result["questions"])
        for ask in ("G1", "G2", "G3", "G4", "G5", "G6", "G8", "G9", "G11", "G12", "G15"):
            self.assertTrue(any(not here.startswith("not ") for here in found[ask]), (ask, found[ask]))

    def ask(self, name, simulator=""):
        script = harness.SOURCE / "test/programs/gpu_questions.py"
        return self.run_program([sys.executable, str(script), name], simulator=simulator).stdout

    def test_peers_are_asked_about_where_there_are_two_devices(self):
        for name in ("plain_peers", "mapped_peers"):
            self.assertEqual("not asked: one device only\n", self.ask(name))
            self.assertEqual("0: 0+ 0+ 0+\n", self.ask(name, "devices=2"))
        self.assertEqual("0: 1 1 1\n", self.ask("mapped_strangers", "devices=2"))

    def test_kernels_of_the_questions_are_right_for_a_compiler(self):
        sys.path.insert(0, str(harness.SOURCE / "test/programs"))
        import gpu_driver

        load = (harness.SOURCE / "test/programs/gpu_load.cpp").read_text()
        source = pathlib.Path(self.folder) / "kernels.ptx"
        for kernels in (gpu_driver.KERNELS, load.partition('R"(')[2].partition(')"')[0]):
            source.write_text(kernels)
            compiler = [harness.installed("ptxas"), "-arch=sm_80", "-o", "/dev/null", str(source)]
            done = subprocess.run(compiler, capture_output=True, text=True, check=False)
            self.assertEqual((0, ""), (done.returncode, done.stderr))

    def test_a_part_that_fails_is_a_row_and_the_others_are_asked(self):
        sys.path.insert(0, str(harness.SOURCE / "test/gpu_check"))
        import asks
        import tables

        class Document:
            rows = []

            def add(self, _, rows):
                self.rows += rows

        # No runner at all: each part fails in its own way.
        asks.ask_all(None, Document(), [{"name": "plain_attributes", "ask": "G5", "question": ""}])
        self.assertEqual(["G14", "G15", "G5, G11"], sorted({row["ask"] for row in Document.rows}))
        self.assertEqual({"SKIPPED"}, {tables.verdict(row) for row in Document.rows})

    def test_another_answer_is_told_with_both_values(self):
        sys.path.insert(0, str(harness.SOURCE / "test/gpu_check"))
        import contextlib
        import io

        import tables

        answer = {"ask": "G1", "question": "Where?", "simulator": "nowhere", "here": "513 B", "by_device": False}
        self.assertEqual("differs from the table", tables.verdict(answer))
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            tables.questions([answer])
        self.assertIn("  expected: nowhere\n  here:     513 B\n", out.getvalue())
        self.assertIn("NVIDIA H200, driver 580.159.04", out.getvalue())
        self.assertEqual("differs, as devices may", tables.verdict({**answer, "by_device": True}))

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
        done, result = self.check("--build", harness.BUILD, "--parts", "frameworks", "--only", "cupy")
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
