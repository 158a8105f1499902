"""Programs with NVIDIA's runtime inside, as nvcc links it by default, on the simulated device: the simulated runtime
takes its place, by the names in the symbol table. One that cannot be trusted leaves the program as it is."""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import shutil
import struct
import subprocess

import harness
import recount

SECTION_OF_SYMBOLS = 2
WAYS_OUT = "; link with -cudart shared, or keep its symbols"


class Symbols:
    """The symbol table of an ELF file with 64 bits, of which single entries can be changed."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.code = bytearray(self.path.read_bytes())
        (sections,) = struct.unpack_from("<Q", self.code, 40)
        size, count = struct.unpack_from("<HH", self.code, 58)
        heads = [struct.unpack_from("<IIQQQQII", self.code, sections + i * size) for i in range(count)]
        table = next(head for head in heads if head[1] == SECTION_OF_SYMBOLS)
        self.begin, self.bytes, self.names = table[4], table[5], heads[table[6]][4]

    def entry(self, name):
        for at in range(self.begin, self.begin + self.bytes, 24):
            start = self.names + struct.unpack_from("<I", self.code, at)[0]
            if self.code[start : start + len(name) + 1] == name.encode() + b"\0":
                return at
        raise AssertionError(f"no symbol {name}")

    def address(self, name):
        return struct.unpack_from("<Q", self.code, self.entry(name) + 8)[0]

    def change(self, name, form, into, value):
        struct.pack_into(form, self.code, self.entry(name) + into, value)
        self.path.write_bytes(self.code)


class StaticRuntime(harness.Case):
    def redirected(self, command, mode=None, **more):
        redirector = harness.SIMULATOR / "libvramscope_redirect.so"
        return self.run_program(command, mode, LD_AUDIT=str(redirector), **more)

    def copy(self, name="train_nvcc_static"):
        return shutil.copy(harness.program(name), self.folder)

    def refused(self, program, reason):
        outcome = self.redirected([program])
        self.assertEqual((125, ""), (outcome.status, outcome.stdout), outcome.stderr)
        name = pathlib.Path(program).name
        self.assertEqual(f"vramscope: {name}: {reason}{WAYS_OUT}\n", outcome.stderr)

    def test_a_default_nvcc_program_runs_as_with_the_shared_runtime(self):
        shared = self.run_program([harness.program("train")])
        for mode in (None, *harness.MODES):
            outcome = self.redirected([harness.program("train_nvcc_static")], mode)
            self.assertEqual("", outcome.stderr)
            self.assertEqual(shared.behaviour(), outcome.behaviour())

    def facts(self, report):
        """What a report says but for modules, addresses and times: calls, and what each place took."""
        calls = {one["name"]: (one["calls"], one["failures"]) for one in report["functions"]}
        figures = ("live_bytes", "live_count", "peak_bytes", "peak_count", "total_bytes", "total_count", "sizes")
        places = sorted([site[figure] for figure in figures] for site in report["sites"])
        kinds = [[one[figure] for figure in ("kind", "device", "current_bytes", "peak_bytes", "allocations", "frees")]
                 for one in report["kinds"]]  # fmt: skip
        return calls, places, kinds

    def test_both_runtimes_give_equal_reports(self):
        for mode in ("cache", "observe"):
            report = self.only_report(self.redirected([harness.program("train_nvcc_static")], mode))
            recount.check(self, report)
            shared = self.only_report(self.run_program([harness.program("train")], mode))
            self.assertEqual(self.facts(shared), self.facts(report))

    def test_run_and_report_show_the_lines_of_a_default_nvcc_program(self):
        report = f"{self.folder}/r.json"
        done = self.run_tool("run", "--sim", "-o", report, harness.program("train_nvcc_static"))
        self.assertEqual(0, done.returncode, done.stderr)
        shown = self.run_tool("sites", "--full", report).stdout
        self.assertIn("train.cu:", shown)
        self.assertNotIn("libcudart_static", shown)

    def test_a_library_that_is_opened_later_is_served_too(self):
        library = harness.program("libloader_nvcc.so")
        for mode in (None, "cache", "observe"):
            outcome = self.redirected([harness.program("loader"), "static", library], mode)
            self.assertEqual((0, "with a runtime inside: 0\n", ""), outcome[:3])
            if mode:
                self.assertEqual(0, recount.live_bytes(self.only_report(outcome)))
            again = self.redirected([harness.program("loader"), "late", library], mode)
            self.assertEqual((0, ""), (again.status, again.stderr))
            self.assertEqual(6, again.stdout.count(": 0\n") - again.stdout.count("closed: 0\n"), again.stdout)

    def test_a_runtime_inside_and_a_shared_one_free_each_others_memory(self):
        command = [harness.program("loader"), "two", harness.program("libloader_nvcc.so"), harness.runtime()]
        native = self.redirected(command)
        self.assertEqual(0, native.status)
        outcome = self.redirected(command, "cache")
        self.assertEqual(native.behaviour(), outcome.behaviour())
        self.assertEqual(0, recount.live_bytes(self.only_report(outcome)))

    def test_no_page_of_code_stays_writable(self):
        library = harness.program("libloader_nvcc.so")
        script = f"import ctypes; print(ctypes.CDLL({library!r}).use_memory(4096)); print(open('/proc/self/maps').read())"
        outcome = self.redirected([harness.installed("python3"), "-c", script])
        self.assertTrue(outcome.stdout.startswith("0\n"), outcome)
        rights = [line.split()[1] for line in outcome.stdout.splitlines()[1:] if line]
        self.assertTrue(rights)
        self.assertEqual([], [right for right in rights if "w" in right and "x" in right])

    def test_a_stripped_program_is_refused_with_both_ways_out(self):
        program = self.copy()
        subprocess.run([harness.installed("strip"), program], check=True)
        self.refused(program, "NVIDIA's runtime is linked statically and has no symbols by which the simulated one "
                              "could take its place")  # fmt: skip
        done = self.run_tool("run", "--sim", program)
        self.assertEqual((125, 1), (done.returncode, done.stderr.count("\n")), done.stderr)

    def test_symbols_in_a_separate_file_serve(self):
        program, objcopy = self.copy(), harness.installed("objcopy")
        subprocess.run([objcopy, "--only-keep-debug", program, f"{program}.debug"], check=True)
        subprocess.run([harness.installed("strip"), program], check=True)
        subprocess.run([objcopy, f"--add-gnu-debuglink={program}.debug", program], check=True)
        outcome = self.redirected([program])
        self.assertEqual((0, ""), (outcome.status, outcome.stderr))

    def test_a_symbol_table_that_lies_leaves_the_program_as_it_is(self):
        wrong = "its symbol table is wrong "
        for form, into, value, reason in (
            ("<Q", 8, 1 << 40, "(cudaMalloc lies outside its code)"),
            ("<Q", 16, 0, "(cudaMalloc has no size)"),
            ("<Q", 16, 1 << 60, "(cudaMalloc lies outside its code)"),
        ):
            program = self.copy()
            Symbols(program).change("cudaMalloc", form, into, value)
            self.refused(program, wrong + reason)
        program = self.copy()
        symbols = Symbols(program)
        symbols.change("cudaFree", "<Q", 8, symbols.address("cudaMalloc") + 16)
        outcome = self.redirected([program])
        self.assertEqual(125, outcome.status)
        self.assertIn(f"{wrong}(cudaMalloc overlaps cudaFree)", outcome.stderr)

    def test_two_runtimes_in_one_program_are_refused(self):
        program = self.copy()
        symbols = Symbols(program)
        symbols.change("cudaFree", "<I", 0, struct.unpack_from("<I", symbols.code, symbols.entry("cudaMalloc"))[0])
        self.refused(program, "it has two runtimes inside (two functions cudaMalloc)")

    def test_a_runtime_of_a_later_version_is_refused(self):
        program = self.copy()
        code = pathlib.Path(program).read_bytes()
        stored = b"\xc7\x07" + struct.pack("<I", 13000)  # mov dword [rdi], 13000
        if stored not in code:
            self.skipTest("this machine's code does not store the version so")
        pathlib.Path(program).write_bytes(code.replace(stored, b"\xc7\x07" + struct.pack("<I", 14010)))
        self.refused(program, "NVIDIA's runtime inside is of CUDA 14.1, and the simulated runtimes are of 11 to 13")

    def test_doctor_says_beforehand_which_case_a_program_is(self):
        program = self.copy()
        done = self.run_tool("doctor", "--sim", program)
        self.assertIn("the simulated runtime takes the place of NVIDIA's", done.stdout)
        subprocess.run([harness.installed("strip"), program], check=True)
        done = self.run_tool("doctor", "--sim", program)
        self.assertIn("link with nvcc -cudart shared, or keep its symbols", " ".join(done.stdout.split()))


if __name__ == "__main__":
    harness.main()
