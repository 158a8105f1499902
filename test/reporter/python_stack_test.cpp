// Reads an interpreter made of plain memory: frames, names, lines, and every way in which it can be
// broken.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/record/python/stack.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "reporter/record/python/codes.h"
#include "reporter/record/stack/safe_read.h"
#include "test/reporter/made_python.h"

namespace vramscope {
namespace {

using Address = MadePython::Address;
constexpr Address kHole = 0x7ff0deadb000;  // nothing is mapped there

class PythonStack : public testing::TestWithParam<std::uint32_t> {
 protected:
  MadePython made{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Versions, PythonStack, testing::Values(0x030b02f0, 0x030c01f0));

TEST_P(PythonStack, ReadsFunctionsAndLinesInnermostFirst) {
  const Address outer = made.frame(made.code(made.text("main"), 10), 4, 0, true);
  const Address inner =
      made.frame(made.code(made.wide_text(u"gr\u00f6\u8868"), 80), 0, outer, false);
  made.run(inner);

  const Stack stack = made.capture();
  PythonCodes codes;
  const auto frames = codes.resolve(stack.python_view());
  RecorderFacts facts;
  codes.copy_to(facts);

  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(facts.codes[frames[0].fact.code].name, "gr\u00f6\u8868");
  EXPECT_EQ(frames[0].fact.line, 81U);
  EXPECT_FALSE(frames[0].ends_loop);
  EXPECT_EQ(facts.codes[frames[1].fact.code].name, "main");
  EXPECT_EQ(frames[1].fact.line, 13U);
  EXPECT_TRUE(frames[1].ends_loop);
  EXPECT_EQ(facts.sources[facts.codes[0].source].path, "<made>");
}

TEST_P(PythonStack, TellsCodeFromOtherCodeAtItsAddress) {
  const Address name = made.text("made_00");
  const Address code = made.code(name, 1);
  made.run(made.frame(code, 0, 0, true));
  const Stack before = made.capture();

  made.put(name + made.layout.ascii_data + 6, '1');
  const Stack renamed = made.capture();
  made.put(code + made.layout.code_first_line, std::uint32_t{2});
  const Stack moved = made.capture();
  Address file = 0;
  std::memcpy(&file, reinterpret_cast<void*>(code + made.layout.code_file), sizeof file);
  made.put(file + made.layout.ascii_data + 1, 'M');
  const Stack of_other_file = made.capture();

  EXPECT_NE(before.words()[0], renamed.words()[0]);
  EXPECT_NE(renamed.words()[0], moved.words()[0]);
  EXPECT_NE(moved.words()[0], of_other_file.words()[0]);
  EXPECT_EQ(of_other_file.words()[0], made.capture().words()[0]);
}

// Beyond a period in which pages count as proven, too.
TEST_P(PythonStack, KnowsCodeAgainAsItWasReadAtFirst) {
  for (const char* const name :
       {"", "f", "made_00", "made_000", "made_0000", "a name of some words"}) {
    made.run(made.frame(made.code(made.text(name), 1), 0, 0, true));
    const auto first = made.capture().words()[0];
    std::uint32_t others = 0;
    for (std::uint32_t i = 0; i < 2 * safe_read::kWalksBetweenChecks; ++i) {
      if (made.capture().words()[0] != first) ++others;
    }
    EXPECT_EQ(others, 0U) << name;
  }
}

TEST_P(PythonStack, TellsKnownCodeWhoseNameChangesAtEitherEnd) {
  const std::string text = "a name of some words";
  const Address name = made.text(text);
  made.run(made.frame(made.code(name, 1), 0, 0, true));
  const auto first = made.capture().words()[0];
  EXPECT_EQ(made.capture().words()[0], first);

  made.put(name + made.layout.ascii_data, 'A');
  EXPECT_NE(made.capture().words()[0], first);
  made.put(name + made.layout.ascii_data, 'a');
  EXPECT_EQ(made.capture().words()[0], first);
  made.put(name + made.layout.ascii_data + text.size() - 1, 'S');
  EXPECT_NE(made.capture().words()[0], first);
}

TEST_P(PythonStack, StopsWhereAPointerIsWild) {
  const Address end = made.frame(made.code(made.text("end"), 1), 0, 0, true);
  for (const Address wild : {kHole, Address{1}, Address{8}, ~Address{0}, ~Address{0} << 47,
                             Address{1} << 62, made.state}) {
    made.run(made.frame(made.code(made.text("inner"), 1), 0, wild, false));
    EXPECT_EQ(made.capture().python_depth, 1U) << wild;
    made.run(made.frame(wild, 0, end, false));
    EXPECT_EQ(made.capture().python_depth, 0U) << wild;
    const Address nameless = made.code(wild, 1);
    made.run(made.frame(nameless, 0, end, false));
    const Stack stack = made.capture();
    PythonCodes codes;
    EXPECT_LE(codes.resolve(stack.python_view()).size(), 2U) << wild;
    made.run(wild);
    EXPECT_EQ(made.capture().python_depth, 0U) << wild;
  }
}

TEST_P(PythonStack, EndsOnACircle) {
  const Address code = made.code(made.text("round"), 1);
  const Address frame = made.frame(code, 0, 0, false);
  made.put(frame + made.layout.frame_previous, frame);
  made.run(frame);

  EXPECT_EQ(made.capture().python_depth, kMaxFrames);
}

TEST_P(PythonStack, IsEmptyWithoutAThreadAndWhileAnotherEndsTheInterpreter) {
  made.run(made.frame(made.code(made.text("f"), 1), 0, 0, true));
  const Address finalizing = made.interpreter.runtime + made.layout.runtime_finalizing;

  made.put(finalizing, made.state);
  EXPECT_EQ(made.capture().python_depth, 1U);
  made.put(finalizing, made.state + 8);
  EXPECT_EQ(made.capture().python_depth, 0U);
  made.put(finalizing, Address{0});
  made.interpreter.this_thread = []() -> void* { return nullptr; };
  EXPECT_EQ(made.capture().python_depth, 0U);
}

// Each byte of everything is changed; nothing may fault, and what is read stays within bounds.
TEST_P(PythonStack, SurvivesMemoryFullOfNonsense) {
  std::mt19937_64 next(20261121);
  PythonCodes codes;
  for (int turn = 0; turn < 3000; ++turn) {
    MadePython broken(GetParam());
    const Address end = broken.frame(broken.code(broken.text("outer name"), 1), 2, 0, true);
    const Address inner = broken.frame(broken.code(broken.text("inner"), 5), 2, end, true);
    broken.run(inner);
    for (int i = 0; i < 3; ++i) {
      const Address nonsense = next() >> (next() % 64);
      broken.put(broken.state + next() % 3000 / 8 * 8, nonsense);
    }
    const Stack stack = broken.capture();
    EXPECT_LE(codes.resolve(stack.python_view()).size(), kMaxFrames);
  }
}

TEST(ProvenMemory, KnowsWhatCanBeRead) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory = mmap(nullptr, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const auto begin = reinterpret_cast<Address>(memory);
  ASSERT_EQ(mprotect(static_cast<char*>(memory) + page, page, PROT_NONE), 0);

  std::uint64_t value = 1;
  EXPECT_TRUE(safe_read::read(begin, value));
  EXPECT_EQ(value, 0U);
  EXPECT_TRUE(safe_read::read(begin + page - 8, value));
  EXPECT_FALSE(safe_read::read(begin + page - 4, value));
  EXPECT_FALSE(safe_read::read(begin + page, value));
  EXPECT_FALSE(safe_read::copy(begin + page - 4, &value, sizeof value));
  EXPECT_TRUE(safe_read::copy(begin + page - 8, &value, sizeof value));
  munmap(memory, 2 * page);
}

TEST(PythonLayout, IsUnknownForOtherVersions) {
  EXPECT_FALSE(python_layout(0x030a0df0, 0));
  EXPECT_FALSE(python_layout(0x03630000, 0));
  EXPECT_FALSE(python_layout(0x030d00f0, kHole));  // publishes its own, but not there
}

TEST(PythonLayout, IsReadFromThoseThatPublishIt) {
  std::uint64_t published[71] = {};
  std::memcpy(published, "xdebugpy", 8);
  published[1] = 0x030d00f0;
  for (std::size_t i = 3; i < 71; ++i) published[i] = 8 * i;
  const auto runtime = reinterpret_cast<Address>(published);

  const auto layout = python_layout(0x030d00f0, runtime);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->thread_frame, 8U * 23);
  EXPECT_EQ(layout->code_instructions, 8U * 43);
  EXPECT_EQ(layout->compact_data, 8U * 70 + 16);
  EXPECT_FALSE(python_layout(0x030d01f0, runtime));  // another version than the symbol says
  published[70] = ~std::uint64_t{0};
  EXPECT_FALSE(python_layout(0x030d00f0, runtime));
  published[70] = 40;
  published[2] = 1;  // without the interpreter's lock: other structures
  EXPECT_FALSE(python_layout(0x030d00f0, runtime));
}

// The order of 3.14, as its headers have it: nothing of that version could be run.
TEST(PythonLayout, KnowsTheOrderOfTheNextVersion) {
  std::uint64_t published[81] = {};
  std::memcpy(published, "xdebugpy", 8);
  published[1] = 0x030e00f0;
  for (std::size_t i = 3; i < 81; ++i) published[i] = 8 * i;

  const auto layout = python_layout(0x030e00f0, reinterpret_cast<Address>(published));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->thread_frame, 8U * 26);
  EXPECT_EQ(layout->frame_code, 8U * 33);
  EXPECT_EQ(layout->code_instructions, 8U * 48);
  EXPECT_EQ(layout->text_state, 8U * 78);
  EXPECT_EQ(layout->code_tag, 3U);
}

TEST(PythonLayout, ReadsBothStatesOfTexts) {
  for (const std::uint32_t interned : {0U, 1U, 2U, 3U}) {
    const TextState packed = text_state(interned | 2U << 2 | 1U << 5);
    EXPECT_EQ(packed.width, 2U);
    EXPECT_TRUE(packed.is_compact);
    EXPECT_FALSE(packed.is_ascii);
    const TextState halves = text_state(interned | (1U | 1U << 3 | 1U << 4) << 16);
    EXPECT_EQ(halves.width, 1U);
    EXPECT_TRUE(halves.is_compact);
    EXPECT_TRUE(halves.is_ascii);
  }
  EXPECT_FALSE(text_state(0).is_compact);
}

// Letters: native frames, L the loop's; digits: Python frames, ! ends a loop. Written innermost
// first.
std::string woven(const std::string& native, const std::string& python) {
  std::vector<FrameFact> frames;
  std::vector<Address> addresses;
  for (const char name : native) {
    frames.push_back({0, static_cast<std::uint64_t>(name)});
    addresses.push_back(name == 'L' ? 0x1001 : 0x3000);
  }
  std::vector<PythonCodes::Frame> pythons;
  for (const char name : python) {
    if (name == '!') {
      pythons.back().ends_loop = true;
    } else {
      pythons.push_back({{kNoModule, 0, static_cast<std::uint32_t>(name - '0'), 1}, false});
    }
  }
  std::string text;
  for (const FrameFact& frame : weave(frames, addresses, pythons, {0x1000, 0x2000})) {
    if (frame.code != kNoCode) text += static_cast<char>('0' + frame.code);
    if (frame.module != kNoModule) text += static_cast<char>(frame.offset);
  }
  return text;
}

TEST(Weave, PutsPythonFramesInThePlaceOfTheirLoops) {
  EXPECT_EQ(woven("abLcLd", "12!3!"), "ab1L2c3Ld");
  EXPECT_EQ(woven("LL", "1!23!"), "1L2L3");
}

TEST(Weave, KeepsWhatHasNoPartner) {
  EXPECT_EQ(woven("abLc", ""), "abLc");
  EXPECT_EQ(woven("", "12!3!"), "123");
  EXPECT_EQ(woven("aL", "1!2!3!"), "a1L23");  // the native stack was cut off
  EXPECT_EQ(woven("aLbLc", "1!"), "a1LbLc");
}

}  // namespace
}  // namespace vramscope
