// Texts that fit the screen of a terminal; piped ones stay whole.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "reporter/view/text/format.h"
#include "reporter/view/verbs/verb.h"

namespace vramscope {

// What `make` makes of a page, where the listing's number of rows counts. On a page with lines it
// is made again where it takes more of them than that less `reserved`: without lines of source, and
// with fewer and fewer rows. A line says how many lines are left out and what shows them; it stands
// before the next command where the text ends with that.
[[nodiscard]] std::string fitted_to_screen(Listing& listing, const Page& page, std::size_t reserved,
                                           const std::function<std::string(const Page&)>& make);

// The same makers, but for texts, which fit with what show() puts around them. `arguments` and
// `make` outlive them.
[[nodiscard]] Makers fitting_makers(OneReport& arguments, const Makers& make);

}  // namespace vramscope
