# What the tool does with files that somebody made to hurt: it ends soon, small, with one line.
# SPDX-License-Identifier: Apache-2.0
"""hostile_files_test.py BUILD"""
import gzip
import json
import os
import resource
import struct
import subprocess
import sys
import time
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402

WRITE_SAMPLE = harness.BUILD / "test/view/view_write_sample"
SECONDS = 20 if harness.TIME_LIMITS == 1 else harness.DEADLINE_S  # a machine that does other things; without a limit it would be hours
MEMORY = 700 << 20  # address space: the tool's own libraries take 100 MiB
MAGIC = b"VRAMSCOPE TRACE\n"
FACTS, EVENTS, MARK = 1, 2, 3


def number(value):
    result = b""
    while value >= 0x80:
        result += bytes([value & 0x7F | 0x80])
        value >>= 7
    return result + bytes([value])


def text(value):
    return number(len(value)) + value


def chunk(kind, content, events=0, lane=0xFFFFFFFF, checksum=None, length=None):
    checksum = zlib.crc32(content) if checksum is None else checksum
    length = len(content) if length is None else length
    head = struct.pack("<4sBBHIIIII", b"VTC1", kind, 1, 0, lane, 0, length, events, checksum)
    return head + struct.pack("<I", zlib.crc32(head)) + content


def trace(*chunks):
    head = MAGIC + struct.pack("<I", 1)
    return head + struct.pack("<I", zlib.crc32(head)) + b"".join(chunks)


def function(index, name):
    return b"\x02" + number(index) + text(name)


def call(index):
    """An event: a call of that function, which takes a nanosecond."""
    return b"\x08\x00" + number(index) + b"\x02\x01"


