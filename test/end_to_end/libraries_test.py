"""The stand-ins for NVIDIA's libraries on the simulated device: they are found in place of the copies that programs
bring, take the memory that is documented, and say that they only model it."""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re
import struct
import sys

import harness

MIB = 1 << 20
SECTION_OF_EXPORTS = 11
MODELLED = re.compile(r"^vramscope: products(?:_12)?: cuBLAS is a stand-in on the simulated device: its memory is modelled "
                      r"\(32 MiB a handle .*\), its kernels are not executed$")  # fmt: skip
PRINTED = """\
handle: 0
handle: 0
no place for a handle: 7
mode: 0
mode: 3
product: 0
dot: 0
largest: 0
dot: 0, largest: 1
descriptor: 0
heuristic: 0
algorithms: 1, workspace 0
product: 0
descriptor: 0
kernels: 2
the copy is open
it is the same
end: 0
end: 0
"""
PLANNED_PRODUCTS = """\
descriptor: 0
descriptor: 0
descriptor: 0
descriptor: 0
descriptor: 0
descriptor: 0
set: 0
set: 0
results: 0
set: 0
size: 0
workspace of {}: {}
"""
PLANNED = """\
handle: 0
descriptor: 0
set: 0
get: 0
3 dimensions, the last 5
descriptor: 0
descriptor: 0
descriptor: 0
ready: 0
results: 0
configurations: 1
engine: 0
notes: 0
notes: 0
set: 0
size: 0
workspace: 0
executed: 0
{}{}not modelled: 3000
end: 0
""".format(PLANNED_PRODUCTS.format(1, 0), PLANNED_PRODUCTS.format(2, 256))
LAID_OUT = """\
handle: 0
set: 0
get: 0
size: 0
type 2, 4 dimensions: 2 3 4 5 by 60 1 15 3, 240 bytes
no such type: 2000
GRU: 0
weights: 0
168 bytes
0.0: 0, 2 x 3 at 0, bias at 120
0.1: 0, 2 x 3 at 24, bias at 128
0.2: 0, 2 x 3 at 48, bias at 136
0.3: 0, 2 x 2 at 72, bias at 144
0.4: 0, 2 x 2 at 88, bias at 152
0.5: 0, 2 x 2 at 104, bias at 160
no such part: 2000
two ways, one bias: 0
weights: 0
208 bytes
0.0: 0, 2 x 3 at 0, bias at 176
0.1: 0, 2 x 2 at 24, bias at -1
1.0: 0, 2 x 3 at 40, bias at 184
1.1: 0, 2 x 2 at 64, bias at -1
2.0: 0, 2 x 4 at 80, bias at 192
2.1: 0, 2 x 2 at 112, bias at -1
3.0: 0, 2 x 4 at 128, bias at 200
3.1: 0, 2 x 2 at 160, bias at -1
no such part: 2000
LSTM, projected: 0
weights: 0
352 bytes
0.0: 0, 4 x 3 at 0, bias at -1
0.1: 0, 4 x 3 at 48, bias at -1
0.2: 0, 4 x 3 at 96, bias at -1
0.3: 0, 4 x 3 at 144, bias at -1
0.4: 0, 4 x 2 at 192, bias at -1
0.5: 0, 4 x 2 at 224, bias at -1
0.6: 0, 4 x 2 at 256, bias at -1
0.7: 0, 4 x 2 at 288, bias at -1
0.8: 0, 2 x 4 at 320, bias at -1
no such part: 2000
GRU, projected: 2000
sizes: 0
work 0, reserve 0
end: 0
"""
COLLECTED = """\
ncclAllGather: 0, 1 2 1 2
ncclAllReduce: 0, 1 2 9 9
ncclReduceScatter: 0, 3 4 9 9
ncclBroadcast: 0, 9 9 9 9
ncclBroadcast: 0, 1 2 9 9
ncclReduce: 0, 9 9 9 9
ncclReduce: 0, 1 2 9 9
ncclAllGather: 0, 9 9 9 9
ncclSend: 0, 9 9 9 9
ncclAlltoAll: 0, 3 4 3 4
ncclGather: 0, 9 9 9 9
ncclGather: 0, 1 2 1 2
a group: 5 6 5 6
"""
DRAWN = """\
generator: 0
generator: 0
no place for a generator: 103
seed: 0
device: 0
not written: 0
host: 0
within (0, 1]: 1000, two differ: 1
host: 0
mean near 50: 1
not modelled: 204
version: 0
major version: 10
end: 0
"""
TRANSFORMED = """\
plan: 0
size: 0
work area: 1048576
executed: 0
handle: 0
own area: 0
plan: 0
work area: 16384
area: 0
estimate: 0
work area: 512
no points: 8
too many: 8
not modelled: 16
end: 0
no plan: 1
"""
SOLVED = """\
handle: 0
no place for a handle: 3
stream: 0
kept: 1
size: 0
workspace: 0
solved: 0
info: 0 16843009
solved: 0
info: 0 0 16843009
parameters: 0
size: 0
workspaces: 0 0
solved: 0
found: 8
not modelled: 9
end: 0
"""
MULTIPLIED = """\
handle: 0
no place for a handle: 3
matrix: 0
matrix: 0
matrix: 0
size: 0
4 x 8, 10 entries
content: 0
kept: 1
buffer: 0
buffer: 0
description: 0
product: 0
buffer: 0
size: 0
4 x 6, 12 entries
dot: 0
pivot: 0
entries: 0
dot: 0, zero pivot: -1, entries: 0
sum: 0
entries: 5
not modelled: 10
matrix: 0
matrix: 0
matrix: 0
end: 0
"""


