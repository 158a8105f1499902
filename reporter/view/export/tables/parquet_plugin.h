// What vramscope_parquet.so, which alone knows Arrow's library, gives to the tool: a table of C
// functions, so that neither needs the other's C++ runtime.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace vramscope {

inline constexpr const char* kParquetSymbol = "vramscope_parquet";

struct ParquetColumn {
  enum Type : int { integer, text, truth };
  const char* name;
  Type type;
  bool may_be_null;
};
struct ParquetNote {  // of the file's own metadata
  const char* name;
  const char* value;
};

// Rows of one column.
struct ParquetCells {
  const std::int64_t* numbers;  // of integers
  const std::uint8_t* truths;   // of truths: a bit for each row, the lowest first
  const std::uint8_t* known;    // likewise; null: all are known
  const std::int32_t* ends;     // of texts: where each begins in `text`, and at last where all end
  const char* text;
  std::int64_t nulls;  // how many are not known
};

// Functions return null, or what went wrong, which is valid until the file is closed. Threads: one
// for each file.
struct ParquetPlugin {
  int version;  // kParquetVersion
  const char* (*open)(const char* path, const ParquetColumn* columns, std::size_t column_count,
                      const ParquetNote* notes, std::size_t note_count, void** file);
  const char* (*write)(void* file, const ParquetCells* columns, std::int64_t rows);
  const char* (*finish)(void* file);
  void (*close)(void* file);  // also after a failure of any of the others; null does nothing
};
inline constexpr int kParquetVersion = 1;

}  // namespace vramscope
