// SPDX-License-Identifier: Apache-2.0
// run.ts - one run: its cost, its waits, its failures, and every process.
import { move, set, setting } from "./address";
import { ASKED, askedOf, MEMORY, type RunRow, type Shown, type Task, type Tool, type TuneTask, type Tuned } from "./answers";
import { drawBars } from "./bars";
import { chart, type Picture, type Series } from "./chart";
import { bytes, command, cores, count, date, end, ns, percent, seconds } from "./format";
import { Grid, type GridState } from "./grid";
import { Model, type Line, type Processes } from "./model";
import { badge, entitle, failed, finding, link, meter, state, tile, type Page } from "./parts";
import { get, has, isReport, watch } from "./source";
import { drawTimeAxis, type Span } from "./span";
import { exchange, h, refresh, replace, type Live } from "./view";

const TABS = { overview: "Overview", timeline: "Time line", tasks: "Tasks", tools: "Tools", tune: "What to change", processes: "Processes" } as const;
type Tab = keyof typeof TABS;

/** What a reader has set: it outlives a newer answer, and a visit to another page. */
interface Kept { grids: Record<string, GridState>; open: Record<string, Set<string | number>>; process?: string; time?: [number, number] }
const kept = new Map<string, Kept>();
const runs = new Map<string, RunRow>();
/** What the page shows: each answer replaces the model, and the parts of the page read it again. */
interface Seen { id: string; model: Model; pictures: Picture[]; tuned?: Tuned; tuneError?: unknown; keep: Kept }
/** The head of a run can be painted before its answer is there. */
export function remember(list: RunRow[]): void {
	for (const r of list) runs.set(r.id, r);
}

export function runPage(asked: string, wanted: string | undefined): Page {
	const tab: Tab = wanted && wanted in TABS ? (wanted as Tab) : "overview";
	const heading = h("div"), nav = h("div"), head = h("header", { class: "run-head" }, heading, nav), body = h("div", { class: "run-body", "aria-busy": "true" });
	const el = h("div", null, head, body);
	const known = runs.get(asked);
	let id = asked, seen: Seen | undefined, view: Live | undefined, shape = "", left = false;

	replace(heading, known ? title(known) : h("h1", null, `Run ${id}`));
	replace(nav, tabs(id, tab));
	body.append(h("p", { class: "quiet", role: "status" }, "Reading the run …"));

	/** An answer of another shape, as with a first task or another chart, makes the parts of the page anew. */
	function draw(now: Seen): void {
		const before = shape;
		now.model.path(now.tuned);
		entitle(now.model.shown.run.name || id);
		refresh(heading, title(now.model.shown.run));
		refresh(nav, tabs(id, tab));
		shape = JSON.stringify([now.model.shown.tasks.length > 0, now.pictures.map((p) => [p.name, p.series.map((s) => s.key)]), now.tuned?.observed_path?.of, String(now.tuneError)]);
		if (view && shape === before) view.update();
		else exchange(body, (view = viewOf(tab, now)).el);
		body.removeAttribute("aria-busy");
	}
	async function tune(now: Seen): Promise<void> {
		const path = `/api/tune/${encodeURIComponent(id)}`;
		if (!has(path)) return;
		try {
			now.tuned = await get<Tuned>(path);
			now.tuneError = undefined;
		} catch (error) {
			now.tuneError = error;
		}
		if (!left && (tab === "overview" || tab === "tune" || tab === "timeline")) draw(now);
	}
	/** The part of the time that pictures show stands in the address, and is the same on each tab. */
	function zoom(span: Span, keep: Kept): void {
		const asked = /^([0-9.]+)-([0-9.]+)$/.exec(setting("time") ?? "");
		if (asked && asked.slice(1).every((t) => Number.isFinite(Number(t)))) keep.time = [Number(asked[1]), Number(asked[2])];
		span.onChange(() => {
			keep.time = span.a > 0 || span.b < span.whole ? [span.a, span.b] : undefined;
			set("time", keep.time ? keep.time.map((t) => Number(t.toFixed(6))).join("-") : "");
		});
		if (keep.time) span.show(...keep.time);
	}
	const follow = (): (() => void) => watch<Shown>(`/api/run/${encodeURIComponent(id)}`, 3, (newer) => {
		const first = !seen, other = newer.run.id !== id;
		if (other) {
			// "last", or a name, is another run as soon as that begins: from now on the page follows the run that it shows.
			id = newer.run.id;
			move(wanted ? link("run", id, wanted) : link("run", id));
		}
		const model = new Model(newer, seen?.model.span), list = tab === "overview" || tab === "timeline" ? pictures(model) : [];
		if (!seen) {
			const keep = kept.get(id) ?? { grids: {}, open: {} };
			kept.set(id, keep);
			zoom(model.span, keep);
			seen = { id, model, pictures: list, keep };
		} else {
			seen.model = model;
			seen.pictures = list;
		}
		draw(seen);
		if (newer.run.end || other) stop();
		if (other && !newer.run.end) stop = follow();
		if (newer.run.end || first) void tune(seen); // what a run needs is known at its end
	}, (error) => replace(body, failed(error)));
	let stop = follow();
	return { el, title: known?.name ?? id, stop: () => { left = true; stop(); } };
}

