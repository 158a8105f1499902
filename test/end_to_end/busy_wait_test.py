"""A program that waits in a loop for what a kernel would write is told so on the simulated device, and no other one is."""
# SPDX-License-Identifier: Apache-2.0
import re
import sys

import harness

SETTINGS = "busy_wait_ms=1000"
# Launches a kernel, and then does something for eight seconds, or until the flag is set.
WAITS = f"""{harness.ASKS_DRIVER}
module, kernel, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
text = b".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .entry kernel()\\n{{ ret; }}\\n"
driver.cuMemHostAlloc(ctypes.byref(memory), ctypes.c_size_t(1 << 20), 0)
flag = (ctypes.c_int * (1 << 18)).from_address(memory.value)
flag[1024 * 37] = 0
driver.cuModuleLoadData(ctypes.byref(module), text)
driver.cuModuleGetFunction(ctypes.byref(kernel), module, b"kernel")
driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None)
own, end = [0], time.monotonic() + 8
print(hex(memory.value + 4096 * 37))
while time.monotonic() < end and not LOOKS:
    pass
"""


class BusyWait(harness.Case):
    def run_loop(self, looks):
        outcome = self.run_program([sys.executable, "-c", WAITS.replace("LOOKS", looks)], None, SETTINGS)
        self.assertEqual(0, outcome.status, outcome.stderr)
        return outcome.stdout.strip(), re.findall(r"thread (\d+) has been reading .* memory at (\S+) for 1 s", outcome.stderr)

    def test_a_loop_that_reads_a_flag_in_pinned_memory_is_told_once_with_address_and_thread(self):
        address, told = self.run_loop("flag[1024 * 37]")
        self.assertEqual([address], [at for _, at in told])

    def test_other_loops_are_not(self):
        for looks in (
            "own[0]",  # memory of the host that no kernel writes
            "(flag[1024 * 37] or driver.cuCtxGetDevice(ctypes.byref(ctypes.c_int())))",  # it calls the driver
            "(flag[1024 * 37] or time.sleep(0.001))",  # it waits
            "(flag[1024 * 37] or flag[1024 * 99])",  # it reads several pages, as a computation would
            "flag.__setitem__(1024 * 37, flag[1024 * 37] + 1)",  # it writes there itself
        ):
            with self.subTest(looks):
                self.assertEqual([], self.run_loop(looks)[1])


if __name__ == "__main__":
    harness.main()
