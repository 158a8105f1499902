// check_references() sees to it that the parts of a report that was read fit together.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

struct Report;

// A field that is not what it has to be.
struct FieldProblem {
  std::string field;
  std::string what;
};

// Throws FieldProblem when an index points nowhere the blocks of a segment do not tile it, or a
// name that many others refer to is longer than any: who gets a report need not check again.
void check_references(const Report& report);

}  // namespace vramscope
