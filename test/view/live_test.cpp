// What is shown of programs that run.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "reporter/report/live/live_reading.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/running_program.h"
#include "reporter/view/text/running_text.h"

namespace vramscope {
namespace {

TEST(RunningPrograms, NoneIsOneLineThatLeadsOn) {
  EXPECT_EQ(running_text({}, Page{}),
            "No program of this user is recorded now. Next: vramscope run PROGRAM\n");
}

TEST(RunningPrograms, TheFiguresAreThoseOfTheDevices) {
  LiveReading reading;
  reading.report.emplace();
  Report& report = *reading.report;
  report.process = {.executable = "/app/train", .start_time_ns = 5, .report_time_ns = 1005};
  report.kinds = {{.kind = Kind::device, .device = 1, .current_bytes = 10, .peak_bytes = 30},
                  {.kind = Kind::array, .device = 1, .current_bytes = 2, .peak_bytes = 20},
                  {.kind = Kind::device, .device = 0, .current_bytes = 1, .peak_bytes = 1},
                  {.kind = Kind::pinned, .current_bytes = 500, .peak_bytes = 500}};
  report.joint_peaks = {{.facts = {.device = 1, .peak_bytes = 40}}};

  const RunningProgram found = running_program(7, "/dev/shm/x.live", reading);

  EXPECT_EQ(found.program, "train");
  EXPECT_EQ(found.age_ns, 1000U);
  EXPECT_EQ(found.devices, (std::vector<std::uint16_t>{0, 1}));
  EXPECT_EQ(found.live_bytes, 13U);
  EXPECT_EQ(found.peak_bytes, 41U);
}

TEST(RunningPrograms, WhatCannotBeReadSaysWhy) {
  const RunningProgram found =
      running_program(7, "/x.live", {.problem = "it was written by another version"});

  EXPECT_FALSE(found.live_bytes);
  const std::string text = running_text({found}, Page{});
  EXPECT_NE(text.find("7: it was written by another version"), text.npos) << text;
}

}  // namespace
}  // namespace vramscope
