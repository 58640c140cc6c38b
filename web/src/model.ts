// SPDX-License-Identifier: Apache-2.0
// model.ts - a run's answer, made ready for pictures: times in seconds since its begin, processes by task and by parent.
import { askedOf, Clock, Table, type Shown, type Tuned } from "./answers";
import { Bars } from "./bars";
import type { Series } from "./chart";
import { Span } from "./span";

export interface Processes {
	n: number;
	table: Table;
	upid: string[]; parent: (string | null)[]; image: number[]; pid: number[]; tool: string[]; argv: (string[] | null)[];
	task: (string | null)[]; wall: (number | null)[]; cpu: number[]; queue: number[]; block: number[]; rss: number[];
	read: number[]; written: number[]; exit: (number | null)[]; signal: (string | null)[]; oom: boolean[]; last: (boolean | null)[];
	bars: Bars;
}
/** A row of the time line: the executions of a task, the processes of a tool in it, or one process. */
export interface Line {
	key: string;
	label: string;
	kind: "task" | "tool" | "process";
	bars: Bars;
	list: number[];
	children: () => Line[];
}

export class Model {
	readonly clock: Clock;
	readonly span: Span;
	readonly tasks: Bars;
	private made?: Processes;
	private kids?: Map<number, number[]>;
	private lines_?: Line[];

	/** span: of the model before, which the pictures follow. */
	constructor(readonly shown: Shown, span?: Span) {
		const clock = (this.clock = Clock.of(shown.run.start));
		let whole = (shown.run.wall_ns ?? 0) / 1e9;
		for (const t of shown.tasks) whole = Math.max(whole, clock.at(t.end) || 0, clock.at(t.start) || 0);
		if (!shown.run.end) {
			for (const t of shown.tools) whole = Math.max(whole, clock.at(t.end) || 0);
			for (const s of this.moments()) whole = Math.max(whole, s);
		}
		this.span = span?.grow(whole) ?? new Span(whole);
		this.tasks = new Bars(shown.tasks.length);
		shown.tasks.forEach((t, i) => {
			const t0 = clock.at(t.start) || 0, t1 = clock.at(t.end);
			this.tasks.set(i, t0, Number.isNaN(t1) ? whole : Math.max(t0, t1), t.cpu_ns, t.run_delay_ns, t.block_delay_ns, t.state === "failed" || (t.exit_code ?? 0) > 0 || Boolean(t.signal_name));
		});
	}
	private moments(): number[] {
		const s = new Table(this.shown.samples ?? {}), start = s.col<string>("start"), length = s.col<number>("interval_ns");
		return start.map((t, i) => this.clock.at(t) + length[i] / 1e9);
	}

	get processes(): Processes {
		if (this.made) return this.made;
		const table = new Table(this.shown.processes ?? {}), n = table.n, bars = new Bars(n);
		const start = table.col<string>("start"), end = table.col<string>("end"), cpu = table.col<number>("cpu_ns");
		const queue = table.col<number>("run_delay_ns"), block = table.col<number>("block_delay_ns");
		const exit = table.col<number | null>("exit_code"), signal = table.col<string | null>("signal_name");
		for (let i = 0; i < n; i++) {
			const t0 = this.clock.at(start[i]) || 0, t1 = this.clock.at(end[i]);
			bars.set(i, t0, Number.isNaN(t1) ? this.span.whole : Math.max(t0, t1), cpu[i], queue[i], block[i], (exit[i] ?? 0) > 0 || Boolean(signal[i]));
		}
		return (this.made = {
			n, table, upid: table.col("upid"), parent: table.col("parent_upid"), image: table.col("image"), pid: table.col("pid"), tool: table.col("tool"),
			argv: table.col("argv"), task: table.col("task"), wall: table.col("wall_ns"), cpu, queue, block, rss: table.col("rss_peak_bytes"),
			read: table.col("read_bytes"), written: table.col("write_bytes"), exit, signal, oom: table.col("oom_killed"), last: table.col("last"), bars,
		});
	}

	/** What a row is called in each answer: a newer one has other row numbers. */
	key(i: number): string {
		return `${this.processes.upid[i]}/${this.processes.image[i]}`;
	}
	/** Of each process its children; -1: the roots. A child belongs to the image that ran when it began, an image to the one before. */
	get children(): Map<number, number[]> {
		if (this.kids) return this.kids;
		const p = this.processes, images = new Map<string, number[]>(), kids = new Map<number, number[]>();
		const place = new Int32Array(p.n); // of an image among those of its process
		for (let i = 0; i < p.n; i++) {
			const list = images.get(p.upid[i]);
			if (list) place[i] = list.push(i) - 1;
			else images.set(p.upid[i], [i]);
		}
		for (let i = 0; i < p.n; i++) {
			const own = images.get(p.upid[i])!, at = place[i], of = p.parent[i] ? images.get(p.parent[i]!) : undefined;
			let parent = -1;
			if (at > 0) parent = own[at - 1];
			else if (of && p.parent[i] !== p.upid[i]) {
				parent = of[0];
				for (const k of of) if (p.bars.t0[k] <= p.bars.t0[i]) parent = k;
			}
			const list = kids.get(parent);
			if (list) list.push(i);
			else kids.set(parent, [i]);
		}
		return (this.kids = kids);
	}

