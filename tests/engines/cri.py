# SPDX-License-Identifier: Apache-2.0
"""cri.py SOCKET IMAGE COMMAND... - a pod with one container, by the CRI of a container runtime, as the kubelet makes it:
pod align-7x2 in namespace batch, container align. Waits for the container's end and removes both. Copies both state files to $RUNTIMES_DIR.

The messages are written by hand (k8s.io/cri-api, pkg/apis/runtime/v1/api.proto): Debian has no CRI client."""
import os
import shutil
import sys
import time

import grpc

UID = "8b2f3a4c-1111-2222-3333-444455556666"


def varint(n):
    out = b""
    while n > 0x7F:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def msg(*fields):
    """A message of (number, value): text, bytes of a message, or a number."""
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
            continue
        value = value.encode() if isinstance(value, str) else value
        out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def first_text(answer):
    """Field 1 of an answer."""
    assert answer[0] == 1 << 3 | 2, answer
    return answer[2:2 + answer[1]].decode()


socket, image, command = sys.argv[1], sys.argv[2], sys.argv[3:]
channel = grpc.insecure_channel("unix://" + socket)


def call(method, request):
    return channel.unary_unary("/runtime.v1.RuntimeService/" + method)(request, timeout=20)


host = msg((1, 2), (3, 2))  # NamespaceOption: network and ipc of the node, so no CNI plugin is needed
sandbox = msg((1, msg((1, "align-7x2"), (2, UID), (3, "batch"))), (3, "/tmp"),
              (8, msg((1, "/kubepods/pod" + UID), (2, msg((1, host))))))
pod = first_text(call("RunPodSandbox", msg((1, sandbox))))
config = msg((1, msg((1, "align"))), (2, msg((1, image))), *[(3, word) for word in command],
             (15, msg((2, msg((3, host))))))
try:
    container = first_text(call("CreateContainer", msg((1, pod), (2, config), (3, sandbox))))
    call("StartContainer", msg((1, container)))
    for one in pod, container:
        shutil.copy("/run/containerd/io.containerd.runtime.v2.task/k8s.io/%s/config.json" % one,
                    "%s/cri-%s.json" % (os.environ["RUNTIMES_DIR"], "pod" if one == pod else "container"))
    time.sleep(2)
finally:
    call("StopPodSandbox", msg((1, pod)))
    call("RemovePodSandbox", msg((1, pod)))
