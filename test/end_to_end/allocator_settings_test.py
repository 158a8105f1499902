"""Programs of others under each setting of the allocator: what they compute stays the same."""
# SPDX-License-Identifier: Apache-2.0
import re

import harness
import recount

# Values that change what these programs meet: they ask for some KiB up to 40 MiB.
SETTINGS = (
    "max_split_size_mb:21",
    "max_split_size_mb:21,max_non_split_rounding_mb:22",
    "large_segment_size_mb:12",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:[1:8,4:2,>:1]",
    "per_process_memory_fraction:0.9,garbage_collection_threshold:0.001",
    "throw_on_cudamalloc_oom:True,per_process_memory_fraction:0.5",
    "pinned_max_round_threshold_mb:0",
    "pinned_max_cached_size_mb:0",
    "exact_fallback:False",
    "expandable_segments:True",
    "growing_segments:True",
    "backend:native",
)


def effective_names():
    """The settings that mean something here, as the parser has them."""
    source = (harness.SOURCE / "interpose/settings/alloc_conf.cpp").read_text()
    table = source[source.index("constexpr Row kRows") : source.index("struct Idle")]
    return set(re.findall(r'^    \{"(\w+)"', table, re.MULTILINE))


class AllocConf(harness.Case):
    def check_each_setting(self, command):
        expected = self.run_program(command)
        self.assertEqual(0, expected.status, expected.stderr)
        for settings in SETTINGS:
            outcome = self.run_program(command, "cache", VRAMSCOPE_ALLOC_CONF=settings)
            seen = f"{settings}: {outcome.stderr}"
            self.assertEqual(expected.behaviour(), outcome.behaviour(), seen)
            for line in outcome.stderr.splitlines():
                self.assertIn("has no effect here", line)
            report = self.only_report(outcome)
            self.assertEqual(settings, report["process"]["options"]["alloc_conf"])
            recount.check(self, report)

    def test_every_setting_is_tried(self):
        tried = {part.split(":")[0] for settings in SETTINGS for part in settings.split(",")}
        self.assertEqual(set(), effective_names() - tried)

    def test_ffmpeg_computes_the_same_frames_with_each_setting(self):
        steps = "format=nv12,hwupload_cuda,hwdownload,format=nv12"
        command = [harness.installed("ffmpeg"), "-hide_banner", "-loglevel", "error"]
        command += ["-init_hw_device", "cuda=c:0", "-filter_hw_device", "c", "-f", "lavfi"]
        command += ["-i", "testsrc=size=1280x720:rate=30:duration=1", "-vf", steps]
        self.check_each_setting([*command, "-f", "framemd5", "-"])

    def test_a_program_of_nvcc_computes_the_same_with_each_setting(self):
        self.check_each_setting([harness.program("train")])

    def test_a_program_with_the_runtime_inside_computes_the_same_with_each_setting(self):
        self.check_each_setting([harness.program("train_static")])


if __name__ == "__main__":
    harness.main()
