"""Programs that run already: attach, what it records, detach, and what the program notices (nothing)."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time
import unittest

import harness
import recount
from harness import program

WAITS = ("futex", "poll", "nanosleep", "read", "wait4")
MIB = 1 << 20
# Asks for memory when a line comes, by functions that the program looked up before.
ASKS = harness.ASKS_DRIVER + """
blocks = []
print("ready", flush=True)
for line in sys.stdin:
    if line == "free\\n":
        print(driver.cuMemFree_v2(blocks.pop(0)), flush=True)
    else:
        block = ctypes.c_uint64()
        print(driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(1 << 20)), flush=True)
        blocks.append(block)
"""

# Has stream-ordered memory, some of it freed, when it is attached, and frees and asks for more when a line comes.
POOL = harness.ASKS_DRIVER + """
def call(name, *arguments):
    assert driver[name](*arguments) == 0
blocks = []
def ask():
    block = ctypes.c_uint64()
    call("cuMemAllocAsync", ctypes.byref(block), ctypes.c_size_t(32 << 20), None)
    blocks.append(block)
def free():
    call("cuMemFreeAsync", blocks.pop(0), None)
    call("cuStreamSynchronize", None)
if sys.argv[1] == "keep":
    pool = ctypes.c_void_p()
    call("cuDeviceGetDefaultMemPool", ctypes.byref(pool), 0)
    call("cuMemPoolSetAttribute", pool, 4, ctypes.byref(ctypes.c_uint64(1 << 40)))  # its release threshold
for i in range(5):
    ask()
free()
print("ready", flush=True)
for line in sys.stdin:
    if line == "\\n": break
    if line == "ask\\n": ask()
    if line == "free\\n": free()
    if line == "reset\\n":
        call("cuDevicePrimaryCtxReset_v2", 0)
        print("done", flush=True)
        continue
    call("cuMemGetInfo_v2", ctypes.byref(ctypes.c_size_t()), ctypes.byref(ctypes.c_size_t()))
    print("done", flush=True)
