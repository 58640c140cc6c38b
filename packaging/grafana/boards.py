#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""boards.py [--check] - writes the Grafana boards in boards/SOURCE/*.json; this file is their source.

--check: writes nothing; exit status 1 and the names of the files that are not what this file says.

A board is a list of panels from left to right; a width is a part of 24 columns. Panels ask Prometheus in PromQL, or the
lake in SQL: there the boards of ClickHouse and of SQLite differ in the tables of sql_of() and in nothing else. Each
query runs in tests/grafana/live.py, and tests/grafana/lint.py knows the rules that a board must keep.
"""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = {  # name: (type of the data source, uid in provisioning/datasources)
    "prometheus": ("prometheus", "skep-prometheus"),
    "clickhouse": ("grafana-clickhouse-datasource", "skep-clickhouse"),
    "sqlite": ("frser-sqlite-datasource", "skep-sqlite"),
}
TIMES = ["time", "started", "ended"]  # columns that are moments, in seconds since 1970 where the source has no such type


# ---- panels -----------------------------------------------------------------------------------

def panel(kind, title, width, height, targets, unit="short", text="", **more):
    """more: options, and custom, overrides, thresholds, max of fieldConfig."""
    defaults = {"unit": unit, "custom": more.get("custom", {})}
    for key in ("max", "min", "mappings", "decimals", "noValue", "displayName"):
        if key in more:
            defaults[key] = more[key]
    steps = more.get("thresholds", [])
    defaults["thresholds"] = {"mode": "absolute", "steps": [{"color": "green", "value": None}] + [
        {"color": color, "value": value} for value, color in steps]}
    return {"type": kind, "title": title, "description": text, "gridPos": {"w": width, "h": height}, "targets": targets,
            "interval": more.get("interval"), "options": more.get("options", {}),
            "fieldConfig": {"defaults": defaults, "overrides": more.get("overrides", [])}}


def lines(title, unit, targets, width=12, height=8, stack=False, text="", bars=False, **more):
    custom = {"fillOpacity": 25 if stack else 8, "lineWidth": 1, "showPoints": "never",
              "stacking": {"mode": "normal" if stack else "none"}, "spanNulls": False}
    if bars:
        custom.update({"drawStyle": "bars", "fillOpacity": 70})
    options = {"legend": {"displayMode": "table", "placement": "right", "calcs": ["mean", "max"]},
               "tooltip": {"mode": "multi", "sort": "desc"}}
    return panel("timeseries", title, width, height, targets, unit, text, custom=custom, options=options, **more)


def stat(title, unit, targets, width=4, height=4, text="", **more):
    options = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": more.pop("fields", ""), "values": False}, "graphMode": "none",
               "colorMode": "value", "textMode": "auto", "wideLayout": True}
    return panel("stat", title, width, height, targets, unit, text, options=options, **more)


def table(title, targets, units=None, width=24, height=9, text="", links=None, hide=(), **more):
    """units: of columns, also of columns that this table has not; links: of columns, to a URL."""
    query = targets[0].get("rawSql") or targets[0]["rawQueryText"]
    units = {name: unit for name, unit in (units or {}).items() if re.search(r" AS %s\b" % name, query)}
    overrides = []
    for name in {**units, **(links or {}), **dict.fromkeys(hide)}:
        properties = []
        if name in units:
            properties.append({"id": "unit", "value": units[name]})
        if name in (links or {}):
            properties.append({"id": "links", "value": [{"title": "open", "url": links[name]}]})
        if name in hide:
            properties.append({"id": "custom.hidden", "value": True})
        overrides.append({"matcher": {"id": "byName", "options": name}, "properties": properties})
    return panel("table", title, width, height, targets, "short", text, overrides=overrides,
                 custom={"align": "auto", "filterable": True}, options={"cellHeight": "sm", "showHeader": True}, **more)


def prom(exprs, instant=False, form="time_series"):
    """exprs: {legend: PromQL}; {{label}} in a legend is a label of the answer."""
    return [{"refId": "ABCDEFGHIJKL"[i], "expr": " ".join(expr.split()), "legendFormat": legend, "range": not instant,
             "instant": instant, "format": form, "editorMode": "code"} for i, (legend, expr) in enumerate(exprs.items())]


def layout(panels, source):
    """Gives ids, places from left to right, and the data source."""
    kind = SOURCES[source][0]
    x = y = row = 0
    for number, p in enumerate(panels, 1):
        place = p["gridPos"]
        if x + place["w"] > 24:
            x, y, row = 0, y + row, 0
        place.update({"x": x, "y": y})
        x, row = x + place["w"], max(row, place["h"])
        p["id"] = number
        p["datasource"] = {"type": kind, "uid": "${source}"}
        for target in p["targets"]:
            target["datasource"] = p["datasource"]
    return panels


def variable(name, label, query, source, **more):
    """A template variable that a query of the board's source fills."""
    v = {"type": "query", "name": name, "label": label, "query": query, "definition": query, "refresh": 2, "sort": 1,
         "datasource": {"type": SOURCES[source][0], "uid": "${source}"}, "includeAll": False, "multi": False, "hide": 0}
    if source == "prometheus":
        v["query"] = {"query": query, "refId": "variable"}
    v.update(more)
    return v


