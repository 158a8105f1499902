// The only file that knows Arrow's library. It is an object of its own, which the tool loads when
// somebody asks for Parquet: the library has 60 MB, and its place on the machine is its own.
// SPDX-License-Identifier: Apache-2.0
#include "reporter/view/export/tables/parquet_plugin.h"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/writer.h>

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace vramscope {
namespace {

constexpr std::int64_t kRowsOfAGroup = 1 << 20;

struct File {
  std::shared_ptr<arrow::io::FileOutputStream> output = nullptr;
  std::shared_ptr<arrow::Schema> schema = nullptr;
  std::unique_ptr<parquet::arrow::FileWriter> writer = nullptr;
  std::string problem = {};
};

// Runs what may fail, and keeps why it did.
template <class Act>
const char* attempt(File& file, Act act) noexcept {
  try {
    const arrow::Status status = act();
    if (status.ok()) return nullptr;
    file.problem = status.message();
  } catch (const std::exception& error) {
    try {
      file.problem = error.what();
    } catch (...) {
      return "out of memory";
    }
  }
  return file.problem.c_str();
}

std::shared_ptr<arrow::DataType> type_of(const ParquetColumn& column) {
  return column.type == ParquetColumn::integer ? arrow::int64()
         : column.type == ParquetColumn::text  ? arrow::utf8()
                                               : arrow::boolean();
}

arrow::Status begin(File& file, const char* path, const ParquetColumn* columns,
                    std::size_t column_count, const ParquetNote* notes, std::size_t note_count) {
  arrow::FieldVector fields;
  for (std::size_t i = 0; i < column_count; ++i) {
    fields.push_back(arrow::field(columns[i].name, type_of(columns[i]), columns[i].may_be_null));
  }
  file.schema = arrow::schema(std::move(fields));
  ARROW_ASSIGN_OR_RAISE(file.output, arrow::io::FileOutputStream::Open(path));
  const auto properties = parquet::WriterProperties::Builder()
                              .compression(arrow::Compression::ZSTD)
                              ->max_row_group_length(kRowsOfAGroup)
                              ->build();
  ARROW_ASSIGN_OR_RAISE(file.writer,
                        parquet::arrow::FileWriter::Open(*file.schema, arrow::default_memory_pool(),
                                                         file.output, properties));
  const auto metadata = std::make_shared<arrow::KeyValueMetadata>();
  for (std::size_t i = 0; i < note_count; ++i) metadata->Append(notes[i].name, notes[i].value);
  return file.writer->AddKeyValueMetadata(metadata);
}

// The bytes stay the caller's, until the batch is written.
std::shared_ptr<arrow::Buffer> buffer_of(const void* bytes, std::int64_t size) {
  return bytes == nullptr
             ? nullptr
             : std::make_shared<arrow::Buffer>(static_cast<const std::uint8_t*>(bytes), size);
}

std::shared_ptr<arrow::Array> array_of(const ParquetCells& cells, arrow::Type::type type,
                                       std::int64_t rows) {
  const std::int64_t bits = (rows + 7) / 8;
  const std::shared_ptr<arrow::Buffer> known = buffer_of(cells.known, bits);
  if (type == arrow::Type::INT64) {
    const auto numbers = buffer_of(cells.numbers, rows * std::int64_t{sizeof(std::int64_t)});
    return std::make_shared<arrow::Int64Array>(rows, numbers, known, cells.nulls);
  }
  if (type == arrow::Type::BOOL) {
    return std::make_shared<arrow::BooleanArray>(rows, buffer_of(cells.truths, bits), known,
                                                 cells.nulls);
  }
  const auto ends = buffer_of(cells.ends, (rows + 1) * std::int64_t{sizeof(std::int32_t)});
  return std::make_shared<arrow::StringArray>(rows, ends, buffer_of(cells.text, cells.ends[rows]),
                                              known, cells.nulls);
}

const char* open(const char* path, const ParquetColumn* columns, std::size_t column_count,
                 const ParquetNote* notes, std::size_t note_count, void** opened) {
  auto* const file = new (std::nothrow) File;
  *opened = file;
  if (file == nullptr) return "out of memory";
  return attempt(*file,
                 [&] { return begin(*file, path, columns, column_count, notes, note_count); });
}

const char* write(void* opened, const ParquetCells* columns, std::int64_t rows) {
  File& file = *static_cast<File*>(opened);
  return attempt(file, [&] {
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    for (int i = 0; i < file.schema->num_fields(); ++i) {
      arrays.push_back(array_of(columns[i], file.schema->field(i)->type()->id(), rows));
    }
    return file.writer->WriteRecordBatch(*arrow::RecordBatch::Make(file.schema, rows, arrays));
  });
}

const char* finish(void* opened) {
  File& file = *static_cast<File*>(opened);
  return attempt(file, [&] {
    ARROW_RETURN_NOT_OK(file.writer->Close());
    return file.output->Close();
  });
}

void close(void* opened) { delete static_cast<File*>(opened); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const ParquetPlugin vramscope_parquet;
const ParquetPlugin vramscope_parquet = {kParquetVersion, open, write, finish, close};

}  // namespace vramscope
