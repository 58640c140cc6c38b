#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/packages/newcomer.sh [FOLDER] - installs the package of FOLDER (build/package/out) in a layer over the machine's
# files, which goes at the end, and runs tests/engines/newcomer.sh there with the installed programs: a user in no
# group runs two Snakemakes at once, a CWL workflow and a Slurm array, and `skep runs` names them. 77: cannot run here.
set -euo pipefail
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/../../build/package/out}
[ "$(id -u)" -eq 0 ] || { echo "skip: newcomer.sh needs root"; exit 77; }
command -v snakemake >/dev/null || { echo "skip: no snakemake (scripts/deps --install engines)"; exit 77; }
deb=$(find "$folder" -maxdepth 1 -name 'skep_*.deb' | LC_ALL=C sort | tail -1)
[ -n "$deb" ] || { echo "newcomer.sh: no skep_*.deb in $folder; remedy: scripts/package deb" >&2; exit 1; }
if [ -z "${NEWCOMER_LAYER:-}" ]; then
	NEWCOMER_LAYER=$(mktemp -d "${TMPDIR:-/tmp}/skep-newcomer-layer.XXXXXX")
	export NEWCOMER_LAYER
	trap 'rm -rf "$NEWCOMER_LAYER"' EXIT
	unshare -m --propagation private bash "$0" "$folder"
	exit
fi

layer=$NEWCOMER_LAYER root=$NEWCOMER_LAYER/root
mount -t tmpfs none "$layer"
mkdir "$layer"/{upper,work,root}
mount -t overlay -o "lowerdir=/,upperdir=$layer/upper,workdir=$layer/work" none "$root"
for at in /proc /sys /dev; do mount --rbind $at "$root$at"; done
mount -t tmpfs none "$root/tmp"
mkdir -p "$root/tmp/tree/tests" "$root/tmp/tree/etc"
cp -r "$here/../engines" "$here/../e2e" "$here/../wait.sh" "$root/tmp/tree/tests/"
cp "$deb" "$root/tmp/skep.deb"
# No service manager runs in the layer: the package must say nothing and start nothing, as in a container.
chroot "$root" dpkg -i /tmp/skep.deb >"$layer/log" 2>&1 || { cat "$layer/log"; echo "not ok - install"; exit 1; }
echo "ok - install"
cp "$root/etc/skep/skepd.conf" "$root/tmp/tree/etc/"
plugins=$(dirname "$(chroot "$root" dpkg -L skep | grep '/proc\.so$')")
TMPDIR=/tmp SKEP=/usr/bin/skep SKEPD=/usr/sbin/skepd SKEP_PLUGIN_DIRS=$plugins chroot "$root" bash /tmp/tree/tests/engines/newcomer.sh