function title(run: Shown["run"] | RunRow): HTMLElement {
	const s = state(run);
	return h("div", { class: "title" },
		h("h1", null, badge(run), " ", run.name, h("span", { class: "quiet" }, ` ${run.id}`)),
		h("p", { class: "command" }, h("code", null, command(run.argv))),
		h("p", { class: "quiet" }, `${s.word}${s.word === "failed" ? ` (${end(run)})` : ""} · ${date(run.start)} on ${run.host}`, run.engine && ` · ${run.engine}`,
			run.pipeline && ` · pipeline ${run.pipeline}`, run.cwd && ` · in ${run.cwd}`,
			!isReport() && [" · ", h("a", { href: link("diff", run.id) }, "compare with its history")]));
}
function tabs(id: string, now: Tab): HTMLElement {
	return h("nav", { class: "tabs", "aria-label": "Views of the run" }, Object.entries(TABS).map(([key, label]) =>
		h("a", { href: link("run", id, key), "aria-current": key === now ? "page" : undefined }, label)));
}

function viewOf(tab: Tab, seen: Seen): Live {
	switch (tab) {
	case "overview": return overview(seen);
	case "timeline": return together(charts(seen), timeline(seen, "60vh"));
	case "tasks": return tasks(seen);
	case "tools": return tools(seen);
	case "tune": return tune(seen);
	case "processes": return processes(seen);
	}
}
function together(...parts: Live[]): Live {
	return { el: h("div", null, parts.map((p) => p.el)), update: () => parts.forEach((p) => p.update()) };
}
/** A part without tables: its content is replaced if it is another one. */
function plain(content: () => (HTMLElement | null | false)[]): Live {
	const el = h("div", null, content());
	return { el, update: () => refresh(el, content()) };
}
const stateOf = (seen: Seen, name: string): GridState => (seen.keep.grids[name] ??= {});
function toProcess(seen: Seen, upid: string): void {
	const i = seen.model.processes.upid.lastIndexOf(upid);
	seen.keep.process = i < 0 ? undefined : seen.model.key(i);
	location.hash = link("run", seen.id, "processes");
}