def board(uid, title, source, text, panels, variables, since="now-6h", tags=()):
    kind, source_uid = SOURCES[source]
    source_of_board = {"type": "datasource", "name": "source", "label": "Data source", "query": kind, "regex": "", "hide": 0,
                       "refresh": 1, "current": {"selected": True, "text": source_uid, "value": source_uid}}
    return {
        "uid": uid, "title": title, "description": text, "tags": ["skep", *tags], "schemaVersion": 39, "version": 1,
        "editable": True, "graphTooltip": 1, "timezone": "browser", "refresh": "30s", "id": None,
        "time": {"from": since, "to": "now"}, "timepicker": {}, "annotations": {"list": []}, "fiscalYearStartMonth": 0,
        "links": [{"type": "dashboards", "title": "skep", "tags": ["skep"], "asDropdown": True, "keepTime": True,
                   "includeVars": False, "icon": "external link", "targetBlank": False, "tooltip": "", "url": ""}],
        "templating": {"list": [source_of_board, *variables]},
        "panels": layout(panels, source),
    }


# ---- Prometheus: the metrics of the sinks prometheus and remote_write ---------------------------

ALL = {"includeAll": True, "multi": True, "allValue": ".*", "current": {"selected": True, "text": "All", "value": "$__all"}}


def hosts(metric):
    return variable("host", "Host", "label_values(%s, host)" % metric, "prometheus", **ALL)


CPU_MODES = ("user", "nice", "system", "iowait", "interrupt", "softirq", "steal")


