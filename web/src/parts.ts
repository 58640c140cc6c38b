// SPDX-License-Identifier: Apache-2.0
// parts.ts - what several pages have: tiles, meters, findings, links between pages.
import { bytes, count, seconds } from "./format";
import type { Finding } from "./answers";
import { h, visible } from "./view";

/** A page: its element, and what ends with it. */
export interface Page { el: HTMLElement; title: string; stop?: () => void }

/** Names the browser's tab: a page whose address says "last" learns from its answer what it shows. */
export function entitle(title: string): void {
	document.title = `${visible(title)} – skep`;
}

export const link = (...parts: string[]): string => `#/${parts.map(encodeURIComponent).join("/")}`;

export function tile(label: string, value: string, detail?: string | null, kind = ""): HTMLElement {
	return h("div", { class: `tile ${kind}` }, h("dt", null, label), h("dd", null, value), detail && h("dd", { class: "quiet" }, detail));
}

/** A bar of a share, in a cell; of > 1 is drawn as full and marked. */
export function meter(share: number | null | undefined, kind = "cpu"): HTMLElement | null {
	if (share === null || share === undefined || !Number.isFinite(share)) return null;
	return h("span", { class: `meter ${share > 1 ? "over" : ""}`, "aria-hidden": "true" },
		h("i", { style: { width: `${Math.max(0, Math.min(1, share)) * 100}%`, "--c": `var(--${kind})` } }));
}

/** "ok", "failed" and "running" by a word and a shape, not by colour alone. */
export function state(of: { exit_code: number | null; signal_name: string | null; end: string | null; state?: string | null }): { word: string; kind: string; sign: string } {
	if (of.signal_name || (of.exit_code ?? 0) > 0 || of.state === "failed") return { word: "failed", kind: "bad", sign: "✕" };
	if (!of.end) return { word: "running", kind: "live", sign: "▶" };
	if (of.exit_code === 0) return { word: "ok", kind: "good", sign: "✓" };
	return { word: "unknown", kind: "", sign: "?" };
}
export function badge(of: Parameters<typeof state>[0]): HTMLElement {
	const s = state(of);
	return h("span", { class: `badge ${s.kind}`, "aria-hidden": "true" }, s.sign);
}

function savings(f: Finding): string {
	const s = f.saving, list: string[] = [];
	if (s.core_s > 0) list.push(`${(s.core_s / 3600).toFixed(2)} core-h`);
	if (s.byte_s > 0) list.push(`${bytes(s.byte_s / 3600)}·h of memory`);
	if (s.cpu_s > 0) list.push(`${seconds(s.cpu_s)} CPU`);
	if (s.wall_s > 0) list.push(`${seconds(s.wall_s)} of the run`);
	if (s.gpu_s > 0) list.push(`${(s.gpu_s / 3600).toFixed(2)} GPU-h`);
	return list.join(", ");
}

export function finding(f: Finding, toProcess?: (upid: string) => void): HTMLElement {
	const warns = f.severity === "warning", saved = savings(f);
	return h("article", { class: `card ${warns ? "warn" : ""}` },
		h("h3", null, h("span", { class: "sign", "aria-hidden": "true" }, warns ? "▲" : "●"), ` ${f.title}`, h("span", { class: "quiet" }, f.of === "run" ? "" : ` – ${f.of} ${f.name}${f.n > 1 ? `, ${count(f.n)} executions` : ""}`)),
		h("p", null, f.evidence), h("p", null, h("strong", null, f.advice)),
		h("p", { class: "quiet" }, `${warns ? "warning" : "note"} · confidence ${f.confidence} · ${f.source}`, saved && ` · saves at most ${saved}`,
			f.process && toProcess && [" · ", h("button", { type: "button", class: "plain", onclick: () => toProcess(f.process!) }, "its process")]));
}

export function failed(error: unknown): HTMLElement {
	return h("p", { class: "card warn", role: "alert" }, error instanceof Error ? error.message : String(error));
}
