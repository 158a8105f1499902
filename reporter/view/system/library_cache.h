// LibraryCache is ldconfig's list of libraries, read without the loader.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramscope {

// Threads: any. An invalid cache is empty.
class LibraryCache {
 public:
  // Takes the bytes of /etc/ld.so.cache.
  explicit LibraryCache(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] static LibraryCache of_system();

  // Returns the paths of libraries of that name, for any machine, in the cache's order.
  [[nodiscard]] std::vector<std::string> paths_of(std::string_view name) const;

 private:
  std::string bytes_;
};

}  // namespace vramscope
