// SPDX-License-Identifier: Apache-2.0
// download.ts - hands a table to the browser as a file.

export type Value = string | number | boolean | null | undefined;

/** Spreadsheets compute a text that begins so; an apostrophe stops them. A process chooses its own arguments. */
function cell(v: Value): string {
	if (v === null || v === undefined) return "";
	const s = typeof v === "string" && /^[=+\-@\t\r]/.test(v) ? `'${v}` : String(v);
	return /[",\n\r]/.test(s) ? `"${s.replace(/"/g, '""')}"` : s;
}

export function csv(keys: string[], rows: Value[][]): string {
	return [keys, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
export function json(keys: string[], rows: Value[][]): string {
	return JSON.stringify(rows.map((row) => Object.fromEntries(row.map((v, i) => [keys[i], v ?? null]))), null, 1) + "\n";
}

export function save(name: string, type: string, text: string): void {
	const url = URL.createObjectURL(new Blob([text], { type }));
	const a = document.createElement("a");

	a.href = url;
	a.download = name;
	a.click();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
}
