"""What `meson install` puts somewhere works from there, and from wherever it is moved."""
# SPDX-License-Identifier: Apache-2.0
import atexit
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

import harness

def meson(*words, **variables):
    command = [harness.installed("meson"), *words]
    environment = {**os.environ, **variables}
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=harness.BUILD, env=environment).stdout


class Staged(NamedTuple):
    """One installation: staged as packages are made, and copied to another place."""

    staged: pathlib.Path
    files: list  # all of it
    prefix: pathlib.Path  # where it was moved
    left: list  # of the folder where it was staged, when it was taken away again
    said: str  # by who took it away


@functools.cache
def installation():
    place = pathlib.Path(tempfile.mkdtemp(prefix="vramscope-install."))
    atexit.register(shutil.rmtree, place)
    options = json.loads(meson("introspect", "--buildoptions", str(harness.BUILD)))
    prefix = next(option["value"] for option in options if option["name"] == "prefix")
    staged = place / "staged"
    meson("install", "--no-rebuild", "--quiet", "--destdir", str(staged))
    files = [path for path in staged.rglob("*") if path.is_symlink() or not path.is_dir()]
    shutil.copytree(staged / prefix.lstrip("/"), place / "moved", symlinks=True)
    # As it happens: installed again, and used by Python; somebody else has a file beside ours.
    meson("install", "--no-rebuild", "--quiet", "--destdir", str(staged))
    module = next(path for path in files if path.match("*-packages/vramscope.py"))
    subprocess.run([sys.executable, "-c", "import vramscope"], cwd=module.parent, check=True)
    other = staged / prefix.lstrip("/") / "bin/other"
    other.touch()
    said = subprocess.run([harness.SOURCE / "scripts/uninstall", harness.BUILD], check=True, text=True, stdout=subprocess.PIPE)
    left = [path for path in staged.rglob("*") if not path.is_dir()]
    other.unlink()
    # Empty now, and not ours to remove.
    left += [path for path in staged.rglob("*") if path not in other.parents]
    return Staged(staged, files, place / "moved", [path for path in left if path != other], said.stdout)


