// Chooses frames, and joins the sites that they no longer tell apart.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/stacks/stack_view.h"

#include <algorithm>
#include <compare>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reporter/record/stack/owners.h"
#include "reporter/report/merge_numbers.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/leaks/site_owner.h"
#include "reporter/view/analysis/report_figures.h"
#include "reporter/view/analysis/stacks/site_numbers.h"
#include "reporter/view/analysis/subject.h"

namespace vramscope {
namespace {

using Frames = std::vector<std::uint32_t>;

class Chooser {
 public:
  Chooser(const Report& report, const StackChoice& choice)
      : report_(report), choice_(choice), is_imported_(trigger_of(report) == Trigger::imported) {
    for (const ModuleFact& module : report.modules) roles_.push_back(role_of(module.path));
  }

  [[nodiscard]] Frames chosen(const Frames& frames) const {
    const bool has_python = std::any_of(frames.begin(), frames.end(),
                                        [this](std::uint32_t frame) { return is_python(frame); });
    Frames kept;
    for (const std::uint32_t frame : frames) {
      if (!is_wanted(frame, has_python)) continue;
      kept.push_back(frame);
      if (choice_.by_line && is_python(frame)) break;
    }
    return kept;
  }

  // What tells sites apart: not where in CUDA's libraries and in the evaluation loop they were, but
  // the kinds of memory, which different functions of CUDA allocate.
  struct Telling {
    bool is_left_out = false;
    std::set<Kind> kinds = {};  // none where all was refused
    std::vector<std::tuple<bool, std::uint32_t, std::uint64_t>> frames = {};
    auto operator<=>(const Telling&) const = default;
  };
  [[nodiscard]] Telling telling(const Site& site) const {
    Telling telling{.is_left_out = site.is_left_out};
    for (const SitePart& part : site.parts) telling.kinds.insert(part.kind);
    auto& frames = telling.frames;
    for (const std::uint32_t frame : site.frames) {
      const FrameFact& at = fact(frame);
      if (is_python(frame) || is_imported_native(frame)) {
        frames.emplace_back(true, at.code, at.line);
      } else if (role(frame) != Role::cuda) {
        frames.emplace_back(false, at.module, at.offset);
      }
    }
    return telling;
  }

  // Of C++ in a snapshot of PyTorch: a name, and no file (torch_snapshot.cpp).
  [[nodiscard]] bool is_imported_native(std::uint32_t frame) const {
    const std::uint32_t code = fact(frame).code;
    if (!is_imported_ || code >= report_.codes.size()) return false;
    const std::uint32_t source = report_.codes[code].source;
    return source >= report_.sources.size() || report_.sources[source].path.empty();
  }

 private:
  enum class Role : std::uint8_t { cuda, interpreter, other };

  static Role role_of(std::string_view path) {
    const std::string_view file = path.substr(path.rfind('/') + 1);
    if (is_cuda_library(path)) return Role::cuda;
    const bool is_interpreter = file.starts_with("libpython") || file.starts_with("python") ||
                                path.find("/lib-dynload/") != path.npos || only_passes_on(path);
    return is_interpreter ? Role::interpreter : Role::other;
  }
  [[nodiscard]] const FrameFact& fact(std::uint32_t frame) const { return report_.frames[frame]; }
  [[nodiscard]] bool is_python(std::uint32_t frame) const {
    return choice_.view != StackView::native_only && fact(frame).code != kNoCode &&
           !is_imported_native(frame);
  }
  [[nodiscard]] Role role(std::uint32_t frame) const {
    if (is_imported_native(frame)) {
      const std::string_view name = report_.codes[fact(frame).code].name;
      return name.starts_with("Py") || name.starts_with("_Py") ? Role::interpreter : Role::other;
    }
    const std::uint32_t module = fact(frame).module;
    return module < roles_.size() ? roles_[module] : Role::other;
  }
  [[nodiscard]] bool is_wanted(std::uint32_t frame, bool has_python) const {
    if (is_python(frame)) return true;
    switch (choice_.view) {
      case StackView::usual:
        return !has_python || role(frame) == Role::cuda;
      case StackView::with_native:
        return !has_python || role(frame) != Role::interpreter;
      case StackView::python_only:
        return role(frame) == Role::cuda;
      case StackView::native_only:
        return is_imported_native(frame) || fact(frame).module != kNoModule ||
               fact(frame).code == kNoCode;
    }
    return true;
  }