def host():
    idle = 'sum by (host) (rate(skep_system_cpu_time_idle_seconds_total{cpu="all", host=~"$host"}[$__rate_interval]))'
    cpus = 'max by (host) (skep_system_cpu_logical_number{host=~"$host"})'
    busy = f"1 - ({idle} or 0 * {cpus}) / {cpus}"  # a machine that was never idle has no series of idle time
    part = [(0.8, "yellow"), (0.95, "red")]
    return board("skep-host", "skep: hosts", "prometheus", "What the machines do, and which tools do it.", [
        stat("CPUs busy", "percentunit", prom({"{{host}}": busy}),
             6, thresholds=part, text="Share of the CPU time that was not idle."),
        stat("Memory in use", "percentunit", prom({"{{host}}":
             'skep_system_memory_usage_used_bytes{host=~"$host"} / skep_system_memory_limit_bytes{host=~"$host"}'}),
             6, thresholds=part, text="What new programs cannot have, as a share of the memory."),
        stat("Threads that wait for storage", "short", prom({"{{host}}": 'skep_system_thread_count_blocked{host=~"$host"}'}),
             6, thresholds=[(1, "yellow")], noValue="0"),
        stat("Killed for memory, in this range", "short", prom({"{{host}}":
             'max_over_time(skep_system_memory_linux_oom_kills_total{host=~"$host"}[$__range])'}, instant=True),
             6, thresholds=[(1, "red")], noValue="0", text="Since skepd began, as far as it began in this range."),
        lines("CPU time by mode", "short", prom({m: "sum(rate(skep_system_cpu_time_%s_seconds_total{cpu=\"all\", host=~\"$host\"}"
              "[$__rate_interval]))" % m for m in CPU_MODES}), stack=True,
              text="In CPUs: two CPUs that are busy all the time are 2."),
        lines("CPU time by tool", "short", prom({"{{tool}}":
              'topk(10, sum by (tool) (rate(skep_tool_cpu_seconds_total{host=~"$host"}[$__rate_interval])))'}), stack=True,
              text="Live processes, the ten tools that use most. No name: a program that began before skepd."),
        lines("Memory", "bytes", prom({
            "programs": 'sum(skep_system_memory_usage_used_bytes{host=~"$host"})',
            "cache": 'sum(skep_system_memory_usage_cached_bytes{host=~"$host"})',
            "free": 'sum(skep_system_memory_usage_free_bytes{host=~"$host"})'}), stack=True),
        lines("Waits (pressure)", "percentunit", prom({"{{resource}}":
              'avg by (resource) (rate(skep_host_pressure_some_seconds_total{host=~"$host"}[$__rate_interval]))'}),
              text="Share of the time in which some task waited for the resource."),
        lines("Disks", "Bps", prom({
            "{{device}} read": 'sum by (device) (rate(skep_system_disk_io_read_bytes_total{host=~"$host"}[$__rate_interval]))',
            "{{device}} written": 'sum by (device) (rate(skep_system_disk_io_write_bytes_total{host=~"$host"}[$__rate_interval]))'}),
              text="By device. A device on others (dm, md, loop) counts their bytes again."),
        lines("Network", "Bps", prom({
            "{{interface}} received":
                'sum by (interface) (rate(skep_system_network_io_receive_bytes_total{host=~"$host"}[$__rate_interval]))',
            "{{interface}} sent":
                'sum by (interface) (rate(skep_system_network_io_transmit_bytes_total{host=~"$host"}[$__rate_interval]))'})),
        panel("bargauge", "File systems", 12, 8, prom({"{{host}} {{mountpoint}}":
              'topk(12, max by (host, mountpoint) (skep_system_filesystem_usage_used_bytes{host=~"$host"} / '
              'skep_system_filesystem_limit_bytes{host=~"$host"}))'}, instant=True), "percentunit", "The twelve fullest.",
              min=0, max=1, thresholds=part,
              options={"orientation": "horizontal", "displayMode": "basic",
                       "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}}),
        lines("Where CPU time went (ledger)", "percentunit", prom({"{{item}}":
              'sum by (item) (deriv(skep_ledger_amount{account="cpu", kind=~"part|unattributed", host=~"$host"}[$__rate_interval]))'
              ' / ignoring (item) group_left sum (deriv(skep_ledger_amount{account="cpu", kind="reference", host=~"$host"}'
              '[$__rate_interval]))'}), stack=True,
              text="CPUs x time = processes + kernel threads + interrupts + idle + time that no counter explains (unattributed)."),
    ], [hosts("skep_system_uptime_seconds")], tags=["host"])


def tools():
    top = 'topk(10, sum by (tool) (%s))'
    live = '{host=~"$host", tool=~"$tool"}'
    rate = 'rate(skep_tool_%s' + live + '[$__rate_interval])'
    ended = 'rate(skep_process_%s' + live + '[$__rate_interval])'
    return board("skep-tools", "skep: tools", "prometheus", "What the tools (bwa, cc1, train.py) of the hosts use.", [
        lines("CPU time", "short", prom({"{{tool}}": top % rate % "cpu_seconds_total"}), stack=True),
        lines("Resident memory", "bytes", prom({"{{tool}}": top % ("skep_tool_rss_bytes" + live)}), stack=True,
              text="Of live processes. Pages that processes share count in each of them."),
        lines("Waiting for a CPU", "short", prom({"{{tool}}": top % rate % "run_delay_seconds_total"}),
              text="Threads that were ready to run and had no CPU."),
        lines("Storage", "Bps", prom({"{{tool}} read": top % rate % "read_bytes_total",
                                      "{{tool}} written": top % rate % "write_bytes_total"})),
        lines("Programs begun", "cps", prom({"{{tool}}": top % rate % "started_total"})),
        lines("Processes", "short", prom({"{{tool}}": top % ("skep_tool_processes" + live)})),
        lines("Network, of ended processes", "Bps", prom({
            "{{tool}} received": top % ended % "net_rx_bytes_total", "{{tool}} sent": top % ended % "net_tx_bytes_total"}),
              text="Counted when a process ends. Loopback is included."),
        lines("CPU time by pipeline, of ended processes", "short", prom({"{{pipeline}}":
              'topk(10, sum by (pipeline) (rate(skep_process_cpu_seconds_total{pipeline!="", host=~"$host", tool=~"$tool"}'
              '[$__rate_interval])))'}), stack=True),
    ], [hosts("skep_tool_processes"),
        variable("tool", "Tool", 'label_values(skep_tool_processes{host=~"$host"}, tool)', "prometheus", **ALL)], tags=["tools"])


def gpu():
    of = '{host=~"$host", device!=""}'
    name = "{{host}} {{model}} {{device}}"

    def either(metric, labels=of):
        """The sink puts the stream's name before a metric that another stream had first: sensors have these, too."""
        return '{__name__=~"skep_(gpu_device_)?%s", %s' % (metric, labels[1:])
    held = "increase(skep_gpu_device_idle_held_seconds_total" + of + "[$__range])"
    return board("skep-gpu", "skep: GPUs", "prometheus", "What GPUs do, who holds them, and whether that is a waste.", [
        stat("Devices", "short", prom({"devices": "count(skep_hw_gpu_utilization" + of + ")"}), 4),
        stat("Mean use", "percentunit", prom({"use": "avg(skep_hw_gpu_utilization" + of + ")"}), 5,
             thresholds=[], text="Share of the time in which a kernel ran, however few units it used."),
        stat("Held and idle, in this range", "s", prom({"idle": f"sum({held})"}, instant=True), 5,
             thresholds=[(1800, "yellow"), (7200, "red")], text="A process held the device, and no kernel ran."),
        stat("Power of all devices", "watt", prom({"power": "sum(skep_hw_power_watts" + of + ")"}), 5),
        stat("Errors, in this range", "short", prom({"errors":
             'sum(max_over_time(skep_gpu_events_total{host=~"$host"}[$__range]))'}, instant=True), 5,
             thresholds=[(1, "red")], noValue="0", text="Xid errors and memory errors."),
        lines("Use", "percentunit", prom({name: "skep_hw_gpu_utilization" + of}), max=1, min=0),
        lines("Memory", "percentunit", prom({name: "skep_hw_gpu_memory_usage_bytes" + of + " / skep_hw_gpu_memory_limit_bytes" + of}),
              max=1, min=0),
        lines("Held and idle", "percentunit", prom({name: "rate(skep_gpu_device_idle_held_seconds_total" + of + "[$__rate_interval])"}),
              max=1, min=0, text="1: a process holds the device all the time, and no kernel runs."),
        lines("Power", "watt", prom({name: "skep_hw_power_watts" + of})),
        lines("Clocks held down", "percentunit", prom({
            name + ": power": "rate(skep_gpu_device_throttled_power_seconds_total" + of + "[$__rate_interval])",
            name + ": heat": "rate(skep_gpu_device_throttled_thermal_seconds_total" + of + "[$__rate_interval])"}), max=1, min=0),
        lines("Temperature", "celsius", prom({name: either("hw_temperature_celsius")})),
        lines("GPU time by tool, of ended processes", "short", prom({"{{tool}}":
              'topk(10, sum by (tool) (rate(skep_process_gpu_busy_seconds_total{host=~"$host"}[$__rate_interval])))'}), stack=True,
              text="In devices: 2 are two devices that are busy all the time. Counted when a process ends."),
        lines("Energy", "joule", prom({name: "increase(" + either("hw_energy_joules_total") + "[$__rate_interval])"}), bars=True),
    ], [hosts("skep_hw_gpu_utilization")], tags=["gpu"])


def skepd():
    at = '{instance=~"$instance"}'
    return board("skep-skepd", "skep: skepd itself", "prometheus",
                 "Sinks, lag, losses and rules of skepd: `skep stats --prometheus` by node_exporter, and the sink prometheus.", [
        stat("skepd", "short", prom({"{{instance}} {{version}}": "skep_build_info" + at}, instant=True), 6,
             text="A host that is missing here has no skepd, or no job runs skep stats there."),
        stat("Plugins that do not work", "short", prom({"plugins": f"count(skep_plugin_up{at} == 0) or vector(0)"}), 4,
             thresholds=[(1, "red")]),
        stat("Records lost", "short", prom({"lost": f"sum(skep_lost_total{at})"}), 4, thresholds=[(1, "red")],
             text="Since skepd began."),
        stat("Spool can be written", "short", prom({"{{instance}}": f"min by (instance) (skep_spool_writable{at})"}), 5,
             mappings=[{"type": "value", "options": {"0": {"text": "no", "color": "red"}, "1": {"text": "yes", "color": "green"}}}],
             noValue="no spool"),
        stat("Last reload", "short", prom({"{{instance}}": f"min by (instance) (skep_reload_last_ok{at})"}), 5,
             mappings=[{"type": "value", "options": {"0": {"text": "failed", "color": "red"}, "1": {"text": "ok", "color": "green"}}}],
             noValue="none yet"),
        lines("Records that a sink has not acknowledged (lag)", "short", prom({"{{instance}} {{sink}}": "skep_sink_lag_records" + at})),
        lines("Sent", "Bps", prom({"{{instance}} {{sink}}": f"rate(skep_sink_sent_bytes_total{at}[$__rate_interval])"})),
        lines("Records delivered", "cps", prom({"{{stream}}":
              f"topk(10, sum by (stream) (rate(skep_records_delivered_total{at}[$__rate_interval])))"}), stack=True),
        lines("Records lost, by place", "cps", prom({"{{where}}": f"sum by (where) (rate(skep_lost_total{at}[$__rate_interval]))"}),
              text="kernel: a ring was full. queue, spool: a bound was met. sink: a receiver refused for good."),
        lines("Verdicts by rule", "cps", prom({"{{rule}} ({{by}})":
              f"sum by (rule, by) (rate(skep_rule_hits_total{at}[$__rate_interval]))"}), text="No name: the default verdict."),
        lines("Time in plugins", "percentunit", prom({"{{instance_name}}":
              f"sum by (instance_name) (rate(skep_plugin_busy_seconds_total{at}[$__rate_interval]))"}),
              text="Of one CPU, in callbacks."),
        lines("CPU time of skepd", "percentunit", prom({"{{instance}}": f"rate(skep_cpu_seconds_total{at}[$__rate_interval])"}), 8,
              text="Of one CPU."),
        lines("Memory of skepd", "bytes", prom({"{{instance}}": "skep_resident_memory_bytes" + at}), 8),
        lines("Series of the sink prometheus", "short", prom({"{{host}}": "skep_exporter_series"}), 8,
              text="Over max_series the sink adds up what finds no room in one series for each metric."),
    ], [variable("instance", "Instance", "label_values(skep_build_info, instance)", "prometheus", **ALL)], tags=["skepd"])


# ---- the lake: ClickHouse, SQLite --------------------------------------------------------------

# Words in braces of a query below. A time is in seconds since 1970 and an amount of time in seconds as a float,
# because the
# plugin for SQLite takes a column's type from its first row. {runs}: the ids of the chosen runs.
WORDS = {
    "sqlite": {
        "time": "start_ns BETWEEN $__from * 1000000 AND $__to * 1000000",
        "bucket": "start_ns / 1000000 / $__interval_ms * $__interval_ms / 1000",
        "moment": "%s / 1000000000",
        "ms": "%s / 1000000",
        "runs": "SELECT run FROM run WHERE {where}",
        "RUNS": """(SELECT r.run, r.name, r.pipeline, r.host, r.start_ns,
            CASE WHEN r.end_ns > 0 THEN r.end_ns ELSE strftime('%s') * 1000000000 END AS until_ns,
            coalesce(r.exit_code > 0 OR r.signal > 0, 0) AS is_failed, coalesce(r.end_ns, 0) = 0 AS is_live,
            coalesce(s.cpu_ns, 0) / 1e9 AS cpu_s, coalesce(s.processes, 0) AS n_processes,
            coalesce(s.failures, 0) AS n_failures, max(coalesce(r.memory_peak_bytes, 0), coalesce(s.rss_max_bytes, 0)) AS peak,
            coalesce(r.lost_kernel + r.lost_queue + r.lost_spool + r.lost_sink, 0) AS n_lost
            FROM run r LEFT JOIN rollup_run s ON s.run = r.id WHERE r.run IN ({runs})) AS q""",
        "TOOLS": """(SELECT d.s AS tool, p.calls, p.failures, p.cpu_ns, p.wall_ns, p.run_delay_ns, p.read_bytes, p.write_bytes,
            p.rss_max_bytes FROM rollup_run_tool p JOIN run r ON r.id = p.run JOIN dict d ON d.id = p.tool
            WHERE r.run IN ({runs})) AS q""",
        "TASKS": "(SELECT t.* FROM task t JOIN run r ON r.id = t.run WHERE r.run IN ({runs})) AS q",
        "SAMPLES": """(SELECT d.s AS tool, p.start_ns, p.interval_ns, p.cpu_ns, p.rss_bytes, p.read_bytes, p.write_bytes
            FROM sample p JOIN run r ON r.id = p.run JOIN dict d ON d.id = p.tool WHERE r.run IN ({runs})) AS q""",
        "PROCESSES": """(SELECT d.s AS tool, replace(CAST(p.argv AS TEXT), char(0), ' ') AS command, p.start_ns, p.end_ns,
            p.exit_code, p.signal, p.cpu_ns, p.rss_peak_bytes FROM proc p JOIN run r ON r.id = p.run
            JOIN dict d ON d.id = p.tool WHERE r.run IN ({runs})) AS q""",
    },
    "clickhouse": {
        "time": "$__timeFilter(start)",
        "bucket": "toDateTime(intDiv(intDiv(start_ns, 1000000000), $__interval_s) * $__interval_s)",
        "moment": "toDateTime(intDiv(%s, 1000000000))",
        "ms": "intDiv(%s, 1000000)",
        "runs": "SELECT run FROM run FINAL WHERE {where}",
        "RUNS": """(SELECT run, name, pipeline, host, start_ns,
            CASE WHEN end_ns > 0 THEN end_ns ELSE toUInt64(toUInt32(now())) * 1000000000 END AS until_ns,
            exit_code > 0 OR signal > 0 AS is_failed, end_ns = 0 AS is_live, sum_cpu / 1e9 AS cpu_s, n_processes, n_failures,
            greatest(memory_peak_bytes, max_rss) AS peak, lost_kernel + lost_queue + lost_spool + lost_sink AS n_lost
            FROM (SELECT * FROM run FINAL WHERE {where}) AS r ANY LEFT JOIN (SELECT run, boot_id, sum(cpu_ns) AS sum_cpu,
            sum(last) AS n_processes, max(rss_peak_bytes) AS max_rss, countIf(exit_code > 0 OR signal > 0) AS n_failures
            FROM proc FINAL WHERE run IN ({runs}) GROUP BY run, boot_id) AS s USING (run, boot_id)) AS q""",
        "TOOLS": "(SELECT * FROM rollup_run_tool WHERE run IN ({runs})) AS q",
        "TASKS": "(SELECT * FROM task FINAL WHERE run IN ({runs})) AS q",
        "SAMPLES": "(SELECT * FROM sample FINAL WHERE run IN ({runs})) AS q",
        "PROCESSES": """(SELECT tool, arrayStringConcat(argv, ' ') AS command, start_ns, end_ns, exit_code, signal, cpu_ns,
            rss_peak_bytes FROM proc FINAL WHERE run IN ({runs})) AS q""",
    },
}
SUFFIX = {"clickhouse": "", "sqlite": " (this host)"}
STATE = "CASE WHEN is_live THEN 'running' WHEN is_failed THEN 'failed' ELSE 'ok' END"


def asker(source, where):
    """A function that makes the target of a query about the runs for which where holds."""
    def word(match):
        if match[1] == "where":
            return fill(where)
        text = WORDS[source][match[1]]
        return text % match[2] if match[2] else fill(text)

    def fill(text):
        return re.sub(r"(?<!\$)\{(\w+)(?::(\w+))?\}", word, text)

    def ask(text, series=False):
        text = " ".join(fill(text).split())
        if source == "clickhouse":
            return [{"refId": "A", "rawSql": text, "editorType": "sql", "queryType": "timeseries" if series else "table",
                     "format": 0 if series else 1, "pluginVersion": "4.0.0"}]
        return [{"refId": "A", "rawQueryText": text, "queryText": text, "queryType": "time series" if series else "table",
                 "timeColumns": TIMES}]
    return ask


def pipelines(source):
    # A session, and a job of an interactive shell, is no pipeline.
    ask = asker(source, "{time} AND pipeline IN (${pipeline:sqlstring}) AND origin NOT IN ('session', 'shell')")
    units = {"mean": "s", "longest": "s", "wall": "s", "cpu": "s", "waited": "s", "memory": "bytes", "asked": "bytes",
             "used": "bytes"}
    url = ("/d/skep-run-%s?var-run=${__data.fields.run}&from=${__data.fields.from_ms}&to=${__data.fields.to_ms}"
           "&${source:queryparam}") % source
    return board("skep-pipelines-" + source, "skep: pipelines" + SUFFIX[source], source,
                 "What runs again and again: how often, how long, at which cost, and what failed.", [
        stat("Number of runs", "short", ask("SELECT count(*) AS runs FROM {RUNS}"), 5),
        stat("Failed", "short", ask("SELECT sum(is_failed) AS failed FROM {RUNS}"), 5, thresholds=[(1, "red")], noValue="0"),
        stat("Running", "short", ask("SELECT sum(is_live) AS running FROM {RUNS}"), 5, noValue="0"),
        stat("CPU time", "s", ask("SELECT sum(cpu_s) AS cpu FROM {RUNS}"), 5, noValue="0"),
        stat("Largest memory", "bytes", ask("SELECT max(peak) AS memory FROM {RUNS}"), text="Of one run."),
        lines("Runs begun", "short", ask("SELECT {bucket} AS time, sum(1 - is_failed) AS ok, sum(is_failed) AS failed FROM {RUNS} "
              "GROUP BY time ORDER BY time", True), stack=True, bars=True, interval="5m"),
        lines("CPU time, by begin of the run", "s", ask("SELECT {bucket} AS time, pipeline, sum(cpu_s) AS cpu FROM {RUNS} "
              "GROUP BY time, pipeline ORDER BY time", True), stack=True, bars=True, interval="5m",
              displayName="${__field.labels.pipeline}"),
        table("Pipelines", ask("""SELECT pipeline, count(*) AS runs, sum(is_failed) AS failed,
              avg((until_ns - start_ns) / 1e9) AS mean, max((until_ns - start_ns) / 1e9) AS longest, sum(cpu_s) AS cpu,
              max(peak) AS memory FROM {RUNS} GROUP BY pipeline ORDER BY cpu DESC LIMIT 100"""), units, 12),
        table("Tasks that ask for memory that they do not use", ask("""SELECT task, count(*) AS executions,
              max(rss_peak_bytes) AS used, max(requested_memory_bytes) AS asked FROM {TASKS} WHERE requested_memory_bytes > 0
              AND end_ns > 0 GROUP BY task HAVING used < 0.7 * asked ORDER BY (asked - used) * executions DESC LIMIT 50"""),
              units, 12, text="used: the largest process of an execution. `skep tune` says what to ask for."),
        table("Tools that failed", ask("""SELECT tool, sum(calls) AS executions, sum(failures) AS failed, sum(cpu_ns) / 1e9 AS cpu
              FROM {TOOLS} GROUP BY tool HAVING failed > 0 ORDER BY failed DESC LIMIT 50"""), units, 12,
              text="Exit codes other than 0, and signals. Some programs exit with 1 and mean no failure (grep, test)."),
        table("Tools that wait for a CPU", ask("""SELECT tool, sum(cpu_ns) / 1e9 AS cpu, sum(run_delay_ns) / 1e9 AS waited
              FROM {TOOLS} GROUP BY tool HAVING cpu > 0 ORDER BY waited DESC LIMIT 50"""), units, 12),
        table("Runs", ask("SELECT {moment:start_ns} AS started, run, name, pipeline, host, " + STATE + """ AS state,
              (until_ns - start_ns) / 1e9 AS wall, cpu_s AS cpu, peak AS memory, n_processes AS processes, {ms:start_ns} AS from_ms,
              {ms:until_ns} AS to_ms FROM {RUNS} ORDER BY start_ns DESC LIMIT 200"""), units, links={"run": url},
              hide=("from_ms", "to_ms"), text="A click on a run opens it."),
    ], [variable("pipeline", "Pipeline", "SELECT DISTINCT pipeline FROM run WHERE pipeline != '' ORDER BY pipeline", source,
                 includeAll=True, multi=True, current=ALL["current"])], since="now-7d", tags=["lake"])


def run(source):
    ask = asker(source, "run = ${run:sqlstring}")
    units = {"wall": "s", "cpu": "s", "waited": "s", "memory": "bytes", "read": "bytes", "written": "bytes", "asked": "bytes",
             "granted": "bytes"}
    of_run = "SELECT %s FROM {RUNS}"

    def by_tool(title, unit, value, text=""):
        """A series for each of the ten tools that used most CPU time."""
        return lines(title, unit, ask("SELECT {bucket} AS time, tool, " + value + """ AS value FROM {SAMPLES} WHERE tool IN (SELECT
            tool FROM (SELECT tool, sum(cpu_ns) AS most FROM {SAMPLES} GROUP BY tool ORDER BY most DESC LIMIT 10) AS ten)
            GROUP BY time, tool ORDER BY time""", True), 8, stack=True, interval="10s", text=text,
            displayName="${__field.labels.tool}")
    return board("skep-run-" + source, "skep: run" + SUFFIX[source], source, "One run: its tasks, its tools, what failed.", [
        stat("State", "short", ask(of_run % (STATE + " AS state")), 3, mappings=[{"type": "value", "options": {
            "failed": {"color": "red"}, "ok": {"color": "green"}, "running": {"color": "blue"}}}], fields="/.*/"),
        stat("Time", "s", ask(of_run % "(until_ns - start_ns) / 1e9 AS wall"), 3),
        stat("CPU time", "s", ask(of_run % "cpu_s AS cpu"), 3),
        stat("Mean of busy CPUs", "short", ask(of_run % "cpu_s / ((until_ns - start_ns) / 1e9 + 1e-9) AS cores"), 3, decimals=2),
        stat("Largest memory", "bytes", ask(of_run % "peak AS memory"), 3),
        stat("Processes", "short", ask(of_run % "n_processes AS processes"), 3),
        stat("Failed processes", "short", ask(of_run % "n_failures AS failed"), 3, thresholds=[(1, "orange")]),
        stat("Lost records", "short", ask(of_run % "n_lost AS lost"), 3, thresholds=[(1, "red")],
             text="With a lost record, figures here are too small."),
        by_tool("Busy CPUs", "short", "sum(cpu_ns) / (max(interval_ns) + 0.0)", "Of one interval, the largest tools."),
        by_tool("Memory", "bytes", "max(rss_bytes) * 1.0"),
        by_tool("Storage, read and written", "Bps", "sum(read_bytes + write_bytes) * 1e9 / max(interval_ns)"),
        table("Tasks", ask("""SELECT task, sample, {moment:start_ns} AS started, (end_ns - start_ns) / 1e9 AS wall,
              cpu_ns / 1e9 AS cpu, cpu_ns / (end_ns - start_ns + 0.5) AS cores, rss_peak_bytes AS memory,
              requested_cpus AS asked_cpus, requested_memory_bytes AS asked, granted_cpus, granted_memory_bytes AS granted,
              attempt, exit_code, signal FROM {TASKS} WHERE end_ns > 0 ORDER BY start_ns LIMIT 1000"""), units,
              text="asked: what the engine requested. granted: what its job got, or its cgroup's limits. 0: not known."),
        table("Tools", ask("""SELECT tool, sum(calls) AS executions, sum(failures) AS failed, sum(cpu_ns) / 1e9 AS cpu,
              sum(wall_ns) / 1e9 AS wall, sum(run_delay_ns) / 1e9 AS waited, max(rss_max_bytes) AS memory,
              sum(read_bytes) AS read, sum(write_bytes) AS written FROM {TOOLS} GROUP BY tool ORDER BY cpu DESC LIMIT 100"""),
              units, text="wall, waited: sums over processes that ran beside each other. memory: of the largest process."),
        table("Processes that failed", ask("""SELECT {moment:end_ns} AS ended, tool, exit_code, signal,
              (end_ns - start_ns) / 1e9 AS wall, command FROM {PROCESSES} WHERE exit_code > 0 OR signal > 0
              ORDER BY end_ns DESC LIMIT 200"""), units, 12),
        table("Longest processes", ask("""SELECT tool, (end_ns - start_ns) / 1e9 AS wall, cpu_ns / 1e9 AS cpu,
              rss_peak_bytes AS memory, command FROM {PROCESSES} WHERE end_ns > start_ns ORDER BY wall DESC LIMIT 100"""),
              units, 12),
    ], [variable("run", "Run", "SELECT run FROM run WHERE origin NOT IN ('session', 'shell') ORDER BY start_ns DESC LIMIT 500",
                 source, sort=0)], since="now-7d", tags=["lake"])


def boards():
    """{path: board}"""
    every = {"prometheus": [host(), tools(), gpu(), skepd()]}
    for source in ("clickhouse", "sqlite"):
        every[source] = [pipelines(source), run(source)]
    return {os.path.join("boards", source, b["uid"] + ".json"): b for source, some in every.items() for b in some}


def written(content):
    """JSON with a line for each panel, so that a changed panel is one changed line."""
    panels = ",\n  ".join(json.dumps(p, ensure_ascii=False) for p in content["panels"])
    rest = ",\n ".join(json.dumps(k) + ": " + json.dumps(v, ensure_ascii=False) for k, v in content.items() if k != "panels")
    return '{\n %s,\n "panels": [\n  %s\n ]\n}\n' % (rest, panels)


def main():
    stale = []
    for path, content in boards().items():
        text = written(content)
        path = os.path.join(HERE, path)
        old = open(path, encoding="utf-8").read() if os.path.exists(path) else None
        if old == text:
            continue
        if sys.argv[1:] == ["--check"]:
            stale.append(path)
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
    if stale:
        sys.exit("boards.py: not current: %s; remedy: run packaging/grafana/boards.py and commit its output" % " ".join(stale))


if __name__ == "__main__":
    main()
