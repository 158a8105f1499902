// Forms of a JSON field that differ from the usual form of its type.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

namespace vramscope {

// Is true if Self is Struct or const Struct.
template <class Self, class Struct>
concept IsOne = std::same_as<std::remove_const_t<Self>, Struct>;

template <class T>
struct OrNull {  // writes null in place of `none`
  T& value;
  std::remove_const_t<T> none;
};
template <class T>
OrNull(T&, std::remove_const_t<T>) -> OrNull<T>;

template <class T>
struct Ordinal {  // a device's ordinal, below kMaxDevices
  T& value;
};
template <class T>
Ordinal(T&) -> Ordinal<T>;

template <class Flag>
struct Choice {  // a flag with words for true and false
  Flag& value;
  std::string_view yes, no;
};
template <class Flag>
Choice(Flag&, std::string_view, std::string_view) -> Choice<Flag>;

template <class Strings>
struct Dictionary {  // pairs of text as an object, by key
  Strings& value;
};
template <class Strings>
Dictionary(Strings&) -> Dictionary<Strings>;

template <class Owner>
struct FlatStatistics {  // the memory_stats of a DeviceReport or HostReport
  Owner& value;
};
template <class Owner>
FlatStatistics(Owner&) -> FlatStatistics<Owner>;

struct SchemaMark {};  // {"name": "vramscope-report", "version": 1}; anything else is refused

template <class Text>
struct Tool {
  Text& version;
  Text& commit;
};
template <class Text>
Tool(Text&, Text&) -> Tool<Text>;

}  // namespace vramscope
