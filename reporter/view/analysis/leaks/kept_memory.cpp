// Asks each whole stack of a place who keeps its memory.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/analysis/leaks/kept_memory.h"

#include <algorithm>
#include <optional>

#include "reporter/view/analysis/leaks/site_owner.h"
#include "reporter/view/analysis/site_usage.h"

namespace vramscope {

KeptMemory::KeptMemory(const Report& report, const Suppressions& suppressions,
                       const NameFrame& name)
    : report_(report), suppressed_(report, suppressions, name) {
  if (suppressions.have_usual()) caches_.emplace(report, name);
}

bool KeptMemory::add(std::vector<KeptPart>& kept, const std::vector<std::uint32_t>& frames,
                     const SitePart& part, std::uint64_t bytes, std::uint64_t count) {
  KeptPart found;
  if (const std::optional<std::size_t> row = suppressed_.of(frames)) {
    found.row = *row;
  } else if (const auto cache = caches_ ? caches_->of(frames, part) : std::nullopt) {
    found.by_cache = true;
    found.row = *cache;
  } else {
    return false;
  }
  auto known = std::find_if(kept.begin(), kept.end(), [&](const KeptPart& other) {
    return other.by_cache == found.by_cache && other.row == found.row;
  });
  if (known == kept.end()) known = kept.insert(kept.end(), found);
  known->bytes += bytes;
  known->count += count;
  return true;
}

template <class IsIts>
std::vector<KeptPart> KeptMemory::parts_of(const Share& share, IsIts is_its) {
  const Site& site = report_.sites[share.site];
  std::vector<KeptPart> kept;
  if (site.whole.size() < 2) {
    for (const SitePart& part : site.parts) {
      if (is_its(part)) (void)add(kept, first_stack(site), part, share.bytes, share.count);
    }
    return kept;
  }
  std::uint64_t bytes = share.bytes;  // without what waits for its free, which stacks do not tell
  std::uint64_t count = share.count;
  for (const RecordedStack& stack : site.whole) {
    for (const SitePart& part : stack.parts) {
      if (!is_its(part)) continue;
      const std::uint64_t its_bytes = std::min(bytes, numbers_of(part).live_bytes);
      const std::uint64_t its_count = std::min(count, numbers_of(part).live_count);
      if (its_count == 0 || !add(kept, stack.frames, part, its_bytes, its_count)) continue;
      bytes -= its_bytes;
      count -= its_count;
    }
  }
  return kept;
}

std::vector<KeptPart> KeptMemory::of(const Share& share) {
  return parts_of(share, [&](const SitePart& part) {
    return part.kind == share.kind && part.device == share.device;
  });
}

std::vector<KeptPart> KeptMemory::of(const Share& share, const std::optional<std::string>& cache) {
  return parts_of(share, [&](const SitePart& part) {
    return part.kind == share.kind && part.device == share.device && part.cache == cache;
  });
}

}  // namespace vramscope
