# What `vramscope html` writes, as a person meets it in a browser: numbers, controls, hostile names,
# narrow and wide screens, and what readers of screens are told.
# SPDX-License-Identifier: Apache-2.0
"""page_test.py BUILD [WORD...]

One browser without a window opens all pages. Their pictures stay in BUILD/test/page/pictures."""
import json
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../export"))
import harness  # noqa: E402
from import_case import MIB  # noqa: E402
from page_case import HOSTILE, Pages, data_in, sample, why_not  # noqa: E402

MOST_BYTES = 2 << 20
NUMBERS = ("peak_bytes", "peak_count", "live_bytes", "live_count", "total_bytes", "total_count", "total_ns")
DRAWN_S = 2.0  # of a processor, ten times what was measured (0.1 to 0.2)


def nonzero(counts):
    """Without zeros at both ends, those between as one, as a histogram is drawn."""
    used = [i for i, count in enumerate(counts) if count]
    counts = counts[used[0]:used[-1] + 1] if used else []
    return [count for i, count in enumerate(counts) if count or counts[i - 1]]


def summed(lists):
    lists = list(lists)
    return [sum(one[i] for one in lists if i < len(one)) for i in range(max(map(len, lists)))]


def sums(report):
    """By name, of every memory together, from the file; temporary ones last."""
    parts = [part["estimate"] or part for site in report["sites"] for part in site["parts"]]
    numbers = [sum(part[name] for part in parts) for name in NUMBERS]
    return [*numbers, sum(site["temporary_count"] for site in report["sites"] if site["parts"])]


def replayed(events, start, window):
    """What GPU 0 held and was asked for from one instant after time 0, `start`, to another: bytes and blocks when
    it held most, bytes at the end, bytes and number of allocations."""
    blocks, most, allocated = {}, None, [0, 0]
    held = lambda: (sum(blocks.values()), len(blocks))  # noqa: E731
    for event in sorted(events, key=lambda event: int(event["order"])):
        at = int(event["start_ns"]) - start
        if event["kind"] != "device" or event["failed"] != "no" or at >= window[1]:
            continue
        if at >= window[0] and most is None:
            most = held()
        if event["event"].startswith("allocation"):
            blocks[event["address"]] = int(event["bytes"])
            allocated = [allocated[0] + int(event["bytes"]), allocated[1] + 1] if at >= window[0] else allocated
        elif event["event"].startswith("free"):
            blocks.pop(event["address"], None)
        if at >= window[0] and held()[0] > most[0]:
            most = held()
    return [*(most or held()), held()[0], *allocated]


