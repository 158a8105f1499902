// What of a map's blocks a framework's cache holds, which cuts them into blocks of its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "reporter/view/analysis/map_answer.h"
#include "reporter/view/listing/columns.h"
#include "reporter/view/listing/document.h"

namespace vramscope {

struct Page;

[[nodiscard]] Columns<MapCache> map_cache_columns();
// A paragraph for each.
[[nodiscard]] Document map_caches_text(const std::vector<MapCache>& caches, const MapPlace& place);

}  // namespace vramscope