"""


class Attach(harness.Case):
    def start(self, *command):
        process = self.start_program(list(command))
        self.assertEqual("ready\n", process.stdout.readline())
        return process

    def end(self, process):
        """What it printed since, when its input ends."""
        out, errors = process.communicate("\n" if process.poll() is None else None, timeout=harness.DEADLINE_S)
        self.assertEqual((0, ""), (process.returncode, errors), out)
        return out

    def attach(self, process, *options):
        done = self.run_tool("attach", str(process.pid), *options)
        self.assertEqual((0, ""), (done.returncode, done.stdout), done.stderr)
        return done.stderr

    def detach(self, process):
        done = self.run_tool("detach", str(process.pid))
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return json.loads(pathlib.Path(done.stdout.strip()).read_text())

    def assert_refused(self, pid, *parts, options=(), **variables):
        done = self.run_tool("attach", str(pid), *options, **variables)
        self.assertEqual((2, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")), done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_every_wait_of_a_program_goes_on_as_if_nothing_had_happened(self):
        for kind in WAITS:
            with self.subTest(kind):
                process = self.start(program("waits"), kind)
                said = self.attach(process, "-o", f"{kind}.json")
                self.assertIn(f"process {process.pid} is recorded", said)
                self.assertIn(f"next: vramscope live {process.pid}", said)
                report = self.detach(process)
                recount.check(self, report)
                self.assertEqual(("control", "observe"), (report["trigger"], report["process"]["mode"]))
                self.assertRegex(self.end(process), r"^fine \d+\n$")
                self.assertEqual([f"{kind}.1.json"], [name for name in os.listdir(self.folder) if kind in name])

    def test_a_tool_that_is_killed_at_any_instant_leaves_the_program_running(self):
        for kind in WAITS * 2:
            with self.subTest(kind):
                process = self.start(program("waits"), kind)
                command = [str(harness.TOOL), "attach", str(process.pid), "-o", "killed.json"]
                tool = subprocess.Popen(command, env=harness.environment(), cwd=self.folder,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
                time.sleep(random.random() * 0.06)
                tool.kill()
                tool.communicate()
                self.assertRegex(self.end(process), r"^fine \d+\n$")

    def test_what_is_allocated_from_then_on_is_recorded_and_what_was_before_may_be_freed(self):
        process = self.start(program("churn"))
        self.attach(process, "-o", "churn.json")
        process.stdin.write("more\n")
        process.stdin.flush()
        self.assertEqual("more\n", process.stdout.readline())
        listed = json.loads(self.run_tool("list", "--json").stdout)
        self.assertIn(process.pid, [row["pid"] for row in listed])
        self.assertIn("done\n", self.end(process))
        (path,) = [name for name in os.listdir(self.folder) if name.endswith(".json")]
        report = json.loads(pathlib.Path(self.folder, path).read_text())
        recount.check(self, report)
        self.assertEqual("exit", report["trigger"])
        kept = [site for site in report["sites"] if site["peak_bytes"] == MIB]
        self.assertEqual([1], [site["total_count"] for site in kept])
        self.assertEqual(0, report["devices"][0]["memory_stats"]["allocation.all.current"])
        self.assertTrue(any("was attached while the program ran" in line for line in report["warnings"]))

    def test_what_it_held_before_is_told_where_nvml_knows_it(self):
        shared = self.shared_device()
        process = self.start_program([program("churn")], **shared)
        self.assertEqual("ready\n", process.stdout.readline())
        said = self.run_tool("attach", str(process.pid), **shared).stderr
        held = re.search(r"not recorded is what it had before: (1[56]\d) MiB of GPU memory, contexts included\n", said)
        self.assertIsNotNone(held, said)
        live = json.loads(self.run_tool("live", str(process.pid), "--json").stdout)
        before = live["devices"][0]["before_bytes"]
        near = 4 * MIB  # blocks of its four threads from before, and the driver's pages, which small blocks share
        self.assertAlmostEqual(int(held[1]) * MIB, before, delta=near)
        for _ in range(10):
            self.assertEqual("less\n", self.say(process, "less"))
        report = self.detach(process)
        self.assertIn("memory from before is one line of the ledger", " ".join(report["warnings"]))
        rows = {(row["kind"], row["owner"]): row["device_bytes"] for row in report["ledger"]}
        self.assertAlmostEqual(before - 10 * MIB, rows["unaccounted", "from before"], delta=near)
        self.assertAlmostEqual(before - 10 * MIB, report["devices"][0]["before_bytes"], delta=near)
        self.end(process)

    def shared_device(self):
        """A device of which NVML knows what each process holds."""
        return {"VRAMSCOPE_SIM": f"capacity=1GiB,context_bytes=100MiB,shared={self.folder}/device"}

    def ledger_of(self, report, adds_up=True):
        """MiB of the only device by kind and owner."""
        (device,) = report["devices"]
        rows = {(row["kind"], row["owner"]): row["device_bytes"] for row in report["ledger"]}
        if adds_up:
            self.assertEqual(device["total_bytes"] - device["free_bytes"], sum(rows.values()), rows)
        return {name: round(bytes / MIB) for name, bytes in rows.items()}

    def attached_pool(self, how, *lines):
        """The ledger of a program with five blocks of 32 MiB, one of which its pool has, that says these lines."""
        shared = self.shared_device()
        both = [self.start_program([sys.executable, "-c", POOL, how], **shared) for _ in range(2)]
        for one in both:
            self.assertEqual("ready\n", one.stdout.readline())
        process = both[0]
        self.assertEqual(0, self.run_tool("attach", str(process.pid), **shared).returncode)
        for line in lines:
            self.assertEqual("done\n", self.say(process, line))
        ledger = self.ledger_of(self.detach(process), "reset" not in lines)  # the device cannot be asked any more
        for one in both:
            self.end(one)
        parts = {"from before": ("unaccounted", "from before"), "pools": ("cached", "pools"), "live": ("stream_ordered", "Python")}
        return {name: ledger.get(row, 0) for name, row in parts.items()}

    def test_freeing_what_it_held_before_makes_its_row_smaller_by_each_block(self):
        # 100 MiB are the context's, and four blocks were live. The program takes the one that the pool has, or not
        # even that.
        self.assertEqual({"from before": 164, "pools": 64, "live": 32}, self.attached_pool("keep", "ask", "free", "free"))
        self.assertEqual({"from before": 164, "pools": 64, "live": 32}, self.attached_pool("keep", "free", "free", "ask"))
        self.assertEqual({"from before": 164, "pools": 96, "live": 0}, self.attached_pool("keep", "free", "free"))

    def test_blocks_that_a_pool_gives_back_to_the_driver_are_not_from_before(self):
        self.assertEqual({"from before": 164, "pools": 0, "live": 32}, self.attached_pool("release", "free", "free", "ask"))
        self.assertEqual({"from before": 164, "pools": 0, "live": 32}, self.attached_pool("release", "ask", "free", "free"))

    def test_nothing_is_from_before_when_its_context_has_ended(self):
        self.assertEqual(0, self.attached_pool("keep", "ask", "reset")["from before"])

    def test_owners_shows_the_row_and_says_what_it_is(self):
        shared = self.shared_device()
        process = self.start_program([program("churn")], **shared)
        self.assertEqual("ready\n", process.stdout.readline())
        self.assertEqual(0, self.run_tool("attach", str(process.pid), "-o", "r.json", **shared).returncode)
        path = self.run_tool("detach", str(process.pid)).stdout.strip()
        owners = self.run_tool("owners", path).stdout
        self.assertRegex(owners, r"1\d\d MiB +\S+ % +unaccounted +from before")
        self.assertIn("what the process held of the GPU when Vramscope was attached, by NVML", owners)
        self.assertRegex(self.run_tool("peak", path).stdout, r"what it held before Vramscope was attached \(1\d\d MiB when")
        self.end(process)

    def test_after_detach_the_driver_is_as_it_was_and_nothing_more_is_recorded(self):
        process = self.start(sys.executable, "-c", ASKS)
        exports = self.exports(process.pid)
        self.attach(process, "-o", "asks.json")
        self.assertNotEqual(exports, self.exports(process.pid))
        self.assertEqual("0\n", self.say(process, "alloc"))
        report = self.detach(process)
        self.assertEqual(exports, self.exports(process.pid))
        self.assertEqual("0\n", self.say(process, "alloc"))
        self.assertEqual("0\n", self.say(process, "free"))
        process.communicate()
        self.assertEqual(0, process.returncode)
        self.assertEqual(["asks.1.json"], os.listdir(self.folder))
        self.assertEqual({"cuMemAlloc_v2": 1}, {row["name"]: row["calls"] for row in report["functions"]})

    def say(self, process, line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline()

    def exports(self, pid):
        """The bytes of the driver in which the loader looks up names."""
        lines = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
        driver = [line.split() for line in lines if line.endswith("/libcuda.so.1")]
        begin = int(driver[0][0].split("-")[0], 16)
        code = next(int(words[0].split("-")[0], 16) for words in driver if "x" in words[1])
        with open(f"/proc/{pid}/mem", "rb") as memory:
            memory.seek(begin)
            return memory.read(code - begin)

    def test_options_reach_the_library_and_the_programs_environment_stays(self):
        process = self.start(program("churn"))
        self.attach(process, "--trace", "late.trace", "--stack-depth", "3", "--output-folder", "reports")
        self.assertNotIn(b"VRAMSCOPE_TRACE", pathlib.Path(f"/proc/{process.pid}/environ").read_bytes())
        report = self.detach(process)
        self.assertEqual("3", report["process"]["options"]["stack_depth"])
        self.assertEqual(["reports"], os.listdir(self.folder))
        written = os.listdir(f"{self.folder}/reports")
        self.assertIn("late.trace", written)
        self.assertEqual(2, len(written))
        self.assertIn("done\n", self.end(process))

    def test_nothing_of_ours_stays_in_memory_after_the_detached_program_has_ended(self):
        process = self.start(program("churn"))
        self.attach(process)
        self.detach(process)
        self.end(process)
        left = [name for name in os.listdir(harness.LIVE_FILES) if str(process.pid) in name]
        self.assertEqual([], left)

    @unittest.skipUnless(os.geteuid() == 0, "who is not root traces no process of another user")
    def test_root_attaches_to_a_program_of_another_user_whose_files_are_that_users(self):
        nobody = 65534
        os.chmod(self.folder, 0o777)
        process = self.start_program(["setpriv", f"--reuid={nobody}", f"--regid={nobody}", "--clear-groups", program("churn")])
        self.assertEqual("ready\n", process.stdout.readline())
        self.attach(process, "-o", "nobody.json")
        place = pathlib.Path(f"/dev/shm/vramscope-{nobody}")
        self.assertEqual([f"churn.{process.pid}.live"], [one.name for one in place.iterdir() if str(process.pid) in one.name])
        self.assertEqual([nobody], sorted({one.stat().st_uid for one in [place, *place.iterdir()]}))
        self.assertIn("done\n", self.end(process))
        self.assertEqual(nobody, pathlib.Path(self.folder, "nobody.json").stat().st_uid)

    def test_settings_of_a_tool_that_was_killed_go_later_and_look_alikes_stay(self):
        folder = harness.LIVE_FILES
        made = {"attach.999999.5": 0o600, "attach.999998.5": 0o644, "attach.999999.5.txt": 0o600, "attach.x.5": 0o600}
        process = self.start(program("churn"))
        self.attach(process)
        for name, mode in made.items():
            path = folder / name
            path.write_text("text")
            path.chmod(mode)
            self.addCleanup(path.unlink, missing_ok=True)
        other = self.start(program("churn"))
        self.attach(other)
        self.assertEqual(set(made) - {"attach.999999.5"}, {name for name in made if (folder / name).exists()})
        for one in (process, other):
            self.detach(one)
            self.end(one)

    def test_a_program_that_cannot_be_attached_is_told_in_one_line(self):
        self.assert_refused(999_999_999, "there is no process 999999999")
        self.assert_refused("1x", "1x")
        sleeper = subprocess.Popen(["sleep", "60"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        self.assert_refused(sleeper.pid, f"cannot attach to process {sleeper.pid}: ", "has not loaded the CUDA driver")
        recorded = self.start_program([program("churn")], "cache")
        self.assertEqual("ready\n", recorded.stdout.readline())
        self.assert_refused(recorded.pid, "it runs under Vramscope already")
        stopped = self.start(program("churn"))
        stopped.send_signal(signal.SIGSTOP)
        self.wait_until(lambda: "State:\tT" in pathlib.Path(f"/proc/{stopped.pid}/status").read_text())
        self.assert_refused(stopped.pid, f"a signal has stopped it: kill -CONT {stopped.pid}")
        stopped.send_signal(signal.SIGCONT)
        self.attach(stopped)
        self.detach(stopped)
        self.assert_refused(stopped.pid, "it was attached before")

    def test_a_program_in_which_no_thread_can_do_it_is_left_alone(self):
        process = self.start(program("waits"), "epoll")
        self.assert_refused(process.pid, "none of its threads waited", options=("--wait", "1"))
        self.assertNotIn("libvramscope", pathlib.Path(f"/proc/{process.pid}/maps").read_text())
        self.assertRegex(self.end(process), r"^fine \d+\n$")

    def test_a_debugger_is_not_disturbed(self):
        tracer = re.compile(r"process \d+ traces it, such as a debugger")
        process = self.start(program("churn"))
        gdb = subprocess.Popen([harness.installed("gdb"), "-q", "-nx", "-p", str(process.pid)], stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=harness.environment())  # fmt: skip
        self.wait_until(lambda: "TracerPid:\t0" not in pathlib.Path(f"/proc/{process.pid}/status").read_text())
        done = self.run_tool("attach", str(process.pid))
        self.assertEqual(2, done.returncode)
        self.assertRegex(done.stderr, tracer)
        gdb.communicate(b"detach\nquit\n")
        self.assertIn("done\n", self.end(process))

    def test_doctor_says_beforehand_whether_it_can_work(self):
        process = self.start(program("churn"))
        done = self.run_tool("doctor", str(process.pid))
        self.assertIn(f"vramscope attach {process.pid}", done.stdout)
        sleeper = subprocess.Popen(["sleep", "60"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        done = self.run_tool("doctor", str(sleeper.pid), COLUMNS="400")
        self.assertIn("attach cannot help: it has not loaded the CUDA driver", done.stdout)

    def test_a_program_that_was_not_attached_is_not_detached(self):
        process = self.start_program([program("churn")], "cache")
        self.assertEqual("ready\n", process.stdout.readline())
        done = self.run_tool("detach", str(process.pid))
        self.assertEqual((2, ""), (done.returncode, done.stdout))
        self.assertIn("vramscope attach was not applied to it", done.stderr)


if __name__ == "__main__":
    harness.main()
