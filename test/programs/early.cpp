// Linked to a library that uses CUDA in its constructor.
// SPDX-License-Identifier: Apache-2.0
extern "C" int early_library();

int main() { return early_library(); }
