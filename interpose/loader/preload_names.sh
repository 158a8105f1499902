#!/bin/sh
# Makes the names under which loaders of 64-bit and of 32-bit programs look for the library.
# SPDX-License-Identifier: Apache-2.0
# preload_names.sh STAND_IN_SOURCE FOLDER COMPILER [ARGUMENTS...]
set -eu
source=$1 folder=$2
shift 2
"$@" -o "$folder/libvramscope.so.i686" "$source"
ln -sf libvramscope.so.i686 "$folder/libvramscope.so.i586"
for platform in x86_64 haswell xeon_phi; do
  ln -sf libvramscope.so "$folder/libvramscope.so.$platform"
done
