"""The check of programs notices what it is there to notice."""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys
import tempfile
import time
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "real_programs"))
import cases  # noqa: E402
import check_programs as check  # noqa: E402


def seen(sizes=(), peak=0, calls=(), total=0, left=0):
    stats = {"requested_bytes.all.peak": peak, "requested_bytes.all.current": left}
    return check.Seen(stats, dict.fromkeys(calls, 1), total, list(sizes))


class CheckItself(unittest.TestCase):
    def test_another_status_or_output_is_a_difference(self):
        native = check.Run(0, ["frame= 30"], [])
        self.assertEqual([], list(check.differences(native, check.Run(0, ["frame= 30"], []))))
        self.assertEqual(1, len(list(check.differences(native, check.Run(139, ["frame= 30"], [])))))
        self.assertEqual(2, len(list(check.differences(native, check.Run(0, ["frame= 29"], [])))))

    def test_a_frame_too_many_a_missing_one_and_another_size_are_named(self):
        says = cases.sizes_are(100, 200)
        self.assertEqual([], says([], seen([100, 200, 100])))
        self.assertEqual(["no frame of 200 bytes"], says([], seen([100])))
        self.assertEqual(["an allocation of 300 bytes is no frame"], says([], seen([100, 200, 300])))

    def test_frames_are_as_large_as_the_program_says(self):
        caps = ["caps = video/x-raw(memory:CUDAMemory), format=(string)NV12, width=(int)320, height=(int)180"]
        self.assertEqual([], cases.caps_kept(caps, seen([512 * 180 * 2])))
        self.assertNotEqual([], cases.caps_kept(caps, seen([512 * 180])))
        self.assertNotEqual([], cases.caps_kept(["Got EOS"], seen([])))

    def test_peaks_models_and_devices_are_compared(self):
        self.assertEqual([], cases.peak_fits(["Peak:1.50M", "Peak:2.00M"], seen(peak=2 << 20)))
        self.assertNotEqual([], cases.peak_fits(["Peak:2.00M"], seen(peak=3 << 20)))
        model = ["model 1000 bytes, device 1 bytes"]
        self.assertEqual([], cases.model_fits(model, seen(peak=1000, calls=["cuGraphLaunch"])))
        self.assertEqual(2, len(cases.model_fits(model, seen(peak=999))))
        self.assertEqual([], cases.all_freed(["/16384 MB"], seen(total=16 << 30)))
        self.assertEqual(2, len(cases.all_freed(["/16384 MB"], seen(total=8 << 30, left=1))))

    def test_what_is_missing_is_skipped_with_the_reason(self):
        program = types.SimpleNamespace(tool="no-such-program", why_not=lambda: "")
        self.assertEqual("no-such-program is not installed", check.why_not(program, time.monotonic() + 9))
        program.tool = "sh"
        self.assertEqual("", check.why_not(program, time.monotonic() + 9))
        self.assertEqual("the time is over", check.why_not(program, time.monotonic() - 9))

    def test_rows_of_programs_that_are_not_here_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "README.md")
            page.write_text(f"above\n{check.BEGIN}{check.END}below\n")
            check.write(page, ["| mpv | 1.0.0 | x | runs |", "| ffmpeg | 5.1.9 | x | runs |"])
            check.write(page, ["| mpv | 2.0.0 | x | runs |"])
            text = page.read_text()
        self.assertIn("| mpv | 2.0.0 |", text)
        self.assertNotIn("1.0.0", text)
        self.assertIn("| ffmpeg | 5.1.9 |", text)
        self.assertEqual(1, text.count("| Program |"))
        self.assertTrue(text.startswith("above\n") and text.endswith("below\n"))


if __name__ == "__main__":
    unittest.main()
