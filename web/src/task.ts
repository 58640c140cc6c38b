// SPDX-License-Identifier: Apache-2.0
// task.ts - a task over the runs of its pipeline: the use of its executions against their requests.
import { ASKED, askedOf, type RunRow, type Shown, type Task, type Tuned } from "./answers";
import { bytes, cores, count, date, end, ns, seconds } from "./format";
import { Grid } from "./grid";
import { badge, failed, finding, link, type Page } from "./parts";
import { get } from "./source";
import { byteTicks, ticks, timeTicks } from "./span";
import { colour, h, ink, perFrame, replace } from "./view";

const RUNS = 20;
interface Execution { run: RunRow; task: Task; at: number }
interface Measure { key: string; label: string; of: (t: Task) => number | null; asked: (t: Task) => number | null; text: (v: number) => string }

const MEASURES: Measure[] = [
	{ key: "wall", label: "Wall time", of: (t) => (t.wall_ns === null ? null : t.wall_ns / 1e9), asked: (t) => (t.requested.walltime_ns ? t.requested.walltime_ns / 1e9 : null), text: seconds },
	{ key: "memory", label: "Memory", of: (t) => t.rss_peak_bytes, asked: (t) => askedOf(t, "memory_bytes"), text: bytes },
	{ key: "cores", label: "Cores at most", of: (t) => t.cores_peak, asked: (t) => askedOf(t, "cpus"), text: (v) => cores(v) },
	{ key: "cpu", label: "CPU time", of: (t) => t.cpu_ns / 1e9, asked: () => null, text: seconds },
];

export function taskPage(pipeline: string, name: string): Page {
	const body = h("div", { "aria-busy": "true" }, h("p", { class: "quiet", role: "status" }, "Reading the runs …"));
	const advice = h("section");
	let left = false;

	async function read(): Promise<void> {
		const runs = (await get<RunRow[]>(`/api/runs?${new URLSearchParams({ pipeline, limit: String(RUNS) })}`)).reverse();
		const found: Execution[] = [];
		for (const [at, run] of runs.entries()) {
			if (left) return;
			const tasks = (await get<Shown>(`/api/run/${encodeURIComponent(run.id)}?summary=1`)).tasks;
			for (const task of tasks) if (task.task === name) found.push({ run, task, at });
		}
		body.removeAttribute("aria-busy");
		if (!found.length) replace(body, h("p", null, `The newest ${count(runs.length)} runs of ${pipeline} have no task ${name}.`));
		else replace(body, MEASURES.map((m) => plot(m, runs, found)), advice, table(found));
		if (found.length) replace(advice, change(name, await get<Tuned>(`/api/tune/${encodeURIComponent(found[found.length - 1].run.id)}`)));
	}
	read().catch((error) => replace(body, failed(error)));
	return {
		el: h("div", null, h("h1", null, `Task ${name}`, h("span", { class: "quiet" }, ` in pipeline ${pipeline}`)),
			h("p", { class: "quiet" }, `A column for each of the newest ${RUNS} runs, a point for each execution, ✕ if it failed; the bar is the median, the dashed line the request.`), body),
		title: name, stop: () => { left = true; },
	};
}

/** What skep tune says of the task after its newest run, which it compares with the earlier ones. */
function change(name: string, tuned: Tuned): (HTMLElement | null)[] {
	const list = tuned.findings.filter((f) => f.of === "task" && f.name === name), ask = tuned.tasks.find((t) => t.task === name)?.ask_for;
	const sizes = ask && [ask.cpus && `${cores(ask.cpus.value)} cores`, ask.memory_bytes && bytes(ask.memory_bytes.value), ask.walltime_s && seconds(ask.walltime_s.value)].filter(Boolean);
	return [
		h("h2", null, "What to change"),
		sizes?.length ? h("p", null, `Ask for ${sizes.join(", ")}`, ask?.memory_bytes && h("span", { class: "quiet" }, ` – confidence ${ask.memory_bytes.confidence}, from ${count(ask.memory_bytes.executions)} executions`)) : null,
		list.length ? h("div", { class: "cards" }, list.map((f) => finding(f))) : h("p", { class: "quiet" }, tuned.run.too_short ? "The newest run is too short for advice." : "skep found nothing to change."),
	];
}

function median(list: number[]): number {
	const s = [...list].sort((a, b) => a - b), n = s.length;
	return (s[(n - 1) >> 1] + s[n >> 1]) / 2;
}

