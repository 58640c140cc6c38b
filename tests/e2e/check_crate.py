#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_crate.py FOLDER EXIT: is the folder a Process Run Crate 0.5 (https://w3id.org/ro/wfrun/process/0.5) within
RO-Crate 1.1, and does it have what a recorded run makes possible? EXIT: the exit code of the run's root."""
import json
import os
import re
import sys

folder, code = sys.argv[1], int(sys.argv[2])
crate = json.load(open(folder + "/ro-crate-metadata.json", encoding="utf-8"))
assert crate["@context"] == ["https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/terms/workflow-run/context"]
graph = {}
for e in crate["@graph"]:
    assert e["@id"] not in graph, "twice: " + e["@id"]
    assert "@type" in e
    graph[e["@id"]] = e
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z")


def refer(value):
    """The entities that a value refers to; each must be in the graph."""
    values = value if isinstance(value, list) else [value]
    return [graph[v["@id"]] for v in values]


def of_type(name):
    return [e for e in graph.values() if e["@type"] == name]


# RO-Crate 1.1: the descriptor and the root
descriptor = graph["ro-crate-metadata.json"]
assert descriptor["@type"] == "CreativeWork" and descriptor["about"] == {"@id": "./"}
assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
root = graph["./"]
assert root["@type"] == "Dataset" and TIME.fullmatch(root["datePublished"])
assert root["name"] and root["description"] and root["license"]
# the profile: the root refers to it, and lists the actions
profile = refer(root["conformsTo"])[0]
assert profile["@type"] == "CreativeWork" and profile["@id"] == "https://w3id.org/ro/wfrun/process/0.5"
actions = of_type("CreateAction")
assert actions and sorted(a["@id"] for a in refer(root["mentions"])) == sorted(a["@id"] for a in actions)
for a in actions:
    tool, = refer(a["instrument"])
    agent, = refer(a["agent"])
    assert tool["@type"] == "SoftwareApplication" and tool["name"]
    assert agent["@type"] == "Person" and agent["name"]
    assert a["name"] and a["description"]
    assert TIME.fullmatch(a["startTime"]) and ("endTime" not in a or a["endTime"] >= a["startTime"])
    failed = a.get("actionStatus") == {"@id": "http://schema.org/FailedActionStatus"}
    assert failed == ("error" in a)
    for f in refer(a.get("result", [])):
        assert f["@type"] == "File" and f["@id"].startswith("file://")
# each file is part of the root; a relative id is a file of the folder
parts = [e["@id"] for e in refer(root["hasPart"])]
assert sorted(parts) == sorted(e["@id"] for e in of_type("File"))
for p in parts:
    assert ":" in p or os.path.isfile(folder + "/" + p), p
    assert re.fullmatch(r"[A-Za-z0-9:/._~%-]+", p), p
# this run: its root's status, its files
assert [a["error"] for a in actions if "agent.py" in a["description"]] == ["exit code %d" % code]
names = [f["name"] for a in actions for f in refer(a.get("result", []))]
assert "notes.txt" in names and "copy of 3.txt" in names, names
assert not any(f["name"] == "notes.txt" and "%20" in f["@id"] for f in of_type("File"))
assert any("copy%20of%203.txt" in p for p in parts)
