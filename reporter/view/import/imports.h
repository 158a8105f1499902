// read_import() reads other tools' files of a run, from which report_of_import() and
// trace_of_import() make our report and our trace.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>

#include "reporter/report/json.h"
#include "reporter/view/import/imported.h"

namespace vramscope {

struct Report;

// Returns whether the file begins like a pickle, like a snapshot as JSON, or like RMM's log.
[[nodiscard]] bool is_import(const std::string& path);
// Returns whether it is a snapshot, which also has segments and not only allocations and frees.
[[nodiscard]] bool is_memory_snapshot(const std::string& path);

// Reads PyTorch's memory snapshot or RMM's log of allocations. The error names the file, the
// position and what was expected. Never throws. Memory is a small multiple of the file's size.
[[nodiscard]] std::variant<ImportedRun, FileError> read_import(const std::string& path) noexcept;

// Read a whole file of one tool. Return its problem, or "". May throw bad_alloc.
[[nodiscard]] std::string read_torch_snapshot(std::string_view bytes, ImportedRun& run);
[[nodiscard]] std::string read_rmm_log(std::string_view bytes, ImportedRun& run);

// Returns everything that is known of the run. Warnings in the report say what is not known. May
// throw bad_alloc.
[[nodiscard]] Report report_of_import(ImportedRun run);

// Returns the bytes of a trace with the same events. May throw bad_alloc.
[[nodiscard]] std::string trace_of_import(const ImportedRun& run);

}  // namespace vramscope
