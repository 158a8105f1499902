// Interns names and files.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/report/symbol_table.h"

#include <algorithm>
#include <utility>

#include "reporter/report/report.h"

namespace vramscope {

std::uint32_t SymbolTable::number_of(const std::string& text, Numbers& numbers,
                                     std::vector<std::string>& all) {
  constexpr std::size_t kQuotes = 3;
  const auto [known, is_new] = numbers.try_emplace(text, static_cast<std::uint32_t>(all.size()));
  if (is_new) {
    all.push_back(text);
    bytes_ += text.size() + kQuotes;
  }
  return known->second;
}

void SymbolTable::add(std::uint32_t frame, const std::vector<SourceFrame>& functions) {
  constexpr std::size_t kBytesOfFrame = 32;
  constexpr std::size_t kBytesOfFunction = 56;
  if (functions.size() > kMostFunctionsOfFrame) return;
  std::vector<FunctionSymbol>& named = frames_[frame];
  if (!named.empty()) return;
  bytes_ += kBytesOfFrame + kBytesOfFunction * functions.size();
  for (const SourceFrame& function : functions) {
    const bool has_file = !function.file.empty();
    named.push_back(
        {.name = number_of(function.function, name_numbers_, facts_.names),
         .file = has_file ? number_of(function.file, file_numbers_, facts_.files) : kNoFile,
         .line = function.line,
         .is_inlined = function.is_inlined});
  }
}

void SymbolTable::add(const Report& report, const std::vector<std::uint32_t>& frames) {
  if (!report.symbols) return;
  for (const FrameSymbols& one : report.symbols->frames) {
    add(frames[one.frame], functions_of(report, one));
  }
}

namespace {

// Numbers names and files in the order of the frames, whatever was added first.
class InOrder {
 public:
  explicit InOrder(const SymbolFacts& from) : from_(from) {}
  void add(std::uint32_t frame, std::vector<FunctionSymbol> functions) {
    for (FunctionSymbol& one : functions) {
      one.name = place_of(one.name, names_, from_.names, facts_.names);
      if (one.file != kNoFile) one.file = place_of(one.file, files_, from_.files, facts_.files);
    }
    facts_.frames.push_back({.frame = frame, .functions = std::move(functions)});
  }
  SymbolFacts take() { return std::move(facts_); }

 private:
  using Places = std::unordered_map<std::uint32_t, std::uint32_t>;
  static std::uint32_t place_of(std::uint32_t number, Places& places,
                                const std::vector<std::string>& from,
                                std::vector<std::string>& to) {
    const auto [known, is_new] = places.try_emplace(number, static_cast<std::uint32_t>(to.size()));
    if (is_new) to.push_back(from[number]);
    return known->second;
  }

  const SymbolFacts& from_;
  SymbolFacts facts_;
  Places names_;
  Places files_;
};

}  // namespace

std::optional<SymbolFacts> SymbolTable::facts(const std::vector<std::uint32_t>& places) const {
  if (frames_.empty()) return std::nullopt;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;  // new number, number here
  for (const auto& [frame, functions] : frames_) {
    order.emplace_back(places.empty() ? frame : places[frame], frame);
  }
  std::sort(order.begin(), order.end());
  InOrder facts(facts_);
  for (const auto& [place, frame] : order) facts.add(place, frames_.at(frame));
  return facts.take();
}

const FrameSymbols* symbols_of_frame(const Report& report, std::uint32_t frame) {
  if (!report.symbols) return nullptr;
  const std::vector<FrameSymbols>& frames = report.symbols->frames;
  const auto found = std::lower_bound(
      frames.begin(), frames.end(), frame,
      [](const FrameSymbols& one, std::uint32_t number) { return one.frame < number; });
  return found != frames.end() && found->frame == frame ? &*found : nullptr;
}

std::vector<SourceFrame> functions_of(const Report& report, const FrameSymbols& frame) {
  std::vector<SourceFrame> functions;
  for (const FunctionSymbol& one : frame.functions) {
    functions.push_back(
        {.function = report.symbols->names[one.name],
         .file = one.file == kNoFile ? std::string() : report.symbols->files[one.file],
         .line = one.line,
         .is_inlined = one.is_inlined});
  }
  return functions;
}

}  // namespace vramscope
