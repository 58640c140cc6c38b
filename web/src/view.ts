// SPDX-License-Identifier: Apache-2.0
// view.ts - makes elements. Pages are functions that return an element; nothing is kept in step behind their back.

type Child = Node | string | number | null | undefined | false | Child[];
type Props = Record<string, unknown>;

/** Marks that turn the direction of what follows: a name with one could show another name. */
const visible = (text: string): string => text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) => `<U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);

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
export function coloursChanged(): void {
	colours = {};
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
