// The file of a trace inside a program that does as it likes with descriptors, names and limits.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/traces/trace_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace {
void (*before_room_is_asked)(int descriptor) = nullptr;
}  // namespace

// In place of the system's.
extern "C" int fstatvfs(int descriptor, struct statvfs* system) noexcept {
  if (before_room_is_asked != nullptr) before_room_is_asked(descriptor);
  *system = {};
  return 0;
}

namespace vramscope {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

class TraceFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::array<char, 64> pattern{"/tmp/vramscope-trace-test-XXXXXX"};
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern.data();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path() const { return folder_ + "/x.trace"; }
  [[nodiscard]] static std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
};

TEST_F(TraceFileTest, BeginsWithWhatItIs) {
  TraceFile file(path());

  ASSERT_EQ(file.error(), 0);
  EXPECT_TRUE(file.write(bytes_of("head"), bytes_of("content")));

  const std::string found = content(path());
  EXPECT_TRUE(found.starts_with(kTraceMagic));
  EXPECT_EQ(found.substr(kTraceHeadBytes), "headcontent");
  EXPECT_EQ(file.bytes(), found.size());
}

TEST_F(TraceFileTest, ReplacesNothingAndIsForItsOwnerOnly) {
  std::ofstream(path()) << "mine";

  const TraceFile file(path());

  EXPECT_EQ(content(path()), "mine");
  EXPECT_EQ(file.path(), path() + "~1");
  struct stat status {};
  ASSERT_EQ(stat(file.path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

// The names grew: ~1, ~1~2, ~1~2~3, until they were too long for a file.
TEST_F(TraceFileTest, EachOfManyWithOneNameHasItsOwn) {
  constexpr int kFiles = 200;
  for (int i = 0; i < kFiles; ++i) {
    const TraceFile file(path());
    ASSERT_EQ(file.error(), 0) << i;
    EXPECT_EQ(file.path(), i == 0 ? path() : path() + "~" + std::to_string(i));
  }
}

TEST_F(TraceFileTest, ADeviceOrAPipeIsNotWrittenTo) {
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);

  EXPECT_EQ(TraceFile(path()).error(), ENOTSUP);
  EXPECT_EQ(TraceFile(folder_).error(), EISDIR);
  EXPECT_EQ(TraceFile("/dev/full").error(), ENOTSUP);
  EXPECT_FALSE(std::filesystem::exists(path() + "~1"));
}

// What another thread does between the look at the descriptor and the write.
TEST_F(TraceFileTest, NeverWritesIntoWhatTookItsNumberLast) {
  TraceFile file(path());
  const std::string other = folder_ + "/other";
  static int theirs = -1;
  theirs = open(other.c_str(), O_RDWR | O_CREAT, 0600);
  before_room_is_asked = [](int descriptor) { dup2(theirs, descriptor); };

  const bool written = file.write(bytes_of("one"), {});
  before_room_is_asked = nullptr;

  EXPECT_TRUE(written);
  EXPECT_EQ(content(path()).substr(kTraceHeadBytes), "one");
  EXPECT_EQ(content(other), "");
}

TEST_F(TraceFileTest, AFolderThatIsNotThereIsAnError) {
  TraceFile file(folder_ + "/none/x.trace");

  EXPECT_EQ(file.error(), ENOENT);
  EXPECT_FALSE(file.write(bytes_of("head"), {}));
}

// A daemon closes all descriptors; what it opens next may have our number.
TEST_F(TraceFileTest, GoesOnAfterTheProgramTookItsDescriptor) {
  TraceFile file(path());
  ASSERT_TRUE(file.write(bytes_of("one"), {}));
  const std::string other = folder_ + "/other";
  const int theirs = open(other.c_str(), O_RDWR | O_CREAT, 0600);
  for (int number = 3; number < 1024; ++number) {
    if (number != theirs && fcntl(number, F_GETFD) != -1) dup2(theirs, number);
  }

  EXPECT_TRUE(file.write(bytes_of("two"), {}));

  EXPECT_EQ(content(path()).substr(kTraceHeadBytes), "onetwo");
  EXPECT_EQ(content(other), "");
}

TEST_F(TraceFileTest, StopsWhenItsNameIsGoneAsWell) {
  TraceFile file(path());
  for (int number = 3; number < 1024; ++number) close(number);
  std::filesystem::remove(path());

  EXPECT_FALSE(file.write(bytes_of("two"), {}));
  EXPECT_NE(file.error(), 0);
}

// In a folder that others can change too, nobody keeps the program waiting by a pipe of that name.
TEST_F(TraceFileTest, WaitsForNobodyWhoPutAPipeInItsPlace) {
  TraceFile file(path());
  for (int number = 3; number < 1024; ++number) close(number);
  std::filesystem::remove(path());
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);

  EXPECT_FALSE(file.write(bytes_of("two"), {}));
  EXPECT_EQ(file.error(), ENXIO);
  file.take_away();
  EXPECT_TRUE(std::filesystem::exists(path()));  // it is not ours
}

// What says nothing is not left behind where it is said that there is none.
TEST_F(TraceFileTest, LeavesNothingWhereItsFirstBytesFindNoRoom) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{.rlim_cur = 8, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  const TraceFile file(path());
  setrlimit(RLIMIT_FSIZE, &before);

  EXPECT_EQ(file.error(), EFBIG);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(TraceFileTest, KeepsWholeChunksAndTheFirstFailure) {
  TraceFile file(path());
  ASSERT_TRUE(file.write(bytes_of("whole"), {}));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);

  const bool written = file.write(bytes_of(std::string(2000, 'x')), {});
  setrlimit(RLIMIT_FSIZE, &before);

  EXPECT_FALSE(written);
  EXPECT_EQ(file.error(), EFBIG);
  EXPECT_FALSE(file.write(bytes_of("more"), {}));
  EXPECT_EQ(content(path()).substr(kTraceHeadBytes), "whole");
}

}  // namespace
}  // namespace vramscope
