// vramscope.h in C++: the same program as in C.
// SPDX-License-Identifier: Apache-2.0
#include "test/programs/expectations.c"