class Libraries(harness.Case):
    def setUp(self):
        super().setUp()
        self.wheel = pathlib.Path(self.folder) / "wheel"
        self.wheel.mkdir()
        for name in (f"{library}.so.{major}" for library in ("libcublas", "libcublasLt") for major in (12, 13)):
            (self.wheel / name).write_text("the copy of a wheel\n")

    def products(self, mode=None, audited=True, major=13, **more):
        """A program whose loader looks into a wheel's folder first, and that opens the copy there by its path."""
        if audited:
            more["LD_AUDIT"] = str(harness.SIMULATOR / "libvramscope_redirect.so")
        paths = f"{self.wheel}:{harness.SIMULATOR}"
        program = "products" if major == 13 else f"products_{major}"
        command = [harness.program(program), str(self.wheel / f"libcublas.so.{major}")]
        return self.run_program(command, mode, LD_LIBRARY_PATH=paths, **more)

    def test_they_stand_in_for_a_copy_that_comes_first(self):
        for major in (12, 13):
            self.assertEqual(127, self.products(audited=False, major=major).status)  # the loader met the wheel's copy
            for mode in (None, *harness.MODES):
                outcome = self.products(mode, major=major)
                self.assertEqual((0, PRINTED), outcome[:2], outcome.stderr)

    def test_one_line_says_that_figures_are_modelled(self):
        for mode in (None, "cache", "observe"):
            lines = self.products(mode).stderr.splitlines()
            self.assertEqual(1, len(lines), lines)
            self.assertRegex(lines[0], MODELLED)

    def device(self, outcome):
        return next(one for one in self.only_report(outcome)["kinds"] if one["kind"] == "device")

    def test_each_handle_takes_its_workspace_and_gives_it_back(self):
        for settings, bytes_each in (
            ({}, 32 * MIB),
            ({"CUBLAS_WORKSPACE_CONFIG": ":4096:2:16:8"}, 8 * MIB + 128 * 1024),
            ({"CUBLAS_WORKSPACE_CONFIG": "nonsense"}, 32 * MIB),
            ({"CUBLAS_WORKSPACE_CONFIG": ":99999999999999:"}, 32 * MIB),
        ):
            memory = self.device(self.products("cache", **settings))
            self.assertEqual(2 * (bytes_each + 1024), memory["peak_bytes"], settings)
            self.assertEqual((0, 4, 4), (memory["current_bytes"], memory["allocations"], memory["frees"]))

    def test_cudnn_plans_a_graph_and_says_what_it_does_not_model(self):
        (self.wheel / "libcudnn.so.9").write_text("the copy of a wheel\n")
        paths, redirector = f"{self.wheel}:{harness.SIMULATOR}", harness.SIMULATOR / "libvramscope_redirect.so"
        for mode in (None, *harness.MODES):
            outcome = self.run_program([harness.program("plans")], mode, LD_LIBRARY_PATH=paths, LD_AUDIT=str(redirector))
            self.assertEqual((0, PLANNED), outcome[:2], outcome.stderr)
            self.assertEqual("vramscope: plans: cuDNN is a stand-in on the simulated device: its memory is modelled (25 KiB "
                             "a handle, no workspaces but 256 bytes for attention), its kernels are not executed\n", outcome.stderr)  # fmt: skip
            if mode == "observe":
                kinds = {one["kind"]: one for one in self.only_report(outcome)["kinds"]}
                self.assertEqual((25348, 4), (kinds["device"]["peak_bytes"], kinds["pinned"]["peak_bytes"]))
        # One file for CUDA 12 and 13: a driver of 12 is new enough.
        outcome = self.run_program([harness.program("plans")], LD_LIBRARY_PATH=paths, LD_AUDIT=str(redirector),
                                   simulator="driver_version=12080")  # fmt: skip
        self.assertEqual((0, PLANNED), outcome[:2], outcome.stderr)

    def stands_in(self, program, soname, printed, says, **more):
        """The program's outcome, alike natively and in each mode, with the one line that says what is modelled."""
        (self.wheel / soname).write_text("the copy of a wheel\n")
        paths, redirector = f"{self.wheel}:{harness.SIMULATOR}", harness.SIMULATOR / "libvramscope_redirect.so"
        for mode in (None, *harness.MODES):
            command = [harness.program(program)]
            outcome = self.run_program(command, mode, LD_LIBRARY_PATH=paths, LD_AUDIT=str(redirector), **more)
            self.assertEqual((0, printed), outcome[:2], outcome.stderr)
            line = f"vramscope: {program}: {says}, its kernels are not executed\n"
            self.assertEqual(line, outcome.stderr)

    def test_cudnn_says_where_the_weights_of_recurrent_networks_lie(self):
        self.stands_in("recurrent", "libcudnn.so.9", LAID_OUT, "cuDNN is a stand-in on the simulated device: its memory is "
                       "modelled (25 KiB a handle, no workspaces but 256 bytes for attention)")  # fmt: skip

    def test_collectives_of_nccl_leave_what_the_rank_gave_in_every_place(self):
        command = [harness.program("collectives"), harness.program("libnccl.so.2")]
        plain = self.run_program(command)
        self.assertEqual([0, 9], sorted({int(word) for word in re.findall(r"\b\d+\b", plain.stdout)}), plain)
        for mode in (None, *harness.MODES):
            outcome = self.run_program(command, mode, LD_AUDIT=str(harness.SIMULATOR / "libvramscope_redirect.so"))
            self.assertEqual((0, COLLECTED, ""), outcome[:3])

    def test_a_nccl_whose_table_lies_about_its_place_is_left_as_it_is(self):
        code = bytearray(pathlib.Path(harness.program("libnccl.so.2")).read_bytes())
        (sections,) = struct.unpack_from("<Q", code, 40)
        size, count = struct.unpack_from("<HH", code, 58)
        exports = next(at for at in range(sections, sections + size * count, size)
                       if struct.unpack_from("<I", code, at + 4)[0] == SECTION_OF_EXPORTS)  # fmt: skip
        struct.pack_into("<Q", code, exports + 16, 0x1000)
        copy = self.wheel / "libnccl.so.2"
        copy.write_bytes(code)
        command = [harness.program("collectives"), str(copy)]
        outcome = self.run_program(command, LD_AUDIT=str(harness.SIMULATOR / "libvramscope_redirect.so"))
        self.assertEqual((0, re.sub(r"\d \d \d \d$", "9 9 9 9", COLLECTED, flags=re.M), ""), outcome[:3])

    def test_what_is_not_simulated_is_named_once_where_a_setting_asks_for_it(self):
        asks = ("import ctypes; driver, runtime, library = (ctypes.CDLL(name) for name in "
                "('libcuda.so.1', 'libcudart.so.13', 'libcusolver.so.12')); driver.cuInit(0); "
                "[print(driver.cuMulticastCreate(), runtime.cudaGetExportTable(), library.cusolverDnCaxpyHost()) "
                "for _ in range(2)]")  # fmt: skip
        for simulator, names in (
            ("", []),
            ("says_missing=1", ["cuMulticastCreate", "cudaGetExportTable", "cusolverDnCaxpyHost"]),
        ):
            outcome = self.run_program([sys.executable, "-c", asks], simulator=simulator)
            self.assertEqual((0, "801 801 9\n" * 2), outcome[:2], outcome.stderr)
            self.assertEqual([f"{name} is not simulated" for name in names],
                             [line.split(": ")[-1] for line in outcome.stderr.splitlines()])  # fmt: skip

    def test_curand_writes_the_numbers_of_the_host(self):
        self.stands_in("randoms", "libcurand.so.10", DRAWN, "cuRAND is a stand-in on the simulated device: its memory is "
                       "modelled (no generator takes any)")  # fmt: skip

    def test_cufft_takes_the_work_area_of_a_plan(self):
        for program, soname in (("transforms", "libcufft.so.12"), ("transforms_12", "libcufft.so.11")):
            self.stands_in(program, soname, TRANSFORMED, "cuFFT is a stand-in on the simulated device: its memory "
                           "is modelled (a work area as large as the data, as complex numbers)")  # fmt: skip
            memory = self.device(self.run_program([harness.program(program)], "cache"))
            self.assertEqual((MIB, 1, 1), (memory["peak_bytes"], memory["allocations"], memory["frees"]))

    def test_cusolver_says_solved_on_the_device_and_on_the_host(self):
        for program, soname in (("solutions", "libcusolver.so.12"), ("solutions_12", "libcusolver.so.11")):
            self.stands_in(program, soname, SOLVED, "cuSOLVER is a stand-in on the simulated device: its memory is "
                           "modelled (no solver needs a workspace, each succeeds)")  # fmt: skip

    def test_cusparse_keeps_descriptors_and_never_leaves_a_size_unwritten(self):
        self.stands_in("sparse", "libcusparse.so.12", MULTIPLIED, "cuSPARSE is a stand-in on the simulated device: its memory "
                       "is modelled (no call needs a buffer, a product has as many entries as its larger factor)")  # fmt: skip

    def test_a_full_device_refuses_the_second_handle(self):
        outcome = self.products("observe", simulator="fail_alloc=4")
        self.assertEqual("handle: 0\nhandle: 3\n", outcome.stdout[:20], outcome)


if __name__ == "__main__":
    harness.main()
