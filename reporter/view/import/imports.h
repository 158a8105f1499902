// What other tools wrote of a run is read here, and made into our report and our trace.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>

#include "reporter/report/json.h"
#include "reporter/view/import/imported.h"

namespace vramscope {

struct Report;

// Whether the file begins as a pickle does, or as RMM's log.
[[nodiscard]] bool is_import(const std::string& path);
// A pickle alone: segments are known, and not only what came and went.
[[nodiscard]] bool is_memory_snapshot(const std::string& path);

// PyTorch's memory snapshot, or RMM's log of allocations. The error names file, place and what was
// expected. Never throws; memory is a small multiple of the file's size.
[[nodiscard]] std::variant<ImportedRun, FileError> read_import(const std::string& path) noexcept;

// The readers of each, of a whole file; they give what is wrong with it, or "". May throw
// bad_alloc.
[[nodiscard]] std::string read_torch_snapshot(std::string_view bytes, ImportedRun& run);
[[nodiscard]] std::string read_rmm_log(std::string_view bytes, ImportedRun& run);

// Everything that is known of the run; what is not is said in the report's warnings. May throw
// bad_alloc.
[[nodiscard]] Report report_of_import(ImportedRun run);

// The bytes of a trace with the same events. May throw bad_alloc.
[[nodiscard]] std::string trace_of_import(const ImportedRun& run);

}  // namespace vramscope
