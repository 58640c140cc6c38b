# SPDX-License-Identifier: Apache-2.0
# tests/e2e/io_devices.py WORK - the program of io_devices.sh.
import fcntl
import json
import mmap
import os
import subprocess
import sys

from testing import PATIENCE, records, text, until

LOOP_SET_FD, LOOP_CLR_FD, LOOP_CTL_ADD, LOOP_CTL_REMOVE = 0x4C00, 0x4C01, 0x4C80, 0x4C81
FIRST = 70  # the numbers of the test's devices
work = sys.argv[1]
try:
    control = os.open("/dev/loop-control", os.O_RDWR)
except OSError as e:
    print("skip: no loop devices:", e)
    sys.exit(77)
made = set()


class Loop:
    def __init__(self, number):
        self.number, self.path = number, f"/dev/loop{number}"
        fcntl.ioctl(control, LOOP_CTL_ADD, number)
        made.add(number)
        with open(f"{work}/back{number}", "wb") as f:
            f.truncate(1 << 20)
        until(lambda: os.path.exists(self.path), self.path)
        self.fd = os.open(self.path, os.O_RDWR | os.O_DIRECT)
        back = os.open(f"{work}/back{number}", os.O_RDWR)
        fcntl.ioctl(self.fd, LOOP_SET_FD, back)
        os.close(back)

    def write(self, n):
        block = mmap.mmap(-1, 4096)
        for i in range(n):
            os.pwrite(self.fd, block, i * 4096)

    def remove(self):
        fcntl.ioctl(self.fd, LOOP_CLR_FD, 0)
        os.close(self.fd)
        until(self.removed, f"{self.path} stays busy")
        made.discard(self.number)

    def removed(self):
        try:
            fcntl.ioctl(control, LOOP_CTL_REMOVE, self.number)
        except OSError:  # EBUSY while udev reads it
            return False
        return True


def start():
    with open(work + "/conf", "w") as f:
        json.dump({"interval": "1s", "control": {"socket": False}, "probes": [{"plugin": "io", "required": True}],
                   "sinks": [{"plugin": "file", "path": work + "/out"}]}, f)
    with open(work + "/log", "w") as log:
        daemon = subprocess.Popen([os.environ["SKEPD"], "-f", "-c", work + "/conf"], stderr=log)
    until(lambda: "collects" in text(work + "/log") or daemon.poll() is not None)
    said = text(work + "/log")
    if "collects" in said:
        return daemon
    print("skip: BPF is not permitted here" if "not permitted" in said else "not ok - skepd did not start: " + said)
    sys.exit(77 if "not permitted" in said else 1)


def writes(number):
    return sum(r["operations"] for r in records(work + "/out", "disk.io") if (r["device"], r["operation"]) == (f"loop{number}", "write"))


def run():
    came = Loop(FIRST)
    came.write(40)
    until(lambda: writes(FIRST) == 40, f"the writes of {came.path}")
    came.write(5)
    came.remove()
    for number in range(FIRST + 1, FIRST + 9):  # most of these devices exist only between two passes
        brief = Loop(number)
        brief.write(30)
        brief.remove()
    last = Loop(FIRST + 9)
    last.write(20)
    return last


daemon = start()
try:
    last = run()
    daemon.terminate()
    status = daemon.wait(PATIENCE)
    last.remove()
finally:
    if daemon.poll() is None:
        daemon.kill()
    for number in made:
        subprocess.run(["losetup", "-d", f"/dev/loop{number}"], stderr=subprocess.DEVNULL)
        try:
            fcntl.ioctl(control, LOOP_CTL_REMOVE, number)
        except OSError:
            pass

written, others, lost, bad = {}, 0, 0, []
for line in open(work + "/out"):
    r = json.loads(line)
    device = r.get("device", "")
    if r["stream"] == "disk.io" and device.startswith("loop") and int(device[4:]) >= FIRST:
        if r["operation"] == "write":
            written[device] = written.get(device, 0) + r["operations"]
        else:
            others += r["operations"]
    if '"loss"' in line and '"disk.io"' in line:
        lost += r["count"]
print("writes by device:", written, "lost:", lost, "not writes:", others)
if status:
    bad.append(f"skepd: status {status}")
if written.get(f"loop{FIRST}") != 45:
    bad.append("of a device that came between two passes and went later: 45 writes were made")
if written.get(f"loop{FIRST + 9}") != 20:
    bad.append("of a device that came before the last pass: 20 writes were made")
seen = sum(n for device, n in written.items() if device not in (f"loop{FIRST}", f"loop{FIRST + 9}"))
# udev reads a new device, and these reads may count as lost
if seen > 8 * 30 or seen + lost < 8 * 30:
    bad.append(f"of devices that came and went: 240 writes were made, {seen} are in records and {lost} were counted as lost")
for b in bad:
    print("not ok -", b, open(work + "/log").read())
sys.exit(bool(bad))
