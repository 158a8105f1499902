// Builds the tree of call sites and draws it.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/listing/tree_text.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "reporter/report/memory_name.h"
#include "reporter/report/report.h"
#include "reporter/view/analysis/stacks/stack_front.h"
#include "reporter/view/listing/caller_names.h"

namespace vramscope {
namespace {

constexpr std::size_t kNameWidth = 48;
constexpr std::size_t kMark = 3;  // columns of "|- "

struct Amount {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  Amount& operator+=(const Share& share) {
    bytes += share.bytes;
    count += share.count;
    return *this;
  }
};

// Allocations at one place by one call.
struct TreeEnd {
  Amount amount;
  bool is_shown = false;
};

// A function, called by the function above it.
struct Node {
  Caller caller;
  std::set<std::size_t> called_at;  // lines of the function above; 0: not known
  bool has_one_place = true;        // all of it passes through the same line
  Amount amount;
  bool is_shown = false;                                        // a row leads through it
  std::map<std::string, std::size_t> below;                     // by function and file
  std::map<std::pair<std::string, std::string>, TreeEnd> ends;  // allocations: by place and call
};

// Of "train.cpp:99"; 0: there is none.
std::size_t line_of(const std::string& place) {
  const std::size_t colon = place.rfind(':');
  const std::string digits = colon == place.npos ? "" : place.substr(colon + 1);
  const bool is_number = !digits.empty() && digits.size() < 10 &&
                         digits.find_first_not_of("0123456789") == digits.npos;
  return is_number ? std::stoul(digits) : 0;
}

class Tree {
 public:
  // It counts in the sums, and has rows of its own if it is shown.
  void add(const CallSite& site, const Share& share, bool is_shown) {
    std::size_t at = 0;
    nodes_[at].amount += share;
    for (auto caller = site.callers.rbegin(); caller != site.callers.rend(); ++caller) {
      const bool is_first = caller == site.callers.rbegin();
      at = below(at, *caller);
      if (!is_first) nodes_[at].called_at.insert(line_of(std::prev(caller)->place));
      nodes_[at].amount += share;
      nodes_[at].is_shown = nodes_[at].is_shown || is_shown;
    }
    const std::string place = site.callers.empty() ? "" : site.callers.front().place;
    TreeEnd& end = nodes_[at].ends[{place, site.entry}];
    end.amount += share;
    end.is_shown = end.is_shown || is_shown;
  }

  // Rows of the table: each function below the one that calls it, further in only where several are
  // called. The whole is that of the shares.
  // Labels take `room` columns where their names can be cut so far.
  void draw(Table& table, std::uint64_t whole, const Page& page, std::size_t room) const {
    Drawing drawing{.table = table, .whole = whole, .page = page, .room = room};
    draw_below(drawing, 0, "");
  }

 private:
  struct Drawing {
    Table& table;
    std::uint64_t whole;
    const Page& page;
    std::size_t room;
  };
  struct Branch {
    Amount amount;
    std::size_t node = 0;  // 0: an end
    std::string text = {};
  };

  std::size_t below(std::size_t at, const Caller& caller) {
    const std::string& name = full_name(caller);
    const std::string key = name + '\n' + without_line(caller.path);
    const auto [known, is_new] = nodes_[at].below.try_emplace(key, nodes_.size());
    const std::size_t node = known->second;
    if (is_new) {
      nodes_.emplace_back();
      nodes_.back().caller = caller;
      return node;
    }
    Node& there = nodes_[node];
    there.has_one_place = there.has_one_place && there.caller.place == caller.place;
    if (there.caller.times != caller.times) there.caller.times = 1;
    return node;
  }

  // "make (a.cpp:1) by cudaMalloc from line 9": before the name becomes short the call goes, and
  // then where it was called; the place stays.
  [[nodiscard]] static std::string label(const Node& node, const std::string& lines,
                                         std::size_t room) {
    constexpr std::size_t kEnough = 24;  // of a name
    constexpr std::size_t kLeast = 12;
    const std::string name = function_name(node.caller, kNameWidth);
    const std::string place =
        node.has_one_place ? node.caller.place : without_line(node.caller.place);
    const std::string in_file = place.empty() ? "" : " (" + place + ")";
    const std::string call = ends_here(node) ? node.ends.begin()->first.second : "";
    const std::string by = call.empty() ? "" : " by " + call;
    for (const auto& [behind, least] : {std::pair(by + lines, kEnough), std::pair(lines, kLeast)}) {
      const std::size_t taken = columns(in_file + behind);
      if (room < taken + std::min(columns(name), least)) continue;
      return function_name(node.caller, std::min(kNameWidth, room - taken)) + in_file + behind;
    }
    const std::size_t left = room - std::min(room, columns(in_file));
    return function_name(node.caller, std::clamp(left, kLeast, kNameWidth)) + in_file;
  }

