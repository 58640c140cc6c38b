// SPDX-License-Identifier: Apache-2.0
// answers.ts - the JSON of skep, as far as the pages read it, and its times as seconds.

export interface Totals {
	processes?: number; images?: number; threads?: number | null; cpu_ns: number; user_ns: number; system_ns: number;
	run_delay_ns: number; rss_peak_bytes: number; read_bytes: number; write_bytes: number; rchar_bytes: number;
	wchar_bytes: number; net_rx_bytes: number | null; net_tx_bytes: number | null; block_delay_ns: number; cores_avg?: number;
}
export interface Run {
	id: string; name: string; pipeline: string | null; host: string; start: string; end: string | null; exit_code: number | null;
	signal_name: string | null; state: string; wall_ns: number | null; argv: string[]; cwd: string | null; uid: number;
	kernel: string | null; skep_version: string | null; cpus: number | null; interval_ns: number | null; failures: number;
	engine: string | null; job: string | null; container_image: string | null;
	memory_peak_bytes: number; memory_source: string | null;
}
export const MEMORY: Record<string, string> = {
	process: "RSS peak of the largest process", pss: "PSS peak at samples", rss: "summed RSS peak at samples",
};
export interface RunRow extends Run {
	totals: { processes: number; images: number; cpu_ns: number; rss_peak_bytes: number; read_bytes: number; write_bytes: number };
}
export interface Task extends Totals {
	task: string; task_id: string | null; start: string; end: string | null; wall_ns: number | null; attempt: number | null;
	sample: string | null; engine: string | null; step: string | null; container_image: string | null; state: string; exit_code: number | null; signal_name: string | null;
	failures: number; cores_peak: number | null;
	requested: { cpus: number | null; memory_bytes: number | null; walltime_ns: number | null; gpus: number | null; source: string | null };
	granted: { cpus: number | null; memory_bytes: number | null; gpus: number | null; source: string | null };
}
/** What a task asked for, else what it was granted. */
export function askedOf(t: Task, key: "cpus" | "memory_bytes" | "gpus"): number | null {
	return t.requested[key] ?? t.granted[key];
}
export const ASKED = "what it asked for; where it asked for none, what its job got or its cgroup's limit";
export interface Tool extends Totals {
	tool: string; calls: number; failures: number; start: string; end: string | null; wall_ns: number; longest_ns: number; cores_peak: number;
}
export interface Failure {
	severity: string; subject: string; advice: string;
	evidence: { reason: string; processes: number; ended_run: boolean; upid: string; pid: number; argv: string[]; end: string | null; rss_peak_bytes: number; wall_ns: number | null };
}
type Columns = Record<string, unknown[]>;
export interface Shown {
	run: Run; totals: Totals; tasks: Task[]; tools: Tool[]; processes?: Columns; samples?: Columns; intervals?: Columns; findings: Failure[];
	loss: { kernel: number; queue: number; spool: number; sink: number };
	accuracy: { processes: number; cpu_exact_processes: number; missing_processes: number };
}
export interface Size { value: number; confidence: string; executions: number; rule: string }
export interface Spread { min: number; median: number; max: number }
export interface TuneTask {
	task: string; executions: number; ended_well: number; failed: number; oom_killed: number; shares: number; wall_s: Spread | null; cores: Spread | null;
	busy_cores: Spread | null; memory_bytes: Spread | null;
	requested: { cpus: number | null; memory_bytes: number | null; walltime_s: number | null }; bound_by: string; bound_by_source: string;
	ask_for: { cpus: Size | null; memory_bytes: Size | null; walltime_s: Size | null };
}
export interface Finding {
	id: string; title: string; severity: string; of: string; name: string; n: number; value: number; threshold: number; unit: string;
	measures: string; confidence: string; source: string; evidence: string; advice: string; process: string | null;
	saving: { core_s: number; byte_s: number; cpu_s: number; wall_s: number; gpu_s: number };
}
export interface Tuned {
	run: { id: string; too_short: boolean; records_lost: number }; history: { runs: number }; tasks: TuneTask[]; findings: Finding[];
	observed_path: { of: string; gaps_s: number; steps: { task: string; task_id: string; start_s: number; wall_s: number; gap_s: number; follows: string }[];
		parts: { name: string; n: number; seconds: number; saving_s: number | null }[] };
}
export interface Figure { a: number | null; b: number | null; n_a: number; n_b: number; ratio: number | null; change: number | null; large: boolean; verdict: string; p: number | null }
export interface DiffRow { name?: string; presence?: string; executions?: { a: number; b: number }; failed?: { a: number; b: number }; differs: boolean; figures: Record<string, Figure> }
export interface Diffed { history: boolean; a: Run[]; b: Run[]; changes: { of: string; name: string; what: string; a: string | null; b: string | null }[]; run: DiffRow; tasks: DiffRow[]; tools: DiffRow[] }

/** "2026-11-21T03:48:15.123456789Z" as seconds since the moment `base`; NaN: not known. A Date has only milliseconds. */
export class Clock {
	private day = "";
	private dayStart = 0;
	constructor(private base: number) {}
	static of(start: string): Clock {
		return new Clock(Date.parse(`${start.slice(0, 19)}Z`) / 1000);
	}
	at(iso: unknown): number {
		if (typeof iso !== "string") return NaN;
		const day = iso.slice(0, 10);
		if (day !== this.day) {
			this.day = day;
			this.dayStart = Date.parse(`${day}T00:00:00Z`) / 1000 - this.base;
		}
		const n = (i: number): number => (iso.charCodeAt(i) - 48) * 10 + iso.charCodeAt(i + 1) - 48;
		return this.dayStart + n(11) * 3600 + n(14) * 60 + n(17) + (Number(iso.slice(19, 29)) || 0);
	}
	iso(s: number): string {
		return new Date((this.base + s) * 1000).toISOString();
	}
}

/** Rows in columns: {"pid": [1, 2], ...}. A row is its number. */
export class Table {
	readonly n: number;
	constructor(private columns: Columns) {
		this.n = Object.values(columns)[0]?.length ?? 0;
	}
	col<T>(key: string): T[] {
		return (this.columns[key] ?? new Array(this.n).fill(null)) as T[];
	}
}
