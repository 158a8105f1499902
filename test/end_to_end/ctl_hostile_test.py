# Whoever calls a program with `vramscope ctl`, and however, is not in the program's way.
# SPDX-License-Identifier: Apache-2.0
"""ctl_hostile_test.py BUILD"""
import glob
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time

import harness


# Does what a line says.
FORKS = harness.ASKS_DRIVER + """
print("ready", flush=True)
files = []
for line in sys.stdin:
    if line == "fork\\n":
        child = os.fork()
        if child == 0:
            time.sleep(3600)
        print(child, flush=True)
    elif line == "exec\\n":
        os.execv("/bin/sh", ["sh", "-c", "echo replaced; read line"])
    elif line == "close\\n":
        os.closerange(3, 4096)
        files = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
        print("closed", flush=True)
    elif line == "files\\n":
        print("kept its files" if all(os.fstat(file) for file in files) else "", flush=True)
    else:
        break
if "child" in globals():
    os.kill(child, 9)
"""


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
        self.addCleanup(client.close)
        client.connect(path)  # without a time limit, so that it waits for its turn
        client.settimeout(harness.DEADLINE_S)
        return client

    def socket_numbers(self, pid):
        numbers = []
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                if os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
                    numbers.append(int(name))
            except FileNotFoundError:  # it was closed meanwhile
                pass
        return numbers

    def wait_until(self, is_so, what):
        end = time.monotonic() + harness.DEADLINE_S
        while not is_so():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.02)

    def end(self, process, line="quit\n", status=2):
        process.communicate(line, timeout=harness.DEADLINE_S)
        self.assertEqual(status, process.returncode)


    def go_on(self, process):
        """The program makes calls, and says so at once."""
        process.stdin.write("more\n")
        process.stdin.flush()
        self.assertIn("ready", process.stdout.readline())

    def last_line(self, client):
        """The last line that the program sends before it ends the connection."""
        text = b""
        try:
            while part := client.recv(1 << 16):
                text += part
        except ConnectionResetError:
            pass
        return json.loads(text.splitlines()[-1])

    def refused(self, *words):
        done = self.run_tool("ctl", *words)
        self.assertEqual((2, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")), done.stderr)
        return done.stderr


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
        self.wait_until(lambda: len(self.socket_numbers(process.pid)) == 9, "8 clients and who listens")
        self.assertGreater(min(self.socket_numbers(process.pid)), 100)
        for client in clients:
            client.close()
        self.end(process)


class Clients(Case):
    def test_one_that_does_not_read_is_dropped(self):
        process = self.start()
        client = self.connect(self.open(process))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        request = b'{"protocol":1,"command":"memory_snapshot"}\n'
        end = time.monotonic() + harness.DEADLINE_S
        with self.assertRaises((BrokenPipeError, ConnectionResetError)):
            while time.monotonic() < end:
                try:
                    client.send(request)
                except BlockingIOError:
                    time.sleep(0.05)
        self.go_on(process)
        self.assertEqual(0, self.ctl(process, "mark", "after").returncode)
        self.end(process)

    def test_a_thousand_are_told_that_there_are_too_many(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (2048, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        process = self.start()
        path = self.open(process)
        clients = [self.connect(path) for _ in range(1000)]
        told = 0
        for client in clients[8:]:
            line = self.last_line(client)
            told += "8 clients are connected" in line["error"]
        self.assertGreater(told, 900)
        self.go_on(process)
        for client in clients:
            client.close()
        self.wait_until(lambda: self.ctl(process, "mark", "after").returncode == 0, "it serves nobody any more")
        self.end(process)

    def test_many_tools_at_once_have_their_turns(self):
        process = self.start()
        tools = [subprocess.Popen([harness.TOOL, "ctl", str(process.pid), "mark", str(i)], env=harness.environment(),
                                  stderr=subprocess.PIPE) for i in range(40)]  # fmt: skip
        for tool in tools:
            self.assertEqual((0, b""), (tool.wait(harness.DEADLINE_S), tool.stderr.read()))
            tool.stderr.close()
        with open(self.ctl(process, "report").stdout.strip(), encoding="utf-8") as file:
            marks = json.load(file)["marks"]
        self.assertEqual(sorted(map(str, range(40))), sorted(mark["name"] for mark in marks))
        self.end(process)

    def test_a_request_of_a_gigabyte_is_cut_off(self):
        process = self.start()
        client = self.connect(self.open(process))
        sent, part = 0, b"x" * (1 << 20)
        with self.assertRaises((BrokenPipeError, ConnectionResetError)):
            while sent < 1 << 30:
                sent += client.send(part)
        self.assertLess(sent, 1 << 24)
        self.assertIn("at most 4096 bytes", self.last_line(client)["error"])
        self.go_on(process)
        self.end(process)

    def test_half_a_request_is_not_waited_for(self):
        process = self.start()
        path = self.open(process)
        silent, closing, empty = (self.connect(path) for _ in range(3))
        for client in (silent, closing):
            client.sendall(b'{"protocol":1,"comm')
        closing.shutdown(socket.SHUT_WR)
        self.assertIn("no end of line", self.last_line(closing)["error"])
        self.assertIn("did not come within 2 s", self.last_line(silent)["error"])
        self.assertEqual(b"", empty.recv(100), "who sends nothing is let go")
        self.go_on(process)
        self.end(process)

    def test_what_is_no_request_has_a_clear_answer(self):
        process = self.start()
        path = self.open(process)
        lines = {b"": "not one JSON object", b"[1]": "not one JSON object", b"{" * 4000: "not one JSON object",
                 b"\0\xff": "not one JSON object", b"[" * 4000: "not one JSON object",
                 b'{"command":"mark","name":"x"}': '"protocol": expected 1, found 0',
                 b'{"protocol":2,"command":"mark"}': "use the vramscope of this version",
                 b'{"protocol":1}': '"command": expected the name of a command',
                 b'{"protocol":1,"command":"eat"}': "there is no command 'eat'; there are: mark",
                 b'{"protocol":1,"command":7}': '"command": expected a text',
                 b'{"protocol":1,"command":"mark","name":""}': '"name": expected a text that is not empty',
                 b'{"protocol":1,"command":"set_limit","bytes":-1}': '"bytes": expected a number',
                 b'{"protocol":1,"command":"set_limit","bytes":1e99}': '"bytes": expected a number',
                 b'{"protocol":1,"command":"report","device":99999999999}': '"device": expected a number below 64',
                 b'{"protocol":1,"command":"report","wait_ms":99999999999}': '"wait_ms": expected at most'}  # fmt: skip
        for line, answer in lines.items():
            client = self.connect(path)
            client.sendall(line + b"\n")
            reply = json.loads(client.recv(1 << 16))
            self.assertIs(False, reply["ok"], line)
            self.assertIn(answer, reply["error"], line)
            client.close()
        self.go_on(process)
        self.end(process)

    def test_one_that_leaves_while_something_waits_is_forgotten(self):
        process = self.start()
        client = self.connect(self.open(process))
        client.sendall(b'{"protocol":1,"command":"empty_cache","wait_ms":3600000}\n')
        client.close()
        self.wait_until(lambda: not self.sockets(process), "the socket stays")
        self.go_on(process)
        self.end(process)


class Programs(Case):
    def test_output_and_status_are_as_if_nobody_called(self):
        native = self.run_program([harness.program("hold")], stdin="a\nb\nc\n")
        process = self.start()
        for line in ("a", "b", "c"):
            for words in (("mark", "x"), ("empty_cache", "--wait", "0"), ("pause",), ("reset_peak_memory_stats",)):
                self.ctl(process, *words)
            process.stdin.write(line + "\n")
            process.stdin.flush()
            time.sleep(0.1)
        output, _ = process.communicate(timeout=harness.DEADLINE_S)
        self.assertEqual(native.stdout, "ready 1\n" + output)
        self.assertEqual(native.status, process.returncode)

    def test_a_child_of_fork_has_no_socket(self):
        process = self.start_program([sys.executable, "-c", FORKS], "cache")
        self.assertIn("ready", process.stdout.readline())
        client = self.connect(self.open(process))
        process.stdin.write("fork\n")
        process.stdin.flush()
        child = int(process.stdout.readline())
        self.wait_until(lambda: not self.socket_numbers(child), "the child keeps sockets of its parent")
        self.assertIn("is not recorded", self.refused(child, "mark", "x"))
        client.sendall(b'{"protocol":1,"command":"mark","name":"after"}\n')
        self.assertEqual(b'{"ok":true}\n', client.recv(100))
        process.communicate("end\n", timeout=harness.DEADLINE_S)

    def test_exec_takes_the_socket_away(self):
        process = self.start_program([sys.executable, "-c", FORKS], "cache")
        self.assertIn("ready", process.stdout.readline())
        client = self.connect(self.open(process))
        process.stdin.write("exec\n")
        process.stdin.flush()
        self.assertEqual("replaced\n", process.stdout.readline())
        self.assertEqual(b"", client.recv(100))
        self.assertEqual([], self.socket_numbers(process.pid))
        self.assertEqual([], self.sockets(process))
        self.assertIn("is not recorded", self.refused(process.pid, "mark", "x"))
        process.communicate("", timeout=harness.DEADLINE_S)

    def test_a_program_that_closes_all_descriptors_goes_on(self):
        process = self.start_program([sys.executable, "-c", FORKS], "cache")
        self.assertIn("ready", process.stdout.readline())
        client = self.connect(self.open(process))
        process.stdin.write("close\n")
        process.stdin.flush()
        self.assertEqual("closed\n", process.stdout.readline())
        self.assertEqual(b"", client.recv(100))
        self.assertEqual(0, self.ctl(process, "mark", "after").returncode)
        self.assertEqual("kept its files\n", self.ask(process, "files"))
        process.communicate("end\n", timeout=harness.DEADLINE_S)
        self.assertEqual(0, process.returncode)

    def ask(self, process, line):
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline()

    def test_a_socket_of_a_killed_program_goes(self):
        process = self.start()
        path = self.open(process)
        process.kill()
        process.wait()
        self.ctl(process, "mark", "x")
        self.assertTrue(os.path.exists(path), "it may be one that is being made")
        os.utime(path, (0, 0))
        beside = path + "x"
        os.rename(path, beside)
        self.run_tool("list")
        self.assertTrue(os.path.exists(beside), "it has not our kind of name")
        os.rename(beside, path)
        self.run_tool("list")
        self.assertFalse(os.path.exists(path))

    def test_a_socket_that_is_in_use_stays(self):
        process = self.start()
        path = self.open(process)
        client = self.connect(path)
        os.utime(path, (0, 0))
        self.run_tool("list")
        self.assertTrue(os.path.exists(path))
        client.close()
        self.end(process)

    def test_a_name_that_is_taken_is_no_obstacle(self):
        process = self.start()
        taken = harness.LIVE_FILES / f"hold.{process.pid}.ctl"
        taken.write_text("mine")
        self.addCleanup(taken.unlink)
        self.assertEqual(0, self.ctl(process, "mark", "x").returncode)
        self.assertEqual("mine", taken.read_text())
        self.end(process)
        self.assertEqual([str(taken)], self.sockets(process))

    def test_a_program_without_descriptors_says_so(self):
        process = self.start()
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (3, hard))
        line = self.refused(process.pid, "mark", "x")
        self.assertIn("cannot make a socket: Too many open files; vramscope snapshot", line)
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (1024, hard))
        self.assertEqual(0, self.ctl(process, "mark", "x").returncode)
        self.go_on(process)
        self.end(process)

    def test_who_cannot_be_steered_is_named(self):
        process = self.start()
        self.assertIn("process 1 is not recorded", self.refused("1", "mark", "x"))
        self.assertIn("does not run", self.refused("999999999", "mark", "x"))
        process.send_signal(signal.SIGSTOP)
        self.assertIn("is stopped and answers nobody", self.refused(process.pid, "mark", "x"))
        process.send_signal(signal.SIGCONT)
        (path,) = harness.LIVE_FILES.glob(f"hold.{process.pid}.live")
        with open(path, "r+b") as file:
            file.seek(8)
            file.write(b"\x63")
        self.assertIn(f"process {process.pid}", self.refused(process.pid, "mark", "x"))
        self.end(process)

    def test_a_program_in_a_container_is_reached_from_outside(self):
        process, pid = self.start_in_container(harness.program("hold"))
        self.assertEqual("", self.run_tool("ctl", pid, "mark", "from outside").stderr)
        self.assertGreater(int(self.run_tool("ctl", pid, "memory_allocated").stdout), 0)
        process.communicate("quit\n", timeout=harness.DEADLINE_S)


if __name__ == "__main__":
    harness.main()