  const Report& report_;
  const StackChoice& choice_;
  const bool is_imported_;
  std::vector<Role> roles_;  // by module
};

// Before its stack becomes another, or one with another site's.
void keep_whole(Site& site) {
  if (site.whole.empty()) site.whole.push_back({site.frames, site.parts});
}

void add(Site& sum, Site& more) {
  keep_whole(sum);
  keep_whole(more);
  sum.whole.insert(sum.whole.end(), more.whole.begin(), more.whole.end());
  add_numbers(sum, more);
  add_numbers(sum.live_past, more.live_past);
  sum.numbers.insert(sum.numbers.end(), more.numbers.begin(), more.numbers.end());
}

bool comes_before(const Site& a, const Site& b) {
  const auto& [x, y] = std::tie(a.totals, b.totals);
  return std::tie(y.peak_bytes, y.live_bytes, y.total_bytes) <
         std::tie(x.peak_bytes, x.live_bytes, x.total_bytes);
}

// Those for which `telling` gives the same become one, the largest first. Gives the index that each
// site has now.
template <class TellingOf>
std::vector<std::size_t> join_equal_sites(Report& report, const TellingOf& telling) {
  keep_site_numbers(report);
  std::map<decltype(telling(Site())), std::size_t> first;
  std::vector<Site> joined;
  std::vector<std::size_t> joined_as;
  for (Site& site : report.sites) {
    const auto [known, is_new] = first.try_emplace(telling(site), joined.size());
    joined_as.push_back(known->second);
    if (is_new) {
      joined.push_back(std::move(site));
    } else {
      add(joined[known->second], site);
    }
  }
  std::vector<std::size_t> order(joined.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return comes_before(joined[a], joined[b]);
  });
  std::vector<std::int64_t> place(joined.size());
  report.sites.clear();
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = static_cast<std::int64_t>(i);
    report.sites.push_back(std::move(joined[order[i]]));
  }
  std::vector<std::int64_t> numbers;
  for (const std::size_t site : joined_as) numbers.push_back(place[site]);
  renumber_sites(report, numbers);
  return {numbers.begin(), numbers.end()};
}

// Of Python's frames the evaluation loop's place alone. Whole stacks keep the frames that they
// have.
void show_native_code(Report& report, const Chooser& chooser) {
  std::map<std::uint32_t, std::uint32_t> without_code;
  for (Site& site : report.sites) {
    for (std::uint32_t& frame : site.frames) {
      if (report.frames[frame].code == kNoCode || chooser.is_imported_native(frame)) continue;
      const auto next = static_cast<std::uint32_t>(report.frames.size());
      const auto [known, is_new] = without_code.try_emplace(frame, next);
      if (is_new) {
        report.frames.push_back(FrameFact(report.frames[frame]));
        report.frames.back().code = kNoCode;
      }
      frame = known->second;
    }
  }
}

}  // namespace

std::vector<std::size_t> choose_frames(Report& report, const StackChoice& choice) {
  for (JointPeak& joint : report.joint_peaks) joint.stacks = joint_stacks(report, joint);
  std::vector<std::size_t> sites(report.sites.size());
  std::iota(sites.begin(), sites.end(), std::size_t{0});
  if (report.codes.empty() && choice.view != StackView::python_only) return sites;
  const Chooser chooser(report, choice);
  for (Site& site : report.sites) {
    keep_whole(site);
    site.frames = chooser.chosen(site.frames);
  }
  const bool joins =
      choice.by_line || choice.view == StackView::usual || choice.view == StackView::python_only;
  if (joins) {
    sites = join_equal_sites(report, [&](const Site& site) { return chooser.telling(site); });
  }
  if (choice.view == StackView::native_only) show_native_code(report, chooser);
  return sites;
}

void join_alike_leaks(Report& report, const NameFrame& name) {
  std::unordered_map<std::string, std::uint32_t> numbers;
  NumberedCallers callers(report, name, [&](const Caller& caller) {
    const auto next = static_cast<std::uint32_t>(numbers.size());
    return numbers.try_emplace(listed_text(caller, name), next).first->second;
  });
  using Number = std::pair<std::set<Kind>, std::vector<std::uint32_t>>;
  using Telling = std::pair<Number, std::size_t>;
  std::size_t freed = 0;  // these stay apart
  const auto telling = [&](const Site& site) {
    if (site.totals.live_bytes == 0 || site.frames.empty()) return Telling({}, ++freed);
    Number number;
    for (const SitePart& part : site.parts) number.first.insert(part.kind);
    number.second = callers.of(site, kAllFrames);
    return Telling(std::move(number), 0);
  };
  join_equal_sites(report, telling);
}

}  // namespace vramscope
