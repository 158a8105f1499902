# What the verbs say of reports that PyTorch, JAX, CuPy and NCCL left on an H200 (real/README.md).
# SPDX-License-Identifier: Apache-2.0
"""real_reports_test.py BUILD"""
import json
import os
import pickle
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from real_case import MIB, NAMES, RealReports  # noqa: E402

VIEWS = ("mapping", "address_range", "import")


class Owners(RealReports):
    """The environment was installed in a folder named torch."""

    def owned(self, name):
        ledger = self.json("owners", self.real(name))["ledger"]
        return {(row["kind"], row["owner"]): row["peak_bytes"] for row in ledger if row["calls"]}

    def test_jax_owns_what_it_asked_for(self):
        owned = self.owned("jax")
        self.assertEqual(owned[("physical", "JAX")], 112583507968)
        self.assertEqual(owned[("pinned", "JAX")], 2097160)
        self.assertFalse([owner for _, owner in owned if owner == "PyTorch"])
        self.assertIn("105 GiB", self.text("sites", "--owner", "JAX", self.real("jax")))

    def test_cupy_owns_what_it_asked_for(self):
        owned = self.owned("cupy")
        self.assertEqual({owner for _, owner in owned}, {"CuPy", "cuBLAS", "cuSOLVER", "cuFFT", "cuRAND"})

    def test_pytorch_stays_the_owner_of_its_own(self):
        for name in ("gpt", "gpt-async", "gpt-no-cache", "torch-oom", "nccl"):
            self.assertIn("PyTorch", {owner for _, owner in self.owned(name)}, name)

    def test_a_joint_peak_has_the_owners_of_whole_stacks(self):
        for stacks in ((), ("--with-native",), ("--native-only",)):
            text = self.text("peak", *stacks, self.real("gpt-async"))
            self.assertIn("owners   PyTorch 98.8 %, cuBLAS 1.2 %", text, stacks)

    def test_sums_of_the_ledger_stay(self):
        for name in NAMES:
            with open(self.real(name), encoding="utf-8") as file:
                written = json.load(file)
            told = self.json("owners", self.real(name))["ledger"]
            for column in ("current_bytes", "calls", "device_bytes"):
                self.assertEqual(sum(row[column] for row in told),
                                 sum(row[column] for row in written["ledger"] if row["kind"] not in VIEWS), (name, column))


class Leaks(RealReports):
    def test_training_scripts_leak_nothing(self):
        for name in ("gpt", "gpt-async", "gpt-expandable", "gpt-no-cache", "gpt-no-cache-pytorch", "nccl", "cupy"):
            file = self.real(name)
            leaks = self.json("leaks", file)
            self.assertEqual(leaks["leaks"], [], name)
            self.assertEqual(self.call("check", "--max-leak", "0", file).returncode, 0, name)
            self.assertIn("Never freed: only ", self.text("leaks", file), name)
            self.assertIn("Never freed: only ", self.text("report", file), name)
            self.assertNotIn("Next: vramscope leaks", self.text("report", file), name)

    def test_pytorchs_cache_holds_as_much_as_it_counted_itself(self):
        caches = {row["cache"]: row for row in self.json("leaks", self.real("gpt"))["caches"]}
        cache = caches["PyTorch's cache"]
        self.assertEqual((cache["bytes"], cache["count"]), (7327449088, 89))  # its segments

    def test_workspaces_are_told_apart_without_the_cache(self):
        for name in ("gpt-no-cache", "gpt-async"):
            caches = {row["cache"]: row["bytes"] for row in self.json("leaks", self.real(name))["caches"]}
            self.assertEqual(caches["PyTorch's workspaces for cuBLAS"], 65 * MIB, name)

    def test_totals_have_the_figure_of_leaks(self):
        """They said "never freed: 129 MiB in 15" where nothing of the program's leaks."""
        for name in NAMES:
            file = self.real(name)
            leaks = self.json("leaks", file)
            kept = sum(row["bytes"] for part in ("caches", "suppressed") for row in leaks[part])
            bytes_left = sum(row["bytes"] for row in leaks["leaks"]) + leaks["without_site_bytes"]
            for verb in ("report", "sites", "sites --tree", "sites --group library", "peak", "owners", "owners --by thread"):
                last = [line for line in self.text(*verb.split(), file).splitlines() if " (requested bytes); " in line][-1]
                told = last.split(" (requested bytes); ")[1]
                if bytes_left == 0 and kept == 0:
                    self.assertTrue(told.startswith("everything was freed"), (name, verb, told))
                elif bytes_left == 0:
                    self.assertRegex(told, r"reed.*: only .* that caches and libraries keep", (name, verb))
                else:
                    self.assertNotIn("nothing", told, (name, verb))

    def test_what_is_shown_does_not_change_what_counts(self):
        for name in ("gpt-no-cache", "gpt", "cupy"):
            told = [self.json("leaks", *stacks, self.real(name))
                    for stacks in ((), ("--with-native",), ("--native-only",), ("--python-only",))]
            for one in told[1:]:
                self.assertEqual([row["bytes"] for row in one["suppressed"]],
                                 [row["bytes"] for row in told[0]["suppressed"]], name)
                self.assertEqual([row["bytes"] for row in one["caches"]],
                                 [row["bytes"] for row in told[0]["caches"]], name)

    def test_all_of_it_is_shown_when_nothing_is_to_be_left_out(self):
        leaks = self.json("leaks", "--no-default-suppressions", self.real("gpt"))
        self.assertEqual(leaks["caches"], [])
        self.assertGreater(sum(row["bytes"] for row in leaks["leaks"]), 7327449088)


