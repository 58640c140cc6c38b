#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each plugin exports its entry function and nothing else, the programs export nothing.
exec "$abs_srcdir/scripts/check-exports" "$abs_builddir"
