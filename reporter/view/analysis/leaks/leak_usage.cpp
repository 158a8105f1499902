// Asks who keeps what each site never freed.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/leaks/leak_usage.h"

#include <string_view>

#include "reporter/view/analysis/leaks/kept_memory.h"

namespace vramscope {
namespace {

// "libcublas.so" of the pattern "/libcublas.so", "__cudaRegister" of "^__cudaRegister".
std::string holder_of(const KeptPart& part, const Suppressions& suppressions) {
  if (part.by_cache) return std::string(framework_caches()[part.row].name);
  std::string_view pattern = suppressions.rows()[part.row].pattern;
  if (pattern.starts_with('/') || pattern.starts_with('^')) pattern.remove_prefix(1);
  return std::string(pattern);
}

}  // namespace

std::vector<LeakUsage> usage_with_leaks(const Report& report, const NameFrame& name) {
  Suppressions usual;
  usual.add_usual();
  KeptMemory kept(report, usual, name);
  std::vector<LeakUsage> all;
  for (const SiteUsage& usage : usage_with_never_freed(report)) {
    LeakUsage one{usage};
    one.leaked_bytes = usage.never_freed_bytes;
    one.leaked_count = usage.never_freed_count;
    const Share share{usage.site,       usage.kind,       usage.device,
                      one.leaked_bytes, one.leaked_count, /*whole=*/0};
    if (share.bytes != 0 || share.count != 0) {
      for (const KeptPart& part : kept.of(share)) {
        one.kept.push_back(
            {.holder = holder_of(part, usual), .bytes = part.bytes, .count = part.count});
        one.leaked_bytes -= part.bytes;
        one.leaked_count -= part.count;
      }
    }
    all.push_back(std::move(one));
  }
  return all;
}

std::uint64_t kept_bytes(const LeakUsage& usage) {
  return usage.never_freed_bytes - usage.leaked_bytes;
}

}  // namespace vramscope
