# Clients that do not read, do not ask, or ask for too much keep nobody from being served, and take
# little memory.
# SPDX-License-Identifier: Apache-2.0
"""serve_hostile_test.py BUILD"""
import contextlib
import os
import pathlib
import resource
import socket
import time

import harness
from serve_case import ServeCase, quit_of

MIB = 1 << 20
MOST_CLIENTS = 256
MOST_BYTES = 48 * MIB  # more than what is read of other tests' programs meanwhile
PATIENCE_S = 10
GET = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n"


class Hostile(ServeCase):
    def connect(self, sent=b""):
        client = socket.create_connection(("127.0.0.1", self.port), timeout=harness.DEADLINE_S)
        self.addCleanup(client.close)
        client.sendall(sent)
        return client

    def status_of(self, client):
        """The first line's number of what is answered; 0: the connection was closed."""
        with contextlib.suppress(ConnectionError):
            answer = client.recv(4096)
            if answer:
                return int(answer.split()[1])
        return 0

    def memory_of(self, server):
        return int(pathlib.Path(f"/proc/{server.pid}/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()

    def clients_of(self, server):
        """How many are connected. Two sockets listen: the server's and libevent's copy. Other files are
        live files, of other tests' programs, too."""
        links = []
        for file in pathlib.Path(f"/proc/{server.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                links.append(os.readlink(file))
        return sum(link.startswith("socket:") for link in links) - 2

    def test_half_a_request_keeps_nobody_waiting_and_is_dropped(self):
        server = self.serve()
        halves = [self.connect(GET) for _ in range(100)]
        begun = time.monotonic()
        self.assertIn("vramscope_processes", self.scrape())
        self.assertLess(time.monotonic() - begun, PATIENCE_S / 2)
        for half in halves:
            self.assertIn(self.status_of(half), (0, 400, 408))
        self.wait_until(lambda: self.clients_of(server) == 0, pause=0.1)

    def test_a_byte_now_and_then_is_no_request(self):
        self.serve()
        slow = self.connect()
        begun = time.monotonic()
        with contextlib.suppress(ConnectionError):
            for byte in GET * 100:
                slow.sendall(bytes([byte]))
                time.sleep(0.3)
                if time.monotonic() - begun > 3 * PATIENCE_S * harness.TIME_LIMITS:
                    break
        self.assertLess(time.monotonic() - begun, 3 * PATIENCE_S * harness.TIME_LIMITS)

    def test_a_thousand_clients_wait_for_their_turn(self):
        process = self.start()
        server = self.serve()
        self.scrape()
        before = self.memory_of(server)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        clients = []
        for _ in range(1000):
            client = socket.socket()
            self.addCleanup(client.close)
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", self.port))
            clients.append(client)
        self.wait_until(lambda: self.clients_of(server) == MOST_CLIENTS)
        for _ in range(20):
            self.assertLessEqual(self.clients_of(server), MOST_CLIENTS)
            time.sleep(0.05)
        self.assertLess(self.memory_of(server) - before, MOST_BYTES)
        for client in clients:
            client.close()
        self.assertIn(f'pid="{process.pid}"', self.scrape())
        self.wait_until(lambda: self.clients_of(server) == 0, pause=0.1)
        quit_of(process)

    def test_without_descriptors_it_waits_for_some(self):
        processes = [self.start() for _ in range(3)]
        server = self.serve(before=[harness.installed("prlimit"), "--nofile=64"])
        self.wait_until(lambda: self.readable_in(self.scrape(), processes), pause=0.1)
        clients = [self.connect(GET) for _ in range(100)]
        self.wait_until(lambda: self.clients_of(server) > 20)
        before = self.cpu_ticks_of(server)
        processes.append(self.start())  # which it finds as soon as it can
        self.assertIn(self.status_of(clients[-1]), (0, 400, 408))  # which was accepted when others were dropped
        self.assertLess(self.cpu_ticks_of(server) - before, os.sysconf("SC_CLK_TCK"))  # in 10 s and more
        self.assertIsNone(server.poll())
        self.wait_until(lambda: self.readable_in(self.scrape(), processes), pause=0.2)
        # None of them has ended, although none could be looked at for a while.
        text = self.scrape()
        self.assertEqual({None}, {self.value(text, "vramscope_process_ended", pid=process.pid) for process in processes})
        for process in processes:
            quit_of(process)

    def readable_in(self, text, processes):
        return all(self.value(text, "vramscope_process_readable", pid=process.pid) == 1 for process in processes)

    def cpu_ticks_of(self, server):
        fields = pathlib.Path(f"/proc/{server.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    def test_a_request_of_a_gigabyte_is_cut_off(self):
        server = self.serve()
        before = self.memory_of(server)
        asks = (b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1073741824\r\n\r\n", GET + b"X: ", b"GET /")
        for ask in asks:
            sent = 0
            with contextlib.suppress(ConnectionError):
                client = self.connect(ask)
                while sent < 1 << 30:
                    client.sendall(b"x" * MIB)
                    sent += MIB
            self.assertLess(sent, 64 * MIB)
            self.assertLess(self.memory_of(server) - before, MOST_BYTES)
        self.assertIn("vramscope_processes", self.scrape())

    def test_what_is_no_request_is_refused(self):
        self.serve()
        for sent, statuses in ((b"\0" * 100 + b"\r\n\r\n", (0, 400)), (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", (0, 400)),
                               (b"DELETE /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", (405,)),
                               (b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nab", (405,)),
                               (b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", (404,)),
                               (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", (0, 400)),
                               (b"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", (200,))):  # fmt: skip
            self.assertIn(self.status_of(self.connect(sent)), statuses, sent)
        self.assertIn("vramscope_processes", self.scrape())

    def test_a_page_that_gives_its_name_our_address_reads_nothing(self):
        self.serve()
        for host, status in (("evil.example", 403), (f"evil.example:{self.port}", 403), ("127.0.0.1.evil.example", 403), ("localhost", 200),
                             (f"127.0.0.1:{self.port}", 200), (f"[::1]:{self.port}", 200)):  # fmt: skip
            client = self.connect(f"GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            self.assertEqual(status, self.status_of(client), host)

    def test_the_answer_to_head_has_no_body(self):
        self.serve()
        client = self.connect(b"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while part := client.recv(65536):
            answer += part
        self.assertTrue(answer.endswith(b"\r\n\r\n") and b"Content-Length: " in answer, answer)

    def test_many_scrapes_leave_nothing_behind(self):
        process = self.start()
        server = self.serve()
        for _ in range(50):
            self.scrape()
        time.sleep(0.5)
        before = self.memory_of(server)
        for _ in range(1000):
            self.scrape()
        self.wait_until(lambda: self.clients_of(server) == 0, pause=0.1)
        self.assertLess(self.memory_of(server) - before, MOST_BYTES)
        quit_of(process)


if __name__ == "__main__":
    harness.main()
