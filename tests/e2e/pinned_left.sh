#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/pinned_left.sh - what a next skepd finds after one that was killed, stopped for longer than pin_for, or
# broke off while it removed its pins. The other half of pinned.sh, which says what both need.
exec "$(dirname "$0")/pinned.sh" left
