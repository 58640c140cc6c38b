// SPDX-License-Identifier: Apache-2.0
// hosts.ts - what hosts used, hour by hour; of one host its GPUs and containers too; and what is wasted there.
import { bytes, count, date, percent, seconds } from "./format";
import { Grid, type GridState } from "./grid";
import { failed, link, meter, type Page } from "./parts";
import { get, watch } from "./source";
import { colour, h, replace, type Live } from "./view";

interface Hours { start: string[]; known_s: number[]; capacity_s: number[]; busy_s: number[]; idle_s: number[]; runs_s: number[]; daemons_s: number[]; memory_bytes: number[]; memory_limit_bytes: number[]; rx_bytes: number[]; tx_bytes: number[] }
interface Host { host: string; cpus: number; memory_bytes: number; last: string; runs: number; live_runs: number; last_run: string | null; items: { item: string; hours: Hours }[] }
interface Hosts { since: string; until: string; hosts: Host[] }
interface Waste { kind: string; severity: string; host: string; subject: string; run: string | null; worth: number | null; windows_s: number; from: string; to: string; evidence: string; advice: string }
interface Wastes { worth_unit: string; findings: Waste[] }
/** A row: a host, or an item of it. */
interface Row { host: Host; item: string; hours?: Hours; at: number[]; share: number[]; runs: number[]; busy: number | null; byRuns: number | null; memory: number; limit: number; traffic: number }

const HOUR = 3600e3;
const kept: GridState = {}, keptItems: GridState = {};
const sum = (list: number[] | undefined): number => (list ?? []).reduce((a, b) => a + b, 0);

function rowOf(host: Host, item: string, hours?: Hours): Row {
	// A GPU is one device, whoever holds it; a container can use all CPUs of its host.
	const capacity = !hours ? [] : !item ? hours.capacity_s : hours.known_s.map((s) => s * (item.startsWith("gpu/") ? 1 : host.cpus));
	const all = sum(capacity), busy = sum(hours?.busy_s);

	return {
		host, item, hours, at: (hours?.start ?? []).map((s) => Date.parse(s)),
		share: capacity.map((c, i) => (c > 0 ? hours!.busy_s[i] / c : NaN)), runs: capacity.map((c, i) => (c > 0 ? hours!.runs_s[i] / c : 0)),
		busy: all > 0 ? busy / all : null, byRuns: !item && busy > 0 ? Math.min(1, sum(hours?.runs_s) / busy) : null, // two clocks of the kernel, some percent apart
		memory: Math.max(0, ...(hours?.memory_bytes ?? [])), limit: Math.max(0, ...(hours?.memory_limit_bytes ?? [])),
		traffic: sum(hours?.rx_bytes) + sum(hours?.tx_bytes),
	};
}

/** What the page shows: each answer replaces it, and the tables read it again. */
interface Seen { rows: Row[]; from: number; to: number }
function seenOf(answer: Hosts): Seen {
	const rows = answer.hosts.flatMap((host) => {
		const items = host.items.map((i) => rowOf(host, i.item, i.hours));
		return items.some((r) => !r.item) ? items : [rowOf(host, ""), ...items];
	});
	return { rows, from: Date.parse(answer.since), to: Date.parse(answer.until) };
}
const keyOf = (r: Row): string => `${r.host.host} ${r.item}`;

/** A bar an hour: its height is the share of the capacity, blue the part of runs. An hour without a record is a line. */
function strip(ctx: CanvasRenderingContext2D, r: Row, from: number, to: number, width: number, height: number): void {
	const X = (t: number): number => Math.round(((t - from) / (to - from)) * width), top = 3, most = height - 6;

	ctx.fillStyle = colour("rule");
	ctx.fillRect(0, Math.round(height / 2), width, 1);
	r.at.forEach((t, i) => {
		const x = Math.max(0, X(t)), w = Math.max(1, X(t + HOUR) - x - (width / ((to - from) / HOUR) > 5 ? 1 : 0));
		const all = Math.min(1, r.share[i]) * most, runs = Math.min(1, r.item ? r.share[i] : r.runs[i]) * most;

		if (Number.isNaN(all)) return;
		ctx.fillStyle = colour("panel");
		ctx.fillRect(x, top, w, most);
		ctx.fillStyle = colour("edge");
		ctx.fillRect(x, top + most - all, w, all);
		ctx.fillStyle = colour("cpu");
		ctx.fillRect(x, top + most - runs, w, runs);
	});
}
function days(ctx: CanvasRenderingContext2D, from: number, to: number, width: number, height: number): void {
	const every = Math.max(1, Math.ceil(((to - from) / 86400e3) / Math.max(1, width / 60)));
	const short = to - from <= 2 * 86400e3, first = new Date(from);

	first.setHours(short ? first.getHours() : 0, 0, 0, 0);
	ctx.font = "11px system-ui, sans-serif";
	ctx.textBaseline = "middle";
	ctx.fillStyle = colour("quiet");
	for (const d = first; d.getTime() < to; short ? d.setHours(d.getHours() + 4) : d.setDate(d.getDate() + every)) {
		const two = (n: number): string => String(n).padStart(2, "0"), x = ((d.getTime() - from) / (to - from)) * width;
		const text = short ? `${two(d.getHours())}:00` : `${two(d.getMonth() + 1)}-${two(d.getDate())}`;
		if (x >= 0 && x + ctx.measureText(text).width <= width) ctx.fillText(text, x, height / 2);
	}
}

