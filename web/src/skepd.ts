// SPDX-License-Identifier: Apache-2.0
// skepd.ts - the running skepd: the answer of skep status, key by key, lists as tables.
import { bytes, count, date, ns } from "./format";
import { Grid, type GridState } from "./grid";
import { failed, type Page } from "./parts";
import { watch } from "./source";
import { h, replace } from "./view";

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
type Item = { [key: string]: Json };
const plain = (v: Json | undefined): boolean => v === null || typeof v !== "object";

function text(key: string, v: Json | undefined): string {
	if (v === null || v === undefined || v === "") return "–";
	if (typeof v === "number") return key.endsWith("_ns") ? ns(v) : key.endsWith("_bytes") ? bytes(v) : count(v);
	return typeof v === "object" ? JSON.stringify(v) : String(v);
}
/** Objects within an object become columns "delivery.lag_ns". */
function flat(o: Item, before = ""): Item {
	const out: Item = {};
	for (const [key, v] of Object.entries(o)) {
		if (v !== null && typeof v === "object" && !Array.isArray(v)) Object.assign(out, flat(v, `${before}${key}.`));
		else out[before + key] = v;
	}
	return out;
}
const rowsOf = (v: Json[]): Item[] => v.filter((x): x is Item => !plain(x) && !Array.isArray(x)).map((x) => flat(x));
const keysOf = (rows: Item[]): string[] => [...new Set(rows.flatMap((r) => Object.keys(r)))];

/** What is on the page: a newer answer of the same shape changes the figures in place, so that focus and scrolling stay. */
interface Board { shape: string; grids: Map<string, Grid<Item>>; fields: Map<string, HTMLElement> }

function shapeOf(v: Json): string {
	if (Array.isArray(v)) return `[${keysOf(rowsOf(v)).join()}]`;
	return v === null || typeof v !== "object" ? "" : `{${Object.entries(v).map(([key, x]) => key + shapeOf(x)).join()}}`;
}
function section(board: Board, name: string, v: Json): HTMLElement | null {
	if (Array.isArray(v)) {
		const rows = rowsOf(v);
		if (!rows.length) return null;
		const grid = new Grid<Item>({
			name, rows, height: "24rem",
			columns: keysOf(rows).map((key) => {
				const number = rows.some((r) => typeof r[key] === "number");
				return { key, label: key, number, value: (r: Item) => (plain(r[key]) ? (r[key] as string | number | boolean | null) : JSON.stringify(r[key])), text: (r: Item) => text(key, r[key]), width: number ? "minmax(6rem, 9rem)" : undefined };
			}),
		});
		board.grids.set(name, grid);
		return h("section", null, h("h2", null, name), grid.el);
	}
	const o = v as Item, simple = Object.entries(o).filter(([, x]) => plain(x)), deep = Object.entries(o).filter(([, x]) => !plain(x));
	return h("section", null, h("h2", null, name), h("dl", { class: "fields" }, simple.map(([key, x]) => {
		const field = h("dd", null, text(key, x));
		board.fields.set(`${name}: ${key}`, field);
		return [h("dt", null, key), field];
	})), deep.map(([key, x]) => section(board, `${name}: ${key}`, x)));
}
function update(board: Board, name: string, v: Json): void {
	if (Array.isArray(v)) return board.grids.get(name)?.setRows(rowsOf(v));
	for (const [key, x] of Object.entries(v as Item)) {
		const field = board.fields.get(`${name}: ${key}`), now = text(key, x);
		if (!plain(x)) update(board, `${name}: ${key}`, x);
		else if (field && field.textContent !== now) replace(field, now);
	}
}

interface Rule { id: string; file: string; line: number; verdict: string; sample?: number; inherit: boolean; when: string; why: string; hits_user: number; hits_kernel: number; last: string | null; ended?: number; ended_cpu_ns?: number; cost_ns: number | null; in_kernel: boolean }
interface Rules { default: string; kernel: string | null; rules: Rule[] }

function rules(r: Rules): Grid<Rule> {
	return new Grid<Rule>({
		name: "Rules", rows: r.rules, height: "24rem", state: keptRules, key: (x) => x.id,
		columns: [
			{ key: "id", label: "rule", value: (x) => x.id, width: "minmax(8rem, 14rem)" },
			{ key: "verdict", label: "verdict", value: (x) => x.verdict, text: (x) => `${x.verdict === "sample" ? `1 in ${x.sample}` : x.verdict}${x.inherit ? " +" : ""}`, title: "+: its descendants get the same verdict", width: "7rem" },
			{ key: "when", label: "when", value: (x) => x.when, width: "minmax(12rem, 2fr)" },
			{ key: "hits_kernel", label: "by the kernel", value: (x) => x.hits_kernel, number: true, text: (x) => count(x.hits_kernel) },
			{ key: "hits_user", label: "by skepd", value: (x) => x.hits_user, number: true, text: (x) => count(x.hits_user) },
			{ key: "last", label: "last", value: (x) => x.last, text: (x) => date(x.last), width: "12rem" },
			{ key: "ended_cpu_ns", label: "CPU left out", value: (x) => x.ended_cpu_ns ?? null, number: true, text: (x) => (x.ended ? `${ns(x.ended_cpu_ns)} of ${count(x.ended)}` : "–"), title: "of the processes that it excluded and that have ended", width: "minmax(8rem, 10rem)" },
			{ key: "cost_ns", label: "cost", value: (x) => x.cost_ns, number: true, text: (x) => ns(x.cost_ns), title: "skepd's mean time to evaluate it" },
			{ key: "why", label: "why", value: (x) => x.why },
			{ key: "file", label: "file", value: (x) => `${x.file}:${x.line}` },
		],
	});
}
const keptRules: GridState = {};

export function skepdPage(): Page {
	const body = h("div", { "aria-busy": "true" }, h("p", { class: "quiet", role: "status" }, "Asking skepd …")), ruled = h("div");
	let board: Board | undefined, grid: Grid<Rule> | undefined;
	const draw = (s: Item): void => {
		const { ok: _ok, request: _request, ...rest } = s;
		const parts: [string, Json][] = [["skepd", Object.fromEntries(Object.entries(rest).filter(([, v]) => plain(v)))], ...Object.entries(rest).filter(([, v]) => !plain(v))];
		const shape = shapeOf(Object.fromEntries(parts));

		const known = board?.shape === shape ? board : undefined, fresh: Board = { shape, grids: new Map(), fields: new Map() };

		if (known) parts.forEach(([name, v]) => update(known, name, v));
		else replace(body, parts.map(([name, v]) => section((board = fresh), name, v)));
		body.removeAttribute("aria-busy");
	};
	const drawRules = (r: Rules): void => {
		if (grid) grid.setRows(r.rules);
		else if (r.rules.length) replace(ruled, h("section", null, h("h2", null, "Rules"),
			h("p", { class: "quiet" }, `The first rule that holds decides; without one the verdict is ${r.default}. ${r.kernel ? `The kernel decides none of them: ${r.kernel}.` : ""}`), (grid = rules(r)).el));
	};
	const stops = [
		watch<Item>("/api/status", 5, draw, (error) => replace(body, failed(error))),
		watch<Rules>("/api/rules", 5, drawRules, () => undefined), // the status says why skepd does not answer
	];
	return { el: h("div", null, h("h1", null, "skepd"), ruled, body), title: "skepd", stop: () => stops.forEach((stop) => stop()) };
}
