#!/usr/bin/env bash
# Runs a command where /dev has an empty file nvidiactl, in a mount namespace of its own. For frameworks
# that look for a file of NVIDIA's kernel module before they ask the driver. Needs root.
# SPDX-License-Identifier: Apache-2.0
# Usage: with_device_file.sh COMMAND...
set -euo pipefail
if [[ ${1:-} != --inside ]]; then
  exec unshare --mount "$0" --inside "$@"
fi
shift
folder=$(mktemp -d)
mount -t tmpfs none "$folder"
for file in null zero full random urandom tty; do
  touch "$folder/$file"
  mount --bind "/dev/$file" "$folder/$file"
done
for part in shm pts; do
  mkdir "$folder/$part"
  [[ ! -d /dev/$part ]] || mount --bind "/dev/$part" "$folder/$part"
done
ln -s /proc/self/fd "$folder/fd"
touch "$folder/nvidiactl"
mount --move "$folder" /dev
exec "$@"
