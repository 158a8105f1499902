# `vramscope serve` gives collectors what running programs hold, and how they end.
# SPDX-License-Identifier: Apache-2.0
"""serve_test.py BUILD"""
import gzip
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.error

import harness
import programs
from serve_case import ServeCase, quit_of, samples

HELD = sum(100000 * (i + 1) for i in range(20)) - 100000  # of the victim `hold` at its first line
MANUAL = harness.SOURCE / "reporter/manual"
SITES = harness.ASKS_DRIVER + """
def ask(size): return driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(size))
def one(): ask(4 << 20)
def two(): ask(3 << 20)
def three(): ask(2 << 20)
def four(): ask(1 << 20)
for each in (four, three, two, one): each()
print("refused", ask(1 << 50) if "refused" in sys.argv else 0, "ready", flush=True)
sys.stdin.readline()
"""


def metrics_of_page():
    """{name: (type, labels)} of the table in the manual."""
    rows = re.findall(r"^\| `(vramscope_\w+)` \| (\w+) \|([^|]*)\|", (MANUAL / "serve.md").read_text(encoding="utf-8"), re.M)
    return {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}


def families(text):
    """{name of the samples: type} of OpenMetrics; each begins with its type, and ends with what it means."""
    suffixes = {"counter": "_total", "info": "_info", "gauge": ""}
    return {name + suffixes[kind]: kind for name, kind in re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M)}