function overview(seen: Seen): Live {
	return together(plain(() => totals(seen)), plain(() => [h("section", null, h("h2", null, "What to change"), advice(seen))]), charts(seen), timeline(seen, "40vh"));
}
function totals(seen: Seen): (HTMLElement | false)[] {
	const { model } = seen, { run, totals: t, tasks: list, findings, loss, accuracy } = model.shown;
	const lost = loss.kernel + loss.queue + loss.spool + loss.sink + accuracy.missing_processes;
	const s = state(run);

	return [
		h("dl", { class: "tiles" },
			tile("end", s.word === "ok" ? "exit 0" : end(run), s.word, s.kind),
			tile("wall time", ns(run.wall_ns ?? model.span.whole * 1e9), run.end ? `until ${date(run.end)}` : "so far"),
			tile("CPU time", ns(t.cpu_ns), `${cores(t.cores_avg)} cores on average${run.cpus ? ` of ${run.cpus}` : ""}`),
			tile("memory", bytes(run.memory_peak_bytes), MEMORY[run.memory_source ?? ""] ?? ""),
			tile("storage", `${bytes(t.read_bytes)} in`, `${bytes(t.write_bytes)} out`),
			t.net_rx_bytes !== null && tile("network", `${bytes(t.net_rx_bytes)} in`, `${bytes(t.net_tx_bytes)} out`),
			tile("waits", ns(t.run_delay_ns), `for a CPU; ${ns(t.block_delay_ns)} for storage`),
			tile("processes", count(t.processes), `${count(list.length)} tasks, ${count(run.failures)} failures`, run.failures ? "bad" : "")),
		lost > 0 && h("p", { class: "card warn" }, `${count(lost)} records of this run are lost: its sums are too small.`),
		findings.length > 0 && failures(seen)];
}
function advice(seen: Seen): (HTMLElement | false)[] {
	const { tuned, tuneError } = seen, top = tuned?.findings.slice(0, 3) ?? [];
	if (tuneError) return [failed(tuneError)];
	if (!tuned) return [h("p", { class: "quiet" }, "Comparing with earlier runs …")];
	if (!top.length) return [h("p", null, tuned.run.too_short ? "The run is too short for advice." : "skep found nothing to change.")];
	return [h("div", { class: "cards" }, top.map((f) => finding(f, (upid) => toProcess(seen, upid)))),
		tuned.findings.length > 3 && h("p", null, h("a", { href: link("run", seen.id, "tune") }, `All ${tuned.findings.length} findings`))];
}

function failures(seen: Seen): HTMLElement {
	const card = (f: Shown["findings"][0]): HTMLElement =>
		h("article", { class: `card ${f.evidence.ended_run ? "bad" : f.severity === "warning" ? "warn" : ""}` },
			h("h3", null, h("span", { class: "sign", "aria-hidden": "true" }, "✕"), ` ${f.subject}: ${f.evidence.reason}`),
			h("p", null, h("code", null, command(f.evidence.argv))),
			f.advice && h("p", null, h("strong", null, f.advice)),
			h("p", { class: "quiet" }, f.evidence.ended_run && "ended the run · ", f.evidence.processes > 1 && `${count(f.evidence.processes)} processes · `,
				`after ${ns(f.evidence.wall_ns)}, RSS ${bytes(f.evidence.rss_peak_bytes)} · `,
				h("button", { type: "button", class: "plain", onclick: () => toProcess(seen, f.evidence.upid) }, `process ${f.evidence.pid}`)));
	const all = seen.model.shown.findings, more = all.slice(4);
	return h("section", null, h("h2", null, "Failures"), h("div", { class: "cards" }, all.slice(0, 4).map(card)),
		more.length > 0 && h("details", null, h("summary", null, `${more.length} more`), h("div", { class: "cards" }, more.map(card))));
}

