// PROT_NONE reservations with a shadow beside them.
// SPDX-License-Identifier: Apache-2.0
#include "test/simulator/device/window.h"

#include <sys/mman.h>

#include <iterator>
#include <utility>

#include "reporter/view/trial/granules.h"

namespace vramscope::simulator {

namespace {

constexpr int kScratch = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

void* map_pages(Address where, std::uint64_t bytes, int access, int flags, int file,
                std::uint64_t offset) {
  void* start =
      mmap(reinterpret_cast<void*>(where), bytes, access, flags, file, static_cast<off_t>(offset));
  if (start == MAP_FAILED) return nullptr;
  madvise(start, bytes, MADV_DONTDUMP);
  return start;
}

}  // namespace

Window::Window(std::uint64_t bytes, std::uint64_t alignment, Address hint) : bytes_(bytes) {
  if (!reserve_at(hint, alignment) && !reserve_anywhere(alignment)) return;
  shadow_ = static_cast<std::byte*>(map_pages(0, bytes, PROT_READ | PROT_WRITE, kScratch, -1, 0));
}

Window::~Window() {
  if (shadow_ != nullptr) munmap(shadow_, bytes_);
  if (reservation_ != nullptr) munmap(reservation_, reserved_);
}

bool Window::reserve_at(Address hint, std::uint64_t alignment) {
  if (hint == 0 || hint % alignment != 0) return false;
  void* start = map_pages(hint, bytes_, PROT_NONE, kScratch | MAP_FIXED_NOREPLACE, -1, 0);
  if (start == nullptr) return false;
  reservation_ = start;
  reserved_ = bytes_;
  base_ = hint;
  return true;
}

bool Window::reserve_anywhere(std::uint64_t alignment) {
  if (bytes_ + alignment < bytes_) return false;
  reservation_ = map_pages(0, bytes_ + alignment, PROT_NONE, kScratch, -1, 0);
  if (reservation_ == nullptr) return false;
  reserved_ = bytes_ + alignment;
  base_ = round_up(address_of(reservation_), alignment);
  return true;
}

bool Window::map(Address at, std::uint64_t bytes, int file, std::uint64_t offset) {
  return map_pages(address_of(bytes_at(at)), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                   file, offset) != nullptr;
}

void Window::unmap(Address at, std::uint64_t bytes) {
  map_pages(address_of(bytes_at(at)), bytes, PROT_READ | PROT_WRITE, kScratch | MAP_FIXED, -1, 0);
}

void Window::erase_bytes(Address at, std::uint64_t bytes) {
  madvise(bytes_at(at), bytes, MADV_REMOVE);
}

void Windows::add(std::shared_ptr<Window> window) {
  const std::lock_guard lock(mutex_);
  const Address base = window->base();
  windows_.emplace(base, std::move(window));
}

std::shared_ptr<Window> Windows::find(Address inside) const {
  const std::lock_guard lock(mutex_);
  const auto after = windows_.upper_bound(inside);
  if (after == windows_.begin()) return nullptr;
  const auto& candidate = std::prev(after)->second;
  return candidate->contains(inside) ? candidate : nullptr;
}

void Windows::remove(Address base) {
  const std::lock_guard lock(mutex_);
  windows_.erase(base);
}

Windows& windows() {
  static auto& all = *new Windows;
  return all;
}

}  // namespace vramscope::simulator
