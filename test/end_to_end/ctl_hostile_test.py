# Whoever calls a program with `vramscope ctl`, and however, is not in the program's way.
# SPDX-License-Identifier: Apache-2.0
"""ctl_hostile_test.py BUILD"""
import glob
import os
import socket
import time

import harness


class Case(harness.Case):
    def start(self, name="hold", **variables):
        process = self.start_program([harness.program(name)], "cache", **variables)
        self.assertIn("ready", process.stdout.readline())
        return process

    def ctl(self, process, *words):
        return self.run_tool("ctl", process.pid, *words)

    def sockets(self, process):
        return glob.glob(f"{harness.LIVE_FILES}/*.{process.pid}.ctl*")

    def open(self, process):
        """The path of the program's socket, which is there for 2 s at least."""
        self.assertEqual(0, self.ctl(process, "mark", "opened").returncode)
        (path,) = self.sockets(process)
        return path

    def connect(self, path):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(harness.DEADLINE_S)
        client.connect(path)
        self.addCleanup(client.close)
        return client

    def wait_until(self, is_so, what):
        end = time.monotonic() + harness.DEADLINE_S
        while not is_so():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.02)

    def end(self, process, line="quit\n", status=2):
        process.communicate(line, timeout=harness.DEADLINE_S)
        self.assertEqual(status, process.returncode)


class Sockets(Case):
    def test_there_is_none_until_somebody_calls(self):
        process = self.start()
        self.assertEqual([], self.sockets(process))
        before = sorted(os.listdir(f"/proc/{process.pid}/fd"))
        path = self.open(process)
        self.assertEqual(0o600, os.stat(path).st_mode & 0o777)
        self.wait_until(lambda: not self.sockets(process), "the socket stays")
        self.assertEqual(before, sorted(os.listdir(f"/proc/{process.pid}/fd")))
        self.end(process)

    def test_the_socket_goes_when_nobody_is_connected(self):
        process = self.start()
        client = self.connect(self.open(process))
        for i in range(3):
            time.sleep(1)
            client.sendall(b'{"protocol":1,"command":"mark","name":"%d"}\n' % i)
            self.assertEqual(b'{"ok":true}\n', client.recv(100))
        self.assertEqual(1, len(self.sockets(process)), "somebody is connected")
        client.close()
        self.wait_until(lambda: not self.sockets(process), "the socket stays")
        self.end(process)

    def test_the_socket_goes_with_the_program(self):
        for line, status in (("quit\n", 2), ("a\nb\nc\n", 0)):
            process = self.start()
            self.open(process)
            self.end(process, line, status)
            self.assertEqual([], self.sockets(process))

    def test_numbers_of_descriptors_are_high(self):
        process = self.start()
        path = self.open(process)
        clients = [self.connect(path) for _ in range(8)]
        self.wait_until(lambda: len(self.socket_numbers(process)) == 9, "8 clients and who listens")
        self.assertGreater(min(self.socket_numbers(process)), 100)
        for client in clients:
            client.close()
        self.end(process)

    def socket_numbers(self, process):
        folder = f"/proc/{process.pid}/fd"
        return [int(name) for name in os.listdir(folder) if os.readlink(f"{folder}/{name}").startswith("socket:")]


if __name__ == "__main__":
    harness.main()
