#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""completions.py INTERFACE.json bash|zsh skep|skep-dev|skepd: a completion, from the tables of commands, options and plugins.

What a value is follows from its name in the help text (FILE, PID, RUN, ...), with the
exceptions below; a name that is not known completes to nothing, so that a new command needs no change here.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../man"))
from interface import Interface, Option, names_in  # noqa: E402

KINDS = {"FILE": "file", "PATH": "file", "FOLDER": "folder", "DIR": "folder", "RUN": "run", "PID": "pid", "DETAIL": "detail", "LEVEL": "level", "CMD": "command",
         "TIME": "time", "PLUGIN": "plugin"}
EXCEPTIONS = {("plugins", "NAME"): "plugin", ("--options", "NAME"): "plugin", ("--detail", "NAME"): "detail", ("--plugin-dir", "DIR"): "folder",
              ("--cgroup", "PATH"): ""}
LEVELS = "error warning notice info debug"
TIMES = "10s 60s 5m 1h"
HEAD = """# SPDX-License-Identifier: Apache-2.0
# Made by completions/completions.py from skep's own tables of commands and options.
"""


def kind(where, value):
    return EXCEPTIONS.get((where, value), KINDS.get(value, ""))


def options_of(command):
    return command.options + [Option("--help", "-h", "", "explain this command")]


def operand_kind(where, operands):
    """Of the first operand of which it is known."""
    return next((k for k in (kind(where, name) for name in names_in(operands)) if k), "")


# ---- bash ---------------------------------------------------------------------------------

BASH = r"""
# The value of an option or an operand; $1: its kind, $2: the typed part.
__skep_value()
{
	local word words=
	case $1 in
	file) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$2"); return ;;
	folder) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$2"); return ;;
	command) mapfile -t COMPREPLY < <(compgen -c -- "$2"); return ;;
	pid) for word in /proc/[0-9]*; do words="$words ${word#/proc/}"; done ;;
	run) words="last $(skep runs --limit 100 --json ${__skep_lake:+--lake "$__skep_lake"} 2>/dev/null |
		sed -nE 's/.*"id": *"([^"]*)".*/\1/p')" ;;
	plugin) words='@PLUGINS@' ;;
	detail) words='@DETAILS@' ;;
	level) words='@LEVELS@' ;;
	time) words='@TIMES@' ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$2")
}
"""


def bash_case(pairs):
    return "".join(f"\t{names}) kind={k or 'none'} ;;\n" for names, k in pairs)


def value_cases(where, options):
    """"command:--option" patterns with the kind of their value."""
    pairs = []
    for o in options:
        if o.value:
            names = [o.long] + ([o.short] if o.short else [])
            pairs.append(("|".join(f"{where}:{n}" if where else f":{n}" for n in names), kind(o.long, o.value)))
    return pairs


def fill(i, text):
    details = sorted(d["name"] for p in i.plugins.values() for d in p["details"])
    return (text.replace("@PLUGINS@", " ".join(sorted(i.plugins))).replace("@DETAILS@", " ".join(details)).replace("@LEVELS@", LEVELS)
            .replace("@TIMES@", TIMES))


def names_of(options):
    return " ".join(n for o in options for n in (o.short, o.long) if n)


def bash_commands(i, program):
    function = "_" + program.replace("-", "_")
    commands = i.programs[program]
    names = " ".join(c.name for c in commands)
    cases, words, operands, values = "", "", "", []
    for c in commands:
        cases += f"\t{c.name}) options='{names_of(options_of(c))}' ;;\n"
        if c.words:
            words += f"\t{c.name}) words='{' '.join(w.long for w in c.words)}' ;;\n"
        for word, text in [(w.long, w.value) for w in c.words] or [("", c.operands)]:
            if operand_kind(c.name, text):
                operands += f"\t{c.name}:{word}) kind={operand_kind(c.name, text)} ;;\n"
        values += value_cases(c.name, options_of(c))
    passes_on = "|".join(c.name for c in commands if c.passes_on) or "-"
    return HEAD + fill(i, BASH) + f"""
{function}()
{{
	local cur=${{COMP_WORDS[COMP_CWORD]}} prev= command= word= first= options= words= kind=none i __skep_lake=
	COMPREPLY=()
	# The command, its own first word, and its options about the lake.
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${{COMP_WORDS[i]}}
		case $word in
		-*) [ "$word" != --lake ] || __skep_lake=${{COMP_WORDS[i + 1]/#=/${{COMP_WORDS[i + 2]-}}}} ;;
		*)
			if [ -z "$command" ]; then
				command=$word
			elif [ -z "$first" ]; then
				first=$word
			fi ;;
		esac
	done
	if [ -z "$command" ]; then
		mapfile -t COMPREPLY < <(compgen -W "{names} help --help -h --version -V" -- "$cur")
		return
	fi
	if [ "$command" = help ]; then
		mapfile -t COMPREPLY < <(compgen -W "{names}{' concepts' if program == 'skep' else ''}" -- "$cur")
		return
	fi
	# bash splits "--lake=x" into three words.
	prev=${{COMP_WORDS[COMP_CWORD - 1]}}
	if [ "$cur" = = ]; then
		cur=
	elif [ "$prev" = = ]; then
		prev=${{COMP_WORDS[COMP_CWORD - 2]}}
	fi
	case $command:$prev in
{bash_case(values)}	*) kind= ;;
	esac
	if [ -n "$kind" ]; then
		__skep_value "$kind" "$cur"
		return
	fi
	case $command in
{cases}	esac
	# Words behind the command of skep run belong to that command.
	if [[ $command = {passes_on} ]]; then
		for ((i = 2; i < COMP_CWORD; i++)); do
			if [ "${{COMP_WORDS[i]}}" = -- ]; then
				if ((i + 1 == COMP_CWORD)); then __skep_value command "$cur"; else __skep_value file "$cur"; fi
				return
			fi
		done
	fi
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
		return
	fi
	case $command in
{words}	esac
	if [ -n "$words" ] && [ -z "$first" ]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
	fi
	[ -n "$words" ] || first=
	kind=none
	case $command:$first in
{operands}	esac
	__skep_value "$kind" "$cur"
}}
complete -F {function} {program}
"""


