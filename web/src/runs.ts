// SPDX-License-Identifier: Apache-2.0
// runs.ts - the runs of the lake: filtered by skep, sorted here; they move while they run.
import type { RunRow } from "./answers";
import { bytes, cores, count, date, end, ns } from "./format";
import { Grid, type GridState } from "./grid";
import { badge, failed, link, meter, state, type Page } from "./parts";
import { remember } from "./run";
import { watch } from "./source";
import { colour, h, replace } from "./view";

const FILTERS = ["state", "engine", "pipeline", "user", "host", "since"] as const;
const kept: GridState = {};

export function runsPage(query: URLSearchParams): Page {
	const asked = new URLSearchParams();
	for (const key of [...FILTERS, "all", "limit"]) if (query.get(key)) asked.set(key, query.get(key)!);
	const path = `/api/runs${asked.size ? `?${asked}` : ""}`;
	const body = h("div", { "aria-busy": "true" }, h("p", { class: "quiet", role: "status" }, "Reading the runs …"));
	let shown: RunRow[] = [], grid: Grid<RunRow> | undefined;

	const field = (key: (typeof FILTERS)[number], hint: string): HTMLElement => h("label", null, key, h("input", { name: key, value: asked.get(key) ?? "", placeholder: hint, size: 12 }));
	const form = h("form", {
		class: "filters", "aria-label": "Which runs",
		onsubmit: (e: Event) => {
			e.preventDefault();
			const next = new URLSearchParams();
			for (const [key, value] of new FormData(e.target as HTMLFormElement)) if (value) next.set(key, String(value));
			location.hash = `#/runs${next.size ? `?${next}` : ""}`;
		},
	},
	h("label", null, "state", h("select", { name: "state" }, ["", "running", "failed", "ok"].map((s) => h("option", { value: s, selected: asked.get("state") === s }, s || "any")))),
	field("engine", "snakemake"), field("pipeline", "nightly"), field("user", "name or uid"), field("host", "name"), field("since", "2h, 3d, a time"),
	h("label", null, "at most", h("select", { name: "limit" }, ["", "1000", "10000"].map((n) => h("option", { value: n, selected: asked.get("limit") === n }, n || "200")))),
	h("label", { class: "check" }, h("input", { type: "checkbox", name: "all", value: "1", checked: asked.get("all") === "1" }), "small commands too"),
	h("button", null, "Show"));

	function draw(list: RunRow[]): void {
		remember(list);
		shown = list;
		if (grid) grid.setRows(list);
		else if (list.length) replace(body, (grid = table(list, () => shown)).el);
		else replace(body, h("p", null, asked.size ? "No run matches." : "No runs yet; make one: skep run -- make"));
		body.removeAttribute("aria-busy");
	}
	return { el: h("div", null, h("h1", null, "Runs"), form, body), title: "Runs", stop: watch<RunRow[]>(path, 2, draw, (error) => replace(body, failed(error))) };
}

/** Wall time of a pipeline's runs up to this one, the oldest first. */
function history(ctx: CanvasRenderingContext2D, run: RunRow, all: RunRow[], width: number, height: number): void {
	const of = all.filter((r) => r.pipeline === run.pipeline && r.name !== "" && r.wall_ns !== null && r.start <= run.start).slice(0, 20).reverse();
	const most = Math.max(1, ...of.map((r) => r.wall_ns!)), step = Math.min(7, (width - 4) / 20);
	if (!run.pipeline || of.length < 2) return;
	of.forEach((r, i) => {
		const bar = Math.max(1, (r.wall_ns! / most) * (height - 8));
		ctx.fillStyle = colour(state(r).kind === "bad" ? "bad" : r.id === run.id ? "ink" : "rest");
		ctx.fillRect(2 + i * step, height - 4 - bar, Math.max(1, step - 1), bar);
	});
}

function table(list: RunRow[], all: () => RunRow[]): Grid<RunRow> {
	const wall = (r: RunRow): number => r.wall_ns ?? Math.max(0, (Date.now() - Date.parse(r.start)) * 1e6);
	const used = (r: RunRow): number | null => (wall(r) ? r.totals.cpu_ns / wall(r) : null);
	let measured: RunRow[] | undefined, most = 1;
	/** Of the list that is shown now. */
	const mostMemory = (): number => {
		if (measured !== all()) most = (measured = all()).reduce((m, r) => Math.max(m, r.memory_peak_bytes), 1);
		return most;
	};

	return new Grid<RunRow>({
		name: "Runs", rows: list, state: kept, key: (r) => r.id, mark: (r) => state(r).kind, pick: (r) => (location.hash = link("run", r.id)),
		columns: [
			{ key: "name", label: "name", value: (r) => r.name, node: (r) => badge(r), width: "minmax(10rem, 1.5fr)" },
			{ key: "state", label: "end", value: (r) => end(r), width: "6rem" },
			{ key: "start", label: "started", value: (r) => r.start, text: (r) => date(r.start), width: "11rem" },
			{ key: "wall_ns", label: "elapsed", value: (r) => wall(r), text: (r) => ns(wall(r)), number: true, width: "7rem" },
			{ key: "history", label: "earlier runs", title: "wall time of up to 20 runs of the pipeline in this list, up to this one", value: () => null, width: "9.5rem", draw: (ctx, r, w, hgt) => history(ctx, r, all(), w, hgt) },
			{ key: "cores_avg", label: "cores", value: (r) => used(r), text: (r) => cores(used(r)), number: true, node: (r) => meter(r.cpus ? (used(r) ?? 0) / r.cpus : null), title: "the bar: of the host's CPUs" },
			{ key: "cpu_ns", label: "CPU", value: (r) => r.totals.cpu_ns, text: (r) => ns(r.totals.cpu_ns), number: true },
			{ key: "memory_peak_bytes", label: "memory", value: (r) => r.memory_peak_bytes, text: (r) => bytes(r.memory_peak_bytes), number: true, node: (r) => meter(r.memory_peak_bytes / mostMemory(), "memory"), title: "most that its processes held together" },
			{ key: "read_bytes", label: "read", value: (r) => r.totals.read_bytes, text: (r) => bytes(r.totals.read_bytes), number: true },
			{ key: "write_bytes", label: "written", value: (r) => r.totals.write_bytes, text: (r) => bytes(r.totals.write_bytes), number: true },
			{ key: "processes", label: "processes", value: (r) => r.totals.processes, text: (r) => count(r.totals.processes), number: true },
			{ key: "failures", label: "failures", value: (r) => r.failures, text: (r) => (r.failures ? count(r.failures) : "–"), number: true },
			{ key: "pipeline", label: "pipeline", value: (r) => r.pipeline },
			{ key: "engine", label: "engine", value: (r) => r.engine, width: "7rem" },
			{ key: "host", label: "host", value: (r) => r.host, width: "8rem" },
			{ key: "uid", label: "uid", value: (r) => r.uid, number: true, width: "4.5rem" },
			{ key: "id", label: "run", value: (r) => r.id, width: "18rem" },
		],
	});
}