/** time: what the page was asked for, which the page of a host keeps. */
function table(seen: Seen, one: boolean, time: string): Live {
	const grid = new Grid<Row>({
		name: one ? "The host, its GPUs and containers" : "Hosts", rows: seen.rows, state: one ? keptItems : kept, key: keyOf,
		pick: one ? undefined : (r) => (location.hash = link("hosts", r.host.host) + time), picked: "opens the host",
		columns: [
			{ key: "host", label: one ? "item" : "host", value: (r) => (one ? r.item || r.host.host : r.host.host), width: "minmax(9rem, 14rem)" },
			{ key: "cpus", label: "CPUs", value: (r) => (r.item ? null : r.host.cpus || null), text: (r) => (r.item || !r.host.cpus ? "" : String(Math.round(r.host.cpus))), number: true, width: "5rem" },
			{ key: "busy", label: "busy", value: (r) => r.busy, text: (r) => percent(r.busy), node: (r) => meter(r.busy), number: true, title: "of its CPUs; of a GPU: a kernel ran on it; of a container: of its host's CPUs" },
			{ key: "by_runs", label: "by runs", value: (r) => r.byRuns, text: (r) => (r.item ? "" : percent(r.byRuns)), number: true, width: "6rem" },
			{ key: "hours", label: "hour by hour", title: "a bar an hour, its height the share in use, blue for runs; a line: no record", value: () => null, width: "minmax(18rem, 3fr)", draw: (ctx, r, w, hgt) => strip(ctx, r, seen.from, seen.to, w, hgt), axis: (ctx, w, hgt) => days(ctx, seen.from, seen.to, w, hgt) },
			{ key: "memory_bytes", label: "memory", value: (r) => r.memory, text: (r) => (r.memory ? bytes(r.memory) : "–"), node: (r) => meter(r.limit ? r.memory / r.limit : null, "memory"), number: true, title: "most in use at a sample" },
			{ key: "traffic_bytes", label: "network", value: (r) => r.traffic, text: (r) => (r.traffic ? bytes(r.traffic) : "–"), number: true },
			{ key: "runs", label: "runs", value: (r) => (r.item ? null : r.host.runs), text: (r) => (r.item ? "" : count(r.host.runs)), number: true, width: "5rem" },
			{ key: "live_runs", label: "now", value: (r) => (r.item ? null : r.host.live_runs), text: (r) => (r.item ? "" : r.host.live_runs ? count(r.host.live_runs) : "–"), number: true, width: "4.5rem" },
			{ key: "last", label: "last record", value: (r) => (r.item ? null : r.host.last), text: (r) => (r.item ? "" : date(r.host.last)), width: "12rem" },
		],
	});
	return { el: grid.el, update: () => grid.setRows(seen.rows) };
}

interface Account { key: string; label: string; s: number; share: number }
/** The ledger of a host's CPUs: each second of them once. */
function accounts({ rows: [host], from, to }: Seen): Account[] {
	const h0 = host?.hours;
	if (!h0) return [];
	const [capacity, busy, idle, runs, daemons] = [h0.capacity_s, h0.busy_s, h0.idle_s, h0.runs_s, h0.daemons_s].map(sum);
	const asked = ((to - from) / 1000) * host.host.cpus, all = Math.max(capacity, asked); // the kernel's clocks differ by some percent
	const entries: [string, string, number][] = [
		["runs", "runs", runs], ["daemons", "the system's own programs", daemons], ["others", "other processes", busy - runs - daemons],
		["no_process", "no process: interrupts, stolen time", capacity - busy - idle], ["idle", "idle", idle], ["unknown", "no record", asked - capacity],
	];
	return entries.map(([key, label, s]) => ({ key, label, s: Math.max(0, s), share: Math.max(0, s) / all }));
}
function ledger(seen: Seen): Live {
	const grid = new Grid<Account>({
		name: "CPU time of the host", rows: accounts(seen), height: "20rem", key: (r) => r.key,
		columns: [
			{ key: "account", label: "account", value: (r) => r.label, width: "minmax(14rem, 1fr)" },
			{ key: "time_s", label: "CPU time", value: (r) => r.s, text: (r) => seconds(r.s), number: true },
			{ key: "share", label: "share", value: (r) => r.share, text: (r) => percent(r.share), node: (r) => meter(r.share, r.key === "runs" ? "cpu" : "rest"), number: true },
		],
	});
	const el = h("section", null, h("h2", null, "Where the time of its CPUs went"), grid.el);
	const update = (): void => {
		const rows = accounts(seen);
		el.hidden = !rows.length;
		grid.setRows(rows);
	};
	update();
	return { el, update };
}