def bash_skepd(i):
    return HEAD + fill(i, BASH) + f"""
_skepd()
{{
	local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}} kind=
	COMPREPLY=()
	if [ "$cur" = = ]; then
		cur=
	elif [ "$prev" = = ]; then
		prev=${{COMP_WORDS[COMP_CWORD - 2]}}
	fi
	case :$prev in
{bash_case(value_cases("", i.skepd_options))}	esac
	if [ -n "$kind" ]; then
		__skep_value "$kind" "$cur"
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "{names_of(i.skepd_options)}" -- "$cur")
}}
complete -F _skepd skepd
"""


# ---- zsh ------------------------------------------------------------------------------------

ZSH_KINDS = {"file": "_files", "folder": "_files -/", "pid": "_pids", "run": "__skep_runs", "plugin": "(@PLUGINS@)", "detail": "(@DETAILS@)", "level": "(@LEVELS@)",
             "time": "(@TIMES@)", "command": "_normal", "": " "}


def zsh_quote(text):
    text = re.sub(r"([\[\]:\\])", r"\\\1", text)
    return text.replace("'", "'\\''")


def zsh_options(options):
    lines = []
    for o in options:
        names = f"'({o.short} {o.long})'{{{o.short},{o.long}}}" if o.short else f"'*'{o.long}"
        if o.value:
            names = f"'({o.short} {o.long})'{{{o.short}+,{o.long}=}}" if o.short else f"'*'{o.long}="
        value = f":{o.value}:{ZSH_KINDS[kind(o.long, o.value)]}" if o.value else ""
        lines.append(f"\t\t{names}'[{zsh_quote(o.help)}]{value}'")
    return " \\\n".join(lines)


ZSH_RUNS = r"""
__skep_runs()
{
	local -a runs
	runs=(last ${(f)"$(skep runs --limit 100 --json 2>/dev/null | sed -nE 's/.*"id": *"([^"]*)".*/\1/p')"})
	compadd -a runs
}
"""


def zsh_commands(i, program):
    function = "_" + program.replace("-", "_")
    commands = i.programs[program]
    text = f"#compdef {program}\n" + HEAD + ZSH_RUNS + f"""
{function}()
{{
	local curcontext=$curcontext state line
	typeset -A opt_args
	local -a commands
	commands=(
"""
    text += "".join(f"\t\t'{c.name}:{zsh_quote(c.summary)}'\n" for c in commands)
    text += f"""\t\t'help:explain a command'
	)
	_arguments -C '(-h --help)'{{-h,--help}}'[print all commands]' '(-V --version)'{{-V,--version}}'[print the version]' \\
		'1:command:->command' '*::argument:->arguments'
	case $state in
	command) _describe -t commands '{program} command' commands ;;
	arguments)
		curcontext="${{curcontext%:*:*}}:{program}-$words[1]:"
		case $words[1] in
		help) _describe -t commands '{program} command' commands ;;
"""
    for c in commands:
        if c.words:
            operand = f"'1:what:({' '.join(w.long for w in c.words)})' '*:operand:_files'"
        elif c.passes_on:
            operand = "'(-)1:command: _command_names -e' '*::argument:_normal'"
        elif names_in(c.operands):
            operand = f"'1:{names_in(c.operands)[0]}:{ZSH_KINDS[operand_kind(c.name, c.operands)]}'"
        else:
            operand = ""
        text += f"\t\t{c.name}) _arguments {'-S ' if c.passes_on else ''}\\\n{zsh_options(options_of(c))}{' ' + chr(92) + chr(10) + chr(9) * 2 + operand if operand else ''} ;;\n"
    return fill(i, text + f"\t\tesac ;;\n\tesac\n}}\n\n{function} \"$@\"\n")


def zsh_skepd(i):
    return fill(i, "#compdef skepd\n" + HEAD + f"\n_arguments \\\n{zsh_options(i.skepd_options)}\n")


def main():
    i, shell, program = Interface(sys.argv[1]), sys.argv[2], sys.argv[3]
    if program == "skepd":
        text = bash_skepd(i) if shell == "bash" else zsh_skepd(i)
    else:
        text = bash_commands(i, program) if shell == "bash" else zsh_commands(i, program)
    print(text, end="")


main()
