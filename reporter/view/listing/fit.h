// fitted() makes a document as short as a screen is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "reporter/view/listing/document.h"
#include "reporter/view/listing/format.h"

namespace vramscope {

// The document as text. Where it takes more lines than the page has less `reserved`, blocks go by
// what they say of themselves, and rows; which of them follows from their sizes. A line says how
// many lines are left out, and that `usual` rows, which the document shows else, show all.
[[nodiscard]] std::string fitted(const Document& document, const Page& page, std::size_t reserved,
                                 std::size_t usual);

}  // namespace vramscope