function pictures(model: Model): Picture[] {
	const s = model.samples(), run = model.shown.run;
	const area = (key: string, label: string, colour: string, y: number[]): Series => ({ key, label, colour, kind: "area", t: s.t, y });
	const nanoseconds = (key: string): number[] => s.sum(key, true).map((v) => v / 1e9);
	if (s.t.length < 2) return [];
	const cpus: Series[] = run.cpus ? [{ key: "cpus", label: "CPUs of the host", colour: "quiet", kind: "asked", t: [0], y: [run.cpus] }] : [];
	const askedCpus = model.asked("cpus", "asked for"), askedMemory = model.asked("memory_bytes", "asked for"), askedGpus = model.asked("gpus", "asked for");
	const net = model.interval("net_bytes"), gpu = model.interval("gpu_busy_ns"), few = (v: number): string => `${Number(v.toPrecision(3))}`;
	const list: Picture[] = [
		{ name: "Cores", unit: few, series: [area("cores", "used", "cpu", nanoseconds("cpu_ns")), area("queued", "ready, waiting for a CPU", "queue", nanoseconds("run_delay_ns")),
			...(askedCpus.t.length ? [askedCpus] : cpus)] },
		{ name: "Memory", unit: bytes, binary: true, series: [area("rss_bytes", "RSS", "memory", s.sum("rss_bytes", false)), ...(askedMemory.t.length ? [askedMemory] : [])] },
		{ name: "Storage", unit: (v) => `${bytes(v)}/s`, binary: true, series: [
			{ ...area("read_bytes_per_s", "read", "block", s.sum("read_bytes", true)), kind: "line" }, { ...area("write_bytes_per_s", "written", "queue", s.sum("write_bytes", true)), kind: "line" }] },
	];
	if (net.t.length) list.push({ name: "Network", unit: (v) => `${bytes(v)}/s`, binary: true, series: [{ key: "net_bytes_per_s", label: "received and sent, without loopback", colour: "cpu", kind: "area", ...net }] });
	if (gpu.t.length) list.push({ name: "GPUs", unit: few, series: [{ key: "gpus_busy", label: "busy", colour: "memory", kind: "area", t: gpu.t, y: gpu.y.map((v) => v / 1e9) }, ...(askedGpus.t.length ? [askedGpus] : [])] });
	list.push({ name: "Processes", unit: few, series: [area("processes", "alive", "memory", s.sum("processes", false))] });
	return list;
}
function charts(seen: Seen): Live {
	const { span } = seen.model, title = h("h2", null, "Over time"), list = seen.pictures.map((p) => chart(p, span));
	if (!list.length) {
		return plain(() => {
			const { run } = seen.model.shown;
			return [h("section", null, title, h("p", { class: "quiet" }, run.interval_ns && (run.wall_ns ?? 0) < 2 * run.interval_ns ? "No samples: the run ended within the first interval." : "The lake has no samples of this run."))];
		});
	}
	const zoom = h("div", { class: "zoom", role: "group", "aria-label": "Time shown" },
		...([["+", "Zoom in", () => span.zoom(0.5)], ["−", "Zoom out", () => span.zoom(2)], ["◀", "Earlier", () => span.move(-0.25)], ["▶", "Later", () => span.move(0.25)], ["all", "Show the whole run", () => span.show(0, span.whole)]] as const)
			.map(([sign, label, onclick]) => h("button", { type: "button", title: label, "aria-label": label, onclick }, sign)));
	return {
		el: h("section", null, h("div", { class: "heading" }, title, zoom), h("div", { class: "charts" }, list.map((c) => c.el))),
		update: () => seen.pictures.forEach((p, i) => list[i].set(p.series)),
	};
}

function legend(): HTMLElement {
	const item = (colour: string, text: string): HTMLElement => h("span", { class: "key" }, h("i", { class: "area", style: { "--c": `var(--${colour})` } }), text);
	return h("p", { class: "legend" }, item("cpu", "on a CPU"), item("queue", "ready, waiting for a CPU"), item("block", "waiting for storage"), item("rest", "asleep, or not known"),
		h("span", { class: "key" }, "▼ failed"), h("span", { class: "key" }, h("i", { class: "line", style: { "--c": "var(--ink)" } }), "observed path"));
}

function timeline(seen: Seen, height: string): Live {
	const { model, keep } = seen, span = model.span, tasks = model.shown.tasks.length > 0, open = (keep.open["timeline"] ??= new Set());
	const grid = new Grid<Line>({
		name: "Time line", height, rowHeight: 30, state: stateOf(seen, "timeline"), rows: model.lines,
		tree: { children: (l) => l.children(), key: (l) => l.key, open },
		columns: [
			{ key: "name", label: tasks ? "task, tool, process" : "tool, process", value: (l) => l.label, width: "minmax(9rem, 15rem)" },
			{ key: "executions", label: "n", value: (l) => l.list.length, text: (l) => count(l.list.length), number: true, width: "4rem" },
			{ key: "first_start_s", label: "start", value: (l) => l.list.reduce((m, i) => Math.min(m, l.bars.t0[i]), Infinity), text: (l) => seconds(l.list.reduce((m, i) => Math.min(m, l.bars.t0[i]), Infinity)), number: true, width: "5.5rem" },
			{ key: "wall_sum_s", label: "time", title: "wall time, summed over its executions", value: (l) => l.list.reduce((m, i) => m + l.bars.t1[i] - l.bars.t0[i], 0), text: (l) => seconds(l.list.reduce((m, i) => m + l.bars.t1[i] - l.bars.t0[i], 0)), number: true, width: "5.5rem" },
			{ key: "bars", label: "time line", value: () => null, width: "minmax(18rem, 1fr)",
				draw: (ctx, l, width, rowHeight) => drawBars(ctx, l.bars, l.list, span, width, rowHeight),
				axis: (ctx, width, rowHeight) => drawTimeAxis(ctx, span, width, rowHeight / 2, rowHeight + 6) },
		],
		pick: (l) => {
			if (l.kind !== "process") return;
			keep.process = seen.model.key(l.list[0]);
			location.hash = link("run", seen.id, "processes");
		},
	});
	span.onChange(() => grid.repaint());
	grid.el.addEventListener("keydown", (e) => {
		if (!e.ctrlKey && !e.metaKey && !e.altKey && (e.target as HTMLElement).tagName !== "INPUT" && span.key(e.key)) e.preventDefault();
	});
	return {
		el: h("section", null, h("h2", null, "Time line"), legend(),
			h("p", { class: "quiet" }, "The height of a bar is how many ran at once (×n at most), its colours how much they computed and waited. + and − zoom, , and . move, 0 shows all."), grid.el),
		update: () => grid.setRows(seen.model.lines),
	};
}

