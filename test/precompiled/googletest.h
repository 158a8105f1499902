// What every test includes first, parsed once for all of them. Its guard is that of GoogleTest: gcc
// wants none here.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
