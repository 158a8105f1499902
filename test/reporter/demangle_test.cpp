// Names as compilers mangle them, as they are typed, and in short.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "reporter/report/symbols.h"

namespace vramscope {
namespace {

TEST(Names, AreDemangled) {
  EXPECT_EQ(demangle("_Z1fi"), "f(int)");
  EXPECT_EQ(demangle("main"), "main");
  EXPECT_EQ(demangle("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
  EXPECT_EQ(
      demangle("_ZN47_$LT$gpu..Buffer$u20$as$u20$core..ops..Drop$GT$4drop17h0123456789abcdefE"),
      "<gpu::Buffer as core::ops::Drop>::drop");
  EXPECT_EQ(demangle("_ZN4core17h012345678zabcdefE"), "core::h012345678zabcdef");
  EXPECT_EQ(demangle("_RINvNtCs2OpA4fNwd7R_1r3net7forwardAxj3_EB4_"),
            "r::net::forward::<[i64; 3]>");
  EXPECT_EQ(demangle("_RNvXCs2OpA4fNwd7R_1rINtB2_6BuffermENtNtNtCsgEmfK2I1SDS_4core3ops4drop4Drop4d"
                     "ropB2_"),
            "<r::Buffer<u32> as core::ops::drop::Drop>::drop");
  EXPECT_EQ(demangle("_Rnonsense"), "_Rnonsense");
  EXPECT_EQ(demangle("_Znonsense"), "_Znonsense");
  EXPECT_EQ(demangle(""), "");
}

// Each tuple names the one before twice, by a reference back.
TEST(Names, ThatGrowWithoutEndStayAsTheyAre) {
  std::string name = "_RINvC1a1fTmmE";
  std::size_t last = name.find("Tmm") - 2;
  const auto base_62 = [](std::size_t value) {
    constexpr std::string_view kDigits =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string digits;
    for (; value != 0; value = (value - 1) / 62) digits.insert(0, 1, kDigits[(value - 1) % 62]);
    return digits + "_";
  };
  for (int i = 0; i < 60; ++i) {
    const std::size_t here = name.size() - 2;
    const std::string reference = "B" + base_62(last);
    name += "T" + reference + reference + "E";
    last = here;
  }

  EXPECT_EQ(demangle(name + "E"), name + "E");
}

TEST(Names, AreShortened) {
  EXPECT_EQ(shorten("std::vector<int, A<B>>::push_back(int const&)"),
            "std::vector<...>::push_back");
  EXPECT_EQ(shorten("f(int (*)(char), long) const"), "f");
  EXPECT_EQ(shorten("(anonymous namespace)::g(int)"), "(anonymous namespace)::g");
  EXPECT_EQ(shorten("A::operator()(int) const"), "A::operator()");
  EXPECT_EQ(shorten("A::operator<<(B<int>)"), "A::operator<<");
  EXPECT_EQ(shorten("bool operator< <int>(A const&)"), "operator< <...>");
  EXPECT_EQ(shorten("A::operator bool() const"), "A::operator bool");
  EXPECT_EQ(shorten("unsigned long ns::f<int>(int) [clone .cold]"), "ns::f<...>");
  EXPECT_EQ(shorten("run()::{lambda(int)#1}::operator()(int) const"),
            "run::{lambda(int)#1}::operator()");
  EXPECT_EQ(shorten("<r::Buffer<u32> as core::ops::drop::Drop>::drop"),
            "<r::Buffer<...> as core::ops::drop::Drop>::drop");
  EXPECT_EQ(shorten("r::net::forward::<[i64; 3]>"), "r::net::forward::<...>");
  EXPECT_EQ(shorten("<a as "), "<a as >");
  EXPECT_EQ(shorten("main"), "main");
  EXPECT_EQ(shorten("broken<(("), "broken<...>");
  EXPECT_EQ(shorten(""), "");
}

}  // namespace
}  // namespace vramscope
