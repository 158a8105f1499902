# What Prometheus makes of `vramscope serve`, of the rules and of the dashboard: scripts/check --metrics.
# SPDX-License-Identifier: Apache-2.0
"""check_metrics.py BUILD

Exits with 77 where prometheus or promtool is not there (scripts/setup metrics brings them)."""
import json
import os
import pathlib
import shutil
import socket
import sys
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402
import programs  # noqa: E402
from serve_case import ServeCase, quit_of  # noqa: E402

METRICS = harness.SOURCE / "reporter/manual/metrics"
BROUGHT = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "vramscope/prometheus/usr/bin")
HELD = sum(100000 * (i + 1) for i in range(20)) - 100000  # of the victim `hold` at its first line
CONFIGURATION = """
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%s]
scrape_configs:
  - job_name: vramscope
    static_configs: [{targets: ["127.0.0.1:%d"]}]
"""


def found(name):
    return shutil.which(name) or (str(BROUGHT / name) if (BROUGHT / name).exists() else None)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Promtool(ServeCase):
    def check(self, *words, **how):
        done = programs.finish([found("promtool"), *words], harness.environment(), self.folder, harness.DEADLINE_S, **how)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_it_finds_nothing_wrong_with_the_metrics(self):
        process = self.start()
        self.serve()
        self.assertEqual("", self.check("check", "metrics", stdin=self.scrape(accept="text/plain")))
        quit_of(process)

    def test_the_rules_are_rules(self):
        self.assertIn("5 rules found", self.check("check", "rules", str(METRICS / "rules.yml")))

    def test_the_rules_say_what_they_should_and_when(self):
        for file in (METRICS / "rules.yml", harness.SOURCE / "test/export/rules_test.yml"):
            shutil.copy(file, self.folder)
        self.assertIn("SUCCESS", self.check("test", "rules", "rules_test.yml"))


class Prometheus(ServeCase):
    def start_prometheus(self):
        port = free_port()
        file = pathlib.Path(self.folder, "prometheus.yml")
        file.write_text(CONFIGURATION % (METRICS / "rules.yml", self.port), encoding="utf-8")
        command = [found("prometheus"), f"--config.file={file}", f"--storage.tsdb.path={self.folder}/data",
                   f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]  # fmt: skip
        log = open(f"{self.folder}/log", "wb")  # noqa: SIM115 - as long as it runs
        self.addCleanup(log.close)
        server = programs.subprocess.Popen(command, stdout=log, stderr=log, env=harness.environment(), start_new_session=True)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.api = f"http://127.0.0.1:{port}/api/v1/"
        self.wait_until(lambda: self.query("up") not in (None, []), pause=0.2)

    def ask(self, path):
        with urllib.request.urlopen(self.api + path, timeout=harness.DEADLINE_S) as answer:
            return json.load(answer)["data"]

    def query(self, text):
        """The samples of an instant; nothing: it does not answer yet."""
        try:
            return self.ask("query?" + urllib.parse.urlencode({"query": text}))["result"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return None
            raise AssertionError(f"{text}: {error.read().decode()}") from error
        except OSError:
            return None

    def value(self, text):
        samples = self.query(text)
        return float(samples[0]["value"][1]) if samples else None

    def test_it_scrapes_and_answers(self):
        process = self.start()
        self.serve()
        self.start_prometheus()
        own = f'{{pid="{process.pid}", kind="device"}}'
        self.wait_until(lambda: self.value(f"vramscope_requested_bytes{own}") == HELD, pause=0.2)
        self.assertEqual(1, self.value('up{job="vramscope"}'))
        self.assertEqual(20, self.value(f"vramscope_allocations_total{own}"))
        kinds = self.ask("metadata?metric=vramscope_call_seconds")
        kinds = kinds or self.ask("metadata?metric=vramscope_call_seconds_total")
        self.assertIn("counter", json.dumps(kinds))
        quit_of(process)
        ended = f'vramscope_process_ended{{pid="{process.pid}", how="exit"}}'
        self.wait_until(lambda: self.value(ended) == 1, pause=0.2)
        self.assertEqual([], self.query(f"vramscope_requested_bytes{own} unless on (pid) vramscope_process_ended"))
        for group in self.ask("rules")["groups"]:
            self.assertEqual(5, len(group["rules"]))
            self.assertEqual({"ok"}, {rule["health"] for rule in group["rules"]}, group)

    def test_every_question_of_dashboard_and_manual_is_answered(self):
        process = self.start()
        self.serve()
        self.start_prometheus()
        self.wait_until(lambda: self.query("vramscope_requested_bytes"), pause=0.2)
        dashboard = json.loads((METRICS / "dashboard.json").read_text(encoding="utf-8"))
        asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
        for name, text in (("$instance", ".*"), ("$program", ".*"), ("$__rate_interval", "10s"), ("$__range", "1h")):
            asked = [question.replace(name, text) for question in asked]
        page = (METRICS.parent / "serve.md").read_text(encoding="utf-8").split("## Questions")[1].split("\n## ")[0]
        asked += [row.split("`")[1] for row in page.splitlines() if row.count("`") == 2]
        self.assertGreater(len(asked), 15)
        for question in asked:
            self.assertIsInstance(self.query(question), list, question)
        for question in (asked[3], asked[4], "sum by (hostname) (vramscope_requested_bytes * on (pid) group_left (hostname) vramscope_process_info)"):
            self.assertTrue(self.query(question), question)
        quit_of(process)


if __name__ == "__main__":
    if not (found("prometheus") and found("promtool")):
        sys.exit(77)
    harness.main()
