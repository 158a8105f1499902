"""ffmpeg as the distribution ships it: a large program by others, with threads and plug-ins."""
# SPDX-License-Identifier: Apache-2.0
import pathlib

import harness
import recount

INPUT = ["-f", "lavfi", "-i", "testsrc=size=1280x720:rate=30:duration=2"]
DEVICE = ["-init_hw_device", "cuda=c:0", "-filter_hw_device", "c"]
CHECKSUMS = ["-f", "framemd5", "-"]


class Ffmpeg(harness.Case):
    def command(self, *, upload):
        start = [harness.installed("ffmpeg"), "-hide_banner", "-loglevel", "error"]
        if not upload:
            return [*start, *INPUT, "-vf", "format=nv12", *CHECKSUMS]
        steps = "format=nv12,hwupload_cuda,hwdownload,format=nv12"
        return [*start, *DEVICE, *INPUT, "-vf", steps, *CHECKSUMS]

    def test_frames_through_the_device_come_back_unchanged_in_every_mode(self):
        expected = self.run_program(self.command(upload=False))
        self.assertEqual(0, expected.status, expected.stderr)
        for mode in harness.MODES:
            outcome = self.run_program(self.command(upload=True), mode)
            self.assertEqual(expected.behaviour(), outcome.behaviour(), outcome.stderr)
            for report in outcome.reports:
                recount.check(self, report)

    def test_the_report_names_the_library_that_allocates(self):
        for mode in ("cache", "observe"):
            report = self.only_report(self.run_program(self.command(upload=True), mode))
            stats = report["devices"][0]["memory_stats"]
            self.assertGreater(stats["allocation.all.allocated"], 0)
            names = {
                pathlib.Path(report["modules"][frame["module"]]["path"]).name.split(".so")[0]
                for frame in report["frames"]
                if frame["module"] is not None
            }
            self.assertIn("libavutil", names)

    def test_the_launcher_runs_it_on_the_simulated_device(self):
        path = pathlib.Path(self.folder) / "ffmpeg.json"
        launch = ["run", "--sim", "--output", path, "--"]
        expected = self.run_program(self.command(upload=False))
        finished = self.run_tool(*launch, *self.command(upload=True))
        self.assertEqual((0, expected.stdout), (finished.returncode, finished.stdout))
        self.assertLessEqual(len(finished.stderr.splitlines()), 3, finished.stderr)
        text = self.run_tool("sites", "--full", path)
        self.assertEqual(0, text.returncode, text.stderr)
        self.assertIn("libavutil", text.stdout)


if __name__ == "__main__":
    harness.main()
