#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pages.py INTERFACE.json [HEADER.h...] <PAGE.in >PAGE: a manual page in man(7).

The template is prose in few marks: "# NAME" a section, "## x" a part of it, lines with four
blanks literal, "- x" an item, ": x" a term (what follows explains it), `x` bold, *x* italic.
A line "@WORD argument@" is replaced by what the programs and plugins say of themselves.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from interface import Interface  # noqa: E402

out = []


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("^", "\\(ha").replace("~", "\\(ti").replace('"', "\\(dq")
    return re.sub(r"[^\x00-\x7f]", lambda m: {"→": "\\(->", "µ": "\\(mc", "≥": "\\(>=", "×": "\\(mu", "²": "\\(S2"}.get(m[0], f"\\[u{ord(m[0]):04X}]"), text)


def line_safe(text):
    return "\\&" + text if text[:1] in (".", "'") else text


def inline(text):
    """Prose: marks become fonts; a hyphen stays one that may break."""
    parts = re.split(r"(`[^`]+`|(?<![\w*])\*[^*\s][^*]*\*)", text)
    done = ""
    for p in parts:
        if p.startswith("`"):
            done += "\\fB" + escape(p[1:-1]) + "\\fP"
        elif len(p) > 2 and p[0] == p[-1] == "*":
            done += "\\fI" + escape(p[1:-1]) + "\\fP"
        else:
            p = re.sub(r"(?<![\w])--?(?=[a-z])", lambda m: m[0].replace("-", "\\-"), p.replace("\\", "\\e").replace("'", "\\(aq"))
            p = re.sub(r"(?<= )-(?= )", r"\\-", p)
            p = p.replace("~", "\\(ti").replace("^", "\\(ha")
            done += re.sub(r"[^\x00-\x7f]", lambda m: escape(m[0]), p)
    return line_safe(done)


def emit(*lines):
    out.extend(lines)


def paragraph(text):
    emit(".PP") if out and not out[-1].startswith((".SH", ".SS", ".PP")) else None
    # A sentence a line, as man pages are written: the formatter then spaces them.
    emit(*[line_safe(s) for s in re.split(r"(?<=[.:;]) +(?=[A-Z`\\])", inline(text))])


def literal(lines):
    """A literal line wider than a screen has no good place to cut it: it stays whole."""
    emit(".PP" if out and not out[-1].startswith((".SH", ".SS")) else '.\\"', ".RS 4", ".nf")
    emit(*[line_safe(escape(x)) if x else "" for x in lines])
    emit(".fi", ".RE")


def term(bold, rest=""):
    emit(".TP", line_safe("\\fB" + escape(bold) + "\\fP" + (" " + rest if rest else "")))


def options(list_):
    for o in list_:
        names = ", ".join("\\fB" + escape(n) + "\\fP" for n in (o.short, o.long) if n)
        emit(".TP", names + (" \\fI" + escape(o.value) + "\\fP" if o.value else ""), inline(o.help or " "))


def prose(block):
    if not block:
        return
    if any(x.startswith(" ") or "   " in x for x in block):
        literal(block)
    else:
        paragraph(" ".join(block))


# ---- generated parts ------------------------------------------------------------------


def do_concepts(i, _):
    for block in i.all["concepts"].rstrip("\n").split("\n\n"):
        if block.startswith(" ") or "\n" in block:
            literal(block.splitlines())
        else:
            paragraph(block + ".")


def do_commands(i, program):
    for c in i.programs[program]:
        term(program + " " + c.name, inline(c.usage))
        emit(inline(c.summary[0].upper() + c.summary[1:] + "."))


def do_command_help(i, program):
    for c in i.programs[program]:
        emit('.SS "' + escape(program + " " + c.name) + '"', "\\fB" + escape(program + " " + c.name) + "\\fP " + inline(c.usage))
        for text in (c.summary[0].upper() + c.summary[1:] + ".", *c.about.split("\n\n")):
            prose(text.splitlines())
        options(c.words + c.options)
        for text in c.notes.split("\n\n"):
            prose(text.splitlines())


def do_skepd_options(i, _):
    options(i.skepd_options)


def keys(table):
    for k in table:
        term((k["section"] + "." if k["section"] not in (None, "sinks") else "") + k["name"],
             "(" + inline(k["type"]) + ", sinks only" * (k["section"] == "sinks") + ")")
        text = k["help"].rstrip(".") + "."
        if "min" in k:
            text += f" {k['min']} to {k['max']}." if "max" in k else f" At least {k['min']}."
        if k["required"]:
            text += " Required."
        elif k["default"]:
            text += f" Default: `{k['default']}`." if " " not in k["default"] or k["default"][0] == "[" else f" Default: {k['default']}."
        if k["reloadable"]:
            text += " Changes by a reload, without a restart."
        if k["restart"]:
            text += " Changes only with a restart."
        if k["secret"]:
            text += " A secret: also `env:NAME`" + (f", or a file named by `{k['file_key']}`" if k["file_key"] else "") + "."
        emit(inline(text))


