"""What the tests of Python programs share: interpreters of this machine, and scripts that they run."""
# SPDX-License-Identifier: Apache-2.0
import shutil
import subprocess

import harness

SCRIPTS = harness.SOURCE / "test/programs"
SYSTEM = "/usr/bin/python3"
KNOWN = ("3.11", "3.12", "3.13", "3.14")
MOST_FRAMES = 128


def version_of(interpreter):
    """(version, path of the executable itself), or None where it does not run."""
    text = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"
    found = subprocess.run([interpreter, "-c", text], capture_output=True, text=True, check=False)
    return tuple(found.stdout.split()) if found.returncode == 0 and found.stdout else None


def interpreters(known=True):
    """Executables by version: the system's, and others that are installed here."""
    names = [SYSTEM] + [f"python3.{minor}" for minor in range(6, 16)]
    paths = [path for path in map(shutil.which, names) if path]
    found = {path: version for version, path in filter(None, map(version_of, dict.fromkeys(paths)))}
    return [path for path, version in found.items() if (version in KNOWN) == known]


class PythonTest(harness.Case):
    def run_script(self, interpreter, script, *arguments, **variables):
        variables.setdefault("VRAMSCOPE_STACK_DEPTH", str(MOST_FRAMES))
        command = [interpreter, str(SCRIPTS / script), *arguments]
        outcome = self.run_program(command, "cache", **variables)
        self.assertEqual(0, outcome.status, outcome.stderr)
        return outcome

    def system(self):
        if SYSTEM not in (found := interpreters()):
            self.skipTest(f"{SYSTEM} is none of {', '.join(KNOWN)}")
        return found[0]

    def listing(self, *arguments):
        done = self.run_tool(*arguments)
        self.assertEqual((0, ""), (done.returncode, done.stderr), arguments)
        return done.stdout