  // Where a function with calls at several lines makes this one: " from line 99".
  static std::string call_lines(const Node& above, const Node& node) {
    if (above.has_one_place) return "";
    std::string lines;
    for (const std::size_t line : node.called_at) {
      if (line != 0) lines += (lines.empty() ? "" : ", ") + std::to_string(line);
    }
    if (lines.empty()) return "";
    return (lines.find(',') == lines.npos ? " from line " : " from lines ") + lines;
  }

  // A function with one allocation and nothing else needs no row for that.
  static bool ends_here(const Node& node) { return node.below.empty() && node.ends.size() == 1; }

  static std::string end_text(const std::string& place, const std::string& call) {
    const std::string by = call.empty() ? "" : " by " + call;
    return place.empty() && by.empty() ? "unknown" : place + by;
  }

  [[nodiscard]] std::vector<Branch> branches(const Node& node, std::size_t room) const {
    std::vector<Branch> result;
    for (const auto& [key, below] : node.below) {
      if (!nodes_[below].is_shown) continue;
      const std::string text = label(nodes_[below], call_lines(node, nodes_[below]), room);
      result.push_back({nodes_[below].amount, below, text});
    }
    if (!ends_here(node)) {
      for (const auto& [where, end] : node.ends) {
        if (!end.is_shown) continue;
        result.push_back({end.amount, 0, end_text(where.first, where.second)});
      }
    }
    std::stable_sort(result.begin(), result.end(), [](const Branch& a, const Branch& b) {
      return std::pair(a.amount.bytes, a.amount.count) > std::pair(b.amount.bytes, b.amount.count);
    });
    return result;
  }

  void draw_below(const Drawing& drawing, std::size_t node, const std::string& margin) const {
    const bool forks = nodes_[node].below.size() + nodes_[node].ends.size() > 1;
    const std::size_t before = columns(margin) + (forks ? kMark : 0);
    const std::size_t room = drawing.room > before ? drawing.room - before : 0;
    const std::vector<Branch> all = branches(nodes_[node], room);
    const bool unicode = drawing.page.unicode;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool last = i + 1 == all.size();
      const char* const mark = !forks    ? ""
                               : unicode ? (last ? "\u2514\u2500 " : "\u251c\u2500 ")
                                         : (last ? "`- " : "|- ");
      const char* const further = !forks ? "" : last ? "   " : unicode ? "\u2502  " : "|  ";
      const Branch& branch = all[i];
      drawing.table.add(
          {bytes_text(branch.amount.bytes), percent_text(branch.amount.bytes, drawing.whole),
           count_text(branch.amount.count), margin + mark + printable(branch.text, drawing.page)});
      if (branch.node != 0) draw_below(drawing, branch.node, margin + further);
    }
  }

  std::vector<Node> nodes_ = std::vector<Node>(1);  // the first stands above all
};

std::uint64_t sum_of(const std::vector<Share>& shares, std::size_t first = 0) {
  std::uint64_t sum = 0;
  for (std::size_t i = first; i < shares.size(); ++i) sum += shares[i].bytes;
  return sum;
}

// Those of each kind and device, the one with the largest first.
std::vector<std::vector<Share>> by_kind(const std::vector<Share>& shares) {
  std::vector<std::vector<Share>> kinds;
  for (const Share& share : shares) {
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) {
      return kind.front().kind == share.kind && kind.front().device == share.device;
    });
    (same == kinds.end() ? kinds.emplace_back() : *same).push_back(share);
  }
  return kinds;
}

// Of one kind.
Document one_tree(const Report& report, const NameFrame& name, const std::vector<Share>& shares,
                  std::uint64_t whole, const std::string& title, const Page& page,
                  std::size_t most) {
  using enum Table::Align;
  Table table({{title, right}, {"SHARE", right, 1}, {"COUNT", right, 2}, {"CALLED FROM", left}});
  const std::size_t shown = rows_shown(shares.size(), most);
  Tree tree;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    tree.add(folded_call_site(report, report.sites[shares[i].site], name, kAllFrames), shares[i],
             i < shown);
  }
  Document text;
  if (shown == 0) return text;
  Table uncut = table;
  tree.draw(uncut, whole, page, Table::kUncut);
  tree.draw(table, whole, page, uncut.room(page));
  const std::string more = shown == shares.size()
                               ? ""
                               : "  and " + counted(shares.size() - shown, "more row") + ", " +
                                     bytes_text(sum_of(shares, shown)) + ", in these sums\n";
  text.drawing(table.text(page) + more + table.left_out(page));
  return text;
}

}  // namespace

Document tree_text(const Report& report, const NameFrame& name, const std::vector<Share>& shares,
                   const std::string& title, const Page& page, std::size_t most) {
  const std::vector<std::vector<Share>> kinds = by_kind(shares);
  if (kinds.size() == 1) {
    return one_tree(report, name, shares, shares.front().whole, title, page, most);
  }
  Document text;
  for (const std::vector<Share>& kind : kinds) {
    const std::uint64_t whole = sum_of(kind);
    text.paragraph(memory_name(report, kind.front().kind, kind.front().device) + ", " +
                   bytes_text(whole));
    text.append(one_tree(report, name, kind, whole, title, page, most));
  }
  return text;
}

}  // namespace vramscope