function tasks(seen: Seen): Live {
	const { model } = seen, clock = model.clock, pipeline = model.shown.run.pipeline;
	const grid = new Grid<Task>({
		name: "Tasks", rows: model.shown.tasks, state: stateOf(seen, "tasks"), key: (t) => `${t.task_id ?? t.task} ${t.start}`, mark: (t) => state(t).kind,
		pick: pipeline && !isReport() ? (t) => (location.hash = link("task", pipeline, t.task)) : undefined,
		columns: [
			{ key: "task", label: "task", value: (t) => t.task, node: (t) => badge(t), width: "minmax(10rem, 1.5fr)" },
			{ key: "sample", label: "sample", value: (t) => t.sample },
			{ key: "attempt", label: "try", value: (t) => t.attempt, number: true, width: "4rem" },
			{ key: "start_s", label: "start", value: (t) => Number(clock.at(t.start).toFixed(3)), text: (t) => seconds(clock.at(t.start)), number: true },
			{ key: "wall_ns", label: "wall", value: (t) => t.wall_ns, text: (t) => ns(t.wall_ns), number: true },
			{ key: "cpu_ns", label: "CPU", value: (t) => t.cpu_ns, text: (t) => ns(t.cpu_ns), number: true },
			{ key: "cores_peak", label: "cores, peak", value: (t) => t.cores_peak, text: (t) => cores(t.cores_peak), number: true, node: (t) => meter(askedOf(t, "cpus") && t.cores_peak ? t.cores_peak / askedOf(t, "cpus")! : null), title: "the bar: share of what it asked for, else was granted" },
			{ key: "requested_cpus", label: "asked", title: ASKED, value: (t) => askedOf(t, "cpus"), text: (t) => cores(askedOf(t, "cpus")), number: true },
			{ key: "rss_peak_bytes", label: "RSS peak", value: (t) => t.rss_peak_bytes, text: (t) => bytes(t.rss_peak_bytes), number: true, node: (t) => meter(askedOf(t, "memory_bytes") ? t.rss_peak_bytes / askedOf(t, "memory_bytes")! : null, "memory") },
			{ key: "requested_memory_bytes", label: "asked", title: ASKED, value: (t) => askedOf(t, "memory_bytes"), text: (t) => bytes(askedOf(t, "memory_bytes")), number: true },
			{ key: "run_delay_ns", label: "queued", title: "ready, without a CPU", value: (t) => t.run_delay_ns, text: (t) => ns(t.run_delay_ns), number: true },
			{ key: "block_delay_ns", label: "storage wait", value: (t) => t.block_delay_ns, text: (t) => ns(t.block_delay_ns), number: true },
			{ key: "read_bytes", label: "read", value: (t) => t.read_bytes, text: (t) => bytes(t.read_bytes), number: true },
			{ key: "write_bytes", label: "written", value: (t) => t.write_bytes, text: (t) => bytes(t.write_bytes), number: true },
			{ key: "end", label: "end", value: (t) => end(t), width: "6rem" },
			{ key: "task_id", label: "id", value: (t) => t.task_id },
		],
	});
	return { update: () => grid.setRows(seen.model.shown.tasks), el: h("section", null, h("h2", null, "Tasks"), grid.el, pipeline && !isReport() && h("p", { class: "quiet" }, "A row opens its task over the runs of the pipeline."), !model.shown.tasks.length && h("p", { class: "quiet" }, "This run has no tasks: no engine started it, and SKEP_TASK named none."),
		h("p", { class: "quiet" }, h("a", { href: link("run", seen.id, "timeline") }, "The same on the time line"))) };
}

