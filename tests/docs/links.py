#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""links.py TREE: every relative link of every Markdown page leads to a file, and its anchor to a heading of that file;
every path of this tree that a page names in backquotes exists.

For each error prints PAGE: LINK: the error, and exits with 1. The index, docs/README.md, must have every page of docs/.
"""
import glob
import os
import re
import sys

# `core/identify/tool.c`, `tests/abi/test_mangled`; not the placeholders of CONTRIBUTING, nor /etc/skep of a tarball.
FOLDERS = "cli|core|docs|etc|filters|include|lake|man|packaging|plugins|scripts|sdk|sinks|spool|tests"
PATH = re.compile(r"`((?:" + FOLDERS + r")/[\w./-]+)`")
PLACEHOLDER = re.compile(r"NAME|_x\.c$|^etc/skep/")
SKIP = {"build", ".git", "node_modules", "autom4te.cache"}


def pages(tree):
    for folder, names, files in os.walk(tree):
        names[:] = [n for n in names if n not in SKIP and not n.startswith("skep-")]
        yield from (os.path.join(folder, f) for f in files if f.endswith(".md"))


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)


def anchors(path):
    """The anchors that GitHub makes of headings."""
    found = []
    with open(path, encoding="utf-8") as f:
        for heading in re.findall(r"^#+ +(.+?) *$", without_code(f.read()), flags=re.M):
            found.append(re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-"))
    return found


def main():
    tree = os.path.abspath(sys.argv[1])
    bad, linked, seen = [], set(), 0
    for page in sorted(pages(tree)):
        with open(page, encoding="utf-8") as f:
            text = without_code(f.read())
        # A tarball lacks scripts that only a clone needs.
        for path in PATH.findall(text) if os.path.exists(os.path.join(tree, ".git")) else []:
            if not PLACEHOLDER.search(path) and not glob.glob(os.path.join(tree, path) + "*"):
                bad.append(f"{os.path.relpath(page, tree)}: `{path}`: no such file")
        text = re.sub(r"`[^`\n]*`", "", text)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, anchor = link.partition("#")
            if "://" in path:
                continue
            seen += 1
            target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            where = f"{os.path.relpath(page, tree)}: {link}"
            if not os.path.exists(target):
                bad.append(f"{where}: no such file")
            elif anchor and anchor not in anchors(target):
                bad.append(f"{where}: no such heading in {os.path.relpath(target, tree)}")
            if page == os.path.join(tree, "docs", "README.md"):
                linked.add(target)
    for page in pages(os.path.join(tree, "docs")):
        if page not in linked and "/examples/" not in page and page != os.path.join(tree, "docs", "README.md"):
            bad.append(f"docs/README.md: has no link to {os.path.relpath(page, tree)}")
    print("\n".join(bad) or f"{seen} links")
    sys.exit(1 if bad or seen < 50 else 0)


main()
