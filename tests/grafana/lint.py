#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Grafana's boards and provisioning without Grafana: boards.py has written the boards; uids, data sources, variables, units,
places and links fit together; each metric in a board or an alert is one that skep has. Needs no privilege."""
import glob
import os
import re
import subprocess
import sys

import grafana

try:
    import yaml
except ImportError:
    print("skip: no python3-yaml here")
    sys.exit(77)

# Ids of Grafana's units that boards use. Grafana takes an unknown one for a text after the number, so a slip is silent.
UNITS = {"short", "percentunit", "bytes", "Bps", "s", "cps", "watt", "joule", "celsius"}
KINDS = {"timeseries", "stat", "table", "bargauge"}
bad = []


def need(ok, where, words):
    if not ok:
        bad.append("%s: %s" % (where, words))


def sources():
    """{uid: type} of the provisioned data sources; checks these files."""
    found, folders = {}, {}
    for path in sorted(glob.glob(grafana.GRAFANA + "/provisioning/*/*.yaml")):
        name = os.path.relpath(path, grafana.GRAFANA)
        content = yaml.safe_load(open(path, encoding="utf-8"))
        need(content["apiVersion"] == 1, name, "apiVersion is not 1")
        for s in content.get("datasources", []):
            need(s["uid"] not in found, name, "uid %s is there twice" % s["uid"])
            need(s["access"] == "proxy", name, "access is not proxy")
            found[s["uid"]] = s["type"]
        for p in content.get("providers", []):
            folder = p["options"]["path"].replace("/usr/share/skep/grafana/", "")
            need(os.path.isdir(os.path.join(grafana.GRAFANA, folder)), name, "there is no folder %s" % folder)
            folders[folder] = name
    for folder in glob.glob(grafana.GRAFANA + "/boards/*"):
        need("boards/" + os.path.basename(folder) in folders, folder, "no provider has this folder")
    return found


def check_panel(where, p, variables, every_uid):
    need(p["type"] in KINDS, where, "unknown type %s" % p["type"])
    units = [p["fieldConfig"]["defaults"]["unit"]] + [x["value"] for o in p["fieldConfig"]["overrides"] for x in o["properties"]
                                                      if x["id"] == "unit"]
    need(set(units) <= UNITS, where, "unknown units %s" % (set(units) - UNITS))
    need(p["datasource"]["uid"] == "${source}", where, "the data source is no variable")
    refs = [t["refId"] for t in p["targets"]]
    need(len(set(refs)) == len(refs) > 0, where, "refId twice, or no query")
    steps = [s["value"] for s in p["fieldConfig"]["defaults"]["thresholds"]["steps"]]
    need(steps[0] is None and steps[1:] == sorted(steps[1:]), where, "thresholds do not ascend")
    for t in p["targets"]:
        unknown = grafana.uses(grafana.query_of(t)) - set(variables) - grafana.BUILT_IN
        need(not unknown, where, "no such variable: %s" % unknown)
    for link in [x["url"] for links in grafana.columns_named(p)[1] for x in links]:
        need(link.split("?")[0].replace("/d/", "") in every_uid, where, "the link %s leads to no board" % link)
        need(grafana.uses(link) - set(variables) <= grafana.BUILT_IN, where, "no such variable in %s" % link)


def overlap(a, b):
    a, b = a["gridPos"], b["gridPos"]
    return a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"] and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]


def check_board(path, b, provisioned, every_uid):
    need(os.path.basename(path) == b["uid"] + ".json" and re.fullmatch(r"[a-z-]{1,40}", b["uid"]), path, "the uid is not the name")
    need(b["schemaVersion"] == 39 and b["id"] is None, path, "schemaVersion or id")
    variables = grafana.variables_of(b)
    chosen = variables["source"]["current"]["value"]
    need(provisioned.get(chosen) == variables["source"]["query"], path, "no provisioned source %s of its type" % chosen)
    need(variables["source"]["query"] in {"prometheus": "prometheus", "clickhouse": "grafana-clickhouse-datasource",
                                          "sqlite": "frser-sqlite-datasource"}[path.split("/")[0]], path, "wrong folder")
    ids = [p["id"] for p in b["panels"]]
    need(len(set(ids)) == len(ids) and len({p["title"] for p in b["panels"]}) == len(ids), path, "an id or a title is there twice")
    for i, p in enumerate(b["panels"]):
        need(p["gridPos"]["x"] + p["gridPos"]["w"] <= 24, path, "%s: too wide" % p["title"])
        need(not any(overlap(p, q) for q in b["panels"][:i]), path, "%s: over another panel" % p["title"])
        check_panel("%s: %s" % (path, p["title"]), p, variables, every_uid)


def check_metrics(boards):
    known = grafana.metrics_of_records() | grafana.metrics_of_stats()
    texts = [("an alert", e) for e in re.findall(r"expr: (.*(?:\n {10}.*)*)", open(grafana.RULES, encoding="utf-8").read())]
    for path, b in boards.items():
        if path.startswith("prometheus/"):
            texts += [(path, grafana.query_of(t)) for p in b["panels"] for t in p["targets"]]
            texts += [(path, grafana.query_of_variable(v)) for v in b["templating"]["list"]]
    for where, text in texts:
        need(grafana.metrics_in(text) <= known, where, "skep has no metric %s" % (grafana.metrics_in(text) - known))
    return len(texts)


def main():
    made = subprocess.run([sys.executable, grafana.GRAFANA + "/boards.py", "--check"], capture_output=True, text=True)
    need(made.returncode == 0, "boards.py", made.stderr.strip())
    boards = grafana.boards()
    uids = [b["uid"] for b in boards.values()]
    need(len(set(uids)) == len(uids) == 8, "boards", "8 boards with a uid each are expected: %s" % uids)
    provisioned = sources()
    for path, b in boards.items():
        check_board(path, b, provisioned, uids)
    n = check_metrics(boards)
    for words in bad:
        print("not ok - " + words)
    print("lint.py: %d boards, %d panels, %d expressions of Prometheus: %d errors" % (
        len(boards), sum(len(b["panels"]) for b in boards.values()), n, len(bad)))
    return 1 if bad else 0


sys.exit(main())
