// SPDX-License-Identifier: Apache-2.0
// diff.ts - what changed between two runs, or between a run and its history: the answer of skep diff.
import type { DiffRow, Diffed, Figure, Run, RunRow } from "./answers";
import { bytes, count, date, seconds } from "./format";
import { Grid } from "./grid";
import { failed, link, type Page } from "./parts";
import { get, isReport } from "./source";
import { h, replace } from "./view";

const FIGURES: Record<string, string> = {
	cpu_s: "CPU time", wall_s: "wall time", memory_bytes: "memory", read_bytes: "read", write_bytes: "written", network_bytes: "network",
	processes: "processes", run_queue_s: "run queue", block_s: "storage wait", rest_s: "asleep",
};
const shown = (key: string, v: number | null): string => (key.endsWith("_s") ? seconds(v) : key.endsWith("_bytes") ? bytes(v) : count(v));

export const diffPath = (b: string, a?: string): string => `/api/diff?${new URLSearchParams(a ? { a, b } : { b })}`;

export function diffPage(b: string, a?: string): Page {
	const body = h("div", { "aria-busy": "true" }, h("p", { class: "quiet", role: "status" }, "Comparing …"));
	// A select changes with each arrow key, so it is a button that goes to the comparison.
	const chooser = h("form", {
		class: "filters", "aria-label": "Which runs",
		onsubmit: (e: Event) => {
			const chosen = new FormData(e.target as HTMLFormElement), before = String(chosen.get("before")), after = String(chosen.get("after"));
			e.preventDefault();
			location.hash = before ? link("diff", before, after) : link("diff", after);
		},
	});

	// The address may name a run by its name, or as "last": the answer says which run that is.
	const compared = get<Diffed>(diffPath(b, a)).then((d) => {
		replace(body, answer(d));
		body.removeAttribute("aria-busy");
		return { after: choice(d.b[0]), before: d.history ? undefined : choice(d.a[0]) };
	}).catch((error) => {
		replace(body, failed(error));
		return { after: { id: b, label: b }, before: a ? { id: a, label: a } : undefined };
	});
	if (!isReport()) {
		void Promise.all([get<RunRow[]>("/api/runs"), compared])
			.then(([runs, { after, before }]) => replace(chooser, choose(runs.map(choice), after, before)), () => undefined);
	}
	return { el: h("div", null, h("h1", null, "What changed"), chooser, body), title: "Compare" };
}

interface Choice { id: string; label: string }
const choice = (r: Run): Choice => ({ id: r.id, label: `${r.name} · ${date(r.start)}` });

/** The list has only the newest runs, without small commands: the compared runs are options, too. */
function choose(list: Choice[], b: Choice, a?: Choice): HTMLElement[] {
	const all = [...list];
	for (const c of [a, b]) if (c && !all.some((x) => x.id === c.id)) all.unshift(c);
	const option = (c: Choice, of?: Choice): HTMLElement => h("option", { value: c.id, selected: c.id === of?.id }, c.label);
	return [
		h("label", null, "before", h("select", { name: "before" }, h("option", { value: "" }, "its history"), all.map((c) => option(c, a)))),
		h("label", null, "after", h("select", { name: "after" }, all.map((c) => option(c, b)))),
		h("button", null, "Compare"),
	];
}

/** ▲ 1.35 × worse, ▼ better; ~ not significant or too small. */
function change(f: Figure | undefined): string {
	if (!f || f.ratio === null) return "–";
	const significant = f.verdict === "more" || f.verdict === "less" || (f.verdict === "observed" && f.large);
	const sign = !significant ? "~" : f.ratio > 1 ? "▲" : "▼";
	return `${sign} ${f.ratio.toFixed(2)} ×${f.p !== null && significant ? ` p ${f.p < 0.001 ? "< .001" : f.p.toFixed(3)}` : ""}`;
}

function rows(name: string, list: DiffRow[]): HTMLElement {
	const figure = (key: string) => [
		{ key: `${key}_a`, label: `${FIGURES[key]}, before`, value: (r: DiffRow) => r.figures[key]?.a ?? null, text: (r: DiffRow) => shown(key, r.figures[key]?.a ?? null), number: true },
		{ key: `${key}_b`, label: "after", value: (r: DiffRow) => r.figures[key]?.b ?? null, text: (r: DiffRow) => shown(key, r.figures[key]?.b ?? null), number: true },
		{ key: `${key}_ratio`, label: "change", value: (r: DiffRow) => r.figures[key]?.ratio ?? null, text: (r: DiffRow) => change(r.figures[key]), number: true, width: "minmax(8rem, 10rem)" },
	];
	return h("section", null, h("h2", null, name), new Grid<DiffRow>({
		name, rows: list, mark: (r) => (r.differs ? "" : "dim"),
		columns: [
			{ key: "name", label: "name", value: (r) => r.name, width: "minmax(10rem, 1fr)" },
			{ key: "presence", label: "in", value: (r) => r.presence, width: "5rem" },
			{ key: "executions", label: "n", value: (r) => `${r.executions?.a}/${r.executions?.b}`, number: true, width: "6rem" },
			...["cpu_s", "wall_s", "memory_bytes"].flatMap(figure),
		],
	}).el);
}

function answer(d: Diffed): HTMLElement {
	const side = (of: Diffed["a"]): string => (of.length === 1 ? `${of[0].name} (${of[0].id}, ${date(of[0].start)})` : `${of.length} earlier runs`);
	return h("div", null,
		h("p", null, "From ", h("strong", null, side(d.a)), " to ", h("strong", null, side(d.b))),
		h("dl", { class: "tiles" }, Object.entries(FIGURES).map(([key, label]) => {
			const f = d.run.figures[key];
			return f && (f.a || f.b) ? h("div", { class: "tile" }, h("dt", null, label), h("dd", null, shown(key, f.b)), h("dd", { class: "quiet" }, `before ${shown(key, f.a)}${f.ratio === null ? "" : ` · × ${f.ratio.toPrecision(3)}`}`)) : null;
		})),
		h("section", null, h("h2", null, "What is different about it"), d.changes.length ? h("ul", null, d.changes.map((c) =>
			h("li", null, `${c.of === "run" ? "" : `${c.of} ${c.name}: `}${c.what}: `, h("code", null, c.a ?? "–"), " → ", h("code", null, c.b ?? "–")))) : h("p", { class: "quiet" }, "Nothing that skep records: same host, kernel, command, programs and requests.")),
		rows("Tasks", d.tasks), rows("Tools", d.tools));
}
