# SPDX-License-Identifier: Apache-2.0
# rpm/package.bash - sourced by scripts/package.

# Times in the packages come from the changelog. A Debian host has the libraries, but rpm's database does not know them:
# hence --nodeps; configure checks the libraries.
rpm() {
	need rpmbuild rpm
	local top=$work/rpm dist_version abi nodeps='' nodebug=''
	dist_version=${SKEP_DIST##*/skep-} dist_version=${dist_version%.tar.gz}
	abi=$(sed -nE 's/^#define SKEP_ABI_(MAJOR|MINOR)[[:space:]]+([0-9]+).*/\2/p' "$src/include/skep/plugin.h" | paste -sd.)
	rm -rf "$top" && mkdir -p "$top/SOURCES"
	cp "$SKEP_DIST" "$top/SOURCES/skep-$dist_version.tar.gz"
	[ ! -e /etc/debian_version ] || nodeps=--nodeps nodebug='--define=skep_no_debuginfo 1'
	rpmbuild -ba ${nodeps:+"$nodeps"} ${nodebug:+"$nodebug"} --define "_topdir $top" --define "skep_version $dist_version" --define "skep_abi $abi" \
		--define "_smp_mflags -j$jobs" --define 'use_source_date_epoch_as_buildtime 1' --define 'source_date_epoch_from_changelog 1' \
		--define 'clamp_mtime_to_source_date_epoch 1' --define '_buildhost skep' \
		"$src/packaging/rpm/skep.spec" >"$top/log" 2>&1 ||
		{ tail -n 30 "$top/log" >&2; fail "rpmbuild failed: $top/log"; }
	cp "$top"/RPMS/*/*.rpm "$top"/SRPMS/*.rpm "$out/"
}