class OutOfMemory(RealReports):
    def test_what_pytorchs_cache_holds_is_no_leak(self):
        for name in ("torch-oom", "torch-oom-at-exit"):
            text = self.text("oom", self.real(name))
            self.assertIn("hint: most of the memory is held by PyTorch's cache, in use or free; ", text)
            self.assertNotIn("leak", text)


class Views(RealReports):
    def test_what_maps_the_memory_of_others_is_no_memory_of_its_own(self):
        """105 GiB stood there three times: as physical memory, its mapping and its addresses."""
        for name in NAMES:
            sites = self.json("sites", self.real(name))
            with open(self.real(name), encoding="utf-8") as file:
                written = json.load(file)
            held = sum(part["total_bytes"] for site in written["sites"] for part in site["parts"]
                       if part["kind"] not in VIEWS)
            self.assertEqual(sum(site["total_bytes"] for site in sites), held, name)
        self.assertEqual([site["total_bytes"] for site in self.json("sites", "--kind", "mapping", self.real("jax"))], [112583507968])


class Filters(RealReports):
    def test_rows_are_filtered_as_they_are_listed(self):
        """Adam's two rows of 621 MiB, of 149 tensors each, and all of some others vanished."""
        for name in NAMES:
            file = self.real(name)
            for verb, rows, size in (("sites", lambda found: found, lambda row: row["peak_bytes"]),
                                     ("sites --group function", lambda found: found, lambda row: row["peak_bytes"]),
                                     ("peak", lambda found: [row for part in found if part["kind"] != "all" for row in part["live"]], lambda row: row["bytes"]),
                                     ("leaks --no-default-suppressions", lambda found: found["leaks"], lambda row: row["bytes"])):
                every = [size(row) for row in rows(self.json(*verb.split(), file))]
                for least in (1 * MIB, 40 * MIB, 400 * MIB):
                    left = [size(row) for row in rows(self.json(*verb.split(), "--min-bytes", str(least), file))]
                    self.assertEqual(sorted(set(left)), sorted({size for size in every if size >= least}), (name, verb, least))

    def test_no_limit_passes_because_rows_are_hidden(self):
        file = self.real("gpt-no-cache")
        self.assertEqual(self.call("check", "--no-default-suppressions", "--max-leak", "70MiB", file).returncode, 1)
        hidden = self.call("check", "--no-default-suppressions", "--max-leak", "70MiB", "--min-bytes", "50MiB", file)
        self.assertEqual((hidden.returncode, hidden.stdout), (2, ""))
        self.assertIn("vramscope: --min-bytes hides rows", hidden.stderr)
        chosen = self.call("check", "--no-default-suppressions", "--max-leak", "70MiB", "--owner", "cuBLAS", file)
        self.assertEqual(chosen.returncode, 0, chosen.stderr)
        self.assertTrue(chosen.stdout.startswith("Only --owner cuBLAS\n"))
        both = self.call("diff", "--threshold", "0", "--min-bytes", "1GiB", file, self.real("gpt"))
        self.assertEqual((both.returncode, both.stdout), (2, ""))
        self.assertIn("vramscope: diff: --min-bytes hides rows", both.stderr)


