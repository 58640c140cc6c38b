#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tables.py [--write] INTERFACE.json DOCS: the generated tables of DOCS/reference/records.md, configuration.md and
findings.md.

Prints how the pages differ from the field tables and from the table of keys, and exits with 1 if they do. With --write it
puts the tables into the pages. Only the text behind a mark, up to the next heading, is generated; in records.md all of it.
A plugin that this build leaves out keeps its section.
"""
import difflib
import json
import os
import re
import sys
import textwrap

MARK = "<!-- make doc-tables: everything below is generated from the stream tables. -->\n"
KEYS_MARK = "<!-- make doc-tables: generated from core/config/config_table.c. -->\n"
FINDINGS_MARK = "<!-- make doc-tables: everything below is generated from the descriptors in analysis/. -->\n"
SAID = {"facet": "Facet: these fields become part of `process.exit`, each with the stream's name in front.",
        "cgroup": "Each record also has the cgroup's `container`.",
        "detail": "Only while [a detail](../guides/details.md) is attached.",
        "sample": "The spool may drop these records first when it is full."}
# A probe sends these to the core only, which makes other records of them.
INTERNAL = ("process", "ledger")


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def sentence(text):
    return text[:1].upper() + text[1:].rstrip(".") + "."


def table(stream, prefix=""):
    rows = [f"| `{prefix}{f['name']}` | {f['type']} | {f['unit'] and '`' + f['unit'] + '`'} | {f['semantics']} | {cell(f['help'])} |" for f in stream["fields"]]
    return ["| field | type | unit | kind | meaning |", "|---|---|---|---|---|"] + rows


def stream_section(s):
    notes = [SAID[s["role"]]] if s["role"] in SAID else []
    notes += [SAID["sample"]] if s["sample"] else []
    text = textwrap.fill(" ".join([sentence(s["help"] or s["name"])] + notes), 120, break_long_words=False, break_on_hyphens=False)
    return [f"### {s['name']}", "", text, ""] + table(s, s["name"] + "." if s["role"] == "facet" else "") + [""]


def sections(interface):
    """{heading: text}: one for the core, one for each plugin that sends records."""
    made = {"The core": sum([stream_section(s) for s in interface["core_streams"]], [])}
    for p in interface["plugins"]:
        streams = [s for s in p["streams"] if s["role"] not in INTERNAL]
        if streams:
            made["Probe " + p["name"]] = [sentence(p["summary"]), ""] + sum([stream_section(s) for s in streams], [])
    return {heading: "\n".join([f"## {heading}", ""] + lines) for heading, lines in made.items()}


def records(interface, text):
    made = sections(interface)
    head, mark, old = text.partition(MARK)
    if not mark:
        sys.exit(f"tables.py: records.md has no line {MARK!r}")
    kept = dict((part.split("\n", 1)[0], "## " + part.rstrip("\n") + "\n") for part in re.split(r"^## ", old, flags=re.M)[1:])
    all_ = {**kept, **{h: t.rstrip("\n") + "\n" for h, t in made.items()}}
    return head + MARK + "\n" + "\n".join(all_[h] for h in sorted(all_, key=lambda h: (h != "The core", h)))


def keys(table):
    lines = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for k in table:
        name = (k["section"] + "." if k["section"] not in (None, "sinks") else "") + k["name"]
        # The page names the packages' folder, for any prefix of this build.
        default = re.sub(r'"/[^"]*(/spool\.db)"', r'"/var/lib/skep\1"', k["default"] or "none")
        default = "required" if k["required"] else default if default == "none" or " " in default else f"`{default}`"
        bounds = "" if "min" not in k else f", {k['min']} to {k['max']}" if "max" in k else f", at least {k['min']}"
        lines.append(f"| `{name}`{' (sinks)' if k['section'] == 'sinks' else ''} | {k['type']}{bounds} | {default} | "
                     f"{cell(k['help'])}{'. Changes only with a restart' * k['restart']} |")
    return "\n".join(lines) + "\n"


def configuration(interface, text):
    parts = re.split(rf"({re.escape(KEYS_MARK)})(?:\n|\|.*\n)*", text)
    if parts.count(KEYS_MARK) != 2:
        sys.exit(f"tables.py: configuration.md has not two lines {KEYS_MARK!r}")
    return "".join([parts[0], KEYS_MARK, "\n", keys(interface["config"]), "\n", parts[2], KEYS_MARK, "\n", keys(interface["entry"]), "\n", parts[4]])


def thresholds(rows, prefix):
    lines = ["| threshold | default | unit | where it comes from |", "|---|--:|---|---|"]
    return lines + [f"| `{prefix}{t['name']}` | {t['value']:g} | {t['unit'] if t['unit'] != '1' else ''} | {cell(t['why'])} |" for t in rows]


def findings(interface, text):
    head, mark, _ = text.partition(FINDINGS_MARK)
    if not mark:
        sys.exit(f"tables.py: findings.md has no line {FINDINGS_MARK!r}")
    lines = ["## For all of them", ""] + thresholds(interface["findings"]["gates"], "")
    for k in interface["findings"]["kinds"] + interface["wastes"]["kinds"]:
        lines += ["", f"## {k['id']}", ""]
        said = [f"{sentence(k['title'])} Measures {k['measures']} ({k['source']}).", f"Not for {k['not_for']}.", f"Helps: {k['helps']}."]
        said += [f"Saves {k['saves']}."] if k["saves"] else []
        lines += [textwrap.fill(" ".join(said), 120, break_long_words=False, break_on_hyphens=False)]
        lines += [""] + thresholds(k["thresholds"], k["id"] + ".") if k["thresholds"] else []
    return head + FINDINGS_MARK + "\n" + "\n".join(lines) + "\n"


def main():
    write = sys.argv[1:2] == ["--write"]
    interface, docs = sys.argv[1 + write:]
    with open(interface, encoding="utf-8") as f:
        interface = json.load(f)
    bad = []
    for name, make in ("records.md", records), ("configuration.md", configuration), ("findings.md", findings):
        page = os.path.join(docs, "reference", name)
        with open(page, encoding="utf-8") as f:
            text = f.read()
        new = make(interface, text)
        if new != text and write:
            with open(page, "w", encoding="utf-8") as f:
                f.write(new)
        elif new != text:
            bad.append(name)
            sys.stdout.writelines(list(difflib.unified_diff(text.splitlines(True), new.splitlines(True), page, "the code", n=0))[:20])
    if bad:
        sys.exit(f"tables.py: the tables of {' and '.join(bad)} differ from the code; remedy: make doc-tables")


main()