function plot(m: Measure, runs: RunRow[], found: Execution[]): HTMLElement | null {
	const canvas = h("canvas", { "aria-hidden": "true" }) as HTMLCanvasElement, height = 190, left = 72;
	const values = found.map((e) => m.of(e.task)).filter((v): v is number => v !== null);
	if (!values.length) return null;
	const largest = values.reduce((a, b) => Math.max(a, b), 0); // not by "...": a call has at most some 100,000 arguments
	const most = found.reduce((most, e) => Math.max(most, m.asked(e.task) ?? 0), largest) * 1.1 || 1;
	const box = h("div", { class: "plot", oncolours: () => draw(), role: "img", "aria-label": `${m.label} of ${found.length} executions: least ${m.text(values.reduce((a, b) => Math.min(a, b), largest))}, median ${m.text(median(values))}, most ${m.text(largest)}` }, canvas);
	const draw = perFrame(() => {
		const width = box.clientWidth, w = width - left - 8, step = w / runs.length;
		if (width < 80) return;
		const ctx = ink(canvas, width, height), Y = (v: number): number => height - 24 - (v / most) * (height - 34);
		ctx.font = "11px system-ui, sans-serif";
		ctx.textBaseline = "middle";
		for (const v of m.text === bytes ? byteTicks(most, 4) : m.text === seconds ? timeTicks(0, most, 4) : ticks(0, most, 4)) {
			ctx.fillStyle = colour("rule");
			ctx.fillRect(left, Math.round(Y(v)), w, 1);
			ctx.fillStyle = colour("quiet");
			ctx.fillText(m.text(v), left - 8 - ctx.measureText(m.text(v)).width, Y(v));
		}
		runs.forEach((run, i) => {
			const of = found.filter((e) => e.at === i), known = of.map((e) => m.of(e.task)).filter((v): v is number => v !== null), asked = of.map((e) => m.asked(e.task)).find((v) => v !== null);
			const x = left + (i + 0.5) * step;
			ctx.fillStyle = colour("quiet");
			if (step > 34) ctx.fillText(date(run.start).slice(5, 10), x - 15, height - 9);
			for (const e of of) {
				const v = m.of(e.task);
				if (v === null) continue;
				const jitter = of.length > 1 ? ((of.indexOf(e) / (of.length - 1)) - 0.5) * Math.min(step * 0.6, 300) : 0;
				const bad = e.task.state === "failed" || (e.task.exit_code ?? 0) > 0;
				ctx.fillStyle = colour(bad ? "bad" : "cpu");
				ctx.globalAlpha = of.length > 50 ? 0.4 : 0.85;
				if (bad) ctx.fillText("✕", x + jitter - 4, Y(v));
				else {
					ctx.beginPath();
					ctx.arc(x + jitter, Y(v), 3, 0, 7);
					ctx.fill();
				}
				ctx.globalAlpha = 1;
			}
			if (known.length > 1) {
				ctx.fillStyle = colour("ink");
				const half = Math.min(step * 0.35, 170);
				ctx.fillRect(x - half, Y(median(known)) - 1, 2 * half, 2);
			}
			if (asked) {
				ctx.strokeStyle = colour("ink");
				ctx.setLineDash([5, 4]);
				ctx.beginPath();
				ctx.moveTo(x - step / 2, Y(asked));
				ctx.lineTo(x + step / 2, Y(asked));
				ctx.stroke();
				ctx.setLineDash([]);
			}
		});
	});
	new ResizeObserver(draw).observe(box);
	return h("figure", { class: "chart" }, h("figcaption", null, h("h2", null, m.label)), box);
}

function table(found: Execution[]): HTMLElement {
	return h("section", null, h("h2", null, "Executions"), new Grid<Execution>({
		name: "Executions", rows: found, pick: (e) => (location.hash = link("run", e.run.id, "tasks")),
		columns: [
			{ key: "run", label: "run", value: (e) => e.run.id, text: (e) => e.run.name, node: (e) => badge(e.task) },
			{ key: "start", label: "started", value: (e) => e.task.start, text: (e) => date(e.task.start), width: "11rem" },
			{ key: "sample", label: "sample", value: (e) => e.task.sample },
			{ key: "wall_ns", label: "wall", value: (e) => e.task.wall_ns, text: (e) => ns(e.task.wall_ns), number: true },
			{ key: "cpu_ns", label: "CPU", value: (e) => e.task.cpu_ns, text: (e) => ns(e.task.cpu_ns), number: true },
			{ key: "cores_peak", label: "cores at most", value: (e) => e.task.cores_peak, text: (e) => cores(e.task.cores_peak), number: true },
			{ key: "requested_cpus", label: "asked", title: ASKED, value: (e) => askedOf(e.task, "cpus"), text: (e) => cores(askedOf(e.task, "cpus")), number: true },
			{ key: "rss_peak_bytes", label: "RSS peak", value: (e) => e.task.rss_peak_bytes, text: (e) => bytes(e.task.rss_peak_bytes), number: true },
			{ key: "requested_memory_bytes", label: "asked", title: ASKED, value: (e) => askedOf(e.task, "memory_bytes"), text: (e) => bytes(askedOf(e.task, "memory_bytes")), number: true },
			{ key: "end", label: "end", value: (e) => end(e.task), width: "6rem" },
		],
	}).el);
}