class FullDevice(RealReports):
    def test_the_driver_keeps_the_last_of_its_memory(self):
        text = self.text("oom", self.real("fill-refused"))
        self.assertIn("hint: the driver had enough free memory, but keeps about 3 MiB for itself", text)
        self.assertIn("734 MiB more free memory would have been enough", text)  # 1 GiB, 293 MiB free, of which it keeps some
        self.assertNotIn("perhaps in pieces", text)


class Past(RealReports):
    def test_an_old_sample_is_not_told_as_the_present(self):
        """105 GiB had gone back since 30.2 GiB were free."""
        self.assertIn("in a new segment: what the driver has free (30.2 GiB, measured 530 ms earlier, 105 GiB released since)\n",
                      self.text("map", self.real("jax")))

    def test_the_reserve_of_pinned_memory_is_shown(self):
        self.assertIn("now 8 B, 445 calls; page-locked segments: peak 2.01 MiB, now 2.01 MiB, 2.00 MiB of it idle\n",
                      self.text("report", self.real("jax")))
        for name in NAMES:
            with open(self.real(name), encoding="utf-8") as file:
                written = json.load(file)
            locked = written["host"]["memory_stats"].get("reserved_bytes.current", 0)
            held = sum(kind["current_bytes"] for kind in written["kinds"] if kind["kind"] == "pinned")
            self.assertEqual(locked > held, "page-locked segments: " in self.text("report", self.real(name)), name)


class Order(RealReports):
    def test_the_largest_kind_of_memory_stands_first(self):
        lines = self.text("report", self.real("gpt-expandable")).split("GPU 0  NVIDIA H200\n")[1].splitlines()
        self.assertTrue(lines[0].strip().startswith("used "), lines[:3])  # which is more than any
        self.assertTrue(lines[1].strip().startswith("physical "), lines[:3])


class Rows(RealReports):
    """Rows began with torch/nn/modules/module.py, decorators, jax/_src, c10 or ten offsets."""

    INNER = re.compile(r"Module\._(wrapped_)?call_impl|Module\._apply|decorate_context|\.wrapper|maybe_fallback|"
                       r"\(pxla\.py|\(profiler\.py|\(compiler\.py|libc10|_engine_run_backward")

    def test_begin_and_go_on_where_a_person_reads(self):
        for name in NAMES:
            for verb in (("report",), ("peak",), ("sites",), ("check", "--max-peak", "1"), ("leaks", "--no-default-suppressions")):
                for line in self.text(*verb, "-n", "0", self.real(name)).splitlines():
                    row = line.split(" via ")[0]
                    self.assertIsNone(self.INNER.search(row), (name, verb, line))
                    offsets = re.findall(r"\+0x[0-9a-f]+", row)
                    self.assertLessEqual(len(offsets), 7, (name, verb, line))
        self.assertIn("Linear.forward (linear.py:134) < GPT.forward (gpt.py:37) < main (gpt.py:52)",
                      self.text("peak", self.real("gpt")))
        self.assertIn("WHERE\n    105 GiB   100 %      1  eye < jax_steps (frameworks.py:78) < <module>",
                      self.text("report", self.real("jax")))

    def test_a_row_that_inner_frames_tell_apart_names_one(self):
        text = self.text("report", self.real("jax"))
        self.assertIn(" via ", text)
        self.assertEqual(len(re.findall(r"Module\.cuda < main \(gpt\.py:43\) < <module> \(gpt\.py:72\) via "
                                        r"Module\._apply \S+ [24] ", self.text("report", self.real("gpt")))), 2)
        self.assertIn("via batched_device_put", self.text("sites", "--site", "batched_device_put", self.real("jax")))

    def test_in_full_and_as_data_all_frames_stand(self):
        self.assertIn("Module._call_impl\n", self.text("sites", "--full", self.real("gpt")))
        frames = [frame for site in self.json("sites", self.real("gpt")) for frame in site["frames"]]
        self.assertTrue(any(frame.startswith("Module._call_impl ") for frame in frames))
        self.assertIn("Module._call_impl", self.text("sites", "--csv", self.real("gpt")))

    def test_the_overview_of_the_page_does_too(self):
        page = self.path("page.html")
        self.assertEqual(self.call("html", "-o", page, self.real("gpt-no-cache")).returncode, 0)
        with open(page, encoding="utf-8") as file:
            data = json.loads(re.search(r'<script[^>]*id="report"[^>]*>(.*?)</script>', file.read(), re.S).group(1))
        came = [text for text in data["verdict"] if "came from" in text]
        self.assertTrue(came)
        for text in came:
            self.assertIsNone(self.INNER.search(text), text)