function tools(seen: Seen): Live {
	let most = 1, memory = 1;
	const read = (): Tool[] => {
		const list = seen.model.shown.tools;
		for (const t of list) [most, memory] = [Math.max(most, t.cpu_ns), Math.max(memory, t.rss_peak_bytes)];
		return list;
	};
	const grid = new Grid<Tool>({
		name: "Tools", rows: read(), state: stateOf(seen, "tools"), key: (t) => t.tool,
		columns: [
			{ key: "tool", label: "tool", value: (t) => t.tool, width: "minmax(10rem, 1.5fr)" },
			{ key: "calls", label: "calls", value: (t) => t.calls, text: (t) => count(t.calls), number: true },
			{ key: "failures", label: "failures", value: (t) => t.failures, text: (t) => count(t.failures), number: true },
			{ key: "wall_ns", label: "wall", title: "the time with at least one of it", value: (t) => t.wall_ns, text: (t) => ns(t.wall_ns), number: true },
			{ key: "cpu_ns", label: "CPU", value: (t) => t.cpu_ns, text: (t) => ns(t.cpu_ns), number: true, node: (t) => meter(t.cpu_ns / most) },
			{ key: "cores_avg", label: "cores", value: (t) => t.cores_avg ?? null, text: (t) => cores(t.cores_avg), number: true },
			{ key: "cores_peak", label: "peak", value: (t) => t.cores_peak, text: (t) => cores(t.cores_peak), number: true },
			{ key: "rss_peak_bytes", label: "RSS peak", value: (t) => t.rss_peak_bytes, text: (t) => bytes(t.rss_peak_bytes), number: true, node: (t) => meter(t.rss_peak_bytes / memory, "memory") },
			{ key: "run_delay_ns", label: "queued", value: (t) => t.run_delay_ns, text: (t) => ns(t.run_delay_ns), number: true },
			{ key: "block_delay_ns", label: "storage wait", value: (t) => t.block_delay_ns, text: (t) => ns(t.block_delay_ns), number: true },
			{ key: "read_bytes", label: "read", value: (t) => t.read_bytes, text: (t) => bytes(t.read_bytes), number: true },
			{ key: "write_bytes", label: "written", value: (t) => t.write_bytes, text: (t) => bytes(t.write_bytes), number: true },
			{ key: "longest_ns", label: "longest", value: (t) => t.longest_ns, text: (t) => ns(t.longest_ns), number: true },
		],
	});
	return { el: h("section", null, h("h2", null, "Tools"), grid.el), update: () => grid.setRows(read()) };
}