class Serve(ServeCase):
    def python(self, *words):
        process = self.start_program(["/usr/bin/python3", "-c", SITES, *words], "cache")
        line = process.stdout.readline()
        self.assertIn("ready", line)
        return process, line

    def test_a_script_has_its_own_name(self):
        script = pathlib.Path(self.folder, "train.py")
        script.write_text(SITES)
        process = self.start_program(["/usr/bin/python3", str(script)], "cache")
        self.assertIn("ready", process.stdout.readline())
        self.serve()
        self.assertRegex(self.scrape(), rf'vramscope_\w+{{pid="{process.pid}",program="train.py"')

    def test_it_has_what_list_has(self):
        process = self.start()
        self.serve()
        text = self.scrape()
        rows = json.loads(self.run_tool("list", "--json").stdout)
        (row,) = (row for row in rows if row["pid"] == process.pid)
        found = [self.value(text, f"vramscope_requested{word}_bytes", pid=process.pid, kind="device", device=0, program="hold")
                 for word in ("", "_peak")]  # fmt: skip
        self.assertEqual([HELD, HELD + 100000], found)
        self.assertEqual([row["live_bytes"], row["peak_bytes"]], found)
        calls = [self.value(text, f"vramscope_{word}_total", pid=process.pid, kind="device") for word in ("allocations", "frees")]
        self.assertEqual([20, 1], calls)
        started = self.value(text, "vramscope_process_start_time_seconds", pid=process.pid)
        self.assertTrue(0 <= time.time() - started < harness.DEADLINE_S, started)
        quit_of(process)

    def test_a_later_scrape_has_later_values(self):
        process = self.start()
        self.serve()
        self.assertEqual(HELD, self.value(self.scrape(), "vramscope_requested_bytes", pid=process.pid))
        process.stdin.write("more\n")
        process.stdin.flush()
        self.assertIn("ready", process.stdout.readline())
        later = HELD + sum(100000 * (i + 2) for i in range(20)) - 200000
        self.scraped_until("vramscope_requested_bytes", later, pid=process.pid)
        quit_of(process)

    def test_readers_of_both_formats_read_it(self):
        process = self.start()
        self.serve()
        kind, text = self.get()
        self.assertEqual("application/openmetrics-text; version=1.0.0; charset=utf-8", kind)
        self.assertTrue(text.endswith(b"\n# EOF\n"))
        old_kind, old_text = self.get(accept="text/plain")
        self.assertEqual("text/plain; version=0.0.4; charset=utf-8", old_kind)
        try:
            from prometheus_client.openmetrics.parser import text_string_to_metric_families as read
            from prometheus_client.parser import text_string_to_metric_families as read_old
        except ImportError:
            self.skipTest("python3-prometheus-client is not installed")
        for families_of, content in ((read, text), (read_old, old_text)):
            found = {sample.name: sample.value for family in families_of(content.decode()) for sample in family.samples
                     if sample.labels.get("pid") == str(process.pid)}  # fmt: skip
            self.assertEqual((HELD, 20, 1), tuple(found[f"vramscope_{name}"] for name in ("requested_bytes", "allocations_total", "process_info")))  # fmt: skip
        quit_of(process)

    def test_the_manual_has_every_metric_with_its_type_and_labels(self):
        process, _ = self.python("refused")
        other = self.start()
        self.serve()
        self.scrape()
        quit_of(other)
        text = self.scraped_until("vramscope_process_ended", 1, pid=other.pid)
        page = metrics_of_page()
        self.assertEqual({name: kind for name, (kind, _) in page.items()}, families(text))
        labels = {}
        for name, has in samples(text):
            labels.setdefault(name, set()).update(key for key, _ in has)
        for name, (_, named) in page.items():
            self.assertEqual(named, labels[name] - {"pid", "program", "container_id", "pod_uid"}, name)
        for name in families(text):
            unit = next((unit for unit in ("bytes", "seconds") if re.search(rf"_{unit}(_total)?$", name)), None)
            self.assertEqual(unit is not None, f"# UNIT {name.removesuffix('_total')} {unit}\n" in text, name)
        process.communicate("\n", timeout=harness.DEADLINE_S)

    def test_the_largest_call_sites_have_names_and_the_rest_is_one(self):
        process, _ = self.python()
        self.serve("--sites", "2")
        found = {dict(has)["site"]: value for (name, has), value in samples(self.scrape()).items()
                 if name == "vramscope_site_requested_bytes" and dict(has)["pid"] == str(process.pid)}  # fmt: skip
        self.assertEqual([4 << 20, 3 << 20, 3 << 20], sorted(found.values(), reverse=True), found)
        self.assertEqual(3 << 20, found.pop("other"))
        for site, name in zip(sorted(found, key=found.get), ("two", "one"), strict=True):
            self.assertRegex(site, rf"\b{name}\b")
        process.communicate("\n", timeout=harness.DEADLINE_S)

    def test_ends_are_counted_by_how(self):
        ended, killed = self.start(), self.start()
        refused, line = self.python("refused")
        self.assertEqual("refused 2 ready\n", line)
        self.serve()
        text = self.scrape()
        self.assertEqual(0, self.value(text, "vramscope_ended_processes_total", how="exit"))
        self.assertGreaterEqual(self.value(text, "vramscope_out_of_memory_total", pid=refused.pid), 1)
        for process, how, act in ((ended, "exit", quit_of), (killed, "killed", subprocess.Popen.kill),
                                  (refused, "out_of_memory", lambda one: one.communicate("\n"))):  # fmt: skip
            act(process)
            process.wait(timeout=harness.DEADLINE_S)
            text = self.scraped_until("vramscope_process_ended", 1, pid=process.pid, how=how)
            self.assertGreaterEqual(self.value(text, "vramscope_ended_processes_total", how=how), 1)
        self.assertEqual(HELD, self.value(text, "vramscope_requested_bytes", pid=ended.pid))  # what it had at last
        harness.remove_live_files(f"hold.{killed.pid}")

    def test_values_of_an_ended_program_are_forgotten(self):
        process = self.start()
        self.serve("--keep", "1")
        self.assertEqual(1, self.value(self.scrape(), "vramscope_process_readable", pid=process.pid))
        quit_of(process)
        text = self.scraped_until("vramscope_process_readable", None, pid=process.pid)
        self.assertNotIn(f'pid="{process.pid}"', text)
        self.assertGreaterEqual(self.value(text, "vramscope_ended_processes_total", how="exit"), 1)

    def test_a_program_that_executes_another_has_not_ended(self):
        process = self.start_program([harness.program("killed"), "exec"], "cache")
        self.assertIn("ready", process.stdout.readline())
        self.serve()
        self.wait_until(lambda: self.value(self.scrape(), "vramscope_process_readable", pid=process.pid) == 1, pause=0.2)
        self.assertIsNone(self.value(self.scrape(), "vramscope_process_ended", pid=process.pid))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        harness.remove_live_files("killed.")

    def test_without_a_live_file_it_says_so(self):
        process = self.start(VRAMSCOPE_LIVE_FILE="off")
        self.serve()
        text = self.scrape()
        self.assertEqual(0, self.value(text, "vramscope_process_readable", pid=process.pid))
        self.assertIsNone(self.value(text, "vramscope_requested_bytes", pid=process.pid))
        quit_of(process)

    def test_a_program_in_a_container_is_found_from_outside(self):
        process, pid = self.start_in_container(harness.program("hold"))
        self.serve()
        self.assertEqual(HELD, self.value(self.scrape(), "vramscope_requested_bytes", pid=pid))
        quit_of(process)
        self.scraped_until("vramscope_process_ended", 1, pid=pid)

    def in_control_group(self, process, path):
        """Puts it into a group below one that may be changed here, or skips."""
        for folder in ("/sys/fs/cgroup/freezer", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
            group = pathlib.Path(folder, path)
            made = [one for one in (group, *group.parents) if str(one).startswith(folder + "/") and not one.exists()]
            try:
                group.mkdir(parents=True)
                for one in reversed(made):
                    self.addCleanup(os.rmdir, one)
                self.addCleanup(programs.end, process)
                (group / "cgroup.procs").write_text(str(process.pid), encoding="ascii")
                return
            except OSError:
                continue
        self.skipTest("no control group can be made here")

    def test_container_and_pod_are_labels(self):
        container, pod = "0123456789abcdef" * 4, "6a1f3c2e-90ab-4cde-8f01-23456789abcd"
        process = self.start()
        self.in_control_group(process, f"kubepods-test-{os.getpid()}/pod{pod}/{container}")
        self.serve()
        text = self.scrape()
        self.assertEqual(HELD, self.value(text, "vramscope_requested_bytes", pid=process.pid, container_id=container, pod_uid=pod))
        self.assertEqual(1, self.value(text, "vramscope_process_info", pid=process.pid, container_id=container, pod_uid=pod))
        quit_of(process)

    def test_the_profile_is_that_of_export(self):
        process, other = self.start(), self.start()
        self.serve()
        one = self.get(f"/debug/pprof/memory?pid={process.pid}")[1]
        both = self.get("/debug/pprof/memory")[1]
        self.assertIn(b"hold.cpp", one)
        self.assertIn(b"inuse_space", both)
        if decoded := self.decoded(one):
            self.assertIn(f"value: {HELD}\n", decoded)
        for path, status in ((f"/debug/pprof/memory?pid={os.getpid()}", 404), ("/debug/pprof/memory?pid=x", 400), ("/debug/pprof/heap", 404)):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.get(path)
            self.assertEqual(status, refused.exception.code)
        quit_of(process)
        quit_of(other)

    def decoded(self, profile):
        """The profile as protoc shows it; "": protoc is not installed."""
        data = gzip.decompress(profile) if profile.startswith(b"\x1f\x8b") else profile
        folder = harness.SOURCE / "reporter/view/export"
        try:
            return subprocess.run(["protoc", "--decode=vramscope.pprof.Profile", f"--proto_path={folder}", "pprof.proto"], input=data,
                                  capture_output=True, check=True).stdout.decode().replace("  ", "")  # fmt: skip
        except FileNotFoundError:
            return ""

    def test_wrong_addresses_are_one_line(self):
        self.serve()
        for address, word in ((str(self.port), "Address already in use"), ("203.0.113.7:0", "no address of this machine"),
                              ("70000", "no [ADDRESS:]PORT"), ("x:1", "no [ADDRESS:]PORT"), ("::1", "no [ADDRESS:]PORT"), ("", "no [ADDRESS:]PORT")):  # fmt: skip
            done = self.run_tool("serve", "--listen", address)
            self.assertEqual((2, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")), done.stderr)
            self.assertIn(word, done.stderr)

    def test_signals_end_it_with_status_0(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            server = self.serve()
            self.scrape()
            server.send_signal(number)
            server.communicate(timeout=harness.DEADLINE_S)
            self.assertEqual(0, server.returncode)

    def test_the_dashboard_and_the_rules_ask_for_what_is_served(self):
        known = set(metrics_of_page())
        dashboard = json.loads(pathlib.Path(MANUAL / "metrics/dashboard.json").read_text(encoding="utf-8"))
        asked = json.dumps(dashboard) + pathlib.Path(MANUAL / "metrics/rules.yml").read_text(encoding="utf-8")
        self.assertEqual(set(), set(re.findall(r"\bvramscope_[a-z_]+\b", asked)) - known)
        self.assertEqual(len(dashboard["panels"]), len({panel["id"] for panel in dashboard["panels"]}))


if __name__ == "__main__":
    harness.main()