class Install(harness.Case):
    @property
    def prefix(self):
        return installation().prefix

    def call(self, *words, **variables):
        environment = {"PATH": os.environ["PATH"], "HOME": "/", "LANG": "C.UTF-8", **variables}
        return subprocess.run([str(word) for word in words], cwd=self.folder, env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=harness.DEADLINE_S)  # fmt: skip

    def installed(self, pattern):
        (path,) = self.prefix.rglob(pattern)
        return path

    def test_a_program_runs_under_what_is_installed_and_its_report_is_read(self):
        tool = self.prefix / "bin/vramscope"
        done = self.call(tool, "run", "--sim", "-o", "r.json", harness.program("linked"))
        self.assertEqual(0, done.returncode, done.stderr)
        report = json.loads(pathlib.Path(self.folder, "r.json").read_text())
        ours = {module["path"] for module in report["modules"] if "vramscope" in module["path"] or "libcuda" in module["path"]}
        self.assertEqual([], [path for path in ours if not path.startswith(f"{self.prefix}/") and "/programs/" not in path])
        shown = self.call(tool, "report", "r.json")
        self.assertEqual(0, shown.returncode, shown.stderr)
        self.assertIn("What made up the peak", shown.stdout)
        self.assertEqual("", done.stderr.split("vramscope: GPU 0")[0])  # the loader found all it was told to

    def test_a_tool_that_a_link_leads_to_finds_its_parts(self):
        link = pathlib.Path(self.folder, "vs")
        link.symlink_to(self.prefix / "bin/vramscope")
        done = self.call(link, "run", "-q", "--sim", "-o", "r.json", harness.program("linked"))
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertTrue(pathlib.Path(self.folder, "r.json").exists())

    def test_programs_find_header_and_module(self):
        harness.installed("pkg-config")
        folder = self.installed("vramscope.pc").parent
        flags = self.call("pkg-config", "--cflags", "vramscope", PKG_CONFIG_PATH=str(folder))
        self.assertEqual(0, flags.returncode, flags.stderr)
        include = flags.stdout.replace("\\", "").strip().removeprefix("-I")
        self.assertTrue(os.path.samefile(self.prefix / "include", include), include)
        self.assertTrue((self.prefix / "include/vramscope.h").is_file())
        module = self.installed("*-packages/vramscope.py").parent
        done = self.call(sys.executable, "-c", "import vramscope; print(vramscope.is_active())", PYTHONPATH=str(module))
        self.assertEqual(("False\n", ""), (done.stdout, done.stderr))

    def test_a_program_under_run_finds_the_module(self):
        show = "import vramscope; print(vramscope.__file__)"
        done = self.call(self.prefix / "bin/vramscope", "run", "-q", "--sim", "--", sys.executable, "-c", show, PYTHONDONTWRITEBYTECODE="1")
        self.assertEqual((f"{self.prefix}/lib/vramscope/python/vramscope.py\n", ""), (done.stdout, done.stderr))
        self.assertEqual(["vramscope.py"], os.listdir(self.prefix / "lib/vramscope/python"))

    def test_pip_installs_the_wheel(self):
        wheel = self.installed("vramscope-*.whl")
        self.assertEqual(self.prefix / "share/vramscope", wheel.parent)
        if self.call(sys.executable, "-m", "pip", "--version").returncode != 0:
            self.skipTest("this Python has no pip")
        done = self.call(sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--no-compile", "--target", "site", wheel)
        self.assertEqual(0, done.returncode, done.stderr)
        show = ("import importlib.metadata as m, vramscope; print(vramscope.__file__, m.version('vramscope'));"
                "print(*[point.value for point in m.distribution('vramscope').entry_points if point.group == 'pytest11'])")  # fmt: skip
        done = self.call(sys.executable, "-c", show, PYTHONPATH=f"{self.folder}/site")
        version = self.call(self.prefix / "bin/vramscope", "--version").stdout.split()[1].rstrip(",")
        self.assertEqual((f"{self.folder}/site/vramscope.py {version}\nvramscope\n", ""), (done.stdout, done.stderr))

    def test_a_python_that_looks_below_the_prefix_finds_the_module_there(self):
        folders = json.loads(self.call("/usr/bin/python3", "-c", "import json, sys; print(json.dumps(sys.path))").stdout)
        if not any(folder.startswith("/usr/local/lib/") for folder in folders):
            self.skipTest("this system's Python does not look below /usr/local")
        for prefix in ("/usr/local", "/usr"):
            build = pathlib.Path(self.folder, prefix.replace("/", "_"))
            meson("setup", str(build), str(harness.SOURCE), f"--prefix={prefix}", "-Dtests=disabled", "-Dsimulator=disabled",
                  PATH="/usr/bin:/bin")  # fmt: skip
            staged = pathlib.Path(self.folder, "staged", build.name)
            meson("install", "--no-rebuild", "--quiet", "--tags", "python-runtime", "-C", str(build), "--destdir", str(staged))
            (module,) = staged.rglob("vramscope.py")
            self.assertIn(f"/{module.parent.relative_to(staged)}", folders)

    def test_cmake_finds_the_package(self):
        harness.installed("cmake")
        pathlib.Path(self.folder, "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.16)\nproject(p NONE)\nfind_package(vramscope 0.1 REQUIRED)\n"
            "get_target_property(where vramscope::vramscope INTERFACE_INCLUDE_DIRECTORIES)\nmessage(STATUS \"found ${where}\")\n")
        done = self.call("cmake", "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn(f"found {self.prefix}/include\n", done.stdout)

    def test_nothing_names_where_it_was_built_or_staged(self):
        for path in self.prefix.rglob("*"):
            is_text = path.suffix in (".pc", ".cmake", ".json", ".h", ".py", ".bash", ".fish")
            if is_text or path.name in ("vramscope.1", "vramscope.7", "_vramscope"):
                text = path.read_text()
                for place in (str(harness.BUILD), str(installation().staged)):
                    self.assertNotIn(place, text, path)

    def test_each_link_in_a_document_leads_to_a_file_that_is_installed(self):
        documents = self.prefix / "share/doc/vramscope"
        pages = sorted(documents.rglob("*.md"))
        names = {str(page.relative_to(documents)) for page in pages}
        self.assertLessEqual({"README.md", "reporter/report/FORMAT.md", "reporter/view/LISTINGS.md", "reporter/manual/leaks.md"}, names)
        links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#\s]+)", page.read_text()) if "://" not in link]
        self.assertLess(50, len(links))
        dead = [f"{page.relative_to(documents)}: {link}" for page, link in links if not (page.parent / link).is_file()]
        self.assertEqual([], dead)
        outside = [link for page, link in links if not (page.parent / link).resolve().is_relative_to(self.prefix.resolve())]
        self.assertEqual([], outside)

    def test_the_manual_names_files_that_are_there(self):
        manual = (self.prefix / "share/man/man1/vramscope.1").read_text().replace("\\-", "-")
        files = re.findall(r"PREFIX/(\S+)", manual)
        self.assertLess(4, len(files))
        self.assertEqual([], [file for file in files if not (self.prefix / file).is_file()])

    def test_the_manual_lists_what_is_installed(self):
        page = (self.prefix / "share/doc/vramscope/reporter/manual/files.md").read_text()
        rows = re.findall(r"^\| (`[^|]*`) \|", page.split("## Installed files")[1], re.M)
        self.assertLess(4, len(rows))
        paths = [path for row in rows for path in re.findall(r"`([^`]+)`", row)]
        self.assertEqual([], [path for path in paths if not (self.prefix / path).exists()])

    def test_man_finds_the_pages_of_the_manual(self):
        if not shutil.which("lowdown"):
            self.skipTest("lowdown is not installed")
        pages = {page.stem for page in (self.prefix / "share/doc/vramscope/reporter/manual").glob("*.md")} - {"README"}
        self.assertEqual({f"vramscope-{page}.1" for page in pages}, {page.name for page in (self.prefix / "share/man/man1").glob("vramscope-*")})

    def test_uninstalling_leaves_nothing_and_takes_nothing_of_others(self):
        self.assertLess(10, len(installation().files))
        self.assertEqual([], installation().left)
        self.assertEqual(f"uninstall: {len(installation().files)} files removed\n", installation().said)

    def test_version_and_commit_are_those_of_the_reports(self):
        tool = self.prefix / "bin/vramscope"
        self.call(tool, "run", "-q", "--sim", "-o", "r.json", harness.program("linked"))
        of_report = json.loads(pathlib.Path(self.folder, "r.json").read_text())["tool"]
        said = self.call(tool, "--version").stdout
        self.assertTrue(said.startswith(f"vramscope {of_report['version']}"), said)
        commit = re.search(r"commit (\S+),", said)
        self.assertEqual(commit[1] if commit else "", of_report["commit"])

    def test_man_and_shells_find_theirs_where_they_look(self):
        harness.installed("man")
        shown = self.call("man", "-w", "7", "vramscope", MANPATH=str(self.prefix / "share/man"))
        self.assertEqual(f"{self.prefix}/share/man/man7/vramscope.7\n", shown.stdout)
        self.assertTrue((self.prefix / "share/man/man1/vramscope.1").is_file())
        for file in ("bash-completion/completions/vramscope.bash", "zsh/site-functions/_vramscope",
                     "fish/vendor_completions.d/vramscope.fish"):  # fmt: skip
            self.assertIn("recover", (self.prefix / "share" / file).read_text())


if __name__ == "__main__":
    harness.main()
