# What the tests of the command line tool share: reports of the sample, changed, and calls of the tool.
# SPDX-License-Identifier: Apache-2.0
import contextlib
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../end_to_end"))
import harness  # noqa: E402

TOOL = str(harness.TOOL)
WRITE_SAMPLE = harness.BUILD / "test/view/view_write_sample"
LIBRARY = str(harness.BUILD / "test/view/libvramscope.so")  # the stand-in


def variables(**more):
    return {"LC_ALL": "C", "VRAMSCOPE_LIBRARY": LIBRARY, **more}


def give_four_kinds(report):
    """What plain memory of the device held, three other kinds hold too."""
    axes = [row for row in report["axes"] if row["kind"] == "device"]
    (plain,) = [row for row in report["kinds"] if row["kind"] == "device"]
    report["kinds"], report["axes"] = [plain], axes[:]
    for kind in ("managed", "pinned", "stream_ordered"):
        report["kinds"].append({**plain, "kind": kind})
        report["axes"] += [{**row, "kind": kind} for row in axes]
        for site in report["sites"][:12]:
            site["parts"].append({**site["parts"][0], "kind": kind})


class ToolTest(harness.Case):
    def setUp(self):
        super().setUp()
        self.folder = os.path.realpath(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def sample(self, name="r.json", **process):
        subprocess.run([WRITE_SAMPLE, self.path(name)], check=True)
        with self.edited(self.path(name)) as report:
            report["process"].update(process)
        return self.path(name)

    @contextlib.contextmanager
    def edited(self, path):
        """The JSON in the file, which is written again as it is then."""
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        yield content
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file)

    def call(self, *arguments, **more):
        return self.run_tool(*arguments, **variables(**more))

    def assert_refused(self, arguments, status, part, **more):
        result = self.call(*arguments, **more)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith("vramscope: "), result.stderr)
        self.assertIn(part, result.stderr)

    def many_sites(self):
        """With more places, each with its line of source, than a screen has lines."""
        path = self.sample("many.json")
        with self.edited(path) as report:
            sites = report["sites"]
            most = max(sites, key=lambda site: site["peak_bytes"])
            for _ in range(30):
                sites.append({**most, "id": len(sites)})
        return path


class RanksTest(ToolTest):
    """With reports of several ranks."""

    def ranks(self, folder, *factors):
        """A folder of reports of ranks, whose peaks are those of the sample times these; 0: the rank has none."""
        os.mkdir(self.path(folder))
        for rank, factor in enumerate(factors):
            if factor == 0:
                continue
            file = self.sample(f"{folder}/{rank}.json", pid=100 + rank, rank=rank)
            with self.edited(file) as report:
                report["kinds"][0]["peak_bytes"] *= factor
                report["timeline"]["series"] = []
        return self.path(folder)
