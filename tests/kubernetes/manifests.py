#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""manifests.py [FOLDER] - packaging/kubernetes: the files as they are, and with FOLDER (NAME.yaml for the base and each
overlay, as `kubectl kustomize` gave them) what a cluster would get. Environment: abs_srcdir, SKEPD, SKEP_PLUGIN_DIRS."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import yaml

SOURCE = os.path.realpath(os.environ.get("abs_srcdir", os.path.join(os.path.dirname(__file__), "../..")))
TOP = os.path.join(SOURCE, "packaging/kubernetes")
bad = []


def need(ok, where, words):
    if not ok:
        bad.append("%s: %s" % (where, words))


def read(path):
    return open(os.path.join(SOURCE, path), encoding="utf-8").read()


def conf(text):
    """skepd.conf without its comments (none of ours has one beside a value)."""
    return json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.M))


def check_overlays():
    """Each skepd.conf is the image's and one more sink, and skepd takes it."""
    image = conf(read("packaging/container/skepd.conf"))
    for path in sorted(glob.glob(TOP + "/overlays/*/skepd.conf")):
        name = os.path.relpath(path, TOP)
        ours = conf(open(path, encoding="utf-8").read())
        added = [s for s in ours["sinks"] if s not in image["sinks"]]
        need({**ours, "sinks": image["sinks"]} == image and len(added) == 1, name, "is not the image's and one sink")
        with tempfile.TemporaryDirectory() as folder:
            with open(folder + "/skepd.conf", "w", encoding="utf-8") as f:
                f.write(open(path, encoding="utf-8").read().replace("/etc/skep/filters.d", folder).replace('"/host"', '"/"'))
            os.chmod(f.name, 0o644)
            made = subprocess.run([os.environ.get("SKEPD", "./skepd"), "-t", "-c", f.name], capture_output=True, text=True)
            need(made.returncode == 0, name, "skepd -t: " + made.stdout + made.stderr)


def check_page():
    """The guide explains each right that the pod has."""
    page = read("docs/guides/kubernetes.md")
    pod = yaml.safe_load(read("packaging/kubernetes/daemonset/daemonset.yaml"))["spec"]["template"]["spec"]
    security = pod["containers"][0]["securityContext"]
    rights = security["capabilities"]["add"] + [v["hostPath"]["path"] for v in pod["volumes"] if "hostPath" in v]
    rights += [key for key in pod if key.startswith("host")] + list(security)
    for right in rights + ["automountServiceAccountToken", "priorityClassName", "tolerations", "limits"]:
        need("`%s" % right in page or "%s`" % right in page, "docs/guides/kubernetes.md", "says nothing about %s" % right)


def check_pod(where, daemon, maps):
    spec, labels = daemon["spec"]["template"]["spec"], daemon["spec"]["template"]["metadata"]["labels"]
    need(daemon["spec"]["selector"]["matchLabels"].items() <= labels.items(), where, "the selector does not select")
    (container,) = spec["containers"]
    volumes = {v["name"]: v for v in spec["volumes"]}
    mounts = {m["name"]: m for m in container["volumeMounts"]}
    need(volumes.keys() == mounts.keys(), where, "volumes and mounts are not the same")
    for v in volumes.values():
        need("hostPath" in v or v["configMap"]["name"] in maps, where, "there is no ConfigMap %s" % v)
    security = container["securityContext"]
    need(security == {"runAsUser": 0, "runAsGroup": 0, "privileged": False, "allowPrivilegeEscalation": False,
                      "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"], "add": ["BPF", "PERFMON", "SYS_PTRACE"]},
                      "seccompProfile": {"type": "RuntimeDefault"}}, where, "other rights: %s" % security)
    written = {v["hostPath"]["path"] for n, v in volumes.items() if "hostPath" in v and not mounts[n].get("readOnly")}
    need(written == {"/var/lib/skep", "/run/skep"}, where, "it writes in %s" % written)
    if "config" in volumes:
        need(mounts["config"]["subPath"] in maps[volumes["config"]["configMap"]["name"]]["data"], where, "no such file in it")
        need(spec["dnsPolicy"] == "ClusterFirstWithHostNet", where, "names of services do not resolve")
    return labels, container


def nodes(daemon):
    """On which nodes: the value that the label nvidia.com/gpu.present must have, or may not have."""
    spec = daemon["spec"]["template"]["spec"]
    terms = json.dumps(spec.get("affinity", {}))
    return spec.get("nodeSelector", {}).get("nvidia.com/gpu.present"), "NotIn" in terms and "nvidia.com/gpu.present" in terms


def check_rendered(name, documents):
    of = lambda kind: [d for d in documents if d["kind"] == kind]
    (namespace,) = of("Namespace")
    need(namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged", name, "the namespace admits no such pod")
    need(all(d["metadata"].get("namespace", "skep") == "skep" for d in documents), name, "another namespace")
    maps = {d["metadata"]["name"]: d for d in of("ConfigMap")}
    pods = [check_pod("%s: %s" % (name, d["metadata"]["name"]), d, maps) for d in of("DaemonSet")]
    names = [labels["app.kubernetes.io/name"] for labels, _ in pods]
    need(len(set(names)) == len(names), name, "two DaemonSets select the same pods")
    if name.startswith("gpu"):
        gpu, plain = sorted(of("DaemonSet"), key=lambda d: d["metadata"]["name"], reverse=True)
        need((nodes(gpu), nodes(plain)) == (("true", False), (None, True)), name, "the nodes of the two are not all nodes, once")
        need(gpu["spec"]["template"]["spec"]["runtimeClassName"] == "nvidia", name, "no runtime class")
    else:
        need(len(pods) == 1, name, "%d DaemonSets" % len(pods))
    for monitor in of("PodMonitor"):
        (labels, container), (end,) = pods[0], monitor["spec"]["podMetricsEndpoints"]
        need(monitor["spec"]["selector"]["matchLabels"].items() <= labels.items(), name, "the PodMonitor selects nothing")
        ports = {p["name"]: p["containerPort"] for p in container["ports"]}
        config = next(d for n, d in maps.items() if n.startswith("skep-config"))["data"]["skepd.conf"]
        listen = next(s["listen"] for s in conf(config)["sinks"] if s["plugin"] == "prometheus")
        need(listen.endswith(":%d" % ports[end["port"]]), name, "the PodMonitor's port is not the port of %s" % listen)
    need(bool(of("PodMonitor")) == (name == "prometheus"), name, "PodMonitor")


def main():
    check_overlays()
    check_page()
    rendered = sorted(glob.glob(sys.argv[1] + "/*.yaml")) if len(sys.argv) > 1 else []
    for path in rendered:
        check_rendered(os.path.basename(path)[:-5], list(yaml.safe_load_all(open(path, encoding="utf-8"))))
    for words in bad:
        print("not ok - " + words)
    print("manifests.py: %d rendered, %d errors" % (len(rendered), len(bad)))
    return 1 if bad else 0


sys.exit(main())
