# What the tests of pages share: reports, traces and logs of which pages are made, and the browser that opens them.
# SPDX-License-Identifier: Apache-2.0
import csv
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../export"))
import harness  # noqa: E402
from import_case import MIB, snapshot  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLE = harness.SOURCE / "test/reporter/sample.json"
MODULES = harness.BUILD / "reporter/view/page/packages/node_modules"
PICTURES = harness.BUILD / "test/page/pictures"
MANY = 20_000  # sites; VRAMSCOPE_PAGE_SITES sets another number
BROWSER_SECONDS = 400  # of a machine with much else to do
ALL_ACTS = ("flame", "places", "timeline", "map")
HOSTILE = {
    "HTML": "<img src=x onerror=alert(1)>",
    "end of script": "</script><script>alert(2)</script>",
    "comment": "<!-- <script>",
    "right to left": "\u05e9\u05dc\u05d5\u05dd load_weights",
    "turned around": "\u202egnp.exe",
    "line ends of scripts": "a\u2028b\u2029c",
    "entities": "&lt;b&gt; &amp;",
    "long": "x" * 10_000,
    "template": "${alert(3)} {{constructor}}",
    "quotes": "'\"`\\",
}


def sample():
    with open(SAMPLE, encoding="utf-8") as file:
        return json.load(file)


def with_names(report, names):
    """A site for each name, whose innermost frame is a function of Python that is called so."""
    for number, name in enumerate(names):
        report["codes"].append({"name": name, "source": 0, "first_line": 1})
        frame = {"module": None, "offset": 0, "code": len(report["codes"]) - 1, "line": number + 1}
        report["frames"].append(frame)
        bytes_of = 1000 * (number + 1)
        held = {"live_bytes": bytes_of, "peak_bytes": bytes_of, "total_bytes": bytes_of}
        site = report["sites"][2]
        part = site["parts"][0]
        estimate = {**part["estimate"], **held}
        report["sites"].append({**site, **held, "id": len(report["sites"]), "estimate": estimate,
                                "parts": [{**part, **held, "estimate": estimate}],
                                "frames": [len(report["frames"]) - 1, 2]})  # fmt: skip
    return report


def hostile():
    report = with_names(sample(), HOSTILE.values())
    report["process"]["executable"] = "/tmp/<script>alert(4)</script>"
    report["process"]["arguments"] = list(HOSTILE.values())
    report["warnings"] = list(HOSTILE.values())
    for entry, name in zip(report["ledger"], HOSTILE.values()):
        entry["owner"] = name
    return report


def grown(by):
    report = sample()
    for kind in report["kinds"]:
        kind["peak_bytes"] += by
    for totals in (report["sites"][2], *[part for part in report["sites"][2]["parts"]]):
        totals["peak_bytes"] += by
        totals["estimate"]["peak_bytes"] += by
    (joint,) = report["joint_peaks"]
    joint["peak_bytes"] += by
    (live,) = [one for one in joint["live"] if one["site"] == 2]
    live["live_bytes"] += by
    return report


def long_names(number):
    """Of which a page has no room for all that it could show of short ones."""
    return (f"function_{i}" + "_with_a_long_name" * (i % 20) for i in range(number))


def rmm_log():
    """A block a tenth of a second, which the next one follows; at 450 ms memory runs out."""
    lines = ["Thread,Time,Action,Pointer,Size,Stream"]
    for i in range(10):
        at = f"00:00:00:{i * 100_000:06}"
        lines.append(f"7,{at},allocate,0x{0x10000000 * (i + 1):x},{(i + 1) << 20},0x0")
        if i == 4:
            lines.append("7,00:00:00:450000,allocate failure,(nil),1099511627776,0x0")
        if i % 2:
            lines.append(f"7,00:00:00:{i * 100_000 + 60_000:06},free,0x{0x10000000 * (i + 1):x},{(i + 1) << 20},0x0")
    return "\n".join(lines) + "\n"


