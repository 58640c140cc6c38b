#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/kernels/signals-table.sh - the tables of expected/ as one, in Markdown, for docs/inside/kernels.md.
# signals-table.sh       one row a signal; y: yes, p: partial, -: missing, o: on demand; where the kernels differ, each
# method in words
. "$(dirname "$0")/lib.sh"
cd "$kernels_here/expected"
mapfile -t tables < <(printf '%s\n' *-v1 *-v2 | sort -t - -k 2,2r -k 1,1V)
awk -F '\t' -v tables="${tables[*]}" '
	BEGIN { n = split(tables, table, " "); short["ok"] = "y"; short["partial"] = "p"; short["missing"] = "-"; short["off"] = "o" }
	{
		key = $1 "\t" $2
		if (!(key in seen)) { seen[key] = ++rows; name[rows] = key }
		state[key, FILENAME] = ($3 in short) ? short[$3] : $3
		how[key, FILENAME] = $4
	}
	END {
		printf "| probe | signal |"; for (i = 1; i <= n; i++) printf " %s |", table[i]; printf " how |\n| --- | --- |"
		for (i = 1; i <= n; i++) printf " --- |"; printf " --- |\n"
		for (r = 1; r <= rows; r++) {
			key = name[r]; split(key, k, "\t"); ways = ""; count = 0
			printf "| %s | `%s` |", k[1], k[2]
			for (i = 1; i <= n; i++) printf " %s |", ((key, table[i]) in state) ? state[key, table[i]] : " "
			for (i = 1; i <= n; i++) {
				h = how[key, table[i]]
				if (h == "" || (h in known && known[h] == r)) continue
				known[h] = r
				ways = ways (count++ ? "; " table[i] ": " : "") h
			}
			gsub(/[|]/, "\\|", ways)
			printf " %s |\n", ways
		}
	}' "${tables[@]}"
