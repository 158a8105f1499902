"""What libraries keep by design has not leaked in exports of a trace, and these tell who holds it."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402

MIB = 1 << 20
HELD, LEAKED = 3 * MIB, 5 * MIB
# NCCL keeps what its function of that name allocates; another block of it is freed.
PROGRAM = f"""{harness.ASKS_DRIVER}
def ask(size):
    block = ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(size)) == 0
    return block
def ncclAsyncJobMain():
    return [ask({HELD}) for _ in range(2)]
driver.cuMemFree_v2(ncclAsyncJobMain()[0])
def leak():
    ask({LEAKED})
leak()
"""


class Held(harness.Case):
    def setUp(self):
        super().setUp()
        self.trace = os.path.join(self.folder, "t.trace")
        done = subprocess.run([harness.TOOL, "run", "--sim", "--trace", self.trace, sys.executable, "-c", PROGRAM], capture_output=True,
                              text=True, cwd=self.folder, env=harness.environment(), timeout=harness.DEADLINE_S)  # fmt: skip
        self.assertEqual(0, done.returncode, done.stderr)
        if not any(frame.startswith("leak ") for site in json.loads(self.tool("sites", "--json", self.trace)) for frame in site["frames"]):
            self.skipTest("this Python's frames are not recorded")

    def tool(self, *words):
        return subprocess.run([harness.TOOL, *words], check=True, capture_output=True, text=True, env=harness.environment()).stdout

    def export(self, form, *more):
        to = os.path.join(self.folder, "export")
        done = subprocess.run([harness.TOOL, "export", "--force", "--format", form, "-o", to, *more, self.trace],
                              capture_output=True, text=True, env=harness.environment())  # fmt: skip
        if "this build is without" in done.stderr:
            self.skipTest(done.stderr.strip())
        self.assertEqual(0, done.returncode, done.stderr)
        return to

    def text(self, form, *more):
        with open(self.export(form, *more), encoding="utf-8") as file:
            return file.read()

    def test_folded_tells_them_apart(self):
        for cost, wanted, holder in (("leaked", LEAKED, False), ("kept", HELD, True)):
            (line,) = self.text("folded", "--cost", cost).splitlines()
            self.assertTrue(line.endswith(f" {wanted}"), line)
            self.assertEqual(holder, line.startswith("GPU 0;held by ncclAsyncJobMain;"), line)

    def test_dhat_has_a_point_for_what_is_held(self):
        told = json.loads(self.text("dhat"))
        points = {told["ftbl"][point["fs"][-2]].startswith("held by "): point for point in told["pps"] if point["eb"]}
        self.assertEqual({True: HELD, False: LEAKED}, {is_held: point["eb"] for is_held, point in points.items()})
        self.assertEqual(2 * HELD + LEAKED, sum(point["tb"] for point in told["pps"]))
        self.assertTrue(all(point["eb"] <= point["mb"] <= point["tb"] for point in told["pps"]))

    def test_chrome_says_so_of_each_block(self):
        lives = [event for event in json.loads(self.text("chrome"))["traceEvents"] if event["ph"] == "b"]
        self.assertEqual(["ncclAsyncJobMain", "ncclAsyncJobMain", None], [event["args"].get("held_by") for event in lives])

    def test_perfetto_says_so_of_each_call(self):
        schema = harness.SOURCE / "reporter/view/export/perfetto.proto"
        with open(self.export("perfetto"), "rb") as file:
            done = subprocess.run([harness.installed("protoc"), "--decode=vramscope.perfetto.Trace", f"--proto_path={schema.parent}", schema],
                                  stdin=file, capture_output=True, check=True)  # fmt: skip
        self.assertEqual(2, done.stdout.decode().count('string_value: "ncclAsyncJobMain"'))

    def test_sqlite_has_a_view_of_each(self):
        database = sqlite3.connect(self.export("sqlite"))
        self.addCleanup(database.close)
        self.assertEqual([(LEAKED, 1)], database.execute("SELECT leaked_bytes, leaked_count FROM leaks").fetchall())
        self.assertEqual([("ncclAsyncJobMain", HELD, 1)], database.execute("SELECT held_by, bytes, count FROM kept").fetchall())

    def test_heaptrack_suppresses_it(self):
        done = subprocess.run([harness.installed("heaptrack_print"), "-f", self.export("heaptrack")], capture_output=True, text=True, check=True)
        said = re.search(r"total memory leaked: ([\d.]+)M\n(?:suppressed leaks: ([\d.]+)M)?", done.stdout)
        self.assertEqual((f"{LEAKED / 1e6:.2f}", f"{HELD / 1e6:.2f}"), said.groups(), done.stdout[-300:])


if __name__ == "__main__":
    harness.main()
