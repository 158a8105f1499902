"""What the tests of vramscope doctor share: what it found, and programs that are changed in one place."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib

import harness
import programs

NOBODY = 65534


class Doctor(harness.Case):
    def ask(self, *words, how=None, **variables):
        """(exit status, findings) of a tool without the simulator's folder around it."""
        environment = {**harness.environment(), "LD_LIBRARY_PATH": "", **variables}
        done = programs.finish([harness.TOOL, "doctor", "--json", *words], environment, self.folder,
                               harness.DEADLINE_S, **(how or {}))  # fmt: skip
        self.assertEqual("", done.stderr, words)
        return done.returncode, json.loads(done.stdout)

    def found(self, state, subject, part, *words, how=None, **variables):
        """Exactly this one of its state and subject, with the part; the exit status follows."""
        status, findings = self.ask(*words, how=how, **variables)
        told = [f"{one['found']}; {one['advice']}" for one in findings
                if (one["state"], one["subject"]) == (state, subject)]  # fmt: skip
        self.assertEqual(1, len(told), (state, subject, findings))
        self.assertIn(part, told[0])
        stops = any(one["state"] == "stops" for one in findings)
        self.assertEqual(stops, findings[0]["state"] == "stops", "what stops is not first")
        self.assertEqual(1 if stops else 0, status)
        return findings

    def stops(self, subject, part, *words, **more):
        """So, and nothing else stops."""
        findings = self.found("stops", subject, part, *words, **more)
        self.assertEqual(1, [one["state"] for one in findings].count("stops"), findings)

    def refused(self, part, *words, how=None):
        done = programs.finish([harness.TOOL, "doctor", *words], harness.environment(), self.folder,
                               harness.DEADLINE_S, **(how or {}))  # fmt: skip
        self.assertEqual((2, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")))
        self.assertIn(part, done.stderr)

    def path(self, name):
        return os.path.join(self.folder, name)

    def changed(self, name, old, new, at=None, source="/bin/true"):
        """A copy of a program with other bytes of the same length at one place."""
        code = pathlib.Path(source).read_bytes()
        at = code.index(old) if at is None else at
        self.assertEqual((old, len(old)), (code[at : at + len(old)], len(new)))
        return self.program_of(name, code[:at] + new + code[at + len(old) :])

    def program_of(self, name, content):
        path = pathlib.Path(self.path(name))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o755)
        return str(path)

    def script(self, text):
        return self.program_of("script", text.encode())
