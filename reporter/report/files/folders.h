// make_folders_of() makes the folders in which a file is to lie.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace vramscope {

// Makes each folder in the path that is missing, with the rights that the process gives to new
// folders. Returns errno of the first that could not be made, or 0. Threads: any, also of several
// processes. May throw bad_alloc.
int make_folders_of(const std::string& path);

}  // namespace vramscope
