# scripts/cuda finds a toolkit, brings one, and never takes half of one for whole. No network: pip is played.
# SPDX-License-Identifier: Apache-2.0
"""cuda_test.py SOURCE: TAP"""
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

SOURCE = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "test/end_to_end"))
HEADER = "#define CUDA_VERSION {}\n"
# Plays pip: gives what lies in $WHEELS, or fails as pip does without a network.
PLAYER = """#!/bin/sh
[ "$1 $2" = "-m pip" ] || exec {python} "$@"
while [ $# -gt 1 ]; do [ "$1" = --dest ] && into=$2; shift; done
[ -n "$WHEELS" ] || {{ echo "WARNING: Retrying after 'X: [Errno 101] Network is unreachable'" >&2; echo "ERROR: No matching" >&2; exit 1; }}
exec cp "$WHEELS/$(echo "$1" | sed 's/==.*//; s/-/_/g')"-*.whl "$into"
"""


class Cuda(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="a space ")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        (self.folder / "scripts").mkdir()
        self.script = self.folder / "scripts/cuda"
        self.script.write_text((SOURCE / "scripts/cuda").read_text())
        self.script.chmod(0o755)
        (self.folder / "bin").mkdir()
        (self.folder / "bin/python3").write_text(PLAYER.format(python=sys.executable))
        (self.folder / "bin/python3").chmod(0o755)
        self.cache = self.folder / "cache"

    def toolkit(self, name, version=13000):
        (self.folder / name / "include").mkdir(parents=True)
        (self.folder / name / "include/cuda.h").write_text(HEADER.format(version))
        return str(self.folder / name)

    def wheels(self, damaged=False):
        """A folder of them, and the list that names them."""
        folder = self.folder / "wheels"
        folder.mkdir()
        rows = []
        for package, files in {"nvidia-headers": {"include/cuda.h": HEADER.format(13000), "lib/libcudart.so.13": "x"},
                               "nvidia-nvcc": {"bin/nvcc": "#!/bin/sh\n"}}.items():  # fmt: skip
            name = package.replace("-", "_")
            path = folder / f"{name}-1.0-py3-none-any.whl"
            with zipfile.ZipFile(path, "w") as wheel:
                for file, text in files.items():
                    wheel.writestr(f"nvidia/cu13/{file}", text)
                wheel.writestr(f"{name}-1.0.dist-info/licenses/License.txt", "licence")
                wheel.writestr("nvidia/cu13/../../escaped", "never written")
            rows.append(f"{package} 1.0 {os.uname().machine} any {hashlib.sha256(path.read_bytes()).hexdigest()} 1000\n")
            if damaged:
                path.write_bytes(path.read_bytes()[:-10])
        (self.folder / "scripts/cuda-wheels.txt").write_text("# comment\n" + "".join(rows))
        return str(folder)

    def run_script(self, *words, **variables):
        return self.run_command(self.script, *words, **variables)

    def run_command(self, *command, **variables):
        environment = {"PATH": f"{self.folder}/bin:/usr/bin:/bin", "HOME": str(self.folder), "XDG_CACHE_HOME": str(self.cache)}
        return subprocess.run(command, env={**environment, **variables}, capture_output=True, text=True, timeout=60)

    def without_system_toolkit(self):
        if self.run_script().returncode == 0:
            self.skipTest("a CUDA toolkit is installed on this machine, which comes first")

    def assert_one_line(self, done, *words):
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        last = done.stderr.splitlines()[-1]
        for word in words:
            self.assertIn(word, last)

    def test_variables_come_first_and_an_old_toolkit_is_passed_over_with_a_line(self):
        old, new = self.toolkit("old", 11020), self.toolkit("new")
        self.assertEqual(f"{new}\n", self.run_script(CUDA_HOME=new).stdout)
        done = self.run_script(CUDA_HOME=old, CUDA_PATH=new)
        self.assertEqual((0, f"{new}\n"), (done.returncode, done.stdout))
        self.assertEqual(1, done.stderr.count("\n"))
        self.assertIn(f"the CUDA toolkit in {old} is not used: 11.8 or later is needed", done.stderr)

    def test_a_toolkit_is_brought_once_and_found_again(self):
        self.without_system_toolkit()
        wheels = self.wheels()
        done = self.run_script("--bring", WHEELS=wheels)
        brought = self.cache / "vramscope/cuda-13.0"
        self.assertEqual((0, f"{brought}\n"), (done.returncode, done.stdout), done.stderr)
        for part in ("MB", "End User License Agreement", "2 of 2: nvidia-nvcc 1.0"):
            self.assertIn(part, done.stderr)
        self.assertTrue(os.access(brought / "bin/nvcc", os.X_OK))
        self.assertEqual("x", (brought / "lib64/libcudart.so").read_text())
        self.assertEqual(2, len(list((brought / "licenses").iterdir())))
        self.assertEqual([], list(self.folder.rglob("escaped")))
        again = self.run_script("--bring")
        self.assertEqual((0, f"{brought}\n", ""), (again.returncode, again.stdout, again.stderr))
        self.assertEqual({"cuda-13.0", "cuda-13.0.lock"}, set(os.listdir(self.cache / "vramscope")))

    def test_what_is_not_the_file_that_was_meant_is_not_used(self):
        self.without_system_toolkit()
        self.assert_one_line(self.run_script("--bring", WHEELS=self.wheels(damaged=True)), "is not the file that is expected", "SHA-256")
        self.assertEqual(["cuda-13.0.lock"], os.listdir(self.cache / "vramscope"))

    def test_without_a_network_a_line_says_so_and_nothing_is_left(self):
        self.without_system_toolkit()
        self.wheels()
        self.assert_one_line(self.run_script("--bring"), "the registry cannot be reached: [Errno 101] Network is unreachable")
        self.assertEqual(["cuda-13.0.lock"], os.listdir(self.cache / "vramscope"))

    def test_what_a_killed_run_left_is_taken_away_by_the_next(self):
        self.without_system_toolkit()
        left = self.cache / "vramscope/cuda-13.0.partial/cuda/include"
        left.mkdir(parents=True)
        (left / "cuda.h").write_text(HEADER.format(13000))
        self.assertEqual(1, self.run_script().returncode)  # half of one is none
        self.assertEqual(0, self.run_script("--bring", WHEELS=self.wheels()).returncode)
        self.assertFalse((self.cache / "vramscope/cuda-13.0.partial").exists())

    def test_a_cache_that_cannot_be_written_is_one_line(self):
        self.without_system_toolkit()
        self.wheels()
        self.cache.write_text("a file, and no folder")
        self.assert_one_line(self.run_script("--bring"), f"{self.cache}/vramscope cannot be written")
        for none in ("", "relative"):
            done = self.run_script("--bring", XDG_CACHE_HOME=none, HOME=none)
            self.assert_one_line(done, "neither XDG_CACHE_HOME nor HOME is set to an absolute path")

    def test_a_full_disk_is_a_line_that_says_so_and_nothing_is_left(self):
        self.without_system_toolkit()
        wheels = self.wheels()
        self.cache.mkdir()
        mount = "mount -t tmpfs -o size=8k none"
        if self.run_command("unshare", "-rm", "sh", "-c", f"{mount} /mnt").returncode:
            self.skipTest("no file system can be mounted here")
        script = f'{mount} "$0" && cat /dev/zero >"$0/rest" 2>/dev/null; "$1" --bring; s=$?; ls "$0/vramscope" >&2; exit $s'
        done = self.run_command("unshare", "-rm", "sh", "-c", script, self.cache, self.script, WHEELS=wheels)
        *_, line, left = done.stderr.splitlines()
        self.assertEqual((1, "", "cuda-13.0.lock"), (done.returncode, done.stdout, left))
        self.assertIn("cannot fetch nvidia-headers 1.0: ", line)
        self.assertIn(os.strerror(28), line)

    def test_a_machine_that_nvidia_has_none_for_is_one_line(self):
        self.without_system_toolkit()
        self.wheels()
        (self.folder / "scripts/cuda-wheels.txt").write_text("nvidia-headers 1.0 riscv64 any 0 1\n")
        self.assert_one_line(self.run_script("--bring"), f"no CUDA 13.0 for {os.uname().machine}")


if __name__ == "__main__":
    import harness  # prints TAP
    harness.main()
