// SPDX-License-Identifier: Apache-2.0
// source.ts - where answers come from: of skep web, or out of the one-file report, which has them by the same paths.

type Answers = Record<string, unknown>;
interface Embedded { page: string; answers: Answers }

/** A path of the API, below the folder of this page: the browser sends the cookie nowhere else. */
const below = (path: string): string => path.slice(1);
const GONE = "skep web does not answer: it has ended, or this machine cannot reach it";
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

async function fetched(path: string): Promise<unknown> {
	const answer = await fetch(below(path), { cache: "no-store" }).catch(() => {
		throw new Error(GONE);
	});
	const partial = answer.headers.get("Skep-Partial");
	if (partial) document.dispatchEvent(new CustomEvent("partial", { detail: partial }));
	const body = (await answer.json().catch(() => ({}))) as { error?: string };
	if (!answer.ok) throw new Error(body.error ?? `skep web answered ${answer.status}`);
	return body;
}

export async function get<T>(path: string): Promise<T> {
	if (!embedded) return (await fetched(path)) as T;
	if (!(path in embedded.answers)) throw new Error("this report has only its own run; skep web has all of them");
	return embedded.answers[path] as T;
}

const message = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const GONE_AFTER_MS = 5000; // the browser begins a stream that was cut anew

/**
 * Follows an answer until the page is left, while it is visible: skep web sends each one that is another one, at most
 * every so many seconds. Calls draw with it, and fail as long as there is none. Later the page keeps what it shows, and the
 * event "stale" says why the page is old: "" once it is up to date. A report is asked once.
 */
export function watch<T>(path: string, everyS: number, draw: (answer: T) => void, fail: (error: unknown) => void): () => void {
	let source: EventSource | undefined, tag = "", timer = 0, stopped = false, answered = false;

	const tell = (error: unknown): void => {
		if (stopped) return;
		if (!answered) fail(error);
		else document.dispatchEvent(new CustomEvent("stale", { detail: error === undefined ? "" : message(error) }));
	};
	const show = (answer: T): void => {
		if (stopped) return;
		answered = true;
		tell(undefined);
		draw(answer);
		sleep();
	};
	const calm = (): void => {
		clearTimeout(timer);
		timer = 0;
	};
	const close = (): void => {
		calm();
		source?.close();
		source = undefined;
	};
	/** No page that nobody sees holds a connection. */
	const sleep = (): void => {
		if (document.hidden && answered) close();
	};
	const listen = (): void => {
		const query = new URLSearchParams({ live: String(everyS), ...(tag && { had: tag }) });
		close();
		source = new EventSource(`${below(path)}${path.includes("?") ? "&" : "?"}${query}`);
		source.onopen = () => {
			calm();
			if (answered) tell(undefined); // an answer that is still the same is not sent again
		};
		source.onmessage = (e) => {
			tag = e.lastEventId;
			show(JSON.parse(e.data as string) as T);
		};
		source.addEventListener("failure", (e) => tell(new Error((e as MessageEvent<string>).data)));
		source.addEventListener("partial", (e) => document.dispatchEvent(new CustomEvent("partial", { detail: (e as MessageEvent<string>).data })));
		source.onerror = () => {
			if (source?.readyState === EventSource.CLOSED) {
				calm();
				get<T>(path).then(show, tell); // an error of HTTP, which only an answer tells
				timer = window.setTimeout(listen, GONE_AFTER_MS);
			} else { // the browser tries again by itself, every second, and each try in vain is an error
				timer ||= window.setTimeout(() => tell(new Error(GONE)), answered ? GONE_AFTER_MS : 0);
			}
		};
	};
	const seen = (): void => {
		if (document.hidden) sleep();
		else if (!source) listen();
	};
	if (embedded) {
		get<T>(path).then(show, tell);
	} else {
		document.addEventListener("visibilitychange", seen);
		listen();
	}
	return () => {
		stopped = true;
		document.removeEventListener("visibilitychange", seen);
		close();
	};
}
