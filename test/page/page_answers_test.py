# What advise and fit say of a file, as its page shows it.
# SPDX-License-Identifier: Apache-2.0
"""page_answers_test.py BUILD"""
import json
import lzma
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../export"))
import harness  # noqa: E402
from page_case import Pages, data_in, why_not  # noqa: E402

LARGE = 5 << 20  # bytes of a log that is not replayed for a page
REAL = harness.SOURCE / "test/view/real"


class Answers(unittest.TestCase):
    pages = None
    seen = None

    def setUp(self):
        if why_not():
            self.skipTest(why_not())
        if Answers.pages is None:
            Answers.pages = pages = Pages()
            shutil.copyfileobj(lzma.open(REAL / "threads.json.xz"), open(pages.path("threads.json"), "wb"))
            pages.make("report", pages.path("threads.json"))
            pages.trace()
            Answers.seen = pages.look()

    def trace(self):
        if "trace" not in self.seen:
            self.skipTest("the demonstration program is not built")
        return self.pages.path("run.trace")

    def data_of(self, *words):
        return data_in(self.pages.tool("html", "-o", "-", *words))

    def test_a_page_of_a_report_shows_what_advise_finds(self):
        told = json.loads(self.pages.tool("advise", "--json", "-n", "0", self.pages.path("threads.json")))
        text = self.seen["report"]["text"]
        self.assertEqual(2, len(told))
        for one in told:
            self.assertIn(one["title"], text)
            self.assertIn(one["evidence"], text)
            self.assertIn(one["advice"], text)
            self.assertIn(f"vramscope {one['command']} {self.pages.path('threads.json')}", text)
        self.assertIn("2 findings, the largest saving first", text)
        self.assertEqual([told[0]["sites"][0]["bytes"], told[0]["sites"][0]["count"]], self.seen["report"]["advice"][:2])
        self.assertNotIn("Would it fit", text, "a report without a trace has no answer to that")

    def test_a_page_of_a_trace_shows_what_fit_says(self):
        (told,) = json.loads(self.pages.tool("fit", "--json", self.trace()))
        numbers = [n for gpu in told["gpus"] for n in (gpu["memory_bytes"], gpu["spare_bytes"], gpu["missing_bytes"]) if n is not None]
        numbers += [row[key] for row in told["rows"] for key in ("least_bytes", "peak_reserved_bytes", "peak_requested_bytes")]
        self.assertEqual(numbers, self.seen["trace"]["fit"])
        text = self.seen["trace"]["text"]
        self.assertIn("native-safe, as recorded", text)
        for gpu in told["gpus"]:
            self.assertIn(gpu["name"], text)
        self.assertIn("Nothing found. Looked for: memory that only grows", text)

    def test_a_page_of_a_report_with_its_trace_answers_by_the_trace(self):
        self.trace()
        (report,) = [name for name in os.listdir(self.pages.folder) if name.startswith("vramscope.train")]
        data = self.data_of(self.pages.path(report))
        self.assertEqual("run.trace", os.path.basename(data["advice"]["file"]))
        self.assertEqual("run.trace", os.path.basename(data["fit"]["answer"]["file"]))

    def test_a_large_trace_names_the_commands(self):
        large = self.pages.path("large.csv")
        with open(large, "w", encoding="utf-8") as file:
            file.write("Thread,Time,Action,Pointer,Size,Stream\n")
            while file.tell() < LARGE:
                at = f"00:00:{file.tell() // 1_000_000:02}:{file.tell() % 1_000_000:06}"
                file.write(f"7,{at},allocate,0x10,1048576,0x0\n7,{at},free,0x10,1048576,0x0\n")
        data = self.data_of(large)
        self.assertEqual([{"verb": verb, "file": large} for verb in ("advise", "fit")], [data["advice"], data["fit"]])

    def test_a_part_of_the_program_and_several_processes_have_no_advice(self):
        trace = self.trace()
        for data in (self.data_of("--kind", "device", trace), self.data_of(self.pages.path("threads.json"), self.pages.path("threads.json"))):
            self.assertEqual([None, None], [data["advice"], data["fit"]])
        self.assertIsNotNone(self.data_of("--from", "1ms", trace)["fit"], "a window is only chosen first")

    def test_what_cannot_be_replayed_has_advice_alone(self):
        log = self.pages.path("late.csv")
        with open(log, "w", encoding="utf-8") as file:
            file.write("Thread,Time,Action,Pointer,Size,Stream\n7,00:00:00:000001,free,0x10,1048576,0x0\n"
                       "7,00:00:00:000002,allocate,0x20,1048576,0x0\n")  # fmt: skip
        data = self.data_of(log)
        self.assertIsNone(data["fit"])
        self.assertIn("Nothing found", data["advice"]["summary"])


if __name__ == "__main__":
    harness.main()
