// SPDX-License-Identifier: Apache-2.0
#include "test/model/naive_pages.h"

#include <algorithm>
#include <utility>

namespace vramscope {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::size_t kNone = ~std::size_t{0};

std::uint64_t up(std::uint64_t bytes, std::uint64_t step) {
  return (bytes + step - 1) / step * step;
}

}  // namespace

bool NaivePages::are_neighbours(std::size_t lower, std::size_t upper) const {
  return upper < pieces_.size() && pieces_[lower].range == pieces_[upper].range;
}

std::uint64_t NaivePages::possible_size(std::size_t piece) const {
  const bool grows = are_neighbours(piece, piece + 1) && pieces_[piece + 1].is == Is::nothing;
  return pieces_[piece].size + (grows ? pieces_[piece + 1].size : 0);
}

// The smallest that is large enough, the lowest among equals; PyTorch goes on as long as the next
// one could become less large.
std::size_t NaivePages::best_fit(bool is_small, std::uint64_t size) const {
  std::vector<std::pair<std::pair<std::uint64_t, Address>, std::size_t>> fitting;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& p = pieces_[i];
    if (p.is != Is::free || p.is_small != is_small || p.size < size) continue;
    fitting.push_back({{p.size, p.address}, i});
  }
  if (fitting.empty()) return kNone;
  std::sort(fitting.begin(), fitting.end());
  std::size_t best = 0;
  while (rules_ == Rules::pytorch && best + 1 < fitting.size() &&
         possible_size(fitting[best + 1].second) < possible_size(fitting[best].second)) {
    ++best;
  }
  return fitting[best].second;
}

NaivePages::Room NaivePages::room_from(std::size_t first, std::uint64_t size) const {
  std::uint64_t have = 0, mapped = 0;
  for (std::size_t i = first; have < size; ++i) {
    if (i != first && !are_neighbours(first, i)) return {};
    const Piece& p = pieces_[i];
    if (p.is == Is::live) return {};
    if (p.is == Is::nothing) mapped += up(std::min(p.size, size - have), p.page);
    have += p.size;
  }
  return {.first = first, .skipped = 0, .mapped = mapped, .found = true};
}

NaivePages::Room NaivePages::room_before(std::size_t nothing, std::uint64_t size) const {
  const std::size_t behind = nothing + 1;
  if (!are_neighbours(nothing, behind) || pieces_[behind].is != Is::free) return {};
  if (pieces_[behind].size >= size) return {};
  const Piece& p = pieces_[nothing];
  const std::uint64_t mapped = up(size - pieces_[behind].size, p.page);
  if (mapped >= p.size) return {};
  return {.first = nothing, .skipped = p.size - mapped, .mapped = mapped, .found = true};
}

// PyTorch takes the first, we the one for which the least is mapped.
NaivePages::Room NaivePages::room(bool is_small, std::uint64_t size) const {
  Room best;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (pieces_[i].is != Is::nothing || pieces_[i].is_small != is_small) continue;
    const bool begins_before = i > 0 && are_neighbours(i - 1, i) && pieces_[i - 1].is == Is::free;
    const Room from = room_from(begins_before ? i - 1 : i, size);
    if (rules_ == Rules::pytorch) {
      if (from.found) return from;
      continue;
    }
    for (const Room& one : {from, room_before(i, size)}) {
      if (one.found && (!best.found || one.mapped < best.mapped)) best = one;
    }
  }
  return best;
}

NaivePages::Room NaivePages::reserve(bool is_small, std::uint64_t size) {
  const std::uint64_t page = is_small || rules_ == Rules::ours ? 2 * kMiB : 20 * kMiB;
  const std::uint64_t total = backend_.total_bytes({});
  const std::uint64_t bytes = up(total + total / 8, page);
  const Address address = backend_.reserve_addresses({}, bytes, page).address;
  const auto above = std::find_if(pieces_.begin(), pieces_.end(),
                                  [&](const Piece& p) { return p.address > address; });
  const auto made = pieces_.insert(above, {.address = address,
                                           .size = bytes,
                                           .is = Is::nothing,
                                           .is_small = is_small,
                                           .range = ++ranges_,
                                           .page = page,
                                           .base = address});
  return {.first = static_cast<std::size_t>(made - pieces_.begin()),
          .skipped = 0,
          .mapped = up(size, page),
          .found = true};
}

// The piece keeps so many bytes; the rest is one behind it.
void NaivePages::cut(std::size_t piece, std::uint64_t bytes) {
  if (bytes == 0 || bytes >= pieces_[piece].size) return;
  Piece rest = pieces_[piece];
  rest.address += bytes;
  rest.size -= bytes;
  pieces_[piece].size = bytes;
  pieces_.insert(pieces_.begin() + static_cast<std::ptrdiff_t>(piece) + 1, rest);
}

