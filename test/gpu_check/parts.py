"""The parts of gpu-check that measure, and the one that kills programs."""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import random
import statistics
import tempfile
import time

import kill_log  # of test/end_to_end
import plan
import programs
import recount
import runner

NO_STACKS = (("VRAMSCOPE_STACKS", "none"),)
ROUNDS = 2  # of programs that are measured in turn with and without Vramscope


def lines_of(done):
    return [json.loads(line) for line in done.stdout.splitlines() if line[:1] == "{"]


def measured(run, document, words, mode, limit_s, variables=(), column=""):
    """The lines of one run of a measuring program, or None: then a row says why."""
    done, reason = run.run(words, mode, limit_s, variables)
    if done is not None and done.status == 0:
        return lines_of(done)
    missing = done is not None and done.status == runner.MISSING
    note = reason or (done.first_line() if missing else f"ended with {done.status}: {done.first_line()}")
    verdict = "skipped" if missing else runner.verdict_of(note)
    document.add("programs", [runner.row(" ".join(words), column or mode, verdict, note)])
    return None


def measure(run, document, modes):
    """One column a mode, from one run of the measuring program each."""
    for mode in modes:
        document.measured(mode, measured(run, document, ("gpu_probe",), mode, 60) or [])
    measure_starts(run, document, modes)


def measure_starts(run, document, modes):
    """Seconds from start to end: of a program without CUDA, and of one that starts it."""
    for words, rounds in ((("no_cuda",), 9), (("linked",), 5)):
        times = {mode: [] for mode in modes}
        for _ in range(rounds):
            for mode in modes:
                done, _ = run.run(words, mode, 30)
                if done is not None:
                    times[mode].append(done.seconds)
        for mode, seconds in times.items():
            if seconds:
                value = statistics.median(seconds) * 1e3
                document.measured(mode, [{"what": f"start to end of {words[0]}", "unit": "ms", "value": value}])


def measure_threads(run, document, modes):
    """1 to 16 threads, natively, in each mode, and without call stacks."""
    columns = [(mode, mode, ()) for mode in modes]
    columns.append(("cache, no stacks", "cache", NO_STACKS))
    for column, mode, variables in columns:
        found = measured(run, document, ("gpu_threads",), mode, 60, variables, column)
        document.measured(column, found or [])


def alternate(run, document):
    """PyTorch's operations and steps, natively and with us in turn: the median of the rounds."""
    words, modes, times, units = ("torch_gpt.py", "times"), (plan.NATIVE, "cache"), {}, {}
    for _ in range(ROUNDS):
        for mode in modes:
            found = measured(run, document, words, mode, 90)
            if found is None:
                return
            for line in found:
                units[line["what"]] = line["unit"]
                times.setdefault((mode, line["what"]), []).append(line["value"])
    for (mode, what), values in times.items():
        value = statistics.median(values)
        document.measured(mode, [{"what": what, "unit": units[what], "value": value, "rounds": values}])


KILL_MODES = ("cache", "cache at-reuse", "dedicated", "observe")


def kill_once(run, seed):
    """One kill at random of a program that counts for itself: what `recover` makes of it is compared with its log."""
    generator = random.Random(seed)
    mode = generator.choice(KILL_MODES)
    found = {"seed": seed, "mode": mode, "calls": 0, "problem": ""}
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
        log = pathlib.Path(folder, "log")
        log.write_bytes(bytes(kill_log.BYTES))
        variables = (("VRAMSCOPE_LIVE_FILE", f"{folder}/%p.live"),)
        process = programs.start([*run.command(("counted_threads",)), str(log), str(seed)],
                                 run.environment(mode, folder, variables), folder, text=True)  # fmt: skip
        try:
            process.stdout.readline()
            time.sleep(generator.random() ** 2 * 0.3)
        finally:
            programs.end(process)
        found["calls"] = sum(done + freed for _, done, _, freed in kill_log.counted(log.read_bytes()))
        done = programs.finish([run.installation.tool, "recover", folder], run.environment(plan.NATIVE, folder),
                               folder, 60)  # fmt: skip
        if done.returncode != 0:
            return {**found, "problem": done.stderr.strip()}
        report = json.loads(pathlib.Path(done.stdout.strip()).read_text())
        problems = [*recount.problems(report, run.installation.recount), *kill_log.disagreements(report, log.read_bytes())]
        return {**found, "problem": "; ".join(problems)}


def kill(run, document, pool):
    """Many at the same time. Those of a run whose time is over are left out."""
    if not run.is_built(("counted_threads",)) or not run.installation.tool.exists():
        return
    seed = random.SystemRandom().randrange(10**6)

    def once(number):
        if run.budget.left() < 5:
            run.is_complete = False
            return
        try:
            found = kill_once(run, number)
        except Exception as error:  # whatever a machine that nobody here has seen comes up with
            found = {"seed": number, "mode": "", "calls": 0, "problem": f"{type(error).__name__}: {error}"}
        document.add("kills", [found])

    list(pool.map(once, range(seed, seed + (8 if run.simulated else 40))))
