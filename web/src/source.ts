// SPDX-License-Identifier: Apache-2.0
// source.ts - where answers come from: of skep web, or out of the one-file report, which has them by the same paths.

type Answers = Record<string, unknown>;
interface Embedded { page: string; answers: Answers }

let embedded: Embedded | undefined;

async function inflate(base64: string): Promise<string> {
	const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));

	return new Response(stream).text();
}

/** Unpacks the report's answers; undefined: this is no report. */
export async function open(): Promise<Embedded | undefined> {
	if (!isReport()) return undefined;
	// The script runs before the browser has read the data, so that the frame is there at once.
	if (document.readyState === "loading") await new Promise((done) => addEventListener("DOMContentLoaded", done));
	await new Promise((done) => setTimeout(done));
	embedded = JSON.parse(await inflate(document.getElementById("data")?.textContent ?? "")) as Embedded;
	return embedded;
}
export const isReport = (): boolean => document.body.dataset.report !== undefined;
/** Has the report this answer? skep web has all of them. */
export const has = (path: string): boolean => !embedded || path in embedded.answers;

interface Fetched { body?: unknown; etag?: string }

async function fetched(path: string, etag?: string): Promise<Fetched> {
	let answer: Response;

	try {
		answer = await fetch(path, { cache: "no-store", headers: etag ? { "If-None-Match": etag } : {} });
	} catch {
		throw new Error("skep web does not answer: it has ended, or this machine cannot reach it");
	}
	if (answer.status === 304) return { etag };
	const partial = answer.headers.get("Skep-Partial");
	if (partial) document.dispatchEvent(new CustomEvent("partial", { detail: partial }));
	const body = (await answer.json().catch(() => ({}))) as { error?: string };
	if (!answer.ok) throw new Error(body.error ?? `skep web answered ${answer.status}`);
	return { body, etag: answer.headers.get("ETag") ?? undefined };
}

export async function get<T>(path: string): Promise<T> {
	if (!embedded) return (await fetched(path)).body as T;
	if (!(path in embedded.answers)) throw new Error("this report has only its own run; skep web has all of them");
	return embedded.answers[path] as T;
}

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Asks now, and again until the page is left, while it is visible; calls draw with each answer that is another one, and
 * fail as long as there is none. Later the page keeps what it shows, and the event "stale" says why the page is old: ""
 * once it is up to date. A report is asked once.
 */
export function watch<T>(path: string, everyMs: number, draw: (answer: T) => void, fail: (error: unknown) => void): () => void {
	let etag: string | undefined, timer = 0, stopped = false, answered = false;

	const ask = async (): Promise<void> => {
		let got: Fetched = {}, error: unknown;

		if (!answered || !document.hidden) {
			try {
				got = embedded ? { body: await get<T>(path) } : await fetched(path, etag);
				etag = got.etag;
			} catch (e) {
				error = e;
			}
			if (stopped) return;
			if (error !== undefined && !answered) fail(error);
			else document.dispatchEvent(new CustomEvent("stale", { detail: error === undefined ? "" : message(error) }));
			if (got.body !== undefined) {
				answered = true;
				draw(got.body as T);
			}
		}
		if (!stopped && !embedded) timer = window.setTimeout(() => void ask(), everyMs);
	};
	void ask();
	return () => {
		stopped = true;
		clearTimeout(timer);
	};
}
