// schema_of() is listings.schema.json of what verbs write.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reporter/view/listing/field.h"

namespace vramscope {

// Of these definitions, JSON Schema, draft 7.
[[nodiscard]] std::string schema_of(const std::vector<Field>& listings);

}  // namespace vramscope
