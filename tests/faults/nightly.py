#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nightly.py FILE [FILE...] - the rows that nightly.sh has written, as a table.

    nightly.py --docs FILE PAGE    puts them between the marks of PAGE (docs/inside/faults.md), as tables of Markdown
    nightly.py --check PAGE        is a row there that says no?  Exit status 1 then
"""
import json
import sys

COLUMNS = (("fault", "fault"), ("receiver", "receiver"), ("sent", "sent"), ("received", "received"), ("missing", "missing"), ("twice", "twice"),
           ("other_late_s", "other sink late"), ("rss_growth_mib", "memory"), ("counters", "counters"), ("seconds", "time"))
UNITS = {"other_late_s": " s", "rss_growth_mib": " MiB", "seconds": " s"}
BEGIN, END = "<!-- of %s: begin, made by tests/faults/nightly.py -->", "<!-- of %s: end -->"


def read(paths):
    """The newest row of each fault and receiver, and of each script."""
    rows, scripts = {}, {}
    for path in paths:
        for line in open(path):
            r = json.loads(line)
            if "script" in r:
                scripts[r["script"]] = r
            else:
                rows[r["fault"].split(":")[0], r["receiver"]] = r
    return list(rows.values()), list(scripts.values())


def cell(row, name):
    value = row[name]
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "equal" if value else "**differ**"
    return str(value) + UNITS.get(name, "")


def markdown(rows):
    notes, lines = [], ["| " + " | ".join(title for _, title in COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    for row in rows:
        cells = [cell(row, name) for name, _ in COLUMNS]
        if row["note"]:
            if row["note"] not in notes:
                notes.append(row["note"])
            cells[0] += " (%d)" % (notes.index(row["note"]) + 1)
        if not row["ok"]:
            cells[0] = "**failed:** " + cells[0]
        lines.append("| " + " | ".join(cells) + " |")
    return lines + [""] + ["(%d) %s  " % (i + 1, note) for i, note in enumerate(notes)]


def text(rows):
    table = [[title for _, title in COLUMNS]] + [[("" if r["ok"] else "FAILED: ") + cell(r, "fault")] + [cell(r, n) for n, _ in COLUMNS[1:]] for r in rows]
    widths = [max(len(line[i]) for line in table) for i in range(len(COLUMNS))]
    for line in table:
        print("  ".join(value.ljust(width) for value, width in zip(line, widths)).rstrip())


def put(page, mark, lines):
    begin, end = BEGIN % mark, END % mark
    if begin not in page or end not in page:
        sys.exit("nightly.py: the page has no line %s ... %s" % (begin, end))
    before, after = page.split(begin)[0], page.split(end)[1]
    return before + begin + "\n\n" + "\n".join(lines) + "\n\n" + end + after


def main(argv):
    if argv[:1] == ["--check"] and len(argv) == 2:
        page = open(argv[1]).read()
        bad = [line for line in page.splitlines() if "**failed:**" in line or "**differ**" in line]
        print("\n".join(bad) or "no fault of %s failed" % argv[1])
        return 1 if bad else 0
    if argv[:1] == ["--docs"] and len(argv) >= 3:
        rows, scripts = read(argv[1:-1])
        page = open(argv[-1]).read()
        page = put(page, "faults", markdown([r for r in rows if r["twice"] is not None]))
        page = put(page, "backlog", markdown([r for r in rows if r["twice"] is None]))
        page = put(page, "scripts", ["| script | | time | its last line |", "|---|---|---|---|"] +
                   ["| `%(script)s.sh` | %(result)s | %(seconds)d s | %(words)s |" % s for s in scripts])
        open(argv[-1], "w").write(page)
        return 0
    if not argv or argv[0].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    rows, _ = read(argv)
    if rows:
        text(rows)
    return 0


sys.exit(main(sys.argv[1:]))