void NaivePages::merge() {
  for (std::size_t i = 0; i + 1 < pieces_.size();) {
    Piece &lower = pieces_[i], &upper = pieces_[i + 1];
    const bool are_one = are_neighbours(i, i + 1) && lower.is == upper.is && lower.is != Is::live &&
                         lower.is_held == upper.is_held;
    if (!are_one) {
      ++i;
      continue;
    }
    lower.size += upper.size;
    pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

void NaivePages::map(std::size_t piece, std::uint64_t bytes) {
  Piece& p = pieces_[piece];
  static_cast<void>(backend_.map({}, p.address, bytes, p.page));
  p.is = Is::free;
  reserved_ += bytes;
}

void NaivePages::give_back(std::size_t piece, Address begin, Address end) {
  cut(piece, begin - pieces_[piece].address);
  const std::size_t middle = pieces_[piece].address == begin ? piece : piece + 1;
  cut(middle, end - begin);
  static_cast<void>(backend_.unmap({}, begin, end - begin, pieces_[middle].page));
  pieces_[middle].is = Is::nothing;
  reserved_ -= end - begin;
}

// The smallest free pieces with whole pages in them go first; those of the large pool before all.
void NaivePages::take_idle(std::uint64_t bytes, bool is_small) {
  for (std::uint64_t taken = 0; taken < bytes;) {
    std::size_t chosen = kNone;
    Address begin = 0, end = 0;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const Piece& p = pieces_[i];
      if (p.is != Is::free || p.is_held || p.is_small != is_small) continue;
      const Address first = p.first_page(), last = p.last_page();
      if (first >= last || (chosen != kNone && p.size >= pieces_[chosen].size)) continue;
      chosen = i, begin = first, end = last;
    }
    if (chosen == kNone) break;
    const std::uint64_t page = pieces_[chosen].page;
    const std::uint64_t part = std::min(end - begin, up(bytes - taken, page));
    const bool above = are_neighbours(chosen, chosen + 1) && pieces_[chosen + 1].is == Is::nothing;
    const bool below =
        chosen > 0 && are_neighbours(chosen - 1, chosen) && pieces_[chosen - 1].is == Is::nothing;
    above&& !below ? begin = end - part : end = begin + part;
    give_back(chosen, begin, end);
    merge();
    drop_empty();
    taken += part;
  }
}

// A free piece that is large enough, where there is none.
std::size_t NaivePages::grow(bool is_small, std::uint64_t size) {
  Room where = room(is_small, size);
  if (!where.found) where = reserve(is_small, size);
  const Address begin = pieces_[where.first].address + where.skipped;
  if (where.skipped > 0) cut(where.first, where.skipped);
  std::size_t at = where.first + (where.skipped > 0 ? 1 : 0);
  std::uint64_t have = 0;
  for (std::size_t i = at; have < size; ++i) {
    const std::uint64_t part = std::min(pieces_[i].size, size - have);
    cut(i, pieces_[i].is == Is::nothing ? up(part, pieces_[i].page) : part);
    have += pieces_[i].size;
    pieces_[i].is_held = true;
  }
  merge();
  if (rules_ == Rules::ours) {
    const std::uint64_t most = std::max(most_live_, live_ + size);
    const std::uint64_t allowed = most + most / 32, wanted = reserved_ + where.mapped;
    const std::uint64_t over = wanted > allowed ? up(wanted - allowed, 2 * kMiB) : 0;
    const std::uint64_t before = reserved_, taken = std::min(over, where.mapped);
    take_idle(taken, false);
    const std::uint64_t large = before - reserved_;
    if (large < taken) take_idle(taken - large, true);
  }
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (!pieces_[i].is_held) continue;
    if (pieces_[i].is == Is::nothing) map(i, pieces_[i].size);
    pieces_[i].is_held = false;
  }
  merge();
  at = 0;
  while (pieces_[at].end() <= begin) ++at;
  return at;
}

void NaivePages::hand_out(std::size_t piece, std::uint64_t size) {
  cut(piece, size);
  pieces_[piece].is = Is::live;
  live_ += size;
  most_live_ = std::max(most_live_, live_);
}

Address NaivePages::allocate(std::uint64_t bytes) {
  const std::uint64_t size = up(bytes, 512);
  const bool is_small = size <= kMiB;
  std::size_t piece = best_fit(is_small, size);
  if (piece == kNone) piece = grow(is_small, size);
  const Address address = pieces_[piece].address;
  hand_out(piece, size);
  return address;
}

void NaivePages::free(Address address) {
  for (Piece& p : pieces_) {
    if (p.address != address || p.is != Is::live) continue;
    p.is = Is::free;
    live_ -= p.size;
  }
  merge();
}

void NaivePages::trim() {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& p = pieces_[i];
    if (p.is != Is::free) continue;
    const Address begin = p.first_page(), end = p.last_page();
    if (begin < end) give_back(i, begin, end);
  }
  merge();
  drop_empty();
}

// A reservation without a page ends.
void NaivePages::drop_empty() {
  for (std::size_t i = 0; i < pieces_.size();) {
    const bool is_whole = pieces_[i].is == Is::nothing && !pieces_[i].is_held &&
                          (i == 0 || !are_neighbours(i - 1, i)) && !are_neighbours(i, i + 1);
    if (!is_whole) {
      ++i;
      continue;
    }
    backend_.release_addresses({}, pieces_[i].address, pieces_[i].size);
    pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::uint64_t NaivePages::idle() const {
  std::uint64_t bytes = 0;
  for (const Piece& p : pieces_) {
    const Address begin = p.first_page(), end = p.last_page();
    if (p.is == Is::free && begin < end) bytes += end - begin;
  }
  return bytes;
}

std::map<Address, std::uint64_t> NaivePages::free_pieces() const {
  std::map<Address, std::uint64_t> all;
  for (const Piece& p : pieces_) {
    if (p.is == Is::free) all[p.address] = p.size;
  }
  return all;
}

}  // namespace vramscope
