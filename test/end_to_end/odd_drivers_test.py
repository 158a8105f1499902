"""Drivers that lack functions: the program sees what it would see without us, and we say so."""
# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys

import harness
import recount

DLERROR = """
import ctypes
libc = ctypes.CDLL(None)
for name in (libc.dlopen, libc.dlsym):
    name.restype = ctypes.c_void_p
libc.dlerror.restype = ctypes.c_char_p
driver = ctypes.c_void_p(libc.dlopen(b"libcuda.so.1", 2))
libc.dlerror()
print("found:", libc.dlsym(driver, b"cuMemAlloc_v2") is not None, libc.dlerror())
print("not found:", libc.dlsym(driver, b"cuNothing"), libc.dlerror() is not None)
"""


class OddDrivers(harness.Case):
    def driver_without(self, *names):
        """Variables that put a driver in front which has no functions of these names."""
        driver = (harness.SIMULATOR / "libcuda.so.1").read_bytes()
        for name in names:
            # Another name of the same length: neither the loader nor the driver itself finds it.
            text = b"\0" + name.encode() + b"\0"
            self.assertIn(text, driver)
            driver = driver.replace(text, text[:-2] + b"?\0")
        path = harness.pathlib.Path(self.folder) / "libcuda.so.1"
        path.write_bytes(driver)
        return {"LD_LIBRARY_PATH": f"{self.folder}:{harness.SIMULATOR}"}

    def compare(self, command, variables):
        """Native and profiled behave alike; the reports by mode, and what was said."""
        native = self.run_program(command, **variables)
        said = {}
        for mode in harness.MODES:
            profiled = self.run_program(command, mode, **variables)
            self.assertEqual(native.behaviour(), profiled.behaviour(), profiled.stderr)
            for report in profiled.reports:
                recount.check(self, report)
            said[mode] = (profiled.reports, profiled.stderr)
        self.assertEqual(([], ""), said["off"])
        return native, said

    def test_a_driver_of_another_file_name_behind_libcuda_is_recorded(self):
        folder = harness.pathlib.Path(self.folder)
        driver = folder / "libdriver.so"
        empty = [harness.installed("gcc"), "-shared", "-x", "c", "/dev/null", "-x", "none"]
        subprocess.run([*empty, "-o", driver, "-Wl,-soname,libdriver.so"], check=True)
        subprocess.run(
            [*empty, "-o", folder / "libcuda.so.1", "-Wl,-soname,libcuda.so.1", "-Wl,--no-as-needed", driver],
            check=True,
        )
        driver.write_bytes((harness.SIMULATOR / "libcuda.so.1").read_bytes())
        variables = {"LD_LIBRARY_PATH": f"{folder}:{harness.SIMULATOR}"}
        for program in ("driver_api", "linked"):
            native, said = self.compare([harness.program(program)], variables)
            self.assertNotEqual("", native.stdout)
            for mode in ("cache", "observe"):
                (report,), stderr = said[mode]
                self.assertEqual(("", []), (stderr, report["warnings"]), program)
                self.assertIn("cuMemAlloc_v2", {row["name"] for row in report["functions"]})

    def test_functions_that_a_driver_lacks_are_named_in_the_report(self):
        variables = self.driver_without("cuMemCreate", "cuMemPoolCreate")
        for program in ("virtual_memory", "pools", "null_handles"):
            native, said = self.compare([harness.program(program)], variables)
            self.assertNotEqual("", native.stdout)
            for mode in ("cache", "observe"):
                (report,), stderr = said[mode]
                self.assertEqual("", stderr)
                (warning,) = [text for text in report["warnings"] if "lacks" in text]
                self.assertIn("cuMemCreate, ", warning + ", ")
                self.assertIn("cuMemPoolCreate", warning)

    def test_a_complete_driver_gives_no_warning(self):
        _, said = self.compare([harness.program("linked")], {})
        self.assertEqual([], said["observe"][0][0]["warnings"])

    def test_a_driver_from_before_cugetprocaddress_is_recorded_all_the_same(self):
        variables = self.driver_without("cuGetProcAddress", "cuGetProcAddress_v2")
        native, said = self.compare([harness.program("driver_api")], variables)
        self.assertNotEqual("", native.stdout)
        (report,), _ = said["observe"]
        self.assertIn("cuMemAlloc_v2", {row["name"] for row in report["functions"]})

    def test_a_driver_that_is_too_old_is_left_alone_with_one_line(self):
        variables = self.driver_without("cuMemGetInfo_v2")
        _, said = self.compare([harness.program("virtual_memory")], variables)
        for mode in ("cache", "observe"):
            reports, stderr = said[mode]
            self.assertEqual([], reports)
            self.assertIn("lacks functions of CUDA 11.8", stderr)
            self.assertEqual(1, stderr.count("\n"))

    def test_a_function_that_is_younger_than_we_are_passes_and_is_named(self):
        command = [harness.program("younger_names")]
        native = self.run_program(command, simulator="driver_version=13010")
        profiled = self.run_program(command, "observe", simulator="driver_version=13010")
        self.assertEqual(native.behaviour(), profiled.behaviour())
        (warning,) = self.only_report(profiled)["warnings"]
        self.assertIn("cuMulticastBindMem", warning)

    def test_what_a_driver_lacks_is_no_error_of_the_programs_own_lookups(self):
        variables = self.driver_without("cuMemCreate", "cuMemPoolCreate")
        native, _ = self.compare([sys.executable, "-c", DLERROR], variables)
        self.assertEqual("found: True None\nnot found: None True\n", native.stdout)


if __name__ == "__main__":
    harness.main()
