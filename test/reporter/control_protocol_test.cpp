// Lines of the control socket: what is written is read, and what is no request is refused with its
// reason.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/live/control_protocol.h"

#include <gtest/gtest.h>

#include <random>

namespace vramscope {
namespace {

std::string problem_of(std::string_view line) {
  const auto read = read_request(line);
  return read.index() == 1 ? std::get<1>(read) : "";
}

TEST(ControlProtocol, ReadsTheRequestsThatItWrites) {
  for (const ControlCommand& command : kControlCommands) {
    const ControlRequest request{.command = command.name,
                                 .device = 63,
                                 .name = "a \"name\"\n\xc3\xbc",
                                 .bytes = ~std::uint64_t{0},
                                 .wait_ms = kMostWaitMs};

    std::string line = line_of(request);

    ASSERT_EQ(line.find('\n'), line.size() - 1) << "one line";
    line.pop_back();
    const auto read = read_request(line);
    ASSERT_EQ(read.index(), 0U) << std::get<1>(read);
    const auto& found = std::get<ControlRequest>(read);
    EXPECT_EQ(found.command, request.command);
    EXPECT_EQ(found.device, request.device);
    EXPECT_EQ(found.name, request.name);
    EXPECT_EQ(found.bytes, request.bytes);
    EXPECT_EQ(found.wait_ms, request.wait_ms);
  }
}

TEST(ControlProtocol, IgnoresMembersThatItDoesNotKnow) {
  EXPECT_EQ(problem_of(R"({"protocol":1,"command":"pause","later":[1,{"a":null}]})"), "");
}

TEST(ControlProtocol, NamesTheMemberThatIsWrong) {
  EXPECT_EQ(problem_of("pause"), "the line is not one JSON object");
  EXPECT_EQ(problem_of(R"({"protocol":1,"command":"pause"} {})"),
            "the line is not one JSON object");
  EXPECT_EQ(problem_of(R"({"protocol":1,"command":["pause"]})"), "\"command\": expected a text");
  EXPECT_EQ(problem_of(R"({"protocol":1,"command":"pause","device":64})"),
            "\"device\": expected a number below 64");
  EXPECT_EQ(problem_of(R"({"protocol":1,"command":"pause","device":1.5})"),
            "\"device\": expected a number that is not negative");
  EXPECT_EQ(problem_of(R"({"protocol":1,"command":"pause","wait_ms":3600001})"),
            "\"wait_ms\": expected at most 3600000");
}

TEST(ControlProtocol, ReadsTheAnswersThatItWrites) {
  const ControlReply done = read_reply(R"({"ok":true,"report":"/x/\"r\".json","free_bytes":7})");
  std::string line = failure_line("why \"not\"\n", Failure::waits);
  const ControlReply failed = read_reply(line);

  EXPECT_TRUE(done.is_ok);
  EXPECT_EQ(done.report, "/x/\"r\".json");
  EXPECT_EQ(done.free_bytes, 7U);
  EXPECT_TRUE(is_last_line(success_line()));
  EXPECT_TRUE(is_last_line(line));
  EXPECT_FALSE(is_last_line(R"({"device":0})"));
  EXPECT_FALSE(failed.is_ok);
  EXPECT_TRUE(failed.waits);
  EXPECT_EQ(failed.error, "why \"not\"\n");
}

TEST(ControlProtocol, AnswersAnyBytes) {
  std::mt19937 random(1);
  const std::string good = line_of({.command = "mark", .name = "x"});
  for (int i = 0; i < 20'000; ++i) {
    std::string line = good;
    for (unsigned changes = random() % 8; changes > 0; --changes) {
      line[random() % line.size()] = static_cast<char>(random());
    }
    line.resize(random() % (line.size() + 1));

    const auto read = read_request(line);

    EXPECT_TRUE(read.index() == 0 || !std::get<1>(read).empty());
    EXPECT_EQ(read_reply(line).is_ok, false);
  }
}

}  // namespace
}  // namespace vramscope
