// Addresses and the objects they belong to, as objects come and go.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/stack/module_table.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace vramscope {
namespace {

LoadedModule module(const char* path, std::uintptr_t begin, const char* build_id = "") {
  return {.fact = {.path = path, .build_id = build_id, .base = begin},
          .begin = begin,
          .end = begin + 0x1000};
}

FrameFact resolve(const ModuleTable& table, std::uintptr_t address) {
  return table.resolve({&address, 1}).front();
}

TEST(ModuleTable, TellsModuleAndOffset) {
  ModuleTable table;
  table.apply({.modules = {module("b", 0x9000), module("a", 0x4000)}, .adds = 2, .subs = 0});

  const FrameFact a = resolve(table, 0x4123);
  const FrameFact b = resolve(table, 0x9456);

  EXPECT_EQ(table.facts().at(a.module).path, "a");
  EXPECT_EQ(a.offset, 0x123U);
  EXPECT_EQ(table.facts().at(b.module).path, "b");
  EXPECT_EQ(b.offset, 0x456U);
}

TEST(ModuleTable, CountsACallAtTheVeryEndAsInside) {
  ModuleTable table;
  table.apply({.modules = {module("a", 0x4000)}, .adds = 1, .subs = 0});

  EXPECT_EQ(resolve(table, 0x5000).module, 0U);
  EXPECT_EQ(resolve(table, 0x4000).module, kNoModule);
  EXPECT_EQ(resolve(table, 0x5001).module, kNoModule);
}

TEST(ModuleTable, KeepsAddressesThatBelongToNoModule) {
  ModuleTable table;

  const FrameFact frame = resolve(table, 0x77777);

  EXPECT_EQ(frame.module, kNoModule);
  EXPECT_EQ(frame.offset, 0x77777U);
}

TEST(ModuleTable, TellsWhatChangedAndNoMore) {
  ModuleTable table;
  std::uint64_t changes = 0;
  table.apply({.modules = {module("a", 0x4000), module("b", 0x9000)}, .adds = 2, .subs = 0});
  EXPECT_EQ(2U, table.changed_since(changes).size());
  table.apply({.modules = {module("a", 0x4000)}, .adds = 2, .subs = 1});
  EXPECT_EQ(0U, table.changed_since(changes).size());
  table.apply({.modules = {module("a", 0x4000), module("b", 0x6000)}, .adds = 3, .subs = 1});

  const Numbered<ModuleFact> changed = table.changed_since(changes);

  ASSERT_EQ(1U, changed.size());
  EXPECT_EQ(1U, changed[0].first);
  EXPECT_EQ(0x6000U, changed[0].second.base);
  EXPECT_EQ(0U, table.changed_since(changes).size());
}

TEST(ModuleTable, TellsAReplacedModuleFromItsPredecessor) {
  ModuleTable table;
  table.apply({.modules = {module("old", 0x4000)}, .adds = 1, .subs = 0});
  const std::uint32_t epoch = table.epoch();
  table.apply({.modules = {module("new", 0x4000)}, .adds = 2, .subs = 1});

  EXPECT_NE(table.epoch(), epoch);
  EXPECT_EQ(table.facts().at(resolve(table, 0x4123).module).path, "new");
  EXPECT_EQ(table.facts().at(0).path, "old");
}

TEST(ModuleTable, KeepsTheIndexOfAModuleThatComesBack) {
  ModuleTable table;
  table.apply({.modules = {module("a", 0x4000, "id")}, .adds = 1, .subs = 0});
  table.apply({.modules = {module("a", 0x8000, "id")}, .adds = 2, .subs = 1});
  table.apply({.modules = {module("a", 0x8000, "other")}, .adds = 3, .subs = 2});

  EXPECT_EQ(table.facts().size(), 2U);
  EXPECT_EQ(resolve(table, 0x8123).offset, 0x123U);
}

TEST(ModuleTable, IgnoresAnAnswerOlderThanWhatItKnows) {
  ModuleTable table;
  table.apply({.modules = {module("new", 0x4000)}, .adds = 2, .subs = 1});
  table.apply({.modules = {module("old", 0x4000)}, .adds = 1, .subs = 0});

  EXPECT_EQ(table.facts().size(), 1U);
}

TEST(ModuleTable, KnowsThisProgramAndItsBuildId) {
  ModuleTable table;
  table.refresh();

  const FrameFact frame = resolve(table, reinterpret_cast<std::uintptr_t>(&resolve) + 1);
  const ModuleFact program = table.facts().at(frame.module);

  EXPECT_TRUE(program.path.ends_with("module_table_test")) << program.path;
  EXPECT_EQ(program.build_id.size(), 40U);
}

TEST(ModuleTable, NoticesWhatIsUnloaded) {
  ModuleTable table;
  void* const library = dlopen(VICTIM, RTLD_NOW);
  table.refresh();
  const std::uint32_t epoch = table.epoch();
  dlclose(library);
  table.refresh();

  EXPECT_EQ(table.epoch(), epoch + 1);
}

}  // namespace
}  // namespace vramscope
