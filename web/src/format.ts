// SPDX-License-Identifier: Apache-2.0
// format.ts - figures for people. A value that is not known is "–".

export const none = "–";
type Figure = number | null | undefined;

function few(n: number): string {
	return n >= 99.95 ? n.toFixed(0) : n >= 9.995 ? n.toFixed(1) : n.toFixed(2);
}

export function bytes(n: Figure): string {
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
	let i = 0;

	if (n === null || n === undefined) return none;
	if (Math.abs(n) < 1024) return `${Math.round(n)} B`;
	while (Math.abs(n) >= (i ? 1023.5 : 1024) && i + 1 < units.length) {
		n /= 1024;
		i++;
	}
	return `${few(n)} ${units[i]}`;
}

export function seconds(s: Figure): string {
	if (s === null || s === undefined) return none;
	if (s < 0) return `-${seconds(-s)}`;
	if (s === 0) return "0 s";
	if (s < 0.9995e-3) return `${few(s * 1e6)} µs`;
	if (s < 0.9995) return `${few(s * 1e3)} ms`;
	if (s < 59.95) return `${few(s)} s`;
	// rounded as in skep's texts: two answers about one run are equal
	const two = (n: number): string => String(n).padStart(2, "0");
	const whole = Math.round(s), minutes = Math.round(s / 60), hours = Math.round(s / 3600);
	if (whole < 3600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`;
	if (minutes < 24 * 60) return `${Math.floor(minutes / 60)}h${two(minutes % 60)}m`;
	return `${Math.floor(hours / 24)}d${two(hours % 24)}h`;
}
export const ns = (n: Figure): string => seconds(n === null || n === undefined ? n : n / 1e9);

export function count(n: Figure): string {
	return n === null || n === undefined ? none : Math.round(n).toLocaleString("en-GB");
}
export function cores(n: Figure): string {
	return n === null || n === undefined ? none : n >= 100 ? n.toFixed(0) : n.toFixed(2);
}
export function percent(n: Figure): string {
	return n === null || n === undefined ? none : `${few(n * 100)} %`;
}

/** 2026-11-21 03:48:15, in the reader's time zone */
export function date(iso: string | null | undefined): string {
	if (!iso) return none;
	const d = new Date(iso);
	const two = (n: number): string => String(n).padStart(2, "0");
	return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

/** A word of an argument list as a shell would need it. */
function word(s: string): string {
	return /^[\w@%+=:,./-]+$/.test(s) ? s : `'${s.replace(/'/g, "'\\''")}'`;
}
export function command(argv: string[] | null | undefined): string {
	return (argv ?? []).map(word).join(" ");
}

/** "exit 1", "SIGKILL", "running" */
export function end(of: { exit_code?: number | null; signal_name?: string | null; end?: string | null; state?: string | null }): string {
	if (of.signal_name) return of.signal_name;
	if (of.exit_code !== null && of.exit_code !== undefined) return of.exit_code === 0 ? "0" : `exit ${of.exit_code}`;
	return of.end ? "unknown" : "running";
}
