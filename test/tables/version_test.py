# The version stands in one place, and all who say it agree: the tool, the changelog, an archive of git's.
# SPDX-License-Identifier: Apache-2.0
"""version_test.py SOURCE_ROOT VRAMSCOPE"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def output(*words, folder=None):
    return subprocess.run([str(word) for word in words], cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def problems(root, tool):
    project = re.search(r"^  version: '([\d.]+)'", (root / "meson.build").read_text(), re.M)[1]
    said = output(tool, "--version")
    parts = re.fullmatch(r"vramscope (\S+)(?: \(commit ([0-9a-f]{13})(?:-dirty)?, (\d{4}-\d\d-\d\d)\))?, report format (\d+)", said)
    if not parts:
        yield f"vramscope --version says '{said}'"
        return
    if parts[1] != project:
        yield f"vramscope --version says {parts[1]}, meson.build {project}"
    newest = re.search(r"^## (.*)$", (root / "CHANGELOG.md").read_text(), re.M)[1]
    if not re.fullmatch(rf"{re.escape(project)} \((unreleased|\d{{4}}-\d\d-\d\d)\)", newest):
        yield f"CHANGELOG.md begins with '{newest}', not with '{project} (unreleased)' or '{project} (YYYY-MM-DD)'"
    form = (root / "reporter/report/FORMAT.md").read_text().splitlines()[0]
    if form != f"# The report, version {parts[4]}":
        yield f"vramscope --version says report format {parts[4]}, FORMAT.md '{form}'"
    yield from archive_problems(root, parts[2], parts[3])


def archive_problems(root, commit, day):
    """A clone knows its commit from git, an archive that git made of it from the file COMMIT."""
    asks = ["git", "rev-parse", "HEAD"]  # which git refuses in a clone of another user
    if not (shutil.which("git") and (root / ".git").exists() and subprocess.run(asks, cwd=root, capture_output=True).returncode == 0):
        print("SKIPPED version in an archive: these sources are no clone of git's, or not this user's")
        return
    head = output("git", "log", "-1", "--format=%H %cs", folder=root).split()
    if commit is None or not head[0].startswith(commit) or head[1] != day:
        yield f"vramscope --version says commit {commit} of {day}, git {head}"
    with tempfile.TemporaryDirectory() as place:
        packed = subprocess.run(["git", "archive", "HEAD", "reporter/report/COMMIT", "reporter/report/commit.sh"], cwd=root, check=True,
                                stdout=subprocess.PIPE).stdout  # fmt: skip
        subprocess.run(["tar", "-x", "-C", place], input=packed, check=True)
        carried = output("sh", f"{place}/reporter/report/commit.sh")
        if carried != f"{head[0][:13]} {head[1]}":
            yield f"an archive of {head} carries '{carried}'"


def main():
    found = list(problems(pathlib.Path(sys.argv[1]), sys.argv[2]))
    for problem in found:
        print(problem)
    print(f"version: {len(found)} problems")
    sys.exit(bool(found))


main()