/** The hours behind the bars, made when they are asked for. */
function values(seen: Seen): Live {
	type Cell = { r: Row; i: number };
	const details = h("details", null, h("summary", null, "The hours as a table"));
	const cells = (): Cell[] => seen.rows.flatMap((r) => r.at.map((_, i) => ({ r, i })));
	let grid: Grid<Cell> | undefined;
	details.addEventListener("toggle", () => {
		if (grid) return;
		const of = (key: keyof Hours) => ({ r, i }: Cell): number => r.hours![key][i] as number;
		grid = new Grid<Cell>({
			name: "Hours", rows: cells(), height: "24rem", key: ({ r, i }) => `${keyOf(r)} ${r.at[i]}`,
			columns: [
				{ key: "host", label: "host", value: ({ r }) => r.host.host },
				{ key: "item", label: "item", value: ({ r }) => r.item },
				{ key: "start", label: "hour", value: ({ r, i }) => r.hours!.start[i], text: ({ r, i }) => date(r.hours!.start[i]), width: "11rem" },
				...(["known_s", "capacity_s", "busy_s", "runs_s"] as const).map((key) => ({ key, label: key.slice(0, -2), value: of(key), text: (c: Cell) => seconds(of(key)(c)), number: true })),
				...(["memory_bytes", "rx_bytes", "tx_bytes"] as const).map((key) => ({ key, label: key.slice(0, -6), value: of(key), text: (c: Cell) => bytes(of(key)(c)), number: true })),
			],
		});
		details.append(grid.el);
	});
	return { el: details, update: () => grid?.setRows(cells()) };
}

function waste(w: Waste, unit: string): HTMLElement {
	const warns = w.severity === "warning";
	return h("article", { class: `card ${warns ? "warn" : ""}` },
		h("h3", null, h("span", { class: "sign", "aria-hidden": "true" }, warns ? "▲" : "●"), ` ${w.host}`, w.subject && ` ${w.subject}`, h("span", { class: "quiet" }, ` – ${w.kind}`)),
		h("p", null, w.evidence), h("p", null, h("strong", null, w.advice)),
		h("p", { class: "quiet" }, `${date(w.from)} to ${date(w.to)}`, w.worth === null ? "" : ` · worth ${w.worth.toFixed(w.worth < 10 ? 2 : 0)} ${unit}`,
			w.run && [" · ", h("a", { href: link("run", w.run) }, "its run")]));
}

export function hostsPage(name: string | undefined, query: URLSearchParams): Page {
	const asked = new URLSearchParams();
	for (const key of ["since", "until"]) if (query.get(key)) asked.set(key, query.get(key)!);
	const form = h("form", {
		class: "filters", "aria-label": "Which time",
		onsubmit: (e: Event) => {
			e.preventDefault();
			const next = new URLSearchParams();
			for (const [key, value] of new FormData(e.target as HTMLFormElement)) if (value) next.set(key, String(value));
			location.hash = `${name === undefined ? "#/hosts" : link("hosts", name)}${next.size ? `?${next}` : ""}`;
		},
	},
	h("label", null, "since", h("input", { name: "since", value: asked.get("since") ?? "", placeholder: "7d", size: 12 })),
	h("label", null, "until", h("input", { name: "until", value: asked.get("until") ?? "", placeholder: "now, a time", size: 22 })), h("button", null, "Show"));
	const time = asked.size ? `?${asked}` : "";
	if (name !== undefined) asked.set("host", name);
	const path = asked.size ? `?${asked}` : "", wasted = h("section");
	const body = h("div", { "aria-busy": "true" }, h("p", { class: "quiet", role: "status" }, "Reading the hours …"));
	let seen: Seen | undefined, parts: Live[] = [], left = false;

	function draw(answer: Hosts): void {
		const now = seenOf(answer);
		body.removeAttribute("aria-busy");
		if (seen) {
			Object.assign(seen, now);
			for (const p of parts) p.update();
		} else if (now.rows.length) {
			seen = now;
			parts = [table(seen, name !== undefined, time), ...(name === undefined ? [] : [ledger(seen)]), values(seen)];
			replace(body, parts.map((p) => p.el));
		} else {
			replace(body, h("p", null, "The lake has no record of a host in this time."));
		}
	}
	get<Wastes>(`/api/sweep${path}`).then((w) => {
		if (!left) replace(wasted, h("h2", null, asked.has("since") ? "Wasted" : "Wasted in 30 days"), w.findings.length ? h("div", { class: "cards" }, w.findings.slice(0, 50).map((f) => waste(f, w.worth_unit))) : h("p", null, "Nothing is wasted in this time."));
	}).catch((error) => { if (!left) replace(wasted, h("h2", null, "Wasted"), failed(error)); });
	const stop = watch<Hosts>(`/api/hosts${path}`, 60, draw, (error) => replace(body, failed(error)));
	return {
		el: h("div", null, h("h1", null, name === undefined ? "Hosts" : `Host ${name}`, name !== undefined && h("span", { class: "quiet" }, " ", h("a", { href: `#/runs?${new URLSearchParams({ host: name })}` }, "its runs"))), form, body, wasted),
		title: name === undefined ? "Hosts" : name, stop: () => { left = true; stop(); },
	};
}
