"""vramscope.h and vramscope.py: PyTorch's questions, asked by the program itself."""
# SPDX-License-Identifier: Apache-2.0
import sys

import harness

MIB = 1 << 20
CONTEXT_MIB = 524  # of the simulated device, rounded up
FOLDER = str(harness.SOURCE / "interpose/face")


def answers(text):
    """Sections of lines `question: answer`, each a dictionary; a section begins with `first`."""
    sections = []
    first = text.split(":", 1)[0].split(" ")[0]
    for line in text.splitlines():
        question, answer = line.split(": ", 1)
        if question == first or answer.startswith("active "):
            sections.append({})
        sections[-1][question] = answer
    return sections


class Faces(harness.Case):
    def c_answers(self, mode=None):
        outcome = self.run_program([harness.program("faces")], mode, VRAMSCOPE_POLICY="pytorch")
        self.assertEqual((0, ""), (outcome.status, outcome.stderr))
        return answers(outcome.stdout)

    def python_answers(self, mode=None):
        command = [sys.executable, str(harness.SOURCE / "test/programs/faces.py"), FOLDER]
        outcome = self.run_program(command, mode, "devices=2", VRAMSCOPE_POLICY="pytorch")
        self.assertEqual((0, ""), (outcome.status, outcome.stderr))
        return answers(outcome.stdout)

    def test_a_program_built_with_the_header_runs_without_the_library(self):
        for mode in (None, "off"):
            before, unused, used = self.c_answers(mode)
            for section in (before, unused, used):
                self.assertEqual("1, -1", section["allocated"])  # VRAMSCOPE_NOT_ACTIVE
                self.assertEqual("1, 0 bytes tiled", section["snapshot"])
            self.assertEqual("1", used["reset"])
            self.assertEqual("1", used["empty"])

    def test_the_header_answers_what_the_program_holds(self):
        before, unused, used = self.c_answers("cache")
        self.assertEqual("active 0", before["before"])
        self.assertEqual("1, -1", before["allocated"])
        self.assertEqual("0, 0", unused["allocated"])
        self.assertEqual("0, 0 with parts", unused["stats"])
        self.assertEqual(f"0, {3 * MIB}", used["allocated"])
        self.assertEqual("0, free 1, total 1", used["info"])
        self.assertEqual(f"0, {50 * MIB} bytes tiled", used["snapshot"])
        self.assertEqual("0, 128 with parts", used["stats"])  # and six single counts
        self.assertEqual("0, 34 with parts", used["host stats"])

    def test_the_header_resets_and_empties(self):
        used = self.c_answers("cache")[-1]
        self.assertEqual(f"0, {3 * MIB}", used["max allocated"])  # asked again after the reset
        self.assertEqual(("0", "0 0", "0"), (used["reset"], used["old names"], used["accumulated"]))
        self.assertEqual("0, 0", used["allocations"])
        self.assertEqual(("0", "0"), (used["host accumulated"], used["host counts"]))
        self.assertEqual("0", used["empty"])
        self.assertEqual(f"0, {20 * MIB}", used["reserved"])

    def test_wrong_questions_are_told_apart(self):
        used = self.c_answers("cache")[-1]
        self.assertEqual(("3", "2"), (used["wrong key"], used["wrong device"]))
        self.assertEqual("4", self.c_answers("cache")[0]["without a context"])

    def test_the_header_answers_about_devices(self):
        used = self.c_answers("cache")[-1]
        self.assertEqual(("0, 1, available 1", "0, 0"), (used["devices"], used["current device"]))
        self.assertEqual("0, Vramscope simulated device, Vram", used["name"])
        self.assertEqual(("0, 1", "0", "2"), tuple(used[name] for name in
                         ("capability", "synchronize", "synchronize another")))  # fmt: skip
        self.assertEqual("0", used["collect"])

    def test_ranges_of_the_header_are_those_of_nvtx(self):
        outcome = self.run_program([harness.program("faces")], "cache")
        self.assertEqual("0, 1 2 2 0 -1", answers(outcome.stdout)[-1]["ranges"])
        report = self.only_report(outcome)
        held = {row["value"]: row["total_bytes"] for row in report["axes"] if row["axis"] == "range"}
        self.assertEqual(2 * MIB, held["before CUDA/epoch/forward"])
        self.assertEqual((1, ["step"]), (report["range_marks"], [mark["name"] for mark in report["marks"]]))

    def test_devices_and_ranges_without_the_library(self):
        outcome = self.run_program([harness.program("faces")])
        used = answers(outcome.stdout)[-1]
        self.assertEqual(("1, -1, available 0", "1, -2 -2 -2 -2 -2"), (used["devices"], used["ranges"]))
        self.assertEqual(("1, ?, ?", "1", "1"), (used["name"], used["synchronize"], used["collect"]))

    def test_python_answers_about_devices(self):
        after = self.python_answers("cache")[-1]
        self.assertEqual(("2", "True", "0"), tuple(after[name] for name in
                         ("device_count", "is_available", "current_device")))  # fmt: skip
        self.assertEqual("Vramscope simulated device", after["get_device_name"])
        self.assertRegex(after["get_device_capability"], r"^\(\d+, \d+\)$")
        self.assertEqual(("None", "None"), (after["synchronize"], after["ipc_collect"]))
        self.assertIn("RuntimeError: the calling thread has no CUDA context", after["synchronize another"])

    def test_ranges_of_python_are_context_managers_and_decorators(self):
        command = [sys.executable, str(harness.SOURCE / "test/programs/faces.py"), FOLDER]
        outcome = self.run_program(command, "cache", "devices=2")
        after = answers(outcome.stdout)[-1]
        self.assertEqual(("2", "2"), (after["range_push"], after["range_pop"]))
        report = self.only_report(outcome)
        held = {row["value"]: row["total_bytes"] for row in report["axes"] if row["axis"] == "range"}
        before_cuda = "whole run"
        self.assertEqual(33 * MIB, held[before_cuda])
        self.assertEqual(
            (MIB, MIB), (held[f"{before_cuda}/epoch/layer 3"], held[f"{before_cuda}/epoch/optimizer"])
        )
        self.assertEqual((1, ["step"]), (report["range_marks"], [mark["name"] for mark in report["marks"]]))

    def test_observed_memory_is_answered_too(self):
        used = self.c_answers("observe")[-1]
        self.assertEqual(f"0, {3 * MIB}", used["allocated"])
        self.assertEqual(f"0, {3 * MIB} bytes tiled", used["snapshot"])

    def test_python_says_that_nobody_answers(self):
        for mode in (None, "off"):
            for section in self.python_answers(mode):
                self.assertEqual("False", section.pop("is_active"))
                section.pop("is_available", None)  # never raises
                for name, nothing in (("range_push", "-2"), ("range_pop", "-2"), ("mark", "None")):
                    self.assertIn(section.pop(name, nothing), (nothing,), name)
                self.assertEqual({"not active"}, set(section.values()))

    def test_python_answers_what_the_program_holds(self):
        before, unused, used, after = self.python_answers("cache")
        self.assertEqual(("False", "not active"), (before["is_active"], before["memory_stats"]))
        self.assertEqual(("0", "0", "[]"), tuple(unused[name] for name in
                         ("memory_allocated", "memory_stats", "snapshot")))  # fmt: skip
        self.assertEqual(str(3 * MIB), used["memory_allocated"])
        self.assertEqual(str(33 * MIB), used["max_memory_allocated"])
        for name in ("memory_reserved", "memory_cached", "max_memory_reserved", "max_memory_cached"):
            self.assertEqual(str(50 * MIB), used[name])
        self.assertEqual(("134", "True"), (used["memory_stats"], used["sorted"]))
        self.assertEqual((f"[{20 * MIB}, {30 * MIB}]", "True"), (used["snapshot"], used["tiled"]))
        self.assertEqual(str(3 * MIB), after["max_memory_allocated"])
        self.assertEqual(f"[{20 * MIB}]", after["snapshot"])
        self.assertEqual("0", after["allocated"])
        self.assertEqual(f"[{(16 << 10) - 20 - CONTEXT_MIB}, {16 << 10}]", after["free and total"])

    def test_python_raises_for_what_cannot_be_answered(self):
        before, _, used, _ = self.python_answers("cache")
        self.assertIn("RuntimeError: the calling thread has no CUDA context",
                      before["empty without a context"])  # fmt: skip
        self.assertEqual("{}", used["another device"])
        self.assertIn("RuntimeError: Invalid device argument", used["no such device"])
        self.assertIn("RuntimeError", used["info of another device"])


if __name__ == "__main__":
    harness.main()
