"""What shells and man are told of the command line is read by those shells, and by man's tools."""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "end_to_end"))
import harness  # noqa: E402 - found by the line above


class Completion(harness.Case):
    def call(self, *words, **variables):
        environment = {"PATH": f"{harness.TOOL.parent}:{os.environ['PATH']}", "HOME": self.folder, "LANG": "C.UTF-8"}
        return subprocess.run([str(word) for word in words], cwd=self.folder, env={**environment, **variables}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=harness.DEADLINE_S)  # fmt: skip

    def printed(self, *words):
        """What the tool prints, in a file of this test's folder."""
        done = self.call(harness.TOOL, *words)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        path = pathlib.Path(self.folder, "printed")
        path.write_text(done.stdout)
        return path

    def verbs(self):
        listed = self.call(harness.TOOL, "--help").stdout.split("Subcommands:")[1].split("Examples:")[0]
        return re.findall(r"^  ([a-z]\S*)", listed, re.M)

    def flags(self, verb):
        described = re.split(r"\nExamples?:", self.call(harness.TOOL, verb, "--help").stdout)[0]
        return set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", described, re.M))

    def files(self):
        for name in ("r one.json", "r.json", "other.trace"):
            pathlib.Path(self.folder, name).touch()

    # In each of these `words` is a command line whose last word is being typed.

    def in_bash(self, *words):
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                  '_vramscope; printf "%s\\n" "${COMPREPLY[@]}"')  # fmt: skip
        done = self.call("bash", "--norc", "-c", script, "bash", self.printed("completion", "bash"), "vramscope", *words)
        self.assertEqual("", done.stderr)
        return sorted(filter(None, done.stdout.split("\n")))

    def in_zsh(self, *words):
        """By a zsh in a pseudo-terminal of its own, which writes every match that it would offer."""
        harness.installed("zsh")
        file = self.printed("completion", "zsh")
        functions = pathlib.Path(self.folder, "functions")
        functions.mkdir(exist_ok=True)
        shutil.copy(file, functions / "_vramscope")
        pathlib.Path(self.folder, "matches").unlink(missing_ok=True)
        script = pathlib.Path(self.folder, "ask.zsh")
        script.write_text(
            "zmodload zsh/zpty\n"
            "zpty -b inner zsh -f -i\n"
            f"zpty -w inner 'PS1=; fpath=({functions} $fpath); autoload -Uz compinit; compinit -u -d {self.folder}/dump'\n"
            # All that is given to compadd, as it would be inserted, then the end of the line.
            "zpty -w inner 'compadd () { local -a m; builtin compadd -O m \"$@\"; print -rl -- \"<\"$^m\">\" >>matches; "
            "builtin compadd \"$@\" }'\n"
            "zpty -w inner 'finish () { zle complete-word; print DONE >>matches }; zle -N finish; bindkey \"^I\" finish'\n"
            f"zpty -w inner 'cd {self.folder}; print READY >>matches'\n"
            "until [[ -f matches ]] && grep -q READY matches; do sleep 0.02; done\n"
            "zpty -w -n inner $'" + "vramscope " + " ".join(words) + "\\t'\n"
            "until grep -q DONE matches; do sleep 0.02; done\nzpty -d inner\n")  # fmt: skip
        done = self.call("zsh", "-f", script)
        self.assertEqual("", done.stderr)
        return sorted(set(re.findall(r"^<(.+)>$", pathlib.Path(self.folder, "matches").read_text(), re.M)))

    def in_fish(self, *words):
        harness.installed("fish")
        file = self.printed("completion", "fish")
        line = " ".join(("vramscope", *words))
        done = self.call("fish", "--no-config", "-c", f"source {file}; complete -C '{line}'", XDG_CONFIG_HOME=self.folder)
        self.assertEqual("", done.stderr)
        matches = (line.split("\t")[0] for line in done.stdout.splitlines())
        return sorted(word for word in matches if word.startswith(words[-1]))  # fish 4 adds words with its letters inside

    def completes(self, ask):
        self.files()
        self.assertEqual(["recover", "replay", "report"], ask("re"))
        self.assertEqual(["--trace"], ask("run", "--tra"))
        self.assertEqual(["cache"], ask("run", "--mode", "ca"))
        self.assertEqual(["speedscope", "sqlite"], ask("export", "--format", "s"))
        self.assertEqual(["other.trace"], ask("trace", "-n", "3", "oth"))

    def test_bash_completes_verbs_options_values_and_files(self):
        self.completes(self.in_bash)
        self.assertEqual(sorted(self.verbs() + ["--help", "--version"]), self.in_bash(""))
        self.assertEqual(["r one.json", "r.json"], self.in_bash("report", "r"))
        self.assertEqual(["other.trace"], self.in_bash("run", "--output", "oth"))
        self.assertEqual(["cache"], self.in_bash("run", "--mode", "=", "ca"))  # as bash splits --mode=ca
        self.assertEqual(["cache", "dedicated", "observe", "off"], self.in_bash("run", "--mode", "="))

    def test_bash_offers_every_option_of_every_verb(self):
        for verb in self.verbs():
            self.assertLessEqual(self.flags(verb), set(self.in_bash(verb, "--")), verb)

    def test_bash_completes_the_command_line_of_the_program_behind_run(self):
        self.files()
        self.assertEqual(["other.trace"], self.in_bash("run", "--mode", "cache", "--sim", "cat", "oth"))
        self.assertEqual([], self.in_bash("run", "--sim", "cat", "--mode"))  # an option of cat, not of run
        self.assertEqual(["other.trace"], self.in_bash("run", "--", "cat", "oth"))
        self.assertIn("bash", self.in_bash("run", "-q", "bas"))

    def test_zsh_completes_verbs_options_values_and_files(self):
        self.completes(self.in_zsh)

    def test_fish_completes_verbs_options_values_and_files(self):
        self.completes(self.in_fish)

    def test_fish_and_zsh_accept_what_they_are_told(self):
        for shell in ("zsh", "fish"):
            with self.subTest(shell):
                harness.installed(shell)
                done = self.call(shell, "-n", self.printed("completion", shell))
                self.assertEqual((0, ""), (done.returncode, done.stderr))

    def test_a_shell_that_is_not_known_is_one_line(self):
        done = self.call(harness.TOOL, "completion", "csh")
        self.assertEqual((2, 1), (done.returncode, done.stderr.count("\n")))
        self.assertIn("'csh' is not bash, zsh or fish", done.stderr)

    def test_the_manual_has_each_verb_and_each_of_its_options(self):
        page = self.printed("manual").read_text().replace("\\-", "-")
        common = page.split(".SH OPTIONS OF MANY VERBS")[1]
        for verb in self.verbs():
            section = re.search(rf"^\.SS {verb}$(.*?)(?=^\.S[SH] )", page, re.M | re.S)
            self.assertIsNotNone(section, verb)
            named = set(re.findall(r"\\fB(--[\w-]+)\\fR", section[1]))
            self.assertEqual(self.flags(verb) - {"--help"}, (named - {"--help"}) & self.flags(verb), verb)
            for flag in re.findall(r"\\fB(--[\w-]+)\\fR", section[1].partition("Takes also")[2]):
                self.assertIn(f"\\fB{flag}\\fR", common, verb)

    def test_the_page_of_variables_has_each_of_them(self):
        page = self.printed("manual", "--section=7").read_text()
        options = self.call(harness.TOOL, "options", "--csv").stdout
        variables = re.findall(r"\bVRAMSCOPE_[A-Z_]+", options)
        self.assertLess(20, len(variables))
        self.assertEqual([], [name for name in variables if f"\\fB{name}\\fR" not in page])

    def lint(self, *words):
        harness.installed(words[0])
        for section in ("1", "7"):
            done = self.call(*words, self.printed("manual", f"--section={section}"))
            self.assertEqual("", done.stdout + done.stderr)

    def test_mandoc_has_nothing_to_say_against_the_pages(self):
        self.lint("mandoc", "-Tlint", "-Wwarning")

    def test_groff_has_nothing_to_say_against_the_pages(self):
        self.lint("groff", "-man", "-ww", "-Tutf8", "-z")

    def test_man_shows_the_pages(self):
        harness.installed("man")
        shown = self.call("man", "-l", self.printed("manual"), MANWIDTH="100", MANPAGER="cat").stdout
        self.assertIn("--device-memory-limit", shown)
        self.assertIn("vramscope report -n 30", shown)


if __name__ == "__main__":
    harness.main()
