"""What the tests of `vramscope serve` share: a server, a program, and what a collector reads."""
# SPDX-License-Identifier: Apache-2.0
import re
import signal
import subprocess
import urllib.request

import harness
import programs

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def samples(text):
    """{(name, labels as a frozen set of pairs): value}; a sample that is there twice is an error."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = SAMPLE.match(line).groups()
        key = (name, frozenset(LABEL.findall(labels or "")))
        if key in found:
            raise AssertionError(f"twice: {line}")
        found[key] = float(value)
    return found


class ServeCase(harness.Case):
    def setUp(self):
        super().setUp()
        if "with libevent" not in self.run_tool("--version", "--verbose").stdout:
            self.skipTest("this build has no server (libevent-dev)")

    def start(self, name="hold", **variables):
        """A victim that has said that it is ready."""
        process = self.start_program([harness.program(name)], "cache", **variables)
        self.assertIn("ready", process.stdout.readline())
        return process

    def serve(self, *words, before=()):
        """A server at a free port; its address is in self.url. before: a command that starts it."""
        server = programs.start([*before, harness.TOOL, "serve", "--listen", "0", *words], harness.environment(), self.folder, text=True)
        self.addCleanup(programs.end, server)
        line = server.stderr.readline()
        self.assertRegex(line, r"^vramscope: serving http://127\.0\.0\.1:\d+/metrics\n$")
        self.url = line.split()[-1].removesuffix("/metrics")
        self.port = int(self.url.rsplit(":", 1)[1])
        return server

    def get(self, path="/metrics", accept=OPENMETRICS, method="GET"):
        request = urllib.request.Request(self.url + path, headers={"Accept": accept}, method=method)
        with urllib.request.urlopen(request, timeout=harness.DEADLINE_S) as answer:
            return answer.headers["Content-Type"], answer.read()

    def scrape(self, **how):
        return self.get(**how)[1].decode()

    def value(self, text, name, **labels):
        """Of the only sample that has these labels; None: there is none."""
        wanted = {(key, str(value)) for key, value in labels.items()}
        values = [value for (found, has), value in samples(text).items() if found == name and wanted <= has]
        self.assertLessEqual(len(values), 1, (name, labels))
        return values[0] if values else None

    def scraped_until(self, name, value, **labels):
        """A scrape in which the sample has the value."""
        text = ""

        def is_there():
            nonlocal text
            text = self.scrape()
            return self.value(text, name, **labels) == value

        self.wait_until(is_there, pause=0.2)
        return text

    def end(self, server):
        server.send_signal(signal.SIGTERM)
        output = server.communicate(timeout=harness.DEADLINE_S)
        self.assertEqual((0, ("", "")), (server.returncode, output))


def quit_of(process):
    try:
        process.communicate("quit\n", timeout=harness.DEADLINE_S)
    except subprocess.TimeoutExpired:
        process.kill()
