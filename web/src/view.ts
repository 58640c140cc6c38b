// SPDX-License-Identifier: Apache-2.0
// view.ts - makes elements. Pages are functions that return an element; nothing is kept in step behind their back.

type Child = Node | string | number | null | undefined | false | Child[];
/** A part of a page that a newer answer changes in place, so that focus, scrolling and opened sections stay. */
export interface Live { el: HTMLElement; update: () => void }
type Props = Record<string, unknown>;

/** Marks that turn the direction of what follows: a name with one could show another name. */
export const visible = (text: string): string => text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) => `<U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);

function append(to: Element, child: Child): void {
	if (Array.isArray(child)) for (const c of child) append(to, c);
	else if (child instanceof Node) to.appendChild(child);
	else if (child !== null && child !== undefined && child !== false) to.appendChild(document.createTextNode(visible(String(child))));
}

/** h("a", { href, class, onclick, style: { width } }, children...). Text is never parsed as HTML. */
export function h(name: string, props?: Props | null, ...children: Child[]): HTMLElement {
	const el = document.createElement(name);

	for (const [key, value] of Object.entries(props ?? {})) {
		if (value === undefined || value === null || value === false) continue;
		if (key.startsWith("on")) el.addEventListener(key.slice(2), value as EventListener);
		else if (key === "style") for (const [k, v] of Object.entries(value as Record<string, string>)) el.style.setProperty(k, v);
		else el.setAttribute(key, value === true ? "" : String(value));
	}
	append(el, children);
	return el;
}

export function replace(el: Element, ...children: Child[]): void {
	el.textContent = "";
	append(el, children);
}

/** What a control or a section is called; the figures in a name change with the answer. */
const nameOf = (el: Element): string => el.tagName + (el.getAttribute("aria-label") ?? el.textContent ?? "").replace(/[\d.,]+/g, "");
const CONTROLS = "a, button, input, select, summary, [tabindex]";

function openAgain(old: Element, fresh: Element): void {
	const names = new Set([...old.querySelectorAll("details[open] > summary")].map(nameOf));
	for (const s of fresh.querySelectorAll("details > summary")) if (names.has(nameOf(s))) (s.parentElement as HTMLDetailsElement).open = true;
}
/** Replaces the content of el. The focus stays on the control with the same name, and opened sections stay open. */
export function exchange(el: Element, ...children: Child[]): void {
	const fresh = h("div", null, ...children), focus = document.activeElement;
	const among = (name: string): HTMLElement[] => [...el.querySelectorAll<HTMLElement>(CONTROLS)].filter((c) => nameOf(c) === name);
	const name = focus && el.contains(focus) ? nameOf(focus) : "", at = name ? among(name).indexOf(focus as HTMLElement) : -1;
	const caret = focus instanceof HTMLInputElement ? ([focus.selectionStart, focus.selectionEnd] as const) : undefined;

	openAgain(el, fresh);
	el.replaceChildren(...fresh.childNodes);
	if (at < 0) return;
	const again = among(name);
	const to = again[Math.min(at, again.length - 1)];
	to?.focus({ preventScroll: true });
	if (caret && to instanceof HTMLInputElement) to.setSelectionRange(...caret);
}
/** The same, but leaves el alone if it shows this already. */
export function refresh(el: Element, ...children: Child[]): void {
	const fresh = el.cloneNode(false) as Element;
	append(fresh, children);
	openAgain(el, fresh);
	if (!el.isEqualNode(fresh)) exchange(el, [...fresh.childNodes]);
}

/** A canvas context in CSS pixels, sharp on every display. */
export function ink(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
	const dots = window.devicePixelRatio || 1;
	const ctx = canvas.getContext("2d") as CanvasRenderingContext2D;

	canvas.width = Math.round(width * dots);
	canvas.height = Math.round(height * dots);
	canvas.style.width = `${width}px`;
	canvas.style.height = `${height}px`;
	ctx.setTransform(dots, 0, 0, dots, 0, 0);
	return ctx;
}

let colours: Record<string, string> = {};
/** A colour of the theme: a custom property of style.css. */
export function colour(name: string): string {
	return (colours[name] ??= getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || "#888");
}
/** Pictures are drawn again by what holds them: they listen to "colours". */
export function coloursChanged(): void {
	colours = {};
	for (const el of document.querySelectorAll(".plot, .grid")) el.dispatchEvent(new Event("colours"));
}

/** Calls at most once a frame. */
export function perFrame(fn: () => void): () => void {
	let asked = false;

	return () => {
		if (asked) return;
		asked = true;
		requestAnimationFrame(() => {
			asked = false;
			fn();
		});
	};
}
