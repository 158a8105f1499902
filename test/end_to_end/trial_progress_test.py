"""replay, fit and tune that last show how far they are on a terminal, never in a pipe; an interrupt leaves no file."""
# SPDX-License-Identifier: Apache-2.0
import functools
import os
import pathlib
import pickle
import pty
import re
import select
import signal
import subprocess
import time

import harness
from trace_case import TraceTest

VERBS = ("replay", "fit", "tune")
EVENTS = 400_000


@functools.cache
def long_history():
    """Blocks of many sizes, of which a thousand live at a time: each verb plays it for seconds."""
    actions, live = [], []
    for i in range(EVENTS // 2):
        size = 1 + (i * 7919) % 4096 * 8192
        actions.append({"action": "alloc", "addr": (i % 65536 + 1) << 26, "size": size, "stream": 0, "time_us": i, "frames": []})
        live.append(actions[-1])
        if len(live) > 1000:
            actions.append({**live.pop((i * 31) % 1000), "action": "free_completed", "time_us": i})
    return pickle.dumps({"segments": [], "device_traces": [actions]})


class Progress(TraceTest):
    def traces(self, verb):
        """As many as take seconds; a replay plays each once under each setting."""
        path = pathlib.Path(self.folder, "long.pickle")
        path.write_bytes(long_history())
        return [path] * {"replay": 12, "fit": 4, "tune": 4}[verb]

    def start(self, *words, **streams):
        return subprocess.Popen([str(harness.TOOL), *map(str, words)], env=harness.environment(), **streams)

    def seen_on_a_terminal(self, process, terminal, until):
        """What came, until the process ended or the pattern was there."""
        seen, end = "", time.monotonic() + harness.DEADLINE_S
        while process.poll() is None and time.monotonic() < end and not (until and re.search(until, seen)):
            if select.select([terminal], [], [], 0.05)[0]:
                seen += os.read(terminal, 65536).decode()
        return seen

    def test_on_a_terminal_it_is_seen(self):
        for verb in VERBS:
            terminal, other = pty.openpty()
            with self.start(verb, *self.traces(verb), stdout=subprocess.DEVNULL, stderr=other) as process:
                pattern = rf"vramscope: {verb}(, part \d+)?: [\d.]+ %, [\d,]+ events a second"
                seen = self.seen_on_a_terminal(process, terminal, pattern)
                process.kill()
            os.close(terminal)
            os.close(other)
            self.assertRegex(seen, pattern, verb)

    def test_in_a_pipe_it_is_not(self):
        done = self.run_tool("tune", *self.traces("tune")[:1])
        self.assertEqual((0, ""), (done.returncode, done.stderr))

    def test_an_interrupt_leaves_no_half_file(self):
        for verb in VERBS:
            paths, made = self.traces(verb), pathlib.Path(self.folder, f"{verb}.txt")
            before = sorted(os.listdir(self.folder))
            with self.start(verb, "-o", made, *paths, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                time.sleep(1.2)
                self.assertIsNone(process.poll(), verb)
                process.send_signal(signal.SIGINT)
                self.assertEqual(-signal.SIGINT, process.wait(harness.DEADLINE_S), verb)
                self.assertEqual((b"", b""), (process.stdout.read(), process.stderr.read()))
            self.assertEqual(before, sorted(os.listdir(self.folder)), verb)

    def test_an_interrupt_leaves_what_was_there(self):
        paths, made = self.traces("tune"), pathlib.Path(self.folder, "kept.txt")
        made.write_text("kept")
        with self.start("tune", "--force", "-o", made, *paths, stderr=subprocess.PIPE) as process:
            time.sleep(1.2)
            process.send_signal(signal.SIGINT)
            process.wait(harness.DEADLINE_S)
        self.assertEqual("kept", made.read_text())


if __name__ == "__main__":
    harness.main()