def data_in(page):
    return json.loads(page.split('id="report">')[1].split("</script>")[0])


class Pages:
    """All pages, written once, and what the browser saw of each."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="vramscope-test-")
        self.jobs = []
        self.reports = {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, report):
        with open(self.path(name), "w", encoding="utf-8") as file:
            json.dump(report, file)
        self.reports[name] = report
        return self.path(name)

    def tool(self, *words):
        done = subprocess.run([harness.TOOL, *words], env=harness.environment(), capture_output=True, text=True,
                              check=False, timeout=harness.DEADLINE_S)  # fmt: skip
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return done.stdout

    def make(self, name, *words, acts=(), part=None):
        page = self.path(name + ".html")
        self.tool("html", "-o", page, *words)
        self.jobs.append({"name": name, "page": page, "pictures": str(PICTURES), "acts": acts, "part": part})

    def make_all(self):
        self.make("report", self.write("report.json", sample()), acts=ALL_ACTS)
        self.make("hostile", self.write("hostile.json", hostile()), acts=("flame", "places"))
        self.make("changes", "--from", "100ms", "--to", "0.5s", self.path("report.json"),
                  self.write("grown.json", grown(5000)))  # fmt: skip
        os.mkdir(self.path("ranks"))
        for rank in range(3):
            report = sample() if rank < 2 else grown(10 * MIB)
            report["timeline"]["series"][0]["highest"][-1] += 10 * MIB if rank == 2 else 0
            report["process"].update(rank=rank, pid=100 + rank)
            report["processes"] = []
            report["trigger"] = "recovered" if rank == 1 else "exit"
            self.write(f"ranks/r{rank}.json", report)
        self.make("ranks", self.path("ranks"))
        many = with_names(sample(), long_names(int(os.environ.get("VRAMSCOPE_PAGE_SITES", MANY))))
        self.make("many", self.write("many.json", many))
        with open(self.path("snapshot.pickle"), "wb") as file:
            pickle.dump(snapshot(), file, protocol=4)
        self.make("snapshot", self.path("snapshot.pickle"), acts=("map",))
        with open(self.path("rmm.csv"), "w", encoding="utf-8") as file:
            file.write(rmm_log())
        self.make("rmm", self.path("rmm.csv"), acts=("timeline",), part=(400, 490))
        self.trace()

    def trace(self):
        """Of a program of ours, with all that it allocates."""
        trace = self.path("run.trace")
        program = harness.PROGRAMS / "train"
        words = [harness.TOOL, "run", "--sim", "--trace", trace, "--", program]
        if program.exists() and subprocess.run(words, env=harness.environment(), cwd=self.folder, capture_output=True,
                                               check=False).returncode == 0:  # fmt: skip
            self.make("trace", trace, acts=ALL_ACTS)

    def events(self):
        return list(csv.DictReader(self.tool("trace", "--csv", self.path("run.trace")).splitlines()))

    def data(self, name):
        """What stands in the page of that name."""
        page = next(job["page"] for job in self.jobs if job["name"] == name)
        with open(page, encoding="utf-8") as file:
            return data_in(file.read())

    def look(self):
        os.makedirs(PICTURES, exist_ok=True)
        jobs = self.path("jobs.json")
        with open(jobs, "w", encoding="utf-8") as file:
            json.dump(self.jobs, file)
        done = subprocess.run(["node", os.path.join(HERE, "browse.mjs"), MODULES, shutil.which("chromium"), jobs],
                              capture_output=True, text=True, check=False, timeout=BROWSER_SECONDS)  # fmt: skip
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return json.loads(done.stdout)


def why_not():
    if not (MODULES / "playwright-core").exists():
        return "npm, or what it fetches, was not there when this was built"
    for name in ("node", "chromium"):
        if shutil.which(name) is None:
            return f"{name} is not installed"
    return ""
