#!/bin/sh
# Prints the commit that these sources are of and its day, "b55cfdc123456 2026-11-23"; fails if unknown.
# SPDX-License-Identifier: Apache-2.0
# An archive that git made has both in the file COMMIT beside this; a clone asks git, which says
# "-dirty" behind the commit when files differ from it. A repository around these sources, of somebody else, is not asked.
cd "$(dirname "$0")/../.." || exit
read -r text <reporter/report/COMMIT
case $text in
  [0-9a-f]*) printf '%.13s %s\n' "${text%% *}" "${text#* }" && exit ;;
esac
[ "$(git rev-parse --show-prefix 2>/dev/null || echo none)" = "" ] || exit 1
name=$(git describe --always --dirty --abbrev=13 --exclude='*') || exit 1
echo "$name $(git show -s --format=%cs HEAD)"
