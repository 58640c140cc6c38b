# SPDX-License-Identifier: Apache-2.0
"""Reads the output of man/interface.c: commands, options and their values, for pages.py and completions.py."""
import json
import re
from dataclasses import dataclass

# The paths of packages: a page that a tarball carries cannot know where it will be installed.
CANONICAL = (re.compile(r"/[\w./-]*/skep/skepd\.conf"), "/etc/skep/skepd.conf")


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
    """The names of its operands, in order: ["RUN"], ["EXPRESSION", "FILE"]."""
    return re.findall(r"\b[A-Z]{2,}\b", operands)


class Interface:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.all = json.loads(CANONICAL[0].sub(CANONICAL[1], f.read()))
        self.version = self.all["version"]
        self.programs = {name: [Command(**c) for c in list_] for name, list_ in self.all["commands"].items()}
        self.skepd_options = [Option(**o) for o in self.all["skepd_options"]]
        self.plugins = {p["name"]: p for p in self.all["plugins"]}