def torch_frames(report, site):
    """As torch.cuda.memory writes them: names without their classes, innermost first."""
    frames = []
    for index in report["sites"][site]["frames"]:
        frame = report["frames"][index]
        if frame["code"] is None:
            continue
        code = report["codes"][frame["code"]]
        frames.append({"name": code["name"].rsplit(".", 1)[-1], "filename": report["sources"][code["source"]]["path"],
                       "line": frame["line"]})
    return frames


class Snapshot(RealReports):
    def snapshot(self, name):
        """What PyTorch would have dumped: a block for each block of ours, with the frames that it has."""
        with open(self.real(name), encoding="utf-8") as file:
            report = json.load(file)
        segments = []
        for device in report["devices"]:
            for segment in device["segments"]:
                blocks = [{"address": block["address"], "size": block["size"], "requested_size": block["requested_size"],
                           "state": block["state"], "frames": torch_frames(report, block["site"]) if block["site"] is not None else []}
                          for block in segment["blocks"]]
                segments.append({**{key: segment[key] for key in ("device", "address", "total_size", "allocated_size", "active_size",
                                                                  "requested_size", "stream", "segment_type", "is_expandable")},
                                 "blocks": blocks})
        path = self.path(name + ".pickle")
        with open(path, "wb") as file:
            pickle.dump({"segments": segments, "device_traces": [[]]}, file)
        return path

    def test_and_report_of_one_program_have_the_same_places(self):
        found = self.json("diff", "--at", "end", self.snapshot("gpt"), self.real("gpt"))
        own = [row for row in found["rows"] if (row["after"] or row["before"])["frames"]
               and "gpt.py" in (row["after"] or row["before"])["frames"][0]]
        self.assertEqual([row for row in own if row["kind"] == "device"], [], "each holds the same in both")
        self.assertGreater(found["equal"], 5)
        text = self.text("diff", self.snapshot("gpt"), self.real("gpt"))
        self.assertIn("Rows are lines of the program's own Python files", text)
        self.assertNotIn("own Python files", self.text("diff", self.real("gpt"), self.real("gpt-no-cache")))

    def test_functions_are_matched_by_the_last_of_their_names(self):
        text = self.text("diff", "--by", "function", "--at", "end", self.snapshot("gpt"), self.real("gpt"))
        self.assertNotIn("GPT.forward", text)


class Figures(RealReports):
    def test_a_share_is_one_of_what_stands_beside_it(self):
        """They said "865 allocations, 442 temporary (26.1 %)"."""
        for name in NAMES:
            for verb in ("report", "sites", "peak", "owners"):
                total = re.search(r"Total: ([\d,]+) allocations?, ([\d,]+)(?: of ([\d,]+) known ones)? temporary \(([\d.<]+) %[;)]",
                                  self.text(verb, self.real(name)))
                count, temporary, known = (int(part.replace(",", "")) for part in (total[1], total[2], total[3] or total[1]))
                self.assertLessEqual(temporary, known)
                self.assertLessEqual(known, count)
                if "<" not in total[4]:
                    self.assertAlmostEqual(float(total[4]), 100 * temporary / known, delta=0.051, msg=(name, verb))

    def test_time_is_a_share_of_the_run_on_the_same_screen(self):
        for name in NAMES:
            text = self.text("report", self.real(name))
            (run,) = re.findall(r", (\S+ \S+) after the first call", text)
            for other in re.findall(r" % of the run's (\S+ \w+)", text):
                self.assertEqual(other, run, name)

    def test_no_share_is_above_all(self):
        for name in NAMES:
            for verb in ("report", "peak", "sites", "leaks", "owners", "map", "timeline"):
                for share in re.findall(r"(\d[\d,]*\.?\d*) %", self.text(verb, self.real(name))):
                    self.assertLessEqual(float(share.replace(",", "")), 100, (name, verb))


if __name__ == "__main__":
    harness.main()
