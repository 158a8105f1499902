"""Variables of a program's code begin with their initial values on the simulated device, also where nvcc compressed the
code, and code that a program loads from a file likewise."""
# SPDX-License-Identifier: Apache-2.0
import harness

OWN = "41, 1.5 2.5 -3.5\n7 0, 0.25 4.00; 8 8\n"
LOADED = "7, 4; -3.5, 24\n"


class Variables(harness.Case):
    def check(self, packing):
        program = harness.program(f"variables_{packing}")
        file = harness.program(f"variables_{packing}.fatbin")
        redirector = harness.SIMULATOR / "libvramscope_redirect.so"
        for mode in (None, *harness.MODES):
            outcome = self.run_program([program, file], mode, LD_AUDIT=str(redirector))
            self.assertEqual((0, OWN + LOADED), (outcome.status, outcome.stdout), outcome.stderr)

    def test_code_as_it_is(self):
        self.check("plain")

    def test_code_compressed_by_lz4(self):
        self.check("speed")

    def test_code_compressed_by_zstd(self):
        self.check("size")


if __name__ == "__main__":
    harness.main()
