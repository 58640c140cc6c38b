#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""names.py begin FOLDER - under `skep run` and in a mount namespace of its own: executes copies of cat that have no
path any more, or another one than it seems, and writes to FOLDER/seen.json what /proc/PID/exe and cwd say of each.

names.py compare FOLDER - compares that with FOLDER/report.json. Prints a line per check.
"""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../e2e")
import testing
from testing import check

WORK = os.path.realpath(sys.argv[2])
TOP = WORK + "/top"
seen = {}


def mount(*args):
    subprocess.run(["mount", *args], check=True)


def copy(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return shutil.copy(shutil.which("cat"), path)


def opened(path):
    return os.open(path, os.O_RDONLY)


def begin(what, program, prepare=lambda: None):
    """program: a path, or a descriptor."""
    mine = os.readlink("/proc/self/exe")
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            prepare()
            os.dup2(read, 0)
            os.execve(program, ["cat"], {})
        finally:
            os._exit(127)
    os.close(read)
    testing.until(lambda: os.readlink(f"/proc/{pid}/exe") != mine, "exec: " + what)
    seen[what] = {"pid": pid, "exe": os.readlink(f"/proc/{pid}/exe"), "cwd": os.readlink(f"/proc/{pid}/cwd")}
    os.close(write)
    if os.waitpid(pid, 0)[1] != 0:
        sys.exit("FAIL - no program: " + what)


def memory(name):
    program = os.memfd_create(name)
    with open(shutil.which("cat"), "rb") as source:
        os.write(program, source.read())
    begin(f"memfd_create('{name[:9]}')", program)
    os.close(program)


def begin_all():
    os.mkdir(TOP)
    mount("-t", "tmpfs", "tmpfs", TOP)
    begin("a path", copy(TOP + "/plain"), lambda: os.chdir(TOP))
    for name in "tool", "a b/c", "", "/usr/bin/date", "m" * 249:
        memory(name)

    for what, path in (("a removed file", TOP + "/gone"), ("a removed file with a long name", TOP + "/" + "n" * 255),
                       ("a removed file in a removed folder", TOP + "/folder/gone")):
        program = opened(copy(path))
        os.unlink(path)
        if "/folder/" in path:
            os.rmdir(os.path.dirname(path))
        begin(what, program)
    os.mkdir(TOP + "/cwd")
    begin("a removed working directory", TOP + "/plain", lambda: (os.chdir(TOP + "/cwd"), os.rmdir(TOP + "/cwd")))

    copy(TOP + "/source")
    open(TOP + "/target", "w").close()
    mount("--bind", TOP + "/source", TOP + "/target")
    begin("a file mounted on another one", TOP + "/target")
    os.unlink(TOP + "/source")
    begin("the same, removed where it was", TOP + "/target")

    if "\toverlay\n" in testing.text("/proc/filesystems") or subprocess.run(["modprobe", "-q", "overlay"]).returncode == 0:
        copy(TOP + "/lower/low")
        for folder in "upper", "work", "merged":
            os.mkdir(TOP + "/" + folder)
        mount("-t", "overlay", "overlay", "-o", f"lowerdir={TOP}/lower,upperdir={TOP}/upper,workdir={TOP}/work", TOP + "/merged")
        begin("an overlay's lower file", TOP + "/merged/low", lambda: os.chdir(TOP + "/merged"))
        begin("an overlay's upper file", copy(TOP + "/merged/folder/up"), lambda: os.chdir(TOP + "/merged/folder"))
        for what, path in ("lower", TOP + "/merged/low"), ("upper", TOP + "/merged/folder/up"):
            program = opened(path)
            os.unlink(path)
            begin(f"an overlay's {what} file, removed", program)
    else:
        print("# this kernel has no overlay")

    os.mkdir(TOP + "/mount")
    mount("-t", "tmpfs", "tmpfs", TOP + "/mount")
    program = opened(copy(TOP + "/mount/below/detached"))
    begin("a file of a detached mount", program, lambda: (
        os.chdir(TOP + "/mount/below"), subprocess.run(["umount", "-l", TOP + "/mount"], check=True)))

    os.mkdir(TOP + "/root")
    mount("--rbind", "/", TOP + "/root")
    program = opened(TOP + "/plain")
    begin("a file outside the root", program, lambda: (os.chdir(TOP), os.chroot(TOP + "/root")))

    copy(TOP + "/a/b/c/moved")
    os.mkdir(TOP + "/bind")
    mount("--bind", TOP + "/a/b", TOP + "/bind")
    program = opened(TOP + "/bind/c/moved")
    begin("a folder moved out of its mount", program, lambda: (
        os.chdir(TOP + "/bind/c"), os.rename(TOP + "/a/b/c", TOP + "/a/d")))
    json.dump(seen, open(WORK + "/seen.json", "w"))


TOOLS = {"memfd_create('tool')": "memfd:tool", "a removed file": "gone", "a removed file in a removed folder": "gone",
         "an overlay's lower file, removed": "low", "a file of a detached mount": "detached"}


def compare():
    processes = {p["pid"]: p for p in json.load(open(WORK + "/report.json"))["processes"] if p["last"]}
    for what, wanted in json.load(open(WORK + "/seen.json")).items():
        found = {key: processes[wanted["pid"]][key] for key in ("exe", "cwd", "tool")}
        if what.startswith("a folder moved"):
            check(what + ": the kernel has no name for it", (wanted["exe"], wanted["cwd"]) == ("/", "/"), wanted)
            check(what + ": the names that there are", found == {"exe": ".../a/d/moved", "cwd": ".../a/d", "tool": "moved"}, found)
            continue
        check(what + ": exe and cwd as /proc says", all(found[key] == wanted[key] for key in ("exe", "cwd")), (found, wanted))
        check(what + ": its tool", found["tool"] == TOOLS[what] if what in TOOLS else found["tool"] not in ("/", "", "?"), found)
    everything = " ".join(found["exe"] for found in processes.values())
    check("memfd and removed files were there", "/memfd:tool (deleted)" in everything and "/gone (deleted)" in everything, everything)


begin_all() if sys.argv[1] == "begin" else compare()
sys.exit(testing.failures != 0)
