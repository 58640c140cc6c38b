#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every query of the Grafana boards against the servers and files of a real skepd: live.py.
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: third-party servers are queried by the build without them"; exit 77; }
exec python3 "$(dirname "$0")/live.py"
