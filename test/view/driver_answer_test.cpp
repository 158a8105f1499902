// What the tool is told of a driver that may do anything.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/doctor/driver_answer.h"

#include <gtest/gtest.h>

namespace vramscope {
namespace {

// What was to end it was an alarm, which the driver may block.
TEST(DriverAnswer, EndsADriverThatNeverAnswers) {
  const DriverAnswer answer = ask_driver(VRAMSCOPE_SILENT_DRIVER, 1);

  EXPECT_TRUE(answer.is_silent);
  EXPECT_EQ(answer.signal, 0);
  EXPECT_EQ(answer.path, VRAMSCOPE_SILENT_DRIVER);
}

TEST(DriverAnswer, HasNoPathOfAFileThatIsNoLibrary) {
  EXPECT_EQ(ask_driver("/etc/passwd", 1).path, "");
  EXPECT_EQ(ask_driver("/dev/null", 1).path, "");
}

}  // namespace
}  // namespace vramscope
