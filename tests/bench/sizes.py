#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sizes.py [RUNS [SEED]]: records a history of a real pipeline (tests/pipelines/snakemake) with inputs of different sizes, and
prints the memory of each execution: task, run, bytes. bench_sizes replays it. As root; environment: SKEP,
SKEP_PLUGIN_DIRS.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
sizes = random.Random(sys.argv[2] if len(sys.argv) > 2 else "7")
snakefile = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../pipelines/snakemake/Snakefile")

with tempfile.TemporaryDirectory() as top:
    for run in range(runs):
        # As lognormal as samples of a sequencer are; three samples, so that least, median and largest are all of them.
        pairs, genome = 10000 * sizes.lognormvariate(0, 0.6), 400000 * sizes.lognormvariate(0, 0.3)
        w = "%s/%d" % (top, run)
        os.mkdir(w)
        subprocess.run([os.environ["SKEP"], "run", "--lake", top + "/lake", "--no-live", "--no-report", "--name", "r%d" % run, "--",
                        "snakemake", "--cores", "2", "--quiet", "-s", snakefile, "--config", "pairs=%d" % pairs, "genome=%d" % genome],
                       cwd=w, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        tuned = subprocess.run([os.environ["SKEP"], "tune", "--lake", top + "/lake", "--json", "r%d" % run], stdout=subprocess.PIPE, check=True)
        for task in json.loads(tuned.stdout)["tasks"]:
            memory = task["memory_bytes"]
            for key in {1: ["max"], 2: ["min", "max"], 3: ["min", "median", "max"]}.get(task["ended_well"], []):
                print(task["task"], run, int(memory[key]), flush=True)