class Page(unittest.TestCase):
    maxDiff = 2000
    pages = None
    seen = None

    def setUp(self):
        if why_not():
            self.skipTest(why_not())
        if Page.pages is None:
            Page.pages = Pages()
            Page.pages.make_all()
            Page.seen = Page.pages.look()

    def test_no_page_complains_or_loads_anything(self):
        for name, seen in Page.seen.items():
            self.assertEqual([], seen["errors"], name)
            self.assertEqual([], seen["requests"], name)
            self.assertEqual([], seen["dialogs"], name)
            self.assertEqual([], seen["links"], name)

    def test_readers_of_screens_and_poor_eyes_find_no_obstacle(self):
        for name, seen in Page.seen.items():
            self.assertEqual({"light": [], "dark": []}, seen["axe"], name)

    def test_nothing_is_wider_than_a_narrow_or_a_wide_window(self):
        for name, seen in Page.seen.items():
            self.assertLessEqual(seen["widths"]["400"], 400, name)
            self.assertLessEqual(seen["widths"]["2000"], 2000, name)

    def test_colours_can_be_chosen_and_paper_has_no_controls(self):
        for name, seen in Page.seen.items():
            self.assertEqual("rgb(255, 255, 255)", seen["paper"], name)
            self.assertFalse(seen["printsControls"], name)

    def test_sums_are_those_of_the_report(self):
        for name in ("report", "hostile"):
            parts = [part for site in Page.pages.reports[name + ".json"]["sites"] for part in site["parts"]]
            gpu = [part["estimate"] or part for part in parts if part["kind"] == "device"]
            seen = Page.seen[name]
            self.assertEqual(sum(part["peak_bytes"] for part in gpu), seen["flame"]["costs"]["peak"])
            self.assertEqual(sum(part["live_bytes"] for part in gpu), seen["flame"]["costs"]["leaked"])
            self.assertEqual(sum(part["total_bytes"] for part in gpu), seen["flame"]["costs"]["total"])
            self.assertEqual(sum(part["total_count"] for part in gpu), seen["flame"]["costs"]["count"])
            self.assertEqual(sum(part["total_ns"] for part in gpu), seen["flame"]["costs"]["time"])
            self.assertEqual(sum(part["peak_bytes"] for part in gpu), seen["places"]["sums"][0])

    def test_folded_places_keep_the_sums_exact_and_the_page_small(self):
        page = next(job["page"] for job in Page.pages.jobs if job["name"] == "many")
        self.assertLess(os.path.getsize(page), MOST_BYTES)
        self.assertGreater(os.path.getsize(page), MOST_BYTES // 3)
        data = Page.pages.data("many")
        self.assertGreater(data["folded"], 1000)
        self.assertGreater(data["folded_share_ppm"], 0)
        totals = [sum(memory["totals"][i] for memory in data["memory"]) for i in range(8)]
        rows = [sum(row[2 + i] for row in data["rows"]) + sum(other[i] for other in data["others"]) for i in range(8)]
        self.assertEqual(totals, rows)
        expected = sums(Page.pages.reports["many.json"])
        self.assertEqual(expected[:2] + expected[4:], totals[:2] + totals[4:])
        self.assertIn(f"{data['folded']:,} other call sites", Page.seen["many"]["text"])

    def test_pages_are_small_and_drawn_soon(self):
        for job in Page.pages.jobs:
            self.assertLess(os.path.getsize(job["page"]), MOST_BYTES, job["name"])
            self.assertLess(Page.seen[job["name"]]["drawn_s"], DRAWN_S, job["name"])

    def test_histograms_are_those_of_the_report(self):
        for name in ("report", "many"):
            sites = Page.pages.reports[name + ".json"]["sites"]
            sizes, lives = ([count for _, count in table] for table in Page.seen[name]["histograms"])
            self.assertEqual(nonzero(summed(site["sizes"] for site in sites)), sizes)
            self.assertEqual(nonzero(summed(site["lifetimes"] for site in sites)), lives)

    def test_verdict_and_ledger_say_what_the_report_says(self):
        seen = Page.seen["report"]
        report = Page.pages.reports["report.json"]
        self.assertIn("20.0 MiB", seen["overview"][0])
        self.assertIn("Memory ran out in", " ".join(seen["overview"]))
        for entry in report["ledger"]:
            if entry["device_bytes"]:
                self.assertIn(entry["device_bytes"], seen["ledger"])
        event = report["oom"]["events"][0]
        self.assertIn(event["bytes"], seen["refusals"])
        self.assertIn(event["free_bytes"], seen["refusals"])

    def test_flame_graph_answers_to_mouse_and_keys(self):
        seen = Page.seen["report"]["flame"]
        self.assertRegex(seen["boxes"][0], r"^all: 20\.0 MiB, 100 %$")
        self.assertTrue(any("<module>" in box for box in seen["boxes"]), seen["boxes"])
        self.assertTrue(any("Loader.load_batch" in box for box in seen["boxes"]))
        self.assertNotEqual(seen["boxes"], seen["inverted"])
        self.assertNotIn("all:", seen["below"])
        self.assertEqual("100%", seen["enlarged"])
        self.assertIn(seen["below"], seen["detail"])
        self.assertRegex(seen["home"], "^all:")
        self.assertIn(seen["clicked"], seen["byMouse"])
        self.assertNotIn("all:", seen["clicked"])
        self.assertTrue(any("found" in text for text in seen["found"]), seen["found"])
        self.assertGreater(seen["matches"], 0)

    def test_table_sorts_searches_and_shows_whole_stacks(self):
        for name in ("report", "hostile"):
            seen = Page.seen[name]["places"]
            self.assertEqual(sorted(seen["peaks"], reverse=True), seen["peaks"])
            self.assertEqual(sorted(seen["live"], reverse=True), seen["live"])
            self.assertEqual(sorted(seen["live"]), seen["liveUpwards"])
            self.assertEqual("ascending", seen["sorted"])
            self.assertGreater(len(seen["frames"]), 0)
        found = Page.seen["report"]["places"]["found"]
        self.assertTrue(found and all("load_batch" in text for text in found), found)

    def test_timeline_takes_a_part_by_drawing_and_by_typing(self):
        seen = Page.seen["report"]["timeline"]
        self.assertIn("The whole run", seen["all"])
        start, end = seen["drawn"]
        self.assertTrue(150 < start < 350 and 400 < end < 600, seen["drawn"])  # of 1,000 ms
        self.assertIn("From 0 ns to 500 us", seen["typed"])
        self.assertEqual(seen["all"], seen["again"])
        self.assertTrue(any("peak of" in mark for mark in seen["marks"]))

    def test_part_of_a_trace_filters_all_that_is_below(self):
        if "trace" not in Page.seen:
            self.skipTest("the program was not built (no nvcc here)")
        seen = Page.seen["trace"]["timeline"]
        data = Page.pages.data("trace")
        part = data["windows"]["part_ns"]
        first, last = (round(edge * 1e6) for edge in seen["edges"])
        window = first // part * part, -(-last // part) * part
        start = json.loads(Page.pages.tool("trace", "--json", Page.pages.path("run.trace")))["start_ns"]
        self.assertEqual(replayed(Page.pages.events(), start, window), seen["part"]["sums"][:5])
        whole = data["memory"][0]["totals"]
        self.assertEqual([whole[i] for i in (0, 1, 2, 4, 5)], seen["whole"]["sums"][:5])
        self.assertNotEqual(seen["part"]["sums"], seen["whole"]["sums"])
        self.assert_map(seen["whole"], "run.trace", "peak")
        (at_ns,) = seen["part"]["mapAt"]
        self.assertTrue(window[0] <= at_ns < window[1], (at_ns, window))
        told = self.assert_map(seen["part"], "run.trace", f"{at_ns}ns")
        self.assertEqual(seen["part"]["sums"][0], told["requested_bytes"])  # the most of that part

    def assert_map(self, shown, trace, instant):
        """What the page shows of segments is what the verb map tells of the instant, which is given."""
        told = json.loads(Page.pages.tool("map", "--json", "--at", instant, Page.pages.path(trace)))["places"][0]
        keys = ("total_bytes", "allocated_bytes", "live_count", "free_bytes", "stranded_bytes", "largest_free_bytes")
        self.assertEqual([told[key] for key in keys], shown["mapSums"])
        return told

    def test_log_of_rmm_is_a_page_of_which_a_part_can_be_chosen(self):
        seen = Page.seen["rmm"]["timeline"]
        self.assertEqual([400, 490], seen["edges"])
        self.assertEqual(["450 ms: 1.00 TiB of GPU 0 refused"], seen["part"]["refusals"])
        self.assertEqual(seen["part"]["refusals"], seen["whole"]["refusals"])
        # Of 1 to 5 MiB what is even was freed.
        live = 1 + 3 + 5
        self.assertEqual([live * MIB, 3, live * MIB, 5 * MIB, 1], seen["part"]["sums"][:5])
        self.assertEqual([["from 4.00 MiB", 1]], [table for table in seen["part"]["histograms"] if table][0])
        self.assert_map(seen["whole"], "rmm.csv", "peak")
        self.assertEqual([400_000_000], seen["part"]["mapAt"])
        self.assert_map(seen["part"], "rmm.csv", "400ms")
        self.assertIn(live * MIB, Page.seen["rmm"]["refusals"])  # who held the memory

    def test_holders_of_each_part_add_up_to_its_most(self):
        seen = Page.seen["rmm"]["timeline"]
        windows = Page.pages.data("rmm")["windows"]
        self.assertEqual(len(windows["highest"][0]), len(seen["whole"]["columns"]))
        first = 400_000_000 // windows["part_ns"]
        self.assertEqual(-(-490_000_000 // windows["part_ns"]) - first, len(seen["part"]["columns"]))
        self.assertTrue(seen["part"]["columns"][-1].endswith(": 9.00 MiB"), seen["part"]["columns"])
        self.assertTrue(seen["whole"]["columns"][-1].endswith(": 35.0 MiB"), seen["whole"]["columns"])

    def test_part_without_a_refusal_shows_none(self):
        self.assertEqual([], Page.seen["rmm"]["timeline"]["none"]["refusals"])

    def test_snapshot_of_pytorch_is_a_page(self):
        seen = Page.seen["snapshot"]
        self.assertIn(12 * MIB - 100 + 1000 + 300, [sum(row["bytes"] for row in json.loads(
            Page.pages.tool("report", "--json", Page.pages.path("snapshot.pickle")))["peak"])])  # fmt: skip
        data = Page.pages.data("snapshot")
        self.assertEqual(12 * MIB - 100 + 1000 + 300, sum(one["totals"][0] for one in data["memory"]))
        self.assertIn("forward (forward.py:10)", seen["text"])
        self.assertIn("Memory ran out in 1 call", seen["text"])
        self.assertEqual([22 * MIB, 12 * MIB + 512, 3], seen["map"]["sums"][:3])
        self.assertIn("Memory when the snapshot was taken", seen["text"])
        # What a snapshot does not know is not told as nothing.
        self.assertEqual("snapshot.pickle - Vramscope", seen["title"])
        self.assertIn("GPU 0: 22.0 MiB used", seen["text"])
        self.assertNotIn("0 B used", seen["text"])
        self.assertEqual([6, 7], data["untold"])
        for untold in ("Temporary", "Time"):
            self.assertNotIn(f"\n{untold}\n", seen["text"].replace("\t", "\n"))
            self.assertIn(f"\n{untold}\n", Page.seen["report"]["text"].replace("\t", "\n"))

    def test_times_on_the_command_line_choose_the_part(self):
        self.assertEqual([100, 500], Page.seen["changes"]["fields"])

    def test_filters_leave_the_rest_of_a_trace_out(self):
        trace = Page.pages.path("rmm.csv")
        log = [("--min-bytes", "4MiB"), ("--kind", "device"), ("--thread", "7")]
        for words in (log[0], log[1], log[2], log[2] + log[0]):
            data = data_in(Page.pages.tool("html", "-o", "-", *words, trace))
            told = json.loads(Page.pages.tool("timeline", "--json", *words, trace))
            self.assertEqual(" ".join(words), data["filter"])
            (memory,) = data["memory"]
            self.assertEqual(told["series"][0]["peak_bytes"], memory["peak_bytes"])
            self.assertEqual(memory["peak_bytes"], memory["totals"][0])
            self.assertEqual(memory["peak_bytes"], max(data["windows"]["highest"][0]))
        if (harness.PROGRAMS / "train").exists():
            words = ("--site", "load_batch|forward")
            data = data_in(Page.pages.tool("html", "-o", "-", *words, Page.pages.path("run.trace")))
            told = json.loads(Page.pages.tool("trace", "--json", *words, Page.pages.path("run.trace")))["kinds"][0]
            totals = data["memory"][0]["totals"]
            self.assertEqual([told[key] for key in ("peak_bytes", "total_bytes", "allocations")],
                             [totals[0], totals[4], totals[5]])  # fmt: skip
        told = json.loads(Page.pages.tool("timeline", "--json", "--min-bytes", "4MiB", trace))
        self.assertEqual((5 + 7 + 9 + 10) * MIB, told["series"][0]["peak_bytes"])

    def test_filter_that_nothing_passes_is_refused(self):
        for words, said in ((("--device", "3"), "has no device 3"), (("--thread", "x"), "has no thread 'x'")):
            done = subprocess.run([harness.TOOL, "html", "-o", "-", *words, Page.pages.path("rmm.csv")],
                                  env=harness.environment(), capture_output=True, text=True, check=False)  # fmt: skip
            self.assertEqual((2, ""), (done.returncode, done.stdout))
            self.assertIn(said, done.stderr)

    def test_map_tells_each_block_and_what_pins(self):
        seen = Page.seen["report"]["map"]
        report = Page.pages.reports["report.json"]
        segments = report["devices"][0]["segments"]
        device = [segment for segment in segments if segment["kind"] == "device"]
        self.assertIn(sum(segment["total_size"] for segment in device), seen["sums"])
        blocks = [block["state"] for segment in device for block in segment["blocks"]]
        self.assertEqual((len(device), blocks.count("active_allocated"), blocks.count("inactive")),
                         (seen["segments"], seen["used"], seen["free"]))  # fmt: skip
        self.assertRegex(seen["byMouse"], r"0x[0-9a-f]+: ")
        self.assertRegex(seen["byKey"], r"0x[0-9a-f]+: ")
        if seen["pins"]:
            self.assertIn("holds the segment", seen["pin"])

    def test_two_reports_show_what_changed(self):
        self.assertIn(5000, Page.seen["changes"]["changes"])
        self.assertIn("What changed", Page.seen["changes"]["text"])
        for words in ("what changed from report.json to grown.json", "/report.json and "):
            self.assertIn(words, Page.seen["changes"]["text"])
        Page.pages.tool("html", Page.pages.path("report.json"), Page.pages.path("grown.json"))
        self.assertTrue(os.path.exists(Page.pages.path("report-to-grown.html")))
        told = json.loads(Page.pages.tool("diff", "--json", Page.pages.path("report.json"),
                                          Page.pages.path("grown.json")))  # fmt: skip
        for one in told["rows"]:
            self.assertIn(one["change_bytes"], Page.seen["changes"]["changes"])

    def test_a_folder_shows_its_ranks_and_what_makes_one_differ(self):
        seen = Page.seen["ranks"]
        for rank in range(3):
            self.assertIn(f"rank {rank} ({100 + rank})", seen["text"])
        self.assertIn("What makes a peak differ from the median", seen["text"])
        self.assertRegex(seen["text"], r"the 3 processes that used it held (at most )?\S+ MiB at one time, (at most )?\S+ % of the device's \S+ GiB; their own peaks, each at its own time, add up to \S+ MiB\.")
        self.assertNotIn("at its peak,", seen["text"])
        self.assertIn(10 * MIB, seen["processes"])
        self.assertIn("died (recovered)", seen["text"])
        self.assertIn("used, added over processes at different times", seen["text"])
        self.assertNotIn("What is used, enlarged", seen["text"])
        (highest,) = [one for one in Page.pages.data("ranks")["runs"]["figures"] if one["figure"] == "peak_bytes"]
        self.assertEqual(102, highest["max_pid"])
        self.assertRegex(seen["text"], r"peak\s.*rank 2 \(102\)", "as the text names who has the most")
        (one,) = Page.pages.data("ranks")["runs"]["differences"]
        self.assertEqual(102, one["pid"])
        merged, page = Page.pages.path("merged.json"), Page.pages.path("merged.html")
        Page.pages.tool("merge", "-o", merged, Page.pages.path("ranks"))
        Page.pages.tool("html", "-o", page, merged)
        with open(page, encoding="utf-8") as file:
            self.assertEqual([one], data_in(file.read())["runs"]["differences"], "of one merged report, too")

    def said_by(self, script, name, asked):
        """What an expression says that uses one of the page's functions."""
        script = harness.SOURCE / "reporter/view/page" / script
        words = f"import {{ {name} }} from {json.dumps(str(script))}; console.log({asked})"
        return subprocess.run(["node", "--input-type=module", "-e", words], capture_output=True, text=True, check=True).stdout

    def test_curves_end_with_what_was_left_when_their_last_bucket_ended(self):
        series = [{"first_ns": 0, "bucket_ns": 10, "highest_bytes": [5, 7], "last_bytes": [5, 0]},
                  {"first_ns": 20, "bucket_ns": 20, "highest_bytes": [3], "last_bytes": [2]}]  # fmt: skip
        times, *curves = json.loads(self.said_by("curves.js", "joined", f"JSON.stringify(joined({json.dumps(series)}, 1000))"))
        self.assertEqual([0, 1e-8, 2e-8, 4e-8, 1e-6], times)
        self.assertEqual([[5, 7, 0, 0, 0], [0, 0, 3, 2, 2]], curves)

    def test_numbers_are_rounded_as_in_the_text(self):
        asked = "[114.5, 115.5, 12.25, 12.35, 1.125, 1.375, 114.51].map((mib) => bytesText(mib * 2 ** 20)).join()"
        python = [f"{mib:.{digits}f} MiB" for mib, digits in ((114.5, 0), (115.5, 0), (12.25, 1), (12.35, 1), (1.125, 2), (1.375, 2), (114.51, 0))]
        self.assertEqual(",".join(python) + "\n", self.said_by("numbers.js", "bytesText", asked))

    def test_times_are_rounded_as_in_the_text(self):
        """80.6 s was "1 min 20 s", and 119.6 s "1 min 59 s"."""
        asked = [999, 1500, 999_499_999, 999_500_000, 59_960_000_000, 80_600_000_000, 99_499_999_999, 99_500_000_000, 119_600_000_000,
                 3_599_499_999_999, 3_599_500_000_000, 7_259_600_000_000]  # fmt: skip
        text = ["999 ns", "1.50 us", "999 ms", "1.00 s", "60.0 s", "80.6 s", "99.5 s", "1 min 40 s", "2 min 00 s", "59 min 59 s", "1 h 00 min", "2 h 01 min"]
        self.assertEqual(text, self.said_by("numbers.js", "durationText", f"{asked}.map(durationText).join()").strip().split(","))
        self.assertEqual(text, [self.time_in_text(ns) for ns in asked])

    def test_shares_are_rounded_as_in_the_text(self):
        """ "> 99.9 %" and "< 0.1 %", beside "99.9 %" and "<0.1 %" in sentences of the same page."""
        asked = [(0, 0), (0, 5), (5, 5), (1, 2000), (1, 1000), (1999, 2000), (9999, 10000), (1, 3), (7, 2)]
        text = ["-", "0 %", "100 %", "<0.1 %", "0.1 %", "99.9 %", "99.9 %", "33.3 %", "350 %"]
        self.assertEqual(text, self.said_by("numbers.js", "percentText", f"{[list(one) for one in asked]}.map((one) => percentText(...one)).join()").strip().split(","))

    def time_in_text(self, ns):
        """The length of a run, as `timeline` writes it."""
        report, path = sample(), Page.pages.path("length.json")
        report["timeline"]["duration_ns"] = ns
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        return re.search(r"(?m)^(.*) from 2.* UTC, requested bytes", Page.pages.tool("timeline", path)).group(1)

    def test_hostile_names_are_text(self):
        seen = Page.seen["hostile"]
        for name in ("HTML", "end of script", "entities", "template"):
            self.assertIn(HOSTILE[name], seen["text"], name)
        self.assertNotIn("\u202e", seen["text"])
        self.assertIn("gnp.exe", seen["text"])
        self.assertIn("xxxxxxxx", seen["text"])
        self.assertIn("\u05e9\u05dc\u05d5\u05dd", seen["text"])

    def test_page_forbids_all_that_it_does_not_hold(self):
        with open(Page.pages.jobs[0]["page"], encoding="utf-8") as file:
            text = file.read()
        policy = text.split('Content-Security-Policy" content="')[1].split('"')[0]
        self.assertRegex(policy, r"^default-src 'none'; script-src 'sha256-\S+'; style-src 'sha256-\S+'; "
                                 r"base-uri 'none'; form-action 'none'$")  # fmt: skip
        self.assertEqual(2, text.count("</script>"))


if __name__ == "__main__":
    harness.main()
