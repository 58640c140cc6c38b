# SPDX-License-Identifier: Apache-2.0
"""What man/interface.c wrote, read: commands, options and their values, for pages.py and completions.py."""
import json
import re
from dataclasses import dataclass, field

# The paths of packages: a page that a tarball carries cannot know where it will be installed.
CANONICAL = (re.compile(r"/[\w./-]*/skep/skepd\.conf"), "/etc/skep/skepd.conf")
OPTION = re.compile(r"^ {2,}(?:(-\w), )?(--[a-z][a-z-]*)(?:[ =]([A-Z][A-Z_=]*))?(?: {2,}(.*)|)$")


@dataclass
class Option:
    long: str
    short: str = ""
    value: str = ""  # "FILE"; "": takes none
    help: str = ""


@dataclass
class Command:
    name: str
    usage: str
    summary: str
    help: str
    options: list = field(default_factory=list)

    def words(self):
        """Its own subcommands: what stands first, in lower case, in one of the alternatives of its usage."""
        depth, alternatives = 0, [""]
        for c in self.usage:
            depth += (c in "[(<") - (c in "])>")
            if c == "|" and depth == 0:
                alternatives.append("")
            else:
                alternatives[-1] += c
        first = [a.split()[0] for a in alternatives if a.split()]
        return [w for w in first if re.fullmatch(r"[a-z][a-z-]*", w)]

    def operands(self):
        """Names of what may stand behind it, without options, in order: ["RUN"], ["DETAIL"]."""
        rest = re.sub(r"\[--[^\]]*\]", " ", self.usage)
        return re.findall(r"\b[A-Z]{2,}\b", re.sub(r"--[a-z-]+ [A-Z]+", " ", rest))


def options_of(text):
    found, column = [], 0
    for line in text.splitlines():
        m = OPTION.match(line)
        if m:
            found.append(Option(m[2], m[1] or "", m[3] or "", m[4] or ""))
            column = m.start(4) if m[4] else 0
        elif found and column and line.startswith(" " * column):
            found[-1].help += " " + line.strip()
        else:
            column = 0
    return found


class Interface:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.all = json.loads(CANONICAL[0].sub(CANONICAL[1], f.read()))
        self.version = self.all["version"]
        self.commands = [Command(c["name"], c["usage"], c["summary"], c["help"], options_of(c["help"])) for c in self.all["commands"]]
        self.skepd_help = self.all["skepd_help"]
        self.skepd_options = options_of(self.skepd_help)
        self.plugins = {p["name"]: p for p in self.all["plugins"]}
