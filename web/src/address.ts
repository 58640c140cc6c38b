// SPDX-License-Identifier: Apache-2.0
// address.ts - what a reader has set on a page (order, filter, zoom) stands in its address: a link or a reload shows the same.

function parts(): [string, URLSearchParams] {
	const [path, query] = location.hash.split("?", 2);
	return [path, new URLSearchParams(query)];
}
export const setting = (key: string): string | null => parts()[1].get(key);

/** Replaces the address, so that the way back leads to the page before. value "": removes it. */
export function set(key: string, value: string): void {
	const [path, query] = parts();
	if ((query.get(key) ?? "") === value) return;
	if (value) query.set(key, value);
	else query.delete(key);
	try {
		history.replaceState(history.state, "", `${path}${query.size ? `?${query}` : ""}`);
	} catch {
		// a browser refuses too many changes a second; the next one has this one, too
	}
}

/** Replaces the path and keeps what a reader has set. */
export function move(path: string): void {
	const [, query] = parts();
	history.replaceState(history.state, "", `${path}${query.size ? `?${query}` : ""}`);
}
