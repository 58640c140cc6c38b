#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes ./configure from configure.ac.  Needed in a git clone only: the tarball has it.
set -eu
cd "$(dirname "$0")"

missing=
for pair in autoreconf:autoconf automake:automake pkg-config:pkg-config; do
	command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair##*:}"
done
if [ -n "$missing" ]; then
	echo "autogen.sh: tools are missing; remedy: apt-get install -y$missing" >&2
	exit 1
fi
autoreconf --install --warnings=all "$@"
# configure cleans up with "rm -f core": here that is a folder, and the rm an error message.
sed -i 's/rm -f core /rm -f /; s/rm -f core$/:/; s/rm -f \*\.core core\.conftest/rm -f *.core core.conftest/' configure
chmod +x configure
