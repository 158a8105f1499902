// Gives each name of another tool's file a number, as the recorder does inside a program.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/import/imported.h"

#include <utility>

namespace vramscope {
namespace {

std::string shortened(std::string_view text) {
  return std::string(text.substr(0, std::min(text.size(), kLongestText)));
}

// The number of a key: a new one is that of the next fact.
template <class Map, class Facts, class Key, class Fact>
std::uint32_t numbered(Map& map, Facts& facts, Key key, Fact fact) {
  const auto [found, is_new] =
      map.try_emplace(std::move(key), static_cast<std::uint32_t>(facts.size()));
  if (is_new) facts.push_back(std::move(fact));
  return found->second;
}

}  // namespace

ImportedNames::ImportedNames(RecorderFacts& facts, std::string owner) : facts_(facts) {
  facts_.sites.own().resize(kLeftOutSite + 1);
  facts_.tags.own().resize(1);
  facts_.owners = {std::move(owner)};
  facts_.threads.resize(1);
  facts_.streams.resize(1);
  facts_.ranges.resize(1);
}

std::uint32_t ImportedNames::frame(std::string_view function, std::string_view file,
                                   std::uint64_t line) {
  const std::string path = shortened(file);
  const std::uint32_t source = numbered(sources_, facts_.sources, path, SourceFact{.path = path});
  const std::string name = shortened(function);
  const std::uint32_t code = numbered(codes_, facts_.codes, std::pair(source, name),
                                      CodeFact{.name = name, .source = source, .first_line = 0});
  const auto at = static_cast<std::uint32_t>(std::min<std::uint64_t>(line, 0x7fffffffU));
  return numbered(frames_, facts_.frames, std::pair(code, at),
                  FrameFact{.module = kNoModule, .code = code, .line = at});
}

std::uint32_t ImportedNames::site(const std::vector<std::uint32_t>& frames) {
  if (frames.empty()) return kUnknownSite;
  return numbered(sites_, facts_.sites.own(), frames, SiteFact{frames});
}

std::uint32_t ImportedNames::stream(std::uint64_t handle) {
  return numbered(streams_, facts_.streams, handle, StreamFact{handle});
}

std::uint32_t ImportedNames::thread(std::int64_t id) {
  return numbered(threads_, facts_.threads, id, ThreadFact{.id = id, .name = {}});
}

std::uint32_t ImportedNames::range(std::uint32_t parent, std::string_view name) {
  const std::string text = shortened(name);
  const std::uint32_t number = numbered(ranges_, facts_.ranges, std::pair(parent, text),
                                        RangeFact{.parent = parent, .domain = {}, .name = text});
  ++facts_.ranges[number].entered;
  return number;
}

Group ImportedNames::group(Axis axis, std::uint32_t value, Place place) {
  const auto next = static_cast<Group>(groups_.size() + 1);
  return groups_.try_emplace({axis, value, place.packed()}, next).first->second;
}

Tag ImportedNames::tag(const Who& who) {
  const std::uint32_t size_class = size_class_of(who.bytes);
  const TagKey key{who.site, who.place.packed(), who.thread, who.stream, who.range, size_class};
  TagFact fact;
  fact.site = who.site;
  fact.place = who.place;
  const auto set = [&](Axis axis, std::uint32_t value) {
    fact.values[static_cast<std::size_t>(axis)] = value;
    fact.groups[static_cast<std::size_t>(axis)] = group(axis, value, who.place);
  };
  set(Axis::owner, 0);
  set(Axis::thread, who.thread);
  set(Axis::stream, who.stream);
  set(Axis::range, who.range);
  set(Axis::function, 0);
  set(Axis::size_class, size_class);
  return numbered(tags_, facts_.tags.own(), key, fact);
}

}  // namespace vramscope
