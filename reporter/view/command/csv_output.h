// CsvOutput writes the rows of a listing to where its -o says.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/listing/csv_text.h"
#include "reporter/view/system/output.h"

namespace vramscope {

// Rows are written as they are made: there may be more than memory has room for.
class CsvOutput {
 public:
  CsvOutput(const std::string& path, Readers readers)
      : output_(path, readers), csv_(output_.text(), [this] { output_.flush_if_long(); }) {}
  CsvText& csv() { return csv_; }
  // Why it was not written whole; "": it was.
  [[nodiscard]] std::string end() { return output_.end(); }

 private:
  Output output_;
  CsvText csv_;
};

}  // namespace vramscope
