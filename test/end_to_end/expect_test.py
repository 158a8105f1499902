"""Limits on the memory of a part of a program, set by the program itself: in C, in C++, in Python."""
# SPDX-License-Identifier: Apache-2.0
import harness
import recount

MIB = 1 << 20


def answers(text):
    """Question -> answer, of the lines `question: answer`, the first of each."""
    return dict(line.split(": ", 1) for line in reversed(text.splitlines()))


def ended(code, new, peak, leaked, lines=0):
    return f"{code}, new {new}, peak {peak}, leaked {leaked}, {lines} lines"


class ExpectInC(harness.Case):
    NAMES = ("expectations", "expectations_cpp")

    def each(self, mode, **variables):
        for name in self.NAMES:
            outcome = self.run_program([harness.program(name)], mode, **variables)
            self.assertEqual((0, ""), (outcome.status, outcome.stderr), name)
            yield name, answers(outcome.stdout), outcome

    def test_without_the_library_nothing_is_active(self):
        for mode in (None, "off"):
            for _, said, _ in self.each(mode):
                self.assertEqual("1, not begun", said["outer"])
                self.assertEqual(ended(1, -1, -1, -1), said["outer ended"])

    def test_figures_are_those_of_the_part(self):
        for mode in ("cache", "observe", "dedicated"):
            for _, said, _ in self.each(mode):
                self.assertEqual("0, begun", said["outer"])
                self.assertEqual(ended(0, 8 * MIB, 11 * MIB, 0), said["outer ended"])
                self.assertEqual(ended(8, -1, -1, -1), said["outer again ended"])

    def test_a_limit_that_does_not_hold_names_the_call_site(self):
        for name, said, _ in self.each("cache"):
            self.assertEqual(ended(7, 8 * MIB, 11 * MIB, 8 * MIB, lines=2), said["inner ended"])
            self.assertEqual("GPU 0: 8.00 MiB new at one time, above max_new_bytes of 7.00 MiB", said["failure says"])
            inner = {"expectations": r"expectations\+0x[0-9a-f]+"}.get(name, rf"allocate\(unsigned long\) \({name}\+0x[0-9a-f]+\)")
            self.assertRegex(
                said["call site says"],
                rf"^  8.00 MiB not freed, in 1 allocation by {inner} < .*{name}\+0x.*, which reached the most new bytes$",
            )

    def test_memory_that_replaces_older_memory_is_new(self):
        for _, said, _ in self.each("cache"):
            self.assertEqual(ended(7, 3 * MIB, 3 * MIB, 3 * MIB, lines=2), said["replaced ended"])

    def test_it_begins_before_cuda_does(self):
        for _, said, _ in self.each("cache"):
            self.assertEqual(ended(0, 0, 0, 0), said["unused ended"])
            self.assertEqual(ended(0, 11 * MIB, 11 * MIB, 0), said["early ended"])

    def test_the_peaks_of_the_program_stay(self):
        for _, said, outcome in self.each("cache"):
            self.assertRegex(said["peak of the program"], r"^0, \d+$")
            (device,) = self.only_report(outcome)["devices"]
            self.assertEqual(11 * MIB, device["memory_stats"]["requested_bytes.all.peak"])

    def test_without_attribution_figures_are_the_same(self):
        for _, said, outcome in self.each("cache", VRAMSCOPE_ATTRIBUTION="off", VRAMSCOPE_STACKS="none"):
            self.assertEqual(ended(0, 8 * MIB, 11 * MIB, 0), said["outer ended"])
            self.assertEqual("  8.00 MiB not freed, in 1 allocation by unknown call site, which reached the most new bytes",
                             said["call site says"])  # fmt: skip
            recount.check(self, self.only_report(outcome))

    def test_wrong_questions_are_told_apart(self):
        for _, said, _ in self.each("cache"):
            self.assertEqual("2, 7", said["no device"])
            self.assertEqual("255 begun, 255 ended, then 8", said["many"])


if __name__ == "__main__":
    harness.main()
