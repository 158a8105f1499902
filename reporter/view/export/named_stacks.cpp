// Names frames by the symbols of this machine, and keeps each distinct one.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/export/named_stacks.h"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "reporter/view/listing/format.h"

namespace vramscope {
namespace {

std::string place_in(const std::string& module, std::uint64_t offset) {
  if (module.empty()) return "0x" + hexadecimal(offset);
  return module.substr(module.rfind('/') + 1) + "+0x" + hexadecimal(offset);
}

NamedFrame unknown_stack() { return {.function = "unknown stack", .file = "", .module = ""}; }

}  // namespace

std::string hexadecimal(std::uint64_t number) {
  std::array<char, 20> text{};
  std::snprintf(text.data(), text.size(), "%" PRIx64, number);
  return text.data();
}

std::uint32_t NamedStacks::number_of(NamedFrame frame) {
  frame.function = harmless(frame.function);
  frame.file = harmless(frame.file);
  frame.module = harmless(frame.module);
  const auto number = static_cast<std::uint32_t>(frames_.size());
  const auto [known, is_new] = numbers_.try_emplace(std::move(frame), number);
  if (is_new) frames_.push_back(&known->first);
  return known->second;
}

const NamedStacks::Stack& NamedStacks::named(std::uint32_t frame) {
  const Report& report = exported_.report();
  by_frame_.resize(report.frames.size());
  std::optional<Stack>& known = by_frame_[frame];
  if (known) return *known;
  const FrameFact& fact = report.frames[frame];
  const bool in_module = fact.code == kNoCode && fact.module < report.modules.size();
  const std::string module = in_module ? report.modules[fact.module].path : "";
  const std::uint64_t offset = fact.code == kNoCode ? fact.offset : 0;
  Stack stack;
  for (const SourceFrame& name : exported_.name()(report, fact)) {
    stack.push_back(number_of({.function = name.function.empty() ? place_in(module, offset)
                                           : name.is_python      ? name.function
                                                                 : without_signature(name.function),
                               .file = name.file,
                               .line = name.line,
                               .module = module,
                               .offset = offset,
                               .is_inlined = name.is_inlined}));
  }
  if (stack.empty()) {
    stack.push_back(number_of(
        {.function = place_in(module, offset), .file = "", .module = module, .offset = offset}));
  }
  return known.emplace(std::move(stack));
}

const NamedStacks::Stack& NamedStacks::stack(std::size_t site) {
  const Report& report = exported_.report();
  by_site_.resize(report.sites.size());
  std::optional<Stack>& known = by_site_[site];
  if (known) return *known;
  Stack stack;
  const std::vector<std::uint32_t>& frames = report.sites[site].frames;
  CudaFrames inner = cuda_frames(report, report.sites[site], exported_.name());
  if (inner.entry.empty()) inner.count = 0;
  if (inner.count != 0) {  // what the runtime did within it is no question of the program's
    const std::uint32_t module = report.frames[frames[inner.count - 1]].module;
    stack.push_back(
        number_of({.function = inner.entry,
                   .file = "",
                   .module = module < report.modules.size() ? report.modules[module].path : ""}));
  }
  for (std::size_t i = inner.count; i < frames.size(); ++i) {
    const std::uint32_t frame = frames[i];
    if (frame >= report.frames.size()) continue;
    const Stack& active = named(frame);
    stack.insert(stack.end(), active.begin(), active.end());
  }
  if (stack.empty()) stack.push_back(number_of(unknown_stack()));
  return known.emplace(std::move(stack));
}

const std::string& NamedStacks::caller(std::size_t site) {
  const Report& report = exported_.report();
  callers_.resize(report.sites.size());
  std::string& known = callers_[site];
  if (!known.empty()) return known;
  const CallSite found = call_site(report, report.sites[site], exported_.name(), 1);
  known = found.callers.empty() ? "" : harmless(vramscope::text(found.callers.front()));
  if (known.empty()) known = "unknown stack";
  return known;
}

std::string text(const NamedFrame& frame) {
  if (!frame.file.empty() && frame.line > 0) {
    return frame.function + " (" + frame.file + ":" + std::to_string(frame.line) + ")";
  }
  if (frame.module.empty()) return frame.function;
  return frame.function + " (in " + frame.module + ")";
}

}  // namespace vramscope
