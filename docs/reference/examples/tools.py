#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools.py [PIPELINE]: the CPU time of each tool over the newest 20 runs, of all or of one pipeline."""
import collections
import json
import os
import subprocess
import sys


def ask(*question):
    """A question's answer. Status 1 with an answer: a part of the lake cannot be read, and stderr names it."""
    done = subprocess.run([os.environ.get("SKEP", "skep"), *question, "--json"], stdout=subprocess.PIPE, check=False)
    if done.returncode > 1 or not done.stdout:
        sys.exit(done.returncode)
    return json.loads(done.stdout)


cpu_s, calls = collections.Counter(), collections.Counter()
pipeline = ["--pipeline", sys.argv[1]] if sys.argv[1:] else []
for run in ask("runs", "-n", "20", *pipeline):
    for tool in ask("show", run["id"])["tools"]:
        cpu_s[tool["tool"]] += tool["cpu_ns"] / 1e9
        calls[tool["tool"]] += tool["calls"]
for name, seconds in cpu_s.most_common(10):
    print(f"{seconds:10.1f} s  {calls[name]:7} calls  {name!a}")
