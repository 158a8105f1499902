// Names behind return addresses, and what is said when there are none.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/symbols.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "reporter/record/stack/module_table.h"
#include "reporter/report/files/output_file.h"
#include "reporter/report/report.h"

namespace vramscope {
namespace {

constexpr int kInnerLine = 8;
constexpr int kOuterLine = 12;

void* return_address = nullptr;
[[gnu::noinline]] int keep_return_address() {
  return_address = __builtin_return_address(0);
  return 1;
}

// The victim, loaded here, and a return address inside inner(), which is inlined into outer().
class Victim : public testing::Test {
 protected:
  void SetUp() override { call("call_outer"); }

  void call(const char* function) {
    void* const library = dlopen(VICTIM, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    reinterpret_cast<int (*)(int (*)())>(dlsym(library, function))(keep_return_address);
    ModuleTable table;
    table.refresh();
    const auto address = reinterpret_cast<std::uintptr_t>(return_address);
    const FrameFact frame = table.resolve({&address, 1}).front();
    module_ = table.facts().at(frame.module);
    offset_ = frame.offset;
  }

  [[nodiscard]] ModuleFact elsewhere(const std::string& path) const {
    ModuleFact module = module_;
    module.path = path;
    return module;
  }

  ModuleFact module_;
  std::uint64_t offset_ = 0;
};

TEST_F(Victim, HasInlinedFunctionsWithTheirLines) {
  Symbols symbols;

  const ResolvedFrame& frame = symbols.resolve(module_, offset_);

  ASSERT_EQ(frame.state, SymbolState::resolved);
  ASSERT_EQ(frame.functions.size(), 2U);
  EXPECT_EQ(shorten(frame.functions[0].function), "victim::inner<...>");
  EXPECT_TRUE(frame.functions[0].is_inlined);
  EXPECT_EQ(frame.functions[0].line, kInnerLine);
  EXPECT_EQ(frame.functions[1].function, "victim::outer(int (*)())");
  EXPECT_FALSE(frame.functions[1].is_inlined);
  EXPECT_EQ(frame.functions[1].line, kOuterLine);
  EXPECT_TRUE(frame.functions[1].file.ends_with("symbols_victim.cpp")) << frame.functions[1].file;
}

TEST_F(Victim, KeepsTheClassOfTemplatesThatTheLinkerHasNoNameFor) {
  call("call_member");
  Symbols symbols;

  const ResolvedFrame& frame = symbols.resolve(module_, offset_);

  ASSERT_EQ(frame.state, SymbolState::resolved);
  const std::string& name = frame.functions.back().function;
  EXPECT_NE(name.find("victim::Holder<char>::run<call_member"), name.npos) << name;
#ifdef __clang__
  const std::string_view kLambda = "call_member::$_0::operator()";
#else
  const std::string_view kLambda = "call_member::{lambda";
#endif
  const std::string& lambda = frame.functions.front().function;  // "(anonymous)::operator()" once
  EXPECT_TRUE(lambda.starts_with(kLambda)) << lambda;
  EXPECT_NE(lambda.find("::operator()"), lambda.npos) << lambda;
}

TEST_F(Victim, HasANameWithoutDebugInformation) {
  Symbols symbols;

  const ResolvedFrame& frame = symbols.resolve(elsewhere(STRIPPED_VICTIM), offset_);

  ASSERT_EQ(frame.state, SymbolState::resolved);
  EXPECT_EQ(frame.functions.at(0).function, "victim::outer(int (*)())");
  EXPECT_EQ(frame.functions.at(0).line, 0);
}

TEST_F(Victim, IsNotTakenForAFileWithAnotherBuildId) {
  ModuleFact other = module_;
  other.build_id = "00112233";
  Symbols symbols;

  const ResolvedFrame& frame = symbols.resolve(other, offset_);

  EXPECT_EQ(frame.state, SymbolState::replaced);
  EXPECT_EQ(describe(frame.state), "unresolved, replaced");
  EXPECT_TRUE(frame.functions.empty());
}

TEST_F(Victim, HasNoNameOutsideItsFunctions) {
  Symbols symbols;

  const ResolvedFrame& frame = symbols.resolve(module_, 0xffffffffffff);

  EXPECT_EQ(frame.state, SymbolState::no_symbols);
}

TEST_F(Victim, MayBeMissingOrNoElfFile) {
  Symbols symbols;

  EXPECT_EQ(symbols.resolve(elsewhere("/nowhere.so"), offset_).state, SymbolState::no_file);
  EXPECT_EQ(symbols.resolve(elsewhere("/etc/passwd"), offset_).state, SymbolState::no_file);
  EXPECT_EQ(symbols.resolve(elsewhere("/tmp"), offset_).state, SymbolState::no_file);
  EXPECT_EQ(symbols.resolve(elsewhere(""), offset_).state, SymbolState::no_file);
}

TEST_F(Victim, IsNeitherADeviceNorAPipeNorInThisFolder) {
  const std::string pipe = testing::TempDir() + "/victim_pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::current_path(std::filesystem::path(VICTIM).parent_path());
  Symbols symbols;

  EXPECT_EQ(symbols.resolve(elsewhere("/dev/zero"), offset_).state, SymbolState::no_file);
  EXPECT_EQ(symbols.resolve(elsewhere(pipe), offset_).state, SymbolState::no_file);
  EXPECT_EQ(symbols.resolve(elsewhere(std::filesystem::path(VICTIM).filename()), offset_).state,
            SymbolState::no_file);
  std::filesystem::remove(pipe);
}

TEST_F(Victim, MayBeCutAnywhere) {
  std::ifstream file(VICTIM, std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  const std::string path = testing::TempDir() + "/cut_victim.so";

  for (std::size_t length = 1; length < whole.size(); length += whole.size() / 100) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, length);
    Symbols symbols;
    static_cast<void>(symbols.resolve(elsewhere(path), offset_));
  }
  std::filesystem::remove(path);
}

// A folder of the victim's answers, removed at the end.
class Cached : public Victim {
 protected:
  void SetUp() override {
    Victim::SetUp();
    std::string name = (std::filesystem::temp_directory_path() / "symbols_test.XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string cache() const { return folder_ + "/a/symbols"; }
  // The only file of the cache.
  [[nodiscard]] std::filesystem::path file() const {
    std::filesystem::directory_iterator files(cache());
    const std::filesystem::path path = files->path();
    EXPECT_EQ(++files, std::filesystem::directory_iterator());
    return path;
  }
  // The one that is not hidden.
  [[nodiscard]] std::filesystem::path file_of_build_id() const {
    for (const auto& entry : std::filesystem::directory_iterator(cache())) {
      if (!entry.path().filename().string().starts_with('.')) return entry.path();
    }
    return {};
  }
  // How many modules a run opens that finds the names that there are.
  [[nodiscard]] std::size_t opened(const ModuleFact& module) const {
    Symbols symbols(cache());
    const ResolvedFrame& frame = symbols.resolve(module, offset_);
    EXPECT_EQ(frame.state, SymbolState::resolved);
    EXPECT_EQ(frame.functions.size(), 2U);
    if (frame.functions.size() == 2) {
      EXPECT_EQ(shorten(frame.functions[0].function), "victim::inner<...>");
      EXPECT_EQ(frame.functions[0].line, kInnerLine);
      EXPECT_TRUE(frame.functions[0].is_inlined);
      EXPECT_EQ(frame.functions[1].line, kOuterLine);
      EXPECT_FALSE(frame.functions[1].is_inlined);
    }
    return symbols.opened();
  }

  std::string folder_;
};

TEST_F(Cached, IsNotOpenedASecondTime) {
  EXPECT_EQ(opened(module_), 1U);
  EXPECT_EQ(opened(module_), 0U);

  const auto mode = [](const std::filesystem::path& path) {
    return std::filesystem::status(path).permissions();
  };
  EXPECT_EQ(mode(file()), std::filesystem::perms(0600));
  EXPECT_EQ(mode(cache()), std::filesystem::perms(0700));
}

TEST_F(Cached, IsOpenedAgainWhenItsFileIsAnotherOne) {
  const std::string copy = folder_ + "/victim.so";
  std::filesystem::copy_file(VICTIM, copy);
  EXPECT_EQ(opened(elsewhere(copy)), 1U);
  EXPECT_EQ(opened(elsewhere(copy)), 0U);

  std::filesystem::remove(copy);
  std::filesystem::copy_file(VICTIM, copy);
  EXPECT_EQ(opened(elsewhere(copy)), 1U);
}

TEST_F(Cached, IsOpenedWhenWhatWasKeptIsDamagedOrCut) {
  static_cast<void>(opened(module_));
  const std::string path = file();
  std::ifstream in(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t at = 0; at < whole.size(); at += 7) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    for (const std::string& text : {damaged, whole.substr(0, at)}) {
      std::ofstream(path, std::ios::binary) << text;
      ASSERT_EQ(opened(module_), 1U) << at;
    }
  }
  EXPECT_EQ(opened(module_), 0U);
}

TEST_F(Cached, LeavesAloneWhatHasItsNameAndIsSomethingElse) {
  static_cast<void>(opened(module_));
  std::ofstream(file(), std::ios::binary) << "my notes\n";

  EXPECT_EQ(opened(module_), 1U);

  std::ifstream in(file(), std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "my notes\n");
}

// Too much lies in the folder: what the user has put there is his.
TEST_F(Cached, TakesAwayTheOldestOfItsOwnFilesAndNobodyElses) {
  constexpr std::uintmax_t kTooLarge = std::uintmax_t{65} << 20;
  static_cast<void>(opened(module_));
  const std::string own = cache() + "/abcdef0123456789.0123abcd";
  const std::string head = "vramscope symbols 3\n";
  const auto add = [&](const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
    std::filesystem::resize_file(path, kTooLarge);
    chmod(path.c_str(), 0600);
    std::filesystem::last_write_time(path, std::filesystem::file_time_type());
  };
  const std::vector<std::string> others = {cache() + "/backup.tar",
                                           cache() + "/abcdef0123456789.0123abcd.old",
                                           cache() + "/abcdef0123456789.0123abce"};
  for (const std::string& path : others) add(path, path == others.back() ? "mine" : head);
  add(own, head);
  std::filesystem::create_symlink(others.front(), cache() + "/abcdef0123456789.0123abcf");

  const std::string copy = folder_ + "/victim.so";
  std::filesystem::copy_file(VICTIM, copy);
  EXPECT_EQ(opened(elsewhere(copy)), 1U);

  EXPECT_FALSE(std::filesystem::exists(own));
  for (const std::string& path : others) EXPECT_TRUE(std::filesystem::exists(path)) << path;
  EXPECT_TRUE(std::filesystem::is_symlink(cache() + "/abcdef0123456789.0123abcf"));
}

// What another run was writing when it was killed goes with the next one.
TEST_F(Cached, LeavesNothingUnfinished) {
  static_cast<void>(opened(module_));
  const pid_t child = fork();
  if (child == 0) {
    const std::string name = unfinished_name(cache() + "/x", 0);
    _exit(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600) < 0 ? 1 : 0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  std::filesystem::remove(file_of_build_id());

  EXPECT_EQ(opened(module_), 1U);

  static_cast<void>(file());
}

TEST_F(Cached, IsOpenedWhenOthersMayWriteWhatWasKept) {
  static_cast<void>(opened(module_));
  chmod(file().c_str(), 0622);
  EXPECT_EQ(opened(module_), 1U);
  chmod(cache().c_str(), 0777);
  EXPECT_EQ(opened(module_), 1U);
}

TEST_F(Cached, IsReadAndWrittenBySeveralAtATime) {
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int turn = 0; turn < 10; ++turn) {
        static_cast<void>(opened(module_));
        std::error_code error;
        if (turn < 9) std::filesystem::remove_all(cache(), error);
      }
      _exit(HasFailure() ? 1 : 0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  static_cast<void>(opened(module_));  // another one may have removed the last file
  EXPECT_EQ(opened(module_), 0U);
  // And no other file is there: see file().
  EXPECT_TRUE(file().filename().string().starts_with(module_.build_id));
}

TEST_F(Cached, IsNothingWithoutAFolder) {
  std::ofstream(folder_ + "/a") << "";
  EXPECT_EQ(opened(module_), 1U);
  EXPECT_EQ(opened(module_), 1U);
}

TEST(Symbols, SayThatGeneratedCodeHasNone) {
  Report report;
  Symbols symbols;

  EXPECT_EQ(symbols.resolve(report, {kNoModule, 0x1234}).state, SymbolState::no_module);
}

}  // namespace
}  // namespace vramscope
