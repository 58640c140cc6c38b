# SPDX-License-Identifier: Apache-2.0
"""What lint.py and live.py share: the boards, the names of metrics, and what Grafana and its plugins make of a query."""
import glob
import json
import os
import re

SOURCE = os.path.realpath(os.environ.get("abs_srcdir", os.path.join(os.path.dirname(__file__), "../..")))
GRAFANA = os.path.join(SOURCE, "packaging/grafana")
RULES = os.path.join(SOURCE, "packaging/prometheus/skep.rules.yaml")
BUILT_IN = {"__rate_interval", "__range", "__from", "__to", "__interval_ms", "__interval_s", "__timeFilter", "__field",
            "__data", "__all"}


def boards():
    """{path below boards/: board}"""
    top = os.path.join(GRAFANA, "boards")
    return {os.path.relpath(p, top): json.load(open(p, encoding="utf-8")) for p in sorted(glob.glob(top + "/*/*.json"))}


def query_of(target):
    return target.get("expr") or target.get("rawSql") or target["rawQueryText"]


def variables_of(board):
    return {v["name"]: v for v in board["templating"]["list"]}


def query_of_variable(v):
    return v["query"]["query"] if isinstance(v["query"], dict) else v["query"]


def uses(text):
    """Names of the variables and macros in a query or URL."""
    return set(re.findall(r"\$\{?([A-Za-z_]+)", text))


def columns_named(panel):
    """Columns that a table's overrides and links name."""
    named = [o["matcher"]["options"] for o in panel["fieldConfig"]["overrides"]]
    return named, [p["value"] for o in panel["fieldConfig"]["overrides"] for p in o["properties"] if p["id"] == "links"]


# ---- what Grafana sends to a source -------------------------------------------------------------

def sqlstring(values):
    return ",".join("'" + v.replace("'", "''") + "'" for v in values)


def for_prometheus(text, values, seconds=300, rate="20s"):
    """values: {variable: list}. Several values become a regular expression, as Grafana writes one."""
    text = text.replace("$__rate_interval", rate).replace("$__range", "%ds" % seconds)
    for name, some in values.items():
        one = "(" + "|".join(re.sub(r"([\\^$.*+?()[\]{}|/])", r"\\\\\1", v) for v in some) + ")"
        text = text.replace("$" + name, one)
    return text


def for_sqlite(text, values, start, end, interval=10):
    text = text.replace("$__interval_ms", str(interval * 1000)).replace("$__from", str(start * 1000)).replace("$__to", str(end * 1000))
    for name, some in values.items():
        text = text.replace("${%s:sqlstring}" % name, sqlstring(some))
    return text


def for_clickhouse(text, values, start, end, interval=10):
    text = re.sub(r"\$__timeFilter\((\w+)\)", r"\1 >= toDateTime(%d) AND \1 <= toDateTime(%d)" % (start, end), text)
    text = text.replace("$__interval_s", str(interval))
    for name, some in values.items():
        text = text.replace("${%s:sqlstring}" % name, sqlstring(some))
    return text


# ---- names of metrics ---------------------------------------------------------------------------

UNITS = {"ns": ("seconds", "_ns"), "us": ("seconds", "_us"), "ms": ("seconds", "_ms"), "s": ("seconds", "_s"), "By": ("bytes", "_bytes"),
         "By/s": ("bytes_per_second", "_rate"), "J": ("joules", "_joules"), "W": ("watts", "_watts"), "Hz": ("hertz", "_hz"),
         "Cel": ("celsius", "_celsius"), "%": ("ratio", "_percent")}


def metrics_of_records():
    """Every name that the sinks prometheus and remote_write can give: the fields of docs/reference/records.md, by the rules of
    sinks/prometheus/README.md; a metric that two streams have also with the stream's name before it."""
    text = open(os.path.join(SOURCE, "docs/reference/records.md"), encoding="utf-8").read()
    table = open(os.path.join(SOURCE, "sinks/prometheus/stream_metrics.c"), encoding="utf-8").read()
    names = set(re.findall(r'\.count = "(skep_\w+)"', table))
    entries = re.findall(r"\{[^{}]*\.stream = \"([\w.]+)\"([^{}]*)\}", table)
    prefix = {stream: re.search(r'\.prefix = "(\w+)"', rest)[1] for stream, rest in entries if ".prefix" in rest}
    up_down = {stream for stream, rest in entries if "UP_DOWN" in rest}
    for section in re.split(r"^### ", text, flags=re.M)[1:]:
        stream = section.split("\n")[0]
        facet = "Facet:" in section
        for field, kind, unit, semantics in re.findall(r"^\| `([\w.]+)` \| (\w+) \| (?:`([^`]*)`)? ?\| (\w+) \|", section, re.M):
            if semantics not in ("gauge", "delta"):
                continue
            # A facet's fields are fields of process.exit: `io.read_bytes` of the stream `io`.
            before = "process" if facet else prefix.get(stream, stream)
            counter = semantics == "delta" and kind != "histogram" and stream not in up_down
            word, strip = UNITS.get(unit, ("", ""))
            for with_stream in (not re.match(r"(system|hw)\.", field), True):
                name, end = field, ""
                if strip and name.endswith(strip):
                    name = name[:-len(strip)]
                if not word and counter and name.endswith("_total"):
                    name = name[:-6]
                if not word and not counter and re.search(r"[._]count$", name):
                    name, end = name[:-5], "number"
                name = (before + "_" if with_stream else "") + name + end + ("_" + word if word else "") + ("_total" if counter else "")
                names.add("skep_" + re.sub(r"[^A-Za-z0-9]", "_", name))
    return names


def metrics_of_stats():
    """The names that `skep stats --prometheus` and the sink's own figures have."""
    text = open(os.path.join(SOURCE, "cli/stats_prometheus.c"), encoding="utf-8").read()
    own = open(os.path.join(SOURCE, "sinks/prometheus/prometheus.c"), encoding="utf-8").read()
    exporter = re.findall(r'"(skep_exporter_\w+)"', own)
    return set(re.findall(r'"(skep_\w+)"', text)) | set(exporter) | {e + "_total" for e in exporter}


def metrics_in(text):
    """Names in a PromQL expression; of a regular expression on names, each alternative."""
    found = set()
    for name in re.findall(r'(skep_(?:\(\w+\)\?)?\w+)', text):
        optional = re.match(r"skep_\((\w+)\)\?(\w+)", name)
        found |= {"skep_" + optional[2], "skep_" + optional[1] + optional[2]} if optional else {name}
    return found