function tune(seen: Seen): Live {
	const { tuned, tuneError } = seen;
	if (tuneError || !tuned) return plain(() => [tuneError ? failed(tuneError) : h("p", { class: "quiet", role: "status" }, "Comparing with earlier runs …")]);
	const findings = ({ findings: list, run }: Tuned): HTMLElement =>
		list.length ? h("div", { class: "cards" }, list.map((f) => finding(f, (upid) => toProcess(seen, upid)))) : h("p", null, run.too_short ? "The run is too short for advice." : "skep found nothing to change.");
	const now = (): Tuned => seen.tuned ?? tuned, path = tuned.observed_path;
	const sizes = new Grid<TuneTask>({
		name: "What to ask for", rows: tuned.tasks, state: stateOf(seen, "tune"), key: (t) => t.task,
		columns: [
			{ key: "task", label: "task", value: (t) => t.task, width: "minmax(10rem, 1.5fr)" },
			{ key: "executions", label: "n", value: (t) => t.executions, number: true, width: "4rem" },
			{ key: "wall_median_s", label: "wall, median", value: (t) => t.wall_s?.median ?? null, text: (t) => seconds(t.wall_s?.median), number: true },
			{ key: "bound_by", label: "bound by", value: (t) => t.bound_by, text: (t) => `${t.bound_by} (${t.bound_by_source})`, width: "9rem" },
			{ key: "cores_max", label: "cores used", value: (t) => t.cores?.max ?? null, text: (t) => cores(t.cores?.max), number: true, node: (t) => meter(t.requested.cpus && t.cores && !t.shares ? t.cores.max / t.requested.cpus : null) },
			{ key: "requested_cpus", label: "asked", value: (t) => t.requested.cpus, text: (t) => cores(t.requested.cpus), number: true },
			{ key: "ask_cpus", label: "ask for", value: (t) => t.ask_for.cpus?.value ?? null, text: (t) => (t.ask_for.cpus ? `${cores(t.ask_for.cpus.value)} (${t.ask_for.cpus.confidence})` : "–"), number: true },
			{ key: "memory_max_bytes", label: "memory used", value: (t) => t.memory_bytes?.max ?? null, text: (t) => bytes(t.memory_bytes?.max), number: true, node: (t) => meter(t.requested.memory_bytes && t.memory_bytes && !t.shares ? t.memory_bytes.max / t.requested.memory_bytes : null, "memory") },
			{ key: "requested_memory_bytes", label: "asked", value: (t) => t.requested.memory_bytes, text: (t) => bytes(t.requested.memory_bytes), number: true },
			{ key: "ask_memory_bytes", label: "ask for", value: (t) => t.ask_for.memory_bytes?.value ?? null, text: (t) => (t.ask_for.memory_bytes ? `${bytes(t.ask_for.memory_bytes.value)} (${t.ask_for.memory_bytes.confidence})` : "–"), number: true, width: "minmax(9rem, 10rem)" },
			{ key: "ask_walltime_s", label: "walltime", value: (t) => t.ask_for.walltime_s?.value ?? null, text: (t) => seconds(t.ask_for.walltime_s?.value), number: true },
		],
	});
	const parts = new Grid<Tuned["observed_path"]["parts"][0]>({
		name: "Observed path", rows: path.parts, state: stateOf(seen, "path"), height: "20rem", key: (p) => p.name,
		columns: [
			{ key: "name", label: path.of === "tasks" ? "task" : "tool", value: (p) => p.name, width: "minmax(10rem, 1fr)" },
			{ key: "n", label: "n", value: (p) => p.n, number: true },
			{ key: "seconds", label: "on the path", value: (p) => p.seconds, text: (p) => seconds(p.seconds), number: true },
			{ key: "saving_s", label: "the run gains at most", value: (p) => p.saving_s, text: (p) => seconds(p.saving_s), number: true },
		],
	});
	return together(
		plain(() => [h("h2", null, "Findings"), findings(now())]),
		plain(() => [h("h2", null, "What to ask for"), h("p", { class: "quiet" }, `Sizes rest on this run and ${count(now().history.runs)} earlier ones of its pipeline.`)]),
		{ el: sizes.el, update: () => sizes.setRows(now().tasks) },
		plain(() => [h("h2", null, "Observed path"), h("p", { class: "quiet" }, `A chain of ${path.of}: each began after its predecessor's end, and the last one ended last in the run. Gaps between them: ${seconds(now().observed_path.gaps_s)}.`)]),
		{ el: parts.el, update: () => parts.setRows(now().observed_path.parts) },
	);
}

