"""vramscope doctor on what is around a program: a system that lacks one thing each, and processes that run."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess

from doctor_case import Doctor, NOBODY
import harness
import programs


class Surroundings(Doctor):
    def test_a_driver_that_is_not_there_or_does_not_start(self):
        pathlib.Path(self.path("libcuda.so.1")).write_text("no library\n")
        self.stops("driver", "libcuda.so.1 was not found; install", LD_LIBRARY_PATH=self.folder)
        source = self.path("d.c")
        pathlib.Path(source).write_text(
            "int cuInit(unsigned f) { return f ? 1 : 100; }\n"
            "int cuGetErrorName(int c, const char** n) { *n = \"CUDA_ERROR_NO_DEVICE\"; return c - 100; }\n")
        build = [harness.installed("cc"), "-shared", "-fPIC", "-o", self.path("libcuda.so.1"), source]
        subprocess.run(build, check=True)
        hidden = {"LD_LIBRARY_PATH": self.folder, "CUDA_VISIBLE_DEVICES": ""}
        self.stops("driver", "cuInit gives 100 (CUDA_ERROR_NO_DEVICE); CUDA_VISIBLE_DEVICES hides", **hidden)
        pathlib.Path(source).write_text("int cuInit(unsigned f) { return *(volatile int*)(f * 8L); }\n")
        subprocess.run(build, check=True)
        self.stops("driver", "cuInit was ended by SIGSEGV", LD_LIBRARY_PATH=self.folder)

    def test_without_libunwind_frame_pointers_are_walked(self):
        pathlib.Path(self.path("libunwind.so.8")).write_text("no library\n")
        self.found("limits", "libunwind", "libunwind.so.8 was not found", "--sim", LD_LIBRARY_PATH=self.folder)

    def test_an_output_folder_that_cannot_be_written(self):
        self.stops("output", "in 'no/': No such file", "--sim", VRAMSCOPE_OUTPUT="no/%p.json")
        self.stops("output", "in '/proc/': ", "--sim", VRAMSCOPE_OUTPUT="/proc/%p.json")
        self.stops("output", "cannot write a trace in 'no/'", "--sim", VRAMSCOPE_TRACE="no/%p.trace")

    def test_an_output_folder_that_the_program_makes_is_no_problem(self):
        told = self.found("fine", "output", "reports go to ", "--sim", VRAMSCOPE_OUTPUT_FOLDER=f"{self.folder}/new/job")
        self.assertFalse(pathlib.Path(self.path("new")).exists(), told)
        self.stops("output", "in '/proc/'", "--sim", VRAMSCOPE_OUTPUT_FOLDER="/proc/new")

    def test_limits_on_addresses_which_drivers_reserve(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

        status, findings = self.ask_limited(limit, "--sim")
        told = {one["subject"]: one for one in findings if one["state"] != "fine"}
        self.assertEqual((1, {"driver", "addresses"}), (status, set(told)), findings)
        self.assertIn("CUDA_ERROR_OUT_OF_MEMORY", told["driver"]["found"])
        self.assertIn("that ulimit -a shows", told["driver"]["advice"])
        self.assertEqual("programs may have 4.00 GiB of them", told["addresses"]["found"])

    def ask_limited(self, limit, *words):
        """As ask(), where the simulated device has a line of its own."""
        environment = {**harness.environment(), "LD_LIBRARY_PATH": ""}
        done = programs.finish([harness.TOOL, "doctor", "--json", *words], environment, self.folder,
                               harness.DEADLINE_S, preexec_fn=limit)  # fmt: skip
        return done.returncode, json.loads(done.stdout)

    def test_an_output_folder_without_room(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

        self.found("stops", "output", "File too large", "--sim", how={"preexec_fn": limit})
        place = self.path("full")
        os.mkdir(place)
        first = self.ask_with(f"mount -t tmpfs -o size=4k none '{place}' && echo > '{place}/x'", VRAMSCOPE_OUTPUT=f"{place}/%p.json")[0]
        self.assertEqual(("stops", "output"), (first["state"], first["subject"]))
        self.assertIn("No space left on device", first["found"])

    def ask_with(self, mount, **variables):
        """What is found where a file system is mounted for the tool alone."""
        command = ["unshare", "-m", "/bin/sh", "-c", f"{mount} && '{harness.TOOL}' doctor --sim --json; echo"]
        done = programs.finish(command, harness.environment(**variables), self.folder, harness.DEADLINE_S)
        if not done.stdout.strip():
            self.skipTest("no file system can be mounted here")
        return json.loads(done.stdout)

    def test_a_container_whose_shared_memory_has_no_room(self):
        findings = self.ask_with("mount -t tmpfs -o size=1m none /dev/shm", XDG_RUNTIME_DIR="")
        told = next(one for one in findings if one["subject"] == "live file")
        self.assertEqual("limits", told["state"])
        self.assertRegex(told["found"], r"^/dev/shm/vramscope-\d+ has no room: .* of 1.00 MiB are free")
        self.assertIn("--shm-size 1g", told["advice"])

    def test_a_control_group_that_leaves_little_memory(self):
        groups = pathlib.Path("/proc/self/cgroup").read_text()
        own = re.search(r"(?m)^\d+:(?:.*,)?memory(?:,.*)?:(/.*)$", groups)
        if own is None or not os.access("/sys/fs/cgroup/memory/cgroup.procs", os.W_OK):
            self.skipTest("nobody may make a control group of version 1 here")
        group = pathlib.Path(f"/sys/fs/cgroup/memory{own[1]}/vramscope-{os.getpid()}")
        within = group / "within"
        for folder in (group, within):
            folder.mkdir()
            self.addCleanup(folder.rmdir)
        (group / "memory.limit_in_bytes").write_text("100M")

        def enter():
            (within / "cgroup.procs").write_text(str(os.getpid()))

        self.found("limits", "container", f"{group.name} allows 100 MiB of host memory; recording needs",
                   "--sim", how={"preexec_fn": enter})  # fmt: skip

    def test_control_groups_of_version_2(self):
        own = re.search(r"(?m)^0::(/.*)$", pathlib.Path("/proc/self/cgroup").read_text())
        if own is None:
            self.skipTest("the kernel has no control groups of version 2")
        folder = f"/sys/fs/cgroup{own[1]}"
        made = f"mount -t tmpfs none /sys/fs/cgroup && mkdir -p '{folder}' && echo max > /sys/fs/cgroup/memory.max"
        for limit, state, part in (("67108864", "limits", " allows 64.0 MiB of host memory"), ("max", "fine", "no control group limits")):
            findings = self.ask_with(f"{made} && echo {limit} > '{folder}/memory.max'")
            told = next(one for one in findings if one["subject"] == "container")
            self.assertEqual(state, told["state"])
            self.assertIn(part, told["found"])

    def test_rights_to_trace_are_told_and_not_needed(self):
        yama = "mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama && echo 3 > /proc/sys/kernel/yama/ptrace_scope"
        told = next(one for one in self.ask_with(yama) if one["subject"] == "rights")
        self.assertEqual("fine", told["state"])
        self.assertIn("ptrace scope 3, which does not matter", told["found"])

    def test_the_toolkits_stub_instead_of_a_driver(self):
        os.makedirs(self.path("stubs"))
        os.symlink(harness.program("libcuda_stub.so"), self.path("stubs/libcuda.so.1"))
        self.stops("driver", "is the toolkit's stub, no driver; take its folder out", LD_LIBRARY_PATH=self.path("stubs"))

    def test_a_search_path_that_has_the_current_folder(self):
        for path in (":/nowhere", "/nowhere::/none", "/nowhere:", "lib:/nowhere", ".", "/nowhere;"):
            self.found("limits", "LD_LIBRARY_PATH", "whatever folder they are started in", "--sim", LD_LIBRARY_PATH=path)
        subjects = {one["subject"] for one in self.ask("--sim", LD_LIBRARY_PATH="/nowhere:/none")[1]}
        self.assertNotIn("LD_LIBRARY_PATH", subjects)

    def test_other_preloaded_libraries(self):
        jemalloc = next(pathlib.Path("/usr/lib").glob("*/libjemalloc.so.2"), None)
        if jemalloc is None:
            self.skipTest("libjemalloc2 is not installed")
        self.found("fine", "LD_PRELOAD", f"also has another malloc, {jemalloc}", "--sim", LD_PRELOAD=str(jemalloc))
        done = self.run_tool("doctor", "--sim", "--json", LD_PRELOAD=f"{self.nowhere}/no.so")
        self.assertIn(f"{self.nowhere}/no.so is no library", done.stdout)
        other = shutil.copy(harness.LIBRARY, self.path("libvramscope.so"))
        self.found("limits", "LD_PRELOAD", "another libvramscope.so", "--sim", LD_PRELOAD=other, VRAMSCOPE_MODE="observe")

    def test_a_signal_that_the_program_would_inherit_ignored_or_blocked(self):
        def ignore():
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)

        def block():
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])

        for before, part in ((ignore, "SIGUSR1 is ignored here"), (block, "SIGUSR1 is blocked here")):
            self.found("limits", "signal", part, "--sim", how={"preexec_fn": before})
        self.found("limits", "signal", "no signal requests", "--sim", VRAMSCOPE_SIGNAL="none")

    def test_settings(self):
        self.stops("settings", "VRAMSCOPE_MODE=off", "--sim", VRAMSCOPE_MODE="off")
        self.found("limits", "settings", "VRAMSCOPE_MODE", "--sim", VRAMSCOPE_MODE="on")
        self.found("limits", "live file", "is switched off", "--sim", VRAMSCOPE_LIVE_FILE="off")

    def test_a_library_that_cannot_be_preloaded(self):
        self.stops("library", self.nowhere, "--sim", VRAMSCOPE_LIBRARY=self.nowhere)
        foreign = self.changed("libvramscope.so", harness.OWN_MACHINE, harness.OTHER_MACHINE, 18, source=harness.LIBRARY)
        other = harness.MACHINES[harness.OTHER_MACHINE][0]
        self.stops("library", f"is for another machine: {other}", "--sim", VRAMSCOPE_LIBRARY=foreign)
        half = self.program_of("half/libvramscope.so", harness.LIBRARY.read_bytes()[:100_000])
        self.stops("library", "is cut short: programs crash as they load it; install", "--sim", VRAMSCOPE_LIBRARY=half)

    def test_the_version_of_the_library_is_a_note_as_other_tools_read_them(self):
        done = subprocess.run(["readelf", "-n", harness.LIBRARY], capture_output=True, text=True, check=True)
        self.assertEqual("", done.stderr)
        self.assertRegex(done.stdout, r"(?m)^  vramscope +0x")

    def test_a_library_of_another_version(self):
        code = harness.LIBRARY.read_bytes()
        at = code.index(b"vramscope\0\0\0") + 12
        other = self.program_of("libvramscope.so", code[:at] + b"9" + code[at + 1 :])
        self.found("limits", "library", " is of version 9.", "--sim", VRAMSCOPE_LIBRARY=other)
        self.found("limits", "library", "does not say its version", "--sim", VRAMSCOPE_LIBRARY="/bin/true")


class Processes(Doctor):
    def hold(self, *before, preexec_fn=None):
        """A recorded program that waits, and the number of its process."""
        words = [harness.TOOL, "run", "-q", "--sim", *before, harness.program("hold")]
        environment = {**harness.environment(), "LD_LIBRARY_PATH": ""}
        process = programs.start(words, environment, self.folder, stdin=subprocess.PIPE, text=True,
                                 preexec_fn=preexec_fn)  # fmt: skip
        self.addCleanup(programs.end, process)
        self.assertEqual("ready 1\n", process.stdout.readline())
        return process

    def child_of(self, process):
        return pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]

    def pid_under(self, process):
        """Of the program that `run` started."""
        for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                name, rest = entry.read_text().rsplit(")", 1)
            except OSError:
                continue
            if int(rest.split()[1]) == process.pid and name.endswith("(hold"):
                return entry.parent.name
        raise AssertionError("run has no child")

    def test_one_that_is_recorded(self):
        pid = self.pid_under(self.hold())
        status, findings = self.ask(pid)
        told = {one["subject"]: one for one in findings}
        self.assertEqual((0, {"fine"}), (status, {one["state"] for one in findings}), findings)
        self.assertIn(f"{harness.LIBRARY.resolve()}, version", told["library"]["found"])
        self.assertIn("mode cache", told["settings"]["found"])
        self.assertIn("calls are recorded", told["driver"]["found"])
        self.assertEqual(f"it writes {os.path.realpath(self.folder)}/vramscope.hold.{pid}.json", told["end"]["found"])
        self.assertEqual(f"vramscope snapshot {pid}", told["signal"]["advice"])

    def test_one_that_blocks_the_signal(self):
        def block():
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])

        pid = self.pid_under(self.hold(preexec_fn=block))
        self.found("limits", "signal", "every thread blocks SIGUSR1", pid)

    def test_run_itself_leads_to_its_program(self):
        process = self.hold()
        pid = self.pid_under(process)
        findings = self.found("stops", "process", f"but its child {pid} has it; vramscope doctor {pid}", str(process.pid))
        self.assertEqual(1, len(findings))

    def test_one_that_runs_without_us(self):
        process = self.start_program(["sleep", "600"])
        self.stops("process", "runs without the library; attach cannot help: "
                   "it has not loaded the CUDA driver yet; start it with vramscope run", str(process.pid))

    def test_one_whose_parent_has_us(self):
        script = "env -i sleep 600 & echo $!; wait"
        words = [harness.TOOL, "run", "-q", "--sim", "sh", "-c", script]
        process = programs.start(words, harness.environment(), self.folder, stdin=subprocess.DEVNULL, text=True)
        self.addCleanup(programs.end, process)
        pid = process.stdout.readline().strip()
        while pathlib.Path(f"/proc/{pid}/comm").read_text() != "sleep\n":
            pass
        self.stops("process", "LD_PRELOAD was removed from the child's environment", pid)

    def test_one_that_is_gone(self):
        process = subprocess.Popen(["true"])
        process.wait()
        self.refused(f"there is no process {process.pid}", str(process.pid))
        unreaped = subprocess.Popen(["true"])
        os.waitid(os.P_PID, unreaped.pid, os.WEXITED | os.WNOWAIT)
        self.addCleanup(unreaped.wait)
        self.refused("has ended already", str(unreaped.pid))

    def test_one_of_another_user(self):
        if os.getuid() != 0:
            if os.stat("/proc/1").st_uid == os.getuid():
                self.skipTest("every process here is this user's")
            return self.refused("process 1 may not be looked at", "1")
        tool = shutil.copy(harness.TOOL, self.path("vramscope"))
        os.chmod(self.folder, 0o755)
        process = self.start_program(["sleep", "600"])
        done = subprocess.run([tool, "doctor", str(process.pid)], capture_output=True, text=True, check=False,
                              user=NOBODY, group=NOBODY, extra_groups=[], cwd="/")  # fmt: skip
        self.assertEqual((2, ""), (done.returncode, done.stdout))
        self.assertIn("may not be looked at: Permission denied; ask as the user", done.stderr)


if __name__ == "__main__":
    harness.main()
