#!/bin/sh
# Stands in for nvcc where its kernels are never run: as bin/nvcc below CUDA_BIN_PATH it gives Blender's
# Cycles code with no kernels in it, and the variable that Cycles fills.
# SPDX-License-Identifier: Apache-2.0
if [ "$1" = --version ]; then
  echo "Cuda compilation tools, release 11.8, V11.8.89"
  exit
fi
while [ $# -gt 1 ] && [ "$1" != -o ]; do shift; done
cat >"$2" <<'PTX'
.version 8.0
.target sm_90
.address_size 64
.visible .const .align 8 .b8 kernel_params[65536];
PTX