function processes(seen: Seen): Live {
	const { keep } = seen, { span } = seen.model, none: number[] = [], first = !keep.open["processes"], open = (keep.open["processes"] ??= new Set());
	const detail = h("div", { class: "detail" });
	const p = (): Processes => seen.model.processes;
	const roots = (): number[] => seen.model.children.get(-1) ?? none;
	const rowOf = (key: string): number => {
		for (let i = 0; i < p().n; i++) if (seen.model.key(i) === key) return i;
		return -1;
	};
	const show = (i: number): void => {
		keep.process = seen.model.key(i);
		set("process", p().upid[i]);
		refresh(detail, detailOf(seen.model, i));
	};
	// The address has the process without its image, and may come from someone else.
	const asked = setting("process"), last = asked === null ? -1 : p().upid.lastIndexOf(asked);
	if (asked !== null && !keep.process?.startsWith(`${asked}/`)) keep.process = last < 0 ? undefined : seen.model.key(last);
	if (first) for (const r of roots()) open.add(seen.model.key(r));
	const chosen = keep.process === undefined ? -1 : rowOf(keep.process);
	if (chosen >= 0) {
		const parents = new Map<number, number>();
		for (const [parent, list] of seen.model.children) for (const k of list) parents.set(k, parent);
		for (let i = parents.get(chosen); i !== undefined && i >= 0; i = parents.get(i)) open.add(seen.model.key(i));
		show(chosen);
	}
	const ended = (i: number): string => {
		const { last, oom, signal, exit } = p();
		return last[i] === false ? "exec" : oom[i] ? "out of memory" : signal[i] ?? (exit[i] ? `exit ${exit[i]}` : exit[i] === 0 ? "0" : "–");
	};
	const grid = new Grid<number>({
		name: "Processes", rows: roots(), state: stateOf(seen, "processes"),
		tree: { children: (i) => seen.model.children.get(i) ?? none, key: (i) => seen.model.key(i), open },
		pick: show, mark: (i) => (p().bars.bad[i] ? "bad" : ""),
		columns: [
			{ key: "tool", label: "tool", value: (i) => p().tool[i], width: "minmax(12rem, 20rem)" },
			{ key: "pid", label: "pid", value: (i) => p().pid[i], number: true, find: true, width: "5rem" },
			{ key: "command", label: "command", value: (i) => command(p().argv[i]), width: "minmax(12rem, 1fr)" },
			{ key: "start_s", label: "start", value: (i) => Number(p().bars.t0[i].toFixed(6)), text: (i) => seconds(p().bars.t0[i]), number: true },
			{ key: "wall_ns", label: "wall", value: (i) => p().wall[i], text: (i) => ns(p().wall[i]), number: true },
			{ key: "cpu_ns", label: "CPU", value: (i) => p().cpu[i], text: (i) => ns(p().cpu[i]), number: true },
			{ key: "run_delay_ns", label: "queued", value: (i) => p().queue[i], text: (i) => ns(p().queue[i]), number: true },
			{ key: "block_delay_ns", label: "storage wait", value: (i) => p().block[i], text: (i) => ns(p().block[i]), number: true },
			{ key: "rss_peak_bytes", label: "RSS peak", value: (i) => p().rss[i], text: (i) => bytes(p().rss[i]), number: true },
			{ key: "read_bytes", label: "read", value: (i) => p().read[i], text: (i) => bytes(p().read[i]), number: true },
			{ key: "write_bytes", label: "written", value: (i) => p().written[i], text: (i) => bytes(p().written[i]), number: true },
			{ key: "end", label: "end", value: ended, width: "7rem" },
			{ key: "bars", label: "time line", value: () => null, width: "14rem", draw: (ctx, i, width, height) => drawBars(ctx, p().bars, [i], span, width, height), axis: (ctx, width, height) => drawTimeAxis(ctx, span, width, height / 2, height + 4) },
		],
	});
	span.onChange(() => grid.repaint());
	return {
		el: h("section", null, h("h2", null, "Processes"), grid.el, detail),
		update: () => {
			const i = keep.process === undefined ? -1 : rowOf(keep.process);
			grid.setRows(roots());
			if (i >= 0) refresh(detail, detailOf(seen.model, i));
		},
	};
}

/** All that the answer says of a process, by the names of the answer. */
function detailOf(model: Model, i: number): HTMLElement {
	const p = model.processes, columns = model.shown.processes ?? {};
	const text = (key: string, v: unknown): string => {
		if (v === null || v === undefined || v === "") return "–";
		if (key === "argv") return command(v as string[]);
		if (typeof v === "number" && key.endsWith("_ns")) return ns(v);
		if (typeof v === "number" && key.endsWith("_bytes")) return bytes(v);
		return typeof v === "object" ? JSON.stringify(v) : String(v);
	};
	const wall = p.wall[i];
	return h("article", { class: "card" }, h("h3", null, `${p.tool[i]} ${p.pid[i]}`), h("p", null, h("code", null, command(p.argv[i]))),
		wall ? h("p", { class: "quiet" }, `on a CPU ${percent(p.bars.cpu[i])}, waiting for a CPU ${percent(p.bars.queue[i])}, for storage ${percent(p.bars.block[i])} of its time`) : null,
		h("dl", { class: "fields" }, Object.keys(columns).filter((k) => k !== "argv").map((k) => [h("dt", null, k), h("dd", null, text(k, columns[k][i]))])));
}
