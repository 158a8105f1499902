# The page of a job: a row a rank, to sort, and a heat map of rank and time.
# SPDX-License-Identifier: Apache-2.0
"""page_ranks_test.py BUILD"""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../export"))
import harness  # noqa: E402
from import_case import MIB  # noqa: E402
from page_case import Pages, sample, why_not  # noqa: E402

RANKS = {"eight": 8, "some": 60, "many": 1024}
MOST_BYTES = 2 << 20
STEPS = 120
SECOND_NS = 10**9


def highest(rank, ranks):
    """By a tenth of a second: as many MiB as its number says, and twice as much in the second half. The last one ends early."""
    values = [rank * MIB] * 50 + [2 * rank * MIB] * 50
    return values[:75] if rank == ranks - 1 else values


def small(rank, ranks):
    report = sample()
    for part in ("sites", "frames", "threads", "axes", "ledger", "functions", "joint_peaks"):
        report[part] = []
    report["devices"][0]["segments"] = report["host"]["segments"] = report["host"]["registrations"] = []
    report["oom"] = {"count": 0, "events": []}
    report.pop("symbols", None)
    curve = highest(rank, ranks)
    report["process"].update(rank=rank, pid=1000 + rank, world_size=ranks, hostname=f"node{rank // 8}", restart=None)
    report["timeline"].update(duration_ns=len(curve) * SECOND_NS // 10,
                              series=[{"kind": "device", "device": 0, "bucket_ns": SECOND_NS // 10, "highest": curve, "last": curve}])  # fmt: skip
    report["kinds"] = [{"kind": "device", "device": 0, "current_bytes": 0, "peak_bytes": max(curve), "peak_ns": 5 * SECOND_NS,
                        "peak_site": None, "allocations": 1}]  # fmt: skip
    return report


class Ranks(unittest.TestCase):
    seen = None

    def setUp(self):
        if why_not():
            self.skipTest(why_not())
        if Ranks.seen is None:
            Ranks.pages = pages = Pages()
            for name, ranks in RANKS.items():
                os.mkdir(pages.path(name))
                for rank in range(ranks):
                    pages.write(f"{name}/r{rank}.json", small(rank, ranks))
                pages.make(name, pages.path(name), acts=("ranks", "moreRanks") if name == "some" else ("ranks",))
            Ranks.seen = pages.look()

    def test_nothing_fails_and_readers_of_screens_are_served(self):
        for name, seen in self.seen.items():
            self.assertEqual(([], [], []), (seen["errors"], seen["requests"], seen["dialogs"]), name)
            self.assertEqual({"light": [], "dark": []}, seen["axe"], name)
            self.assertEqual({"400": 400, "2000": 2000}, seen["widths"], name)

    def test_the_table_has_a_row_a_rank_and_is_sorted_by_any_column(self):
        for name, ranks in RANKS.items():
            seen = self.seen[name]["ranks"]
            shown = min(50, ranks)
            self.assertEqual(shown, seen["rows"])
            self.assertEqual([str(rank) for rank in range(shown)], seen["ranks"])
            self.assertEqual([str(ranks - 1 - rank) for rank in range(shown)], seen["downwards"])
            self.assertEqual(["Host memory descending"], seen["sorted"])
        self.assertEqual(60, self.seen["some"]["moreRanks"])

    def test_the_map_has_what_each_rank_held_in_each_step(self):
        """A line a rank, in the order of the table: what is more is darker, and what does not run is not drawn."""
        for name, ranks in RANKS.items():
            cells = self.seen[name]["ranks"]["cells"]
            self.assertEqual([STEPS] * ranks, [len(line) for line in cells])
            most = 2 * (ranks - 1)
            for rank, line in enumerate(cells):
                for step in (0, 30, 58, 65, 85, 119):
                    second = (step + 0.5) * 10 / STEPS
                    curve = highest(rank, ranks)
                    if rank == ranks - 1 and second > 7.5:
                        self.assertEqual(0, line[step], (name, rank, step))
                        continue
                    held = curve[int(second * 10)] / MIB
                    wanted = 255 * (0.06 + 0.94 * held / most)
                    self.assertAlmostEqual(wanted, line[step], delta=4, msg=(name, rank, step))

    def test_it_fits_a_screen_and_a_page(self):
        self.assertEqual(8 * 16, self.seen["eight"]["ranks"]["height"])
        self.assertEqual(1024, self.seen["many"]["ranks"]["height"])
        self.assertLess(os.path.getsize(self.pages.path("many.html")), MOST_BYTES)
        self.assertLess(self.seen["many"]["drawn_s"], 2.0)

    def test_keys_and_the_mouse_tell_of_one_cell(self):
        self.assertEqual("rank 1 (1001) at 9.92 s: about 2.00 MiB; median 6.00 MiB", self.seen["eight"]["ranks"]["byKey"])
        self.assertEqual("rank 0 (1000) at 0 ns: about 0 B; median 3.50 MiB", self.seen["eight"]["ranks"]["byMouse"])

    def test_the_text_says_what_the_map_shows(self):
        self.assertIn("Device memory from nothing (pale) to 14.0 MiB (dark)", self.seen["eight"]["text"])
        self.assertIn("50 of 1,024 processes", self.seen["many"]["text"])


if __name__ == "__main__":
    harness.main()
