// make_output_folder() makes the folder that was asked for by the option of that name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace vramscope {

// Makes the folders of the reports and of the trace, with the program's first use of CUDA: a record
// that is left by a killed program finds them. Without the option it does nothing. If it fails,
// whoever writes there says why. Threads: one.
void make_output_folder() noexcept;

}  // namespace vramscope
