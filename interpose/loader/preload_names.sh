#!/bin/sh
# Makes the names under which loaders of 64-bit and of 32-bit programs look for a library.
# SPDX-License-Identifier: Apache-2.0
# preload_names.sh LIBRARY STAND_IN_SOURCE FOLDER COMPILER [ARGUMENTS...]
set -eu
library=$1 source=$2 folder=$3
shift 3
"$@" -o "$folder/$library.i686" "$source"
ln -sf "$library.i686" "$folder/$library.i586"
for platform in x86_64 haswell xeon_phi; do
  ln -sf "$library" "$folder/$library.$platform"
done
