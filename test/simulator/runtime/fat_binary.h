// code_for() says which code of a fat binary a device would run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

namespace cudart {

// Architectures as 10 times the compute capability: 89 is 8.9.
struct CodeVersion {
  int ptx = 0;     // for which the source was compiled
  int binary = 0;  // of the machine code
};

// `image` is what the start-up code of a program registers. Machine code runs on devices of its
// major version, from its own minor version on; PTX is compiled for any device from its version on.
// Returns nothing if the image is not nvcc's wrapper, or has no code for the device.
[[nodiscard]] std::optional<CodeVersion> code_for(const void* image, int device);
// Returns machine code of the image as an ELF file, of any architecture, since they agree on
// parameters. "": there is none, or it is compressed.
[[nodiscard]] std::string_view machine_code_in(const void* image);

}  // namespace cudart