	get lines(): Line[] {
		return (this.lines_ ??= this.makeLines());
	}
	private makeLines(): Line[] {
		const p = this.processes, byTask = new Map<string | null, number[]>(), runs = new Map<string, number[]>();
		for (let i = 0; i < p.n; i++) {
			const list = byTask.get(p.task[i]);
			if (list) list.push(i);
			else byTask.set(p.task[i], [i]);
		}
		this.shown.tasks.forEach((t, i) => {
			const list = runs.get(t.task);
			if (list) list.push(i);
			else runs.set(t.task, [i]);
		});
		const tools = (key: string, list: number[]): Line[] => {
			const byTool = new Map<string, number[]>();
			for (const i of list) {
				const of = byTool.get(p.tool[i]);
				if (of) of.push(i);
				else byTool.set(p.tool[i], [i]);
			}
			return [...byTool].map(([tool, of]) => ({
				key: `${key}/${tool}`, label: tool, kind: "tool" as const, bars: p.bars, list: of,
				children: once(() => of.map((i) => ({ key: `${key}/${tool}/${this.key(i)}`, label: `${p.tool[i]} ${p.pid[i]}`, kind: "process" as const, bars: p.bars, list: [i], children: () => [] }))),
			}));
		};
		if (!runs.size) return tools("", [...Array(p.n).keys()]);
		const lines: Line[] = [...runs].map(([task, list]) => ({
			key: `t${task}`, label: task, kind: "task" as const, bars: this.tasks, list, children: once(() => tools(`t${task}`, byTask.get(task) ?? [])),
		}));
		const rest = byTask.get(null) ?? [];
		if (rest.length) lines.push({ key: "none", label: "(no task)", kind: "task", bars: p.bars, list: rest, children: once(() => tools("none", rest)) });
		return lines;
	}

	/** Marks the tasks of the observed path. */
	path(tuned: Tuned | undefined): void {
		const on = new Set(tuned?.observed_path?.steps?.map((s) => s.task_id));
		this.shown.tasks.forEach((t, i) => (this.tasks.onPath[i] = t.task_id && on.has(t.task_id) ? 1 : 0));
	}

	/** What the running tasks asked for at each moment, else were granted. No series where neither is known. */
	asked(key: "cpus" | "memory_bytes" | "gpus", label: string): Series {
		const change = new Map<number, number>();
		this.shown.tasks.forEach((t, i) => {
			const v = askedOf(t, key);
			if (!v) return;
			change.set(this.tasks.t0[i], (change.get(this.tasks.t0[i]) ?? 0) + v);
			change.set(this.tasks.t1[i], (change.get(this.tasks.t1[i]) ?? 0) - v);
		});
		const t = [...change.keys()].sort((a, b) => a - b);
		let sum = 0;
		return { key: `asked_${key}`, label, colour: "ink", kind: "asked", t, y: t.map((at) => (sum += change.get(at)!)) };
	}

	/** A figure of all processes over time, by the second; no steps where nobody measured it. */
	interval(key: "net_bytes" | "gpu_busy_ns"): { t: number[]; y: number[] } {
		const s = new Table(this.shown.intervals ?? {}), start = s.col<string>("start"), length = s.col<number>("interval_ns"), value = s.col<number | null>(key);
		const t: number[] = [], y: number[] = [];
		for (let i = 0; i < s.n; i++) {
			t.push(this.clock.at(start[i]));
			y.push(value[i] === null ? NaN : value[i]! / (length[i] / 1e9 || 1));
		}
		if (!y.some((v) => !Number.isNaN(v))) return { t: [], y: [] };
		return { t: [...t, t[t.length - 1] + length[s.n - 1] / 1e9], y: [...y, NaN] };
	}

	/** The samples of all tools, added up for each interval: sum picks the figure. */
	samples(): { t: number[]; sum: (key: string, perSecond: boolean) => number[] } {
		const s = new Table(this.shown.samples ?? {}), start = s.col<string>("start"), length = s.col<number>("interval_ns");
		const at = new Map<string, number>(), t: number[] = [], len: number[] = [], slot: number[] = [];
		for (let i = 0; i < s.n; i++) {
			let k = at.get(start[i]);
			if (k === undefined) {
				at.set(start[i], (k = t.length));
				t.push(this.clock.at(start[i]));
				len.push(length[i] / 1e9);
			}
			slot.push(k);
		}
		const order = t.map((_, i) => i).sort((a, b) => t[a] - t[b]);
		const times = order.map((i) => t[i]);
		if (order.length) times.push(times[times.length - 1] + len[order[order.length - 1]]);
		return {
			t: times,
			sum: (key, perSecond) => {
				const values = s.col<number>(key), sums = new Array<number>(t.length).fill(0);
				for (let i = 0; i < s.n; i++) sums[slot[i]] += values[i];
				return order.length ? [...order.map((i) => (perSecond ? sums[i] / (len[i] || 1) : sums[i])), NaN] : [];
			},
		};
	}
}

function once<T>(make: () => T): () => T {
	let made: T | undefined;
	return () => (made ??= make());
}