def do_config(i, _):
    keys(i.all["config"])


def do_entry(i, _):
    keys(i.all["entry"])


def do_plugins(i, _):
    for p in i.plugins.values():
        emit(".TP", "\\fBskep\\-" + escape(p["name"]) + "\\fP(7)", inline(f"the {p['kind']} {p['name']}: {p['summary']}."))


def do_rule_fields(i, _):
    for f in i.all["rule_fields"]:
        term(f["name"], "(" + inline(f["type"]) + ("" if f["of_parent"] else "; not of parents") + ")")
        emit(inline(f["help"] + "."))


def do_options(i, name):
    found = i.plugins[name]["options"]
    if not found:
        paragraph("None of its own.")
    keys(found)


def do_streams(i, name):
    said = {"facet": "Joined into each process's record.", "ledger": "Kept for the ledger, not passed on.", "detail": "Of a detail that is attached.",
            "cgroup": "Of a cgroup, with its container."}
    streams = i.plugins[name]["streams"]
    if not streams:
        paragraph("None: it takes those of the probes.")
    for s in streams:
        emit('.SS "' + escape(s["name"]) + '"')
        paragraph((s["help"].rstrip(".") + "." if s["help"] else "") + (" " + said[s["role"]] if s["role"] in said else "") +
                  (" May be shed first when space runs out." if s["sample"] else ""))
        for f in s["fields"]:
            kind = f["type"] + (", " + f["unit"] if f["unit"] else "") + ("" if f["semantics"] == "attribute" else ", " + f["semantics"])
            term(f["name"], "(" + inline(kind) + ")")
            emit(inline((f["help"].rstrip(".") + ".") if f["help"] else "\\&"))


def do_details(i, name):
    for d in i.plugins[name]["details"]:
        term(d["name"], "(" + ", ".join(d["scopes"]) + "; stream " + escape(d["stream"]) + ")")
        emit(inline(d["help"].rstrip(".") + "."))


def do_struct(_, argument):
    """"plugin.h skep_host": that struct or enum as the header has it, with its comments."""
    header, name = argument.split()
    path = next(h for h in sys.argv[2:] if os.path.basename(h) == header)
    with open(path, encoding="utf-8") as f:
        m = re.search(rf"^(?:struct|enum) {name} \{{.*?^\}};$", f.read(), re.S | re.M)
    if not m:
        sys.exit(f"pages.py: {path} has no {name}")
    literal([x.replace("\t", "    ") for x in m[0].splitlines()])


def main():
    i = Interface(sys.argv[1])
    in_term = False
    block = []

    def flush():
        nonlocal in_term
        if not block:
            return
        if block[0].startswith("    "):
            literal([x[4:] for x in block])
        elif in_term:
            emit(*[line_safe(s) for s in re.split(r"(?<=[.:;]) +(?=[A-Z`\\])", inline(" ".join(block)))])
        else:
            paragraph(" ".join(block))
        in_term = False
        block.clear()

    for line in sys.stdin.read().splitlines() + [""]:
        m = re.fullmatch(r"@([A-Z_]+)(?: (.*))?@", line)
        if line.startswith("%"):
            emit(".\\\" SPDX-License-Identifier: Apache-2.0", ".\\\" Made by man/pages.py: edit its template, or what the page is about.",
                 ".TH " + line[1:].strip() + f' "2026-11-21" "skep {i.version}" "skep"')
        elif m:
            flush()
            globals()["do_" + m[1].lower()](i, m[2])
        elif line.startswith("## "):
            flush()
            emit('.SS "' + escape(line[3:]) + '"')
        elif line.startswith("# "):
            flush()
            emit('.SH "' + escape(line[2:]) + '"')
        elif line.startswith(": "):
            flush()
            emit(".TP", inline(line[2:]))
            in_term = True
        elif line.startswith("- "):
            flush()
            emit(".IP \\(bu 3")
            in_term = True
            block.append(line[2:])
        elif not line and block and block[0].startswith("    "):
            block.append("    ")
        elif not line:
            flush()
        else:
            if block and block[0].startswith("    ") and not line.startswith("    "):
                while block and not block[-1].strip():
                    block.pop()
                flush()
            block.append(line if line.startswith("    ") else line.strip())
    while block and not block[-1].strip():
        block.pop()
    flush()
    print("\n".join(x for n, x in enumerate(out) if not (x == ".PP" and n + 1 < len(out) and out[n + 1].startswith((".PP", ".SH", ".SS", ".TP", ".IP")))))


main()
