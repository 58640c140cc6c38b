#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/packages/image.sh [FOLDER] - the OCI image that scripts/package left in FOLDER (build/package/out): its digests,
# then run by runc as packaging/kubernetes has it run (capabilities, mounts, read-only root), and asked.
# Also checks the manifest: every reference in it leads to an entry of it. Exit status 77: cannot run here.
set -euo pipefail
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)
src=$here/../..
folder=$(cd "${1:-$src/build/package/out}" && pwd)
for p in runc:runc jq:jq; do
	command -v "${p%:*}" >/dev/null || { echo "skip: image.sh needs ${p#*:}; remedy: apt-get install -y ${p#*:}"; exit 77; }
done
python3 -c 'import yaml' 2>/dev/null || { echo "skip: image.sh needs python3-yaml; remedy: apt-get install -y python3-yaml"; exit 77; }
[ "$(id -u)" -eq 0 ] || { echo "skip: image.sh needs root"; exit 77; }
tar=$(find "$folder" -maxdepth 1 -name 'skep-*-oci.tar' | LC_ALL=C sort | tail -1)
[ -n "$tar" ] || { echo "image.sh: no skep-*-oci.tar in $folder; remedy: scripts/package deb image" >&2; exit 1; }
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-image.XXXXXX")
id=skep-test-$$
end() {
	runc kill $id KILL >/dev/null 2>&1 || true
	runc delete -f $id >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap end EXIT
failed=0
check() {
	local what=$1
	shift
	if "$@" >"$work/log" 2>&1; then
		echo "ok - $what"
	else
		echo "not ok - $what"
		tail -n 15 "$work/log" | sed 's/^/# /'
		failed=1
	fi
}
within() {
	local until=$((SECONDS + 120))
	until "$@"; do
		[ $SECONDS -lt $until ] || return 1
		sleep 0.2
	done
}

# ---- the image: index, manifest, configuration, layer, each by its digest ---------------------
mkdir "$work/layout" "$work/root"
tar xf "$tar" -C "$work/layout"
check "each blob has the digest that is its name" sh -c 'cd "$1/blobs/sha256" && for f in *; do echo "$f  $f"; done | sha256sum -c' - "$work/layout"
blob() { echo "$work/layout/blobs/${1/:/\/}"; }
manifest=$(blob "$(jq -r '.manifests[0].digest' "$work/layout/index.json")")
layer=$(blob "$(jq -r '.layers[0].digest' "$manifest")")
config=$(blob "$(jq -r .config.digest "$manifest")")
check "the layer is what the configuration says" \
	test "$(jq -r '.rootfs.diff_ids[0]' "$config")" = "sha256:$(gzip -dc "$layer" | sha256sum | cut -d' ' -f1)"
tar xzf "$layer" -C "$work/root"
authorities() { [ "$(grep -c 'BEGIN CERTIFICATE' "$work/root/etc/ssl/certs/ca-certificates.crt")" -gt 50 ]; }
check "receivers' certificates can be verified: authorities are there" authorities

# ---- the manifest -------------------------------------------------------------------------------
check "the manifest" python3 - "$src/packaging/kubernetes" "$work" <<'END'
import json, sys, yaml
documents = [yaml.safe_load(open(f"{sys.argv[1]}/{f}")) for f in ("base/namespace.yaml", "base/filters.yaml", "daemonset/daemonset.yaml")]
kinds = {d["kind"]: d for d in documents}
daemon = kinds["DaemonSet"]
pod = daemon["spec"]["template"]
assert daemon["apiVersion"] == "apps/v1"
labels = daemon["spec"]["selector"]["matchLabels"]
assert labels.items() <= pod["metadata"]["labels"].items(), "the selector does not select"
volumes = {v["name"]: v for v in pod["spec"]["volumes"]}
(container,) = pod["spec"]["containers"]
mounts = {m["name"]: m for m in container["volumeMounts"]}
assert volumes.keys() == mounts.keys(), "volumes and mounts are not the same"
assert volumes["filters"]["configMap"]["name"] == kinds["ConfigMap"]["metadata"]["name"]
for d in documents:
    assert d["kind"] == "Namespace" or d["metadata"]["namespace"] == kinds["Namespace"]["metadata"]["name"]
for name, text in kinds["ConfigMap"]["data"].items():
    json.dump(json.loads(text), open(f"{sys.argv[2]}/{name}", "w"))
# The messages of runc below are printed there.
json.dump({"capabilities": ["CAP_" + c for c in container["securityContext"]["capabilities"]["add"]],
           "probe": container["livenessProbe"]["exec"]["command"],
           "mounts": [[mounts[n]["mountPath"], v["hostPath"]["path"], mounts[n].get("readOnly", False)]
                      for n, v in volumes.items() if "hostPath" in v]}, open(f"{sys.argv[2]}/pod.json", "w"))
END

# ---- run ------------------------------------------------------------------------------------------
# With its state in a folder of the test, and one more sink to look at.
mkdir "$work/state" "$work/run" "$work/filters"
mv "$work"/*-site.json "$work/filters/"
sed 's|"sinks": \[|&\n\t\t{ "plugin": "file", "path": "/var/lib/skep/records.jsonl", "streams": ["process.exit", "host.filesystem"] },|' \
	"$work/root/etc/skep/skepd.conf" >"$work/skepd.conf"
(cd "$work" && runc spec)
jq --slurpfile pod "$work/pod.json" --slurpfile image "$config" --arg work "$work" '
	$pod[0] as $p | $p.capabilities as $c |
	.process.terminal = false | .process.args = $image[0].config.Entrypoint + $image[0].config.Cmd |
	.process.env = $image[0].config.Env |
	.process.capabilities = {bounding: $c, effective: $c, permitted: $c, inheritable: $c} |
	.process.noNewPrivileges = true |
	.root = {path: ($work + "/root"), readonly: true} |
	.linux.namespaces |= map(select(.type != "pid" and .type != "network")) |
	.linux.maskedPaths = [] | .linux.resources = {} |
	.mounts = [{destination: "/proc", source: "/proc", type: "bind", options: ["rbind", "rw"]},
		{destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["nosuid", "mode=755", "size=65536k"]},
		{destination: "/etc/skep/skepd.conf", source: ($work + "/skepd.conf"), type: "bind", options: ["bind", "ro"]},
		{destination: "/etc/skep/filters.d", source: ($work + "/filters"), type: "bind", options: ["bind", "ro"]}] +
		[$p.mounts[] | {destination: .[0], type: "bind",
			source: ({"/var/lib/skep": ($work + "/state"), "/run/skep": ($work + "/run")}[.[0]] // .[1]),
			options: (["rbind"] + if .[2] then ["ro"] else ["rw"] end)}]' "$work/config.json" >"$work/config.new"
mv "$work/config.new" "$work/config.json"
runc run -b "$work" --detach $id >"$work/out" 2>&1 </dev/null || true
mapfile -t probe < <(jq -r '.probe[]' "$work/pod.json")
check "skepd answers the probes of the manifest" within runc exec $id "${probe[@]}"
plugins() { runc exec $id /usr/bin/skep plugins --json; }
check "nine probes and two sinks work" sh -c '[ "$(runc exec "$1" /usr/bin/skep plugins --json | grep -c "\"state\": *\"running\"")" = 11 ]' - $id
cp /bin/true "$work/ran-outside"
"$work/ran-outside"
check "a process of the host is recorded" within grep -q "\"exe\": *\"$work/ran-outside\"" "$work/state/records.jsonl"
check "the records have the host's file systems" within grep -q '"stream": *"host.filesystem".*"/"' "$work/state/records.jsonl"
check "rules from the ConfigMap: skep reload" runc exec $id /usr/bin/skep reload
runc kill $id TERM
gone() { [ "$(runc state $id | jq -r .status)" = stopped ]; }
check "SIGTERM ends it" within gone
check "skepd has saved its state in the spool" test -s "$work/state/spool.db"
[ $failed -eq 0 ] || sed 's/^/# /' "$work/out"
exit $failed
