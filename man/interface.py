# SPDX-License-Identifier: Apache-2.0
"""What man/interface.c wrote, read: commands, options and their values, for pages.py and completions.py."""
import json
import re
from dataclasses import dataclass

# The paths of packages: a page that a tarball carries cannot know where it will be installed.
CANONICAL = (re.compile(r"/[\w./-]*/skep/skepd\.conf"), "/etc/skep/skepd.conf")
OPTION = re.compile(r"^ {2,}(?:(-\w), )?(--[a-z][a-z-]*)(?:[ =]([A-Z][A-Z_=]*))?(?: {2,}(.*)|)$")


@dataclass
class Option:
    long: str  # "--json"; of a word that a command takes first: "recover"
    short: str = ""
    value: str = ""  # "FILE"; "": takes none
    help: str = ""


@dataclass
class Command:
    name: str
    usage: str
    operands: str
    summary: str
    about: str
    notes: str
    passes_on: bool
    words: list
    options: list

    def __post_init__(self):
        self.words = [Option(**w) for w in self.words]
        self.options = [Option(**o) for o in self.options]


def names_in(operands):
    """Names of what may stand there, in order: ["RUN"], ["EXPRESSION", "FILE"]."""
    return re.findall(r"\b[A-Z]{2,}\b", operands)


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
        self.programs = {name: [Command(**c) for c in list_] for name, list_ in self.all["commands"].items()}
        self.skepd_help = self.all["skepd_help"]
        self.skepd_options = options_of(self.skepd_help)
        self.plugins = {p["name"]: p for p in self.all["plugins"]}
