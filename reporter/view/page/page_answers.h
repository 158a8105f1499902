// The answers of advise and fit, as a page shows them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "reporter/view/text/advice_text.h"
#include "reporter/view/text/fit_text.h"

namespace vramscope {

// A JSON object: `file`, `summary`, `findings` with their call sites, and `rest`, which says what
// the file cannot show. May throw bad_alloc.
[[nodiscard]] std::string advice_for_page(const AdviceOf& of, const NameFrame& name);

// A JSON object: `answer`, as `fit --json` has it; in words `settings` of its rows and whether it
// `fits` each of its GPUs; and `remarks`. May throw bad_alloc.
[[nodiscard]] std::string fit_for_page(const Fitted& fitted);

// In the place of an answer: the verb that gives it. {"file", "verb"}.
[[nodiscard]] std::string left_to(const std::string& verb, const std::string& file);

}  // namespace vramscope
