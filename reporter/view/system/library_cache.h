// LibraryCache is what ldconfig keeps of where libraries lie, read without the loader.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramscope {

// Threads: any. A cache that is not as it has to be has nothing.
class LibraryCache {
 public:
  // The bytes of /etc/ld.so.cache.
  explicit LibraryCache(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] static LibraryCache of_system();

  // Paths of libraries of that name, for any machine, in the cache's order.
  [[nodiscard]] std::vector<std::string> paths_of(std::string_view name) const;

 private:
  std::string bytes_;
};

}  // namespace vramscope
