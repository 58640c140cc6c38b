# SPDX-License-Identifier: Apache-2.0
# container/package.bash - sourced by scripts/package: makes an OCI image, as a folder (image-layout 1.0) in a tar file.
# The image has the package's content, the libraries that it is linked with and the authorities that Debian trusts, from
# the Debian that built it. It has no shell and nothing else.

# blob FOLDER FILE: copies the file to a blob named by its digest; prints "sha256:DIGEST SIZE"
blob() {
	local digest
	digest=$(sha256sum "$2" | cut -d' ' -f1)
	cp "$2" "$1/blobs/sha256/$digest"
	echo "sha256:$digest $(stat -c %s "$2")"
}

image() {
	need jq jq
	local top=$work/image root=$work/image/root layout=$work/image/layout deb lib epoch tag arch created diff layer conf manifest digest size
	deb=$(find "$out" -maxdepth 1 -name 'skep_*.deb' | LC_ALL=C sort | tail -1)
	[ -n "$deb" ] || fail "the image is made of the package: scripts/package deb image"
	tag=$(dpkg-deb -f "$deb" Version) arch=$(dpkg-deb -f "$deb" Architecture)
	tag=${tag%-*}
	rm -rf "$top" && mkdir -p "$root" "$layout/blobs/sha256"
	dpkg-deb -x "$deb" "$root"
	rm -rf "$root/usr/share/doc" "$root/usr/share/man" "$root/usr/share/bash-completion" "$root/usr/share/zsh" "${root:?}/lib" "$root/usr/lib/systemd" \
		"$root/usr/lib/sysusers.d" "$root/usr/lib/tmpfiles.d" "$root/usr/share/skep/grafana" "$root/usr/share/skep/prometheus"
	# The loader's --list prints each library of the programs and plugins; plugins find them as the programs do.
	while read -r lib; do
		mkdir -p "$root${lib%/*}"
		cp -L "$lib" "$root$lib"
	done < <(find "$root" -type f \( -perm -u+x -o -name '*.so' \) -exec ldd {} + 2>/dev/null |
		grep -oE '/[^ ]+\.so[^ ]*' | grep -v "^$root" | LC_ALL=C sort -u)
	mkdir -p "$root/etc/skep/filters.d" "$root/var/lib/skep" "$root/run/skep" "$root/host" "$root/proc" "$root/sys" "$root/tmp"
	# The package's certificates, not /etc/ssl/certs, to which an administrator of this machine may have added others.
	[ -d /usr/share/ca-certificates/mozilla ] || fail "there are no certificates of authorities; remedy: apt-get install -y ca-certificates"
	mkdir -p "$root/etc/ssl/certs"
	find /usr/share/ca-certificates/mozilla -name '*.crt' -print0 | LC_ALL=C sort -z | xargs -0 cat >"$root/etc/ssl/certs/ca-certificates.crt"
	install -m 0644 "$src/packaging/container/skepd.conf" "$root/etc/skep/skepd.conf"
	printf 'root:x:0:0:root:/:/sbin/nologin\nskep:x:999:999:skep telemetry:/var/lib/skep:/sbin/nologin\n' >"$root/etc/passwd"
	printf 'root:x:0:\nskep:x:999:\n' >"$root/etc/group"

	epoch=$(dpkg-parsechangelog -l "$src/packaging/debian/changelog" -S Timestamp)
	created=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)
	tar c -C "$root" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" --format=posix \
		--pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime . >"$top/layer"
	diff=$(sha256sum "$top/layer" | cut -d' ' -f1)
	gzip -9n "$top/layer"
	read -r digest size < <(blob "$layout" "$top/layer.gz")
	layer=$(jq -nc --arg d "$digest" --argjson s "$size" \
		'{mediaType: "application/vnd.oci.image.layer.v1.tar+gzip", digest: $d, size: $s}')
	jq -nc --arg c "$created" --arg a "$arch" --arg d "sha256:$diff" --arg v "$tag" '{created: $c, architecture: $a, os: "linux",
		config: {Entrypoint: ["/usr/sbin/skepd"], Cmd: ["--foreground"], Env: ["PATH=/usr/sbin:/usr/bin"], WorkingDir: "/",
			StopSignal: "SIGTERM", Labels: {"org.opencontainers.image.title": "skep", "org.opencontainers.image.version": $v,
			"org.opencontainers.image.licenses": "Apache-2.0"}},
		rootfs: {type: "layers", diff_ids: [$d]}, history: [{created: $c, created_by: "scripts/package image"}]}' >"$top/config"
	read -r digest size < <(blob "$layout" "$top/config")
	conf=$(jq -nc --arg d "$digest" --argjson s "$size" '{mediaType: "application/vnd.oci.image.config.v1+json", digest: $d, size: $s}')
	jq -nc --argjson c "$conf" --argjson l "$layer" \
		'{schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json", config: $c, layers: [$l]}' >"$top/manifest"
	read -r digest size < <(blob "$layout" "$top/manifest")
	manifest=$(jq -nc --arg d "$digest" --argjson s "$size" --arg t "$tag" '{mediaType: "application/vnd.oci.image.manifest.v1+json",
		digest: $d, size: $s, annotations: {"org.opencontainers.image.ref.name": $t}}')
	jq -nc --argjson m "$manifest" '{schemaVersion: 2, manifests: [$m]}' >"$layout/index.json"
	echo '{"imageLayoutVersion":"1.0.0"}' >"$layout/oci-layout"
	tar c -C "$layout" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" . >"$out/skep-$tag-oci.tar"
}
