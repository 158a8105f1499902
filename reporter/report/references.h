// check_references() checks that the parts of a report that was read fit together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

struct Report;

// A field with a wrong value.
struct FieldProblem {
  std::string field;
  std::string what;
};

// Throws FieldProblem if an index points nowhere, the blocks of a segment do not tile it, or a name
// to which many others refer is too long. The report needs no further checks.
void check_references(const Report& report);

}  // namespace vramscope
