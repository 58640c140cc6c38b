#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/guides/sql.md: each query answers, with rows, on a lake that the sink wrote.

    sql.py             the queries of SQLite, on a lake that tests/bench/fill_lake makes
    sql.py clickhouse  those of ClickHouse, by HTTP: $CLICKHOUSE_URL, filled by tests/bench/fill_clickhouse

Environment: abs_srcdir, abs_builddir."""
import glob
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import urllib.request

SOURCE = os.environ.get("abs_srcdir", ".")
BUILD = os.environ.get("abs_builddir", ".")
FILL = ["100", "10000", "30", "0"]


def queries(language):
    text = open(os.path.join(SOURCE, "docs/guides/sql.md"), encoding="utf-8").read()
    return re.findall(r"^## (\d+\. [^\n]*)\n(?:(?!^## ).)*?^```%s\n(.*?)^```" % language, text, re.M | re.S)


def on_sqlite(lake):
    """A query is of one month: the rows that all files give."""
    def ask(sql):
        return sum(len(sqlite3.connect("file:%s?mode=ro" % name, uri=True).execute(sql).fetchall())
                   for name in glob.glob(lake + "/lake-*.db"))
    return ask


def on_clickhouse(url):
    def ask(sql):
        with urllib.request.urlopen(url, sql.encode()) as answer:
            return len(answer.read().splitlines())
    return ask


def check(language, ask):
    found = queries(language)
    bad = 0 if len(found) == 10 else 1
    if bad:
        print("FAIL - %d queries for %s on the page" % (len(found), language))
    for title, sql in found:
        try:
            rows = ask(sql)
            why = "no row"
        except (sqlite3.Error, OSError) as error:
            rows, why = 0, getattr(error, "read", lambda: b"")().decode(errors="replace") or str(error)
        print("%s - %s: %s: %s" % ("ok" if rows else "FAIL", language, title, "%d rows" % rows if rows else why))
        bad += not rows
    return bad


def main():
    if sys.argv[1:] == ["clickhouse"]:
        url = os.environ["CLICKHOUSE_URL"]
        base, database = url.split("/?database=")
        fill = BUILD + "/tests/bench/fill_clickhouse"
        subprocess.run([fill, *FILL, "url=" + base, "database=" + database], check=True)
        return check("clickhouse", on_clickhouse(url))
    fill = BUILD + "/tests/bench/fill_lake"
    if not os.access(fill, os.X_OK):
        print("skip: this build has no sink lake")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([fill, *FILL, "path=" + folder], check=True)
        return check("sqlite", on_sqlite(folder))


sys.exit(main())
