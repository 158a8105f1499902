"""The other ways into a program: CUDA_INJECTION64_PATH, and attach to one that runs already."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import select
import subprocess
import tempfile

import plan
import programs  # of test/end_to_end
import runner

INJECTED, ATTACHED = "injected", "attached"
LIMIT_S = 60
ROUNDS = 3  # of words after the attachment
MIB = 1 << 20
# What a program frees of the memory from before with each word.
FREED = {("churn", "less"): MIB, ("gpu_attached.py", "driver", "more"): 32 * MIB}


def inject(run, document, chosen):
    """Programs that the driver brings the library into: their answers are compared with the native ones."""
    for program in chosen:
        if reason := run.why_not(program):
            document.add("programs", [runner.row(program.name, INJECTED, "skipped", reason)])
            continue
        native, reason = run.run(program.words, plan.NATIVE, program.limit_s, program.variables)
        if native is None or native.status == runner.MISSING:
            reason = reason or native.first_line()
            document.add("programs", [runner.row(program.name, INJECTED, "skipped", reason)])
            continue
        variables = (*program.variables, ("CUDA_INJECTION64_PATH", str(run.library)), ("VRAMSCOPE_OUTPUT", "injected.%p.json"))
        found, reason = run.run(program.words, plan.NATIVE, program.limit_s, variables)
        judged = run.judge(program, INJECTED, lambda *_: False, native, found, reason)
        if judged["verdict"] == "same" and not found.reports:
            judged = runner.row(program.name, INJECTED, "FAILED", "no report: the driver did not load the library")
        document.add("programs", [judged])


class Attached:
    """A program that says "ready", answers each line with one, and ends when its input does."""

    def __init__(self, run, words, folder):
        self.run, self.folder, self.answers = run, folder, []
        self.process = programs.start(run.command(words), run.environment(plan.NATIVE, folder), folder,
                                      stdin=subprocess.PIPE, text=True)  # fmt: skip
        self.heard()

    def heard(self):
        if not select.select([self.process.stdout], [], [], LIMIT_S)[0]:
            raise TimeoutError(f"no answer within {LIMIT_S} s, after {self.answers}")
        self.answers.append(self.process.stdout.readline().strip())

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        self.heard()

    def tool(self, *words):
        return programs.finish([self.run.installation.tool, *words], self.run.environment(plan.NATIVE, self.folder),
                               self.folder, LIMIT_S)  # fmt: skip

    def end(self):
        out, errors = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, self.answers + out.splitlines(), errors


def before_bytes(report):
    """What is left of the memory from before, or None where NVML does not know it."""
    known = [one["before_bytes"] for one in report["devices"] if one.get("before_bytes")]
    return sum(known) if known else None


def words_of(words):
    return ["more", *(("less",) if words[0] == "churn" else ())] * ROUNDS


def attached_part(program, words):
    """What is wrong, what was from before at first, and the report."""
    done = program.tool("attach", str(program.process.pid), "-o", "attached.json")
    if done.returncode:
        return done.stderr.strip(), None, {}
    program.say("more")
    first = program.tool("live", str(program.process.pid), "--json")
    begin = before_bytes(json.loads(first.stdout)) if first.returncode == 0 else None
    for word in words_of(words):
        program.say(word)
    done = program.tool("detach", str(program.process.pid))
    if done.returncode:
        return done.stderr.strip(), begin, {}
    return "", begin, json.loads(pathlib.Path(done.stdout.strip()).read_text())


def course(run, words, is_attached):
    """(status, answers, what is wrong, what was from before, the report): the same words are said either way."""
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
        program, problem, begin, report = Attached(run, words, folder), "", None, {}
        try:
            if program.answers[-1] == "ready":
                if is_attached:
                    problem, begin, report = attached_part(program, words)
                else:
                    for word in ("more", *words_of(words)):
                        program.say(word)
                program.say("more")
            status, answers, errors = program.end()
            if status and not problem:
                problem = f"ended with {status}: {errors.strip()[-200:]}"
            return status, answers, problem, begin, report
        finally:
            programs.end(program.process)


def wrong_in(run, words, begin, report):
    """What a report of an attached program must have."""
    calls = sum(one["calls"] for one in report["functions"])
    if not calls or not any(site["total_count"] for site in report["sites"]):
        return f"nothing was recorded: {calls} calls"
    freed = sum(FREED.get((*words, word), 0) for word in words_of(words))
    end = before_bytes(report)
    if freed and begin is not None and abs(begin - (end or 0) - freed) > 4 * MIB:  # pages that small blocks share
        return f"{begin} bytes from before became {end}, and {freed} were freed"
    return runner.implausible([report], run.installation.recount)


def attach_to(run, program):
    name, words = program.name, program.words
    if reason := run.why_not(program):
        return runner.row(name, ATTACHED, "skipped", reason)
    status, answers, problem, _, _ = course(run, words, False)
    if status == runner.MISSING:
        return runner.row(name, ATTACHED, "skipped", answers[0])
    if problem:
        return runner.row(name, ATTACHED, "FAILED", f"natively: {problem}")
    attached_status, attached_answers, problem, begin, report = course(run, words, True)
    if not problem and (status, answers) != (attached_status, attached_answers):
        problem = f"{attached_answers} instead of {answers}"
    problem = problem or wrong_in(run, words, begin, report)
    return runner.row(name, ATTACHED, "FAILED" if problem else "same", problem, before=begin)


def try_all(run, document, only):
    inject(run, document, [one for one in plan.INJECTED if only in one.name])
    for program in plan.ATTACHED:
        if only not in program.name:
            continue
        if run.budget.left() < LIMIT_S / 3:
            run.is_complete = False
            return
        try:
            document.add("programs", [attach_to(run, program)])
        except Exception as error:  # whatever a machine that nobody here has seen comes up with
            note = f"{type(error).__name__}: {error}"
            document.add("programs", [runner.row(program.name, ATTACHED, "FAILED", note)])
