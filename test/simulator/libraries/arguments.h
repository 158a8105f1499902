// Arguments that a stand-in ignores. BEFORE_3 stands for the first three: integers and pointers
// each use one argument slot of a call on x86-64 and aarch64, and floating-point numbers use other
// slots.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#define BEFORE_0
#define BEFORE_1 BEFORE_0 const void*,
#define BEFORE_2 BEFORE_1 const void*,
#define BEFORE_3 BEFORE_2 const void*,
#define BEFORE_4 BEFORE_3 const void*,
#define BEFORE_5 BEFORE_4 const void*,
#define BEFORE_6 BEFORE_5 const void*,
#define BEFORE_7 BEFORE_6 const void*,
#define BEFORE_8 BEFORE_7 const void*,
#define BEFORE_9 BEFORE_8 const void*,
#define BEFORE_10 BEFORE_9 const void*,
#define BEFORE_11 BEFORE_10 const void*,
#define BEFORE_12 BEFORE_11 const void*,
#define BEFORE_13 BEFORE_12 const void*,
#define BEFORE_14 BEFORE_13 const void*,
#define BEFORE_15 BEFORE_14 const void*,
#define BEFORE_16 BEFORE_15 const void*,
#define BEFORE_17 BEFORE_16 const void*,
#define BEFORE_18 BEFORE_17 const void*,
#define BEFORE_19 BEFORE_18 const void*,
#define BEFORE_20 BEFORE_19 const void*,
#define BEFORE_21 BEFORE_20 const void*,
#define BEFORE_22 BEFORE_21 const void*,
#define BEFORE_23 BEFORE_22 const void*,
#define BEFORE_24 BEFORE_23 const void*,
#define BEFORE_25 BEFORE_24 const void*,
#define BEFORE_26 BEFORE_25 const void*,