class HostileFiles(harness.Case):
    def path(self, name, content=None):
        path = os.path.join(self.folder, name)
        if content is not None:
            with open(path, "wb") as file:
                file.write(content)
        return path

    def call_tool(self, *arguments, memory=MEMORY):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        return subprocess.run([harness.TOOL, *arguments], capture_output=True, timeout=SECONDS,
                              cwd=self.folder, env=harness.environment(LC_ALL="C.UTF-8"),
                              preexec_fn=limit, check=False)  # fmt: skip

    def assert_refused(self, arguments, part, **more):
        done = self.call_tool(*arguments, **more)
        line = done.stderr.decode(errors="replace")
        self.assertEqual((2, b""), (done.returncode, done.stdout), line)
        self.assertEqual(1, line.count("\n"), line)
        self.assertIn(part, line)

    def sample(self, change):
        path = self.path("r.json")
        subprocess.run([WRITE_SAMPLE, path], check=True)
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        change(report)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)
        return path

    def test_a_fact_with_a_huge_number_takes_no_memory(self):
        facts = chunk(FACTS, b"\x03" + number((1 << 24) - 1) + text(b"") * 2 + number(0))
        path = self.path("x.trace", trace(facts))
        self.assertLess(os.path.getsize(path), 98)
        self.assert_refused(["trace", path], "byte 25: expected facts that can be read")
        self.assert_refused(["trace", "--partial", path], "none of its ")

    def test_a_compressed_trace_has_a_largest_size(self):
        begin = trace(chunk(FACTS, b""))
        blocks = [(len(begin) << 3).to_bytes(3, "little") + begin]  # as it is
        blocks += [((1 << 17) << 3 | 2).to_bytes(3, "little") + b"\0"] * 350_000  # a byte repeated
        path = self.path("x.zst", b"\x28\xb5\x2f\xfd\x00\x58" + b"".join(blocks))
        self.assertLess(os.path.getsize(path), 1_500_000)
        self.assert_refused(["trace", path], "of the compressed file: expected at most ")

    def test_a_pipe_without_writer_and_devices_are_refused(self):
        path = self.path("pipe")
        os.mkfifo(path)
        self.assert_refused(["trace", path], "a pipe to which nobody writes")
        self.assert_refused(["report", path], "a pipe to which nobody writes")
        self.assert_refused(["trace", "/dev/zero"], "byte 1: expected a trace")
        self.assert_refused(["report", "/dev/zero"], "byte 1: expected a report")
        self.assert_refused(["trace", "/dev/null"], "byte 1: expected a trace")
        self.assert_refused(["trace", "/"], "is a folder: expected one trace")

    def test_a_pipe_with_a_writer_is_read(self):
        whole = trace(chunk(FACTS, function(0, b"cuInit")), chunk(MARK, b"\0\0"))
        tool = [str(harness.TOOL), "trace", "--json", "/dev/stdin"]
        with subprocess.Popen(tool, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdin.write(whole[:30])
            process.stdin.flush()
            time.sleep(0.05)  # no order depends on it: later, the rest is there at once
            shown = json.loads(process.communicate(whole[30:], SECONDS)[0])
        self.assertEqual((True, 0), (shown["complete"], shown["events"]))

    def test_a_file_of_holes_is_refused(self):
        path = self.path("x.trace", trace(chunk(FACTS, b"")))
        os.truncate(path, 1 << 40)
        self.assert_refused(["trace", "--partial", path], "are on the disk", memory=2 << 40)
        self.assert_refused(["trace", path], "are on the disk", memory=2 << 40)
        path = self.path("r.json", b"{")
        os.truncate(path, 1 << 40)
        self.assert_refused(["report", path], "byte 2: expected a report, found a zero byte")

    def test_chunks_that_overlap_are_not_searched_without_end(self):
        heads = b"".join(
            chunk(FACTS, b"", checksum=at, length=(8 << 20) - 32 * at - 32)
            for at in range(1, (8 << 20) // 32)
        )
        path = self.path("x.trace", trace(heads))
        self.assert_refused(["trace", "--partial", path], "none of its ")

    def test_a_lane_costs_memory_so_their_number_has_a_limit(self):
        lanes = b"".join(chunk(EVENTS, call(0), events=1, lane=lane) for lane in range(40_000))
        path = self.path("x.trace", trace(chunk(FACTS, function(0, b"cuInit")), lanes))
        self.assert_refused(["trace", path], "expected at most 32768 lanes")

    def test_what_frames_refer_to_is_short(self):
        long = "/" + "x" * (1 << 20)

        def change(report):
            report["modules"] = [{"path": long, "build_id": "", "base": 0}]
            report["frames"] = [{"module": 0, "offset": at} for at in range(20_000)]
            report["sites"][0]["frames"] = list(range(100))

        self.assert_refused(["report", self.sample(change)], "field modules[0].path: expected at most")
        module = b"\x03" + number(0) + text(long.encode()) + text(b"") + number(0)
        path = self.path("x.trace", trace(chunk(FACTS, module)))
        self.assert_refused(["trace", path], "byte 25: expected facts that can be read")

    def test_devices_are_few(self):
        def change(report):
            report["devices"] = [{"index": 0}] * 65

        self.assert_refused(["report", self.sample(change)], "field devices: expected at most 64")

    def peak_memory_of_report(self, change):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))

        process = subprocess.Popen([harness.TOOL, "report", self.sample(change)], cwd=self.folder, preexec_fn=limit,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(0, process.returncode)
        return usage.ru_maxrss << 10

    def long_report(self):
        """Of 20 MiB, most of it call sites."""
        def change(report):
            report["sites"] *= 20_000_000 // len(json.dumps(report["sites"]))
            for number, site in enumerate(report["sites"]):
                report["sites"][number] = {**site, "id": number}

        return self.sample(change)

    def peak_memory_of_stats(self, file, source=None):
        # A process begins with the peak of the one that it was made of, which is large here.
        between = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
                   "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")  # fmt: skip
        done = subprocess.run([sys.executable, "-c", between, harness.TOOL, "stats", file], stdin=source, cwd=self.folder,
                              capture_output=True, text=True, check=True, timeout=SECONDS)  # fmt: skip
        return int(done.stdout) << 10

    def test_of_a_long_report_what_was_read_is_not_held(self):
        path = self.long_report()
        size = os.path.getsize(path)
        with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat:  # a pipe cannot be read again
            of_pipe = self.peak_memory_of_stats("/dev/stdin", cat.stdout)
        self.assertLess(self.peak_memory_of_stats(path), of_pipe - size / 4)

    def test_of_a_long_report_that_is_wrong_at_its_end_the_place_is_told(self):
        path = self.long_report()
        with open(path, "ab") as file:
            file.write(b"}")
        size = os.path.getsize(path)
        self.assert_refused(["report", path], f"byte {size}: syntax error")
        os.truncate(path, size - 100)
        self.assert_refused(["report", path], f"ends early at byte {size - 100}: cut off")

    def peak_memory_of_module(self, path):
        def change(report):
            report["modules"] = [{"path": path, "base": 0}]
            report["frames"] = [{"module": 0, "offset": 4096 + at} for at in range(len(report["frames"]))]

        return self.peak_memory_of_report(change)

    def test_a_compressed_module_is_not_unpacked(self):
        path = self.path("libx.so.gz")
        with gzip.open(path, "wb", compresslevel=1) as file:
            for _ in range(256):
                file.write(bytes(1 << 20))
        self.assertLess(self.peak_memory_of_module(path), 160 << 20)

    def test_sections_of_a_module_unpack_to_a_bearable_size(self):
        unpacked = 512 << 20
        packing = zlib.compressobj(1)  # in pieces: what this process takes counts as the tool's
        packed = struct.pack("<IIQQ", 1, 0, unpacked, 1)
        packed += b"".join(packing.compress(bytes(1 << 20)) for _ in range(unpacked >> 20)) + packing.flush()
        names = b"\0.debug_info\0.debug_abbrev\0.debug_line\0.shstrtab\0"
        load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 1 << 16, 1 << 16, 4096)
        at = 64 + len(load)
        sections = [bytes(64)]
        for name in (b".debug_info", b".debug_abbrev", b".debug_line"):
            sections.append(struct.pack("<IIQQQQIIQQ", names.index(name), 1, 0x800, 0, at, len(packed), 0, 0, 1, 0))
        sections.append(struct.pack("<IIQQQQIIQQ", names.index(b".shstrtab"), 3, 0, 0, at + len(packed), len(names), 0, 0, 1, 0))
        head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, at + len(packed) + len(names),
                           0, 64, 56, 1, 64, len(sections), len(sections) - 1)  # fmt: skip
        path = self.path("libx.so", head + load + packed + names + b"".join(sections))
        self.assertLess(self.peak_memory_of_module(path), 160 << 20)

    def test_nothing_that_is_printed_moves_a_terminal(self):
        evil = "\x1b]0;x\x07\x7f\x9b31m\u202e,\"x"

        def assert_harmless(done):
            for part in (done.stdout.decode(), done.stderr.decode()):
                found = [c for c in part if c != "\n" and (c < " " or "\x7f" <= c < "\xa0" or c == "\u202e")]
                self.assertEqual([], found, part)
            return done

        def change(report):
            report["process"]["executable"] = report["process"]["hostname"] = evil
            report["process"]["arguments"] = [evil]
            report["warnings"] = [evil]

        path = self.sample(change)
        for verb in ("report", "owners", "sites", "peak", "stats", "timeline"):
            assert_harmless(self.call_tool(verb, path))
            done = assert_harmless(self.call_tool(verb, "--json", path))
            self.assertEqual(0, done.returncode)
            shown = json.loads(done.stdout)
        shown = json.loads(self.call_tool("report", "--json", path).stdout)
        self.assertIn(json.dumps(evil)[1:-1], json.dumps(shown))
        events = chunk(EVENTS, call(0), events=1, lane=0)
        path = self.path("x.trace", trace(chunk(FACTS, function(0, evil.encode())), events))
        assert_harmless(self.call_tool("trace", path))
        shown = json.loads(assert_harmless(self.call_tool("trace", "--json", path)).stdout)
        self.assertEqual([evil], [f["name"] for f in shown["functions"]])
        done = assert_harmless(self.call_tool("trace", "--csv", path))
        self.assertIn(b',"?]0;x???31m?,""x",', done.stdout)
        for arguments in (["report", evil], ["trace", evil], [evil], ["report", "--" + evil], ["snapshot", evil],
                          ["report", "-n", evil, path]):  # fmt: skip
            self.assertEqual(2, assert_harmless(self.call_tool(*arguments)).returncode)

    def test_a_pipe_where_a_module_names_its_debug_file_is_not_waited_for(self):
        """Nobody writes to it: libdwfl opened it, and waited for ever."""
        source = self.path("m.c", b"int f(void) { return 0; }\n")
        module = self.path("m.so")
        subprocess.run([harness.installed("cc"), "-shared", "-fPIC", "-o", module, source], check=True)

        def change(report):
            for fact in report["modules"]:
                fact.update(path=module, build_id="")

        path = self.sample(change)
        os.mkfifo(self.path("m.so.debug"))
        self.assertEqual(0, self.call_tool("peak", path).returncode)
        os.rename(self.path("m.so.debug"), self.path("other"))
        link = self.path("link", b"debug file")
        for name in (link, self.path(".debug/link")):
            os.makedirs(os.path.dirname(name), exist_ok=True)
            self.path(name, b"debug file")
            subprocess.run([harness.installed("objcopy"), f"--add-gnu-debuglink={name}", module], check=True)
            os.unlink(name)
            os.mkfifo(name)
            self.assertEqual(0, self.call_tool("peak", path).returncode)
            os.unlink(name)
            subprocess.run(["objcopy", "-R", ".gnu_debuglink", module], check=True)

    def test_a_map_of_generated_code_that_is_anothers_or_a_link_is_not_read(self):
        with subprocess.Popen(["sleep", "60"]) as process:
            self.addCleanup(process.kill)
            path = f"/tmp/perf-{process.pid}.map"
            lines = b"1000 1000 whispered_name\n"

            def change(report):
                report["process"]["pid"] = process.pid
                report["frames"] = [{"module": None, "offset": 4100}] * len(report["frames"])

            report = self.sample(change)
            self.addCleanup(os.unlink, path)
            os.symlink(self.path("elsewhere", lines), path)
            self.assertNotIn(b"whispered_name", self.call_tool("peak", report).stdout)
            os.unlink(path)
            with open(path, "wb") as file:
                file.write(lines)
            self.assertIn(b"whispered_name", self.call_tool("peak", report).stdout)
            if os.getuid() == 0:
                os.chown(path, 65534, 65534)
                self.assertNotIn(b"whispered_name", self.call_tool("peak", report).stdout)
            process.kill()

    def test_a_map_of_generated_code_is_read_up_to_a_size(self):
        with subprocess.Popen(["sleep", "60"]) as process:
            self.addCleanup(process.kill)
            path = f"/tmp/perf-{process.pid}.map"
            self.addCleanup(os.unlink, path)
            with open(path, "wb") as file:
                file.truncate(1 << 40)

            def change(report):
                report["process"]["pid"] = process.pid
                report["frames"] = [{"module": None, "offset": 4096}] * len(report["frames"])

            self.assertLess(self.peak_memory_of_report(change), 400 << 20)
            process.kill()


if __name__ == "__main__":
    harness.main()
