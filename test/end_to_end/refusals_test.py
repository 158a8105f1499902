"""Memory and threads that the library does not get: the program's outcome stays its own."""
# SPDX-License-Identifier: Apache-2.0
import os
import resource
import shutil
import subprocess

import harness
import recount

MIB = 1 << 20
SIMULATOR = "capacity=64MiB,context_bytes=0"
RESERVED = 2048  # MiB of addresses: sixteen for each byte, and as many where its bytes are


class Refusals(harness.Case):
    def sweep(self, **variables):
        """Each request of the library for memory is refused in a process of its own."""
        preloaded = f"{harness.LIBRARY}:{harness.program('librefuse_memory.so')}"
        program = shutil.copy(harness.program("linked"), os.path.join(self.folder, f"refused-{os.getpid()}"))
        # Whoever could not write a report leaves a live file, by the name of the program.
        self.addCleanup(harness.remove_live_files, os.path.basename(program))
        outcome = self.run_program([program], "cache", SIMULATOR, LD_PRELOAD=preloaded, **variables)
        self.assertEqual((0, ""), (outcome.status, outcome.stderr), outcome.stdout)
        refused, _, _, otherwise = outcome.stdout.split(maxsplit=4)[:4]
        self.assertEqual("0", otherwise)
        return int(refused), outcome

    def test_memory_may_be_refused_at_any_one_request(self):
        refused, _ = self.sweep(REFUSE="once")
        self.assertGreater(refused, 100)

    def test_memory_may_be_refused_from_any_request_on(self):
        refused, _ = self.sweep(REFUSE="from")
        self.assertGreater(refused, 100)

    def test_without_a_thread_the_report_is_written_at_exit(self):
        _, outcome = self.sweep(REFUSE="once", REFUSE_AT="1000000", REFUSE_THREADS="1")
        recount.check(self, self.only_report(outcome))

    def test_addresses_may_be_limited(self):
        endings = set()
        more = (0, *range(8, 50, 3), 64, 256, 768)
        for limit in (64, 256, 1024, *(RESERVED + least for least in more)):
            native, ours = (self.limited(limit * MIB, preload) for preload in ("", str(harness.LIBRARY)))
            # Between what the program needs and what we need besides, it ends as with less.
            self.assertIn(native, (0, 3), f"{limit} MiB")
            self.assertIn(ours, (0, 3) if native == 0 else (3,), f"{limit} MiB")
            endings.add(ours)
        self.assertEqual({0, 3}, endings)

    def limited(self, limit, preload):
        variables = {**harness.environment("cache", SIMULATOR), "LD_PRELOAD": preload}
        return subprocess.run(
            [harness.program("faces")], env=variables, cwd=self.folder, check=False, timeout=harness.DEADLINE_S, capture_output=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        ).returncode  # fmt: skip


if __name__ == "__main__":
    harness.main()
