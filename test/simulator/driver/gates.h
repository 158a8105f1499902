// The addresses of the exported symbols, for code that answers queries about them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/simulator/driver/driver.h"

extern "C" {
#define GATE(symbol) [[gnu::visibility("hidden")]] void vramscope_gate_##symbol();
#define DRIVER(symbol, asked, since, needs) GATE(symbol)
#define STREAMED(symbol, asked, since, suffix, needs) GATE(symbol) GATE(symbol##suffix)
#define UNSUPPORTED(symbol, asked, since) GATE(symbol)
#define UNSUPPORTED_STREAMED(symbol, asked, since, suffix) GATE(symbol) GATE(symbol##suffix)
#include "test/simulator/driver/functions.def"
#include "test/simulator/driver/unsupported.def"
#undef DRIVER
#undef STREAMED
#undef UNSUPPORTED
#undef UNSUPPORTED_STREAMED
#undef GATE
}
