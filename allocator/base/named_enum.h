// An enumeration whose values appear in texts under their own names, which are so typed only once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

// `values` is a macro that applies its argument to each name: #define COLOURS(X) X(red) X(blue).
// VRAMSCOPE_NAMED_ENUM(Colour, std::uint8_t, COLOURS) then declares `enum class Colour` and the
// array kColourNames, in the order of the values.
#define VRAMSCOPE_ENUM_VALUE(name) name,
#define VRAMSCOPE_ENUM_NAME(name) #name,
#define VRAMSCOPE_NAMED_ENUM(Type, Underlying, values)           \
  enum class Type : Underlying { values(VRAMSCOPE_ENUM_VALUE) }; \
  inline constexpr auto k##Type##Names =                         \
      std::to_array<std::string_view>({values(VRAMSCOPE_ENUM_NAME)})
