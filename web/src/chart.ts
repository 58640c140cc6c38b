// SPDX-License-Identifier: Apache-2.0
// chart.ts - figures over a run's time: areas that add up, lines, and dashed lines for requests.
import { Grid } from "./grid";
import { seconds } from "./format";
import { byteTicks, drawTimeAxis, ticks, type Span } from "./span";
import { colour, h, ink, perFrame, refresh, type Live } from "./view";

/** A step: the value from its time on; NaN: none. The steps of all series of a chart that add up have equal times. */
export interface Series {
	key: string;
	label: string;
	colour: string; // a custom property
	kind: "area" | "line" | "asked";
	t: number[];
	y: number[];
}
export interface Picture {
	name: string;
	unit: (y: number) => string;
	series: Series[];
	binary?: boolean; // bytes: ticks are powers of 2
}
/** series: those of a newer answer, with the same keys. */
export interface Chart { el: HTMLElement; set: (series: Series[]) => void }
const LEFT = 64, BOTTOM = 22, HEIGHT = 170;

/** The index of the step that holds at t; -1: none. */
function stepAt(s: Series, t: number): number {
	let a = 0, b = s.t.length;
	while (a < b) {
		const mid = (a + b) >> 1;
		if (s.t[mid] <= t) a = mid + 1;
		else b = mid;
	}
	return a - 1;
}

export function chart({ name, unit, binary, series }: Picture, span: Span): Chart {
	const o = { name, unit, binary, series, span };
	const canvas = h("canvas", { "aria-hidden": "true" }) as HTMLCanvasElement;
	const readout = h("div", { class: "readout", "aria-live": "polite" });
	const values = table(o);
	let drawn = o.series.filter((s) => s.t.length);
	let areas = drawn.filter((s) => s.kind === "area");
	let cursor = NaN, dragFrom = NaN, width = 0;

	const top = (): number => {
		let most = 0;
		const seen = (s: Series, i: number): boolean => s.t[i] <= o.span.b && (s.t[i + 1] ?? s.t[i]) >= o.span.a && !Number.isNaN(s.y[i]);
		if (areas.length) {
			for (let i = 0; i < areas[0].t.length; i++) {
				if (seen(areas[0], i)) most = Math.max(most, areas.reduce((sum, s) => sum + (s.y[i] || 0), 0));
			}
		}
		for (const s of drawn) if (s.kind !== "area") for (let i = 0; i < s.t.length; i++) if (seen(s, i)) most = Math.max(most, s.y[i]);
		return most * 1.08 || 1;
	};
	const valueTicks = (most: number): number[] => (o.binary ? byteTicks(most, 4) : ticks(0, most, 4));

	function draw(): void {
		width = canvas.parentElement?.clientWidth ?? 0;
		if (width < 80) return;
		const ctx = ink(canvas, width, HEIGHT), w = width - LEFT - 8, hgt = HEIGHT - BOTTOM - 8, most = top();
		const X = (t: number): number => LEFT + o.span.x(t, w), Y = (y: number): number => 8 + hgt - (y / most) * hgt;

		ctx.font = "11px system-ui, sans-serif";
		ctx.textBaseline = "middle";
		for (const v of valueTicks(most)) {
			ctx.strokeStyle = colour("rule");
			ctx.beginPath();
			ctx.moveTo(LEFT, Math.round(Y(v)) + 0.5);
			ctx.lineTo(width - 8, Math.round(Y(v)) + 0.5);
			ctx.stroke();
			ctx.fillStyle = colour("quiet");
			const text = o.unit(v);
			ctx.fillText(text, LEFT - 8 - ctx.measureText(text).width, Y(v));
		}
		ctx.save();
		ctx.translate(LEFT, 0);
		drawTimeAxis(ctx, o.span, w, HEIGHT - 9, 8);
		ctx.restore();
		ctx.save();
		ctx.beginPath();
		ctx.rect(LEFT, 0, w, HEIGHT - BOTTOM + 2);
		ctx.clip();
		const n = areas[0]?.t.length ?? 0, below = new Array<number>(n).fill(0);
		for (const s of areas) {
			ctx.fillStyle = colour(s.colour);
			for (let i = 0; i + 1 < n; i++) {
				if (Number.isNaN(s.y[i]) || s.t[i + 1] < o.span.a || s.t[i] > o.span.b) continue;
				const x = Math.floor(X(s.t[i])), y = Y(below[i] + s.y[i]); // whole pixels: no seams
				ctx.fillRect(x, y, Math.max(1, Math.floor(X(s.t[i + 1])) - x), Y(below[i]) - y);
				below[i] += s.y[i];
			}
		}
		for (const s of drawn) {
			if (s.kind === "area") continue;
			ctx.strokeStyle = colour(s.colour);
			ctx.lineWidth = s.kind === "asked" ? 1.5 : 2;
			ctx.setLineDash(s.kind === "asked" ? [6, 4] : []);
			ctx.beginPath();
			let down = false;
			for (let i = 0; i < s.t.length; i++) {
				if (Number.isNaN(s.y[i])) {
					down = false;
					continue;
				}
				if (down) ctx.lineTo(X(s.t[i]), Y(s.y[i]));
				else ctx.moveTo(X(s.t[i]), Y(s.y[i]));
				ctx.lineTo(X(s.t[i + 1] ?? o.span.whole), Y(s.y[i]));
				down = true;
			}
			ctx.stroke();
			ctx.setLineDash([]);
		}
		if (!Number.isNaN(dragFrom) && !Number.isNaN(cursor)) {
			ctx.fillStyle = colour("select");
			ctx.fillRect(X(Math.min(dragFrom, cursor)), 8, Math.abs(X(cursor) - X(dragFrom)), hgt);
		} else if (!Number.isNaN(cursor)) {
			ctx.fillStyle = colour("ink");
			ctx.fillRect(X(cursor), 8, 1, hgt);
		}
		ctx.restore();
		say();
	}
	function say(): void {
		const at = Number.isNaN(cursor) ? "" : `at ${seconds(cursor)}: `;
		refresh(readout, at ? h("span", { class: "quiet" }, at) : null, o.series.map((s) => {
			const i = Number.isNaN(cursor) ? -1 : stepAt(s, cursor);
			const value = i >= 0 && !Number.isNaN(s.y[i]) ? ` ${o.unit(s.y[i])}` : s.t.length ? "" : " not known";
			return h("span", { class: "key" }, h("i", { class: s.kind, style: { "--c": `var(--${s.colour})` } }), s.label, h("b", null, value));
		}));
	}
	const soon = perFrame(draw);
	const timeOf = (e: PointerEvent): number => o.span.at(e.clientX - canvas.getBoundingClientRect().left - LEFT, width - LEFT - 8);
	const box = h("div", {
		class: "plot", tabindex: 0, role: "group", oncolours: () => soon(),
		"aria-label": `${o.name} over time. Arrow keys move a cursor, plus and minus zoom, 0 shows all; the table below has the values.`,
		onpointermove: (e: PointerEvent) => { cursor = Math.max(o.span.a, Math.min(o.span.b, timeOf(e))); soon(); },
		onpointerleave: () => { cursor = dragFrom = NaN; soon(); },
		onpointerdown: (e: PointerEvent) => { if (e.pointerType === "mouse") dragFrom = timeOf(e); },
		onpointerup: () => {
			const from = dragFrom;
			dragFrom = NaN;
			if (!Number.isNaN(from) && Math.abs(cursor - from) > (o.span.b - o.span.a) / 100) o.span.show(Math.min(from, cursor), Math.max(from, cursor));
			soon();
		},
		ondblclick: () => o.span.show(0, o.span.whole),
		onkeydown: (e: KeyboardEvent) => {
			const step = (o.span.b - o.span.a) / 50;
			if (e.ctrlKey || e.metaKey || e.altKey) return;
			if (e.key === "ArrowRight" || e.key === "ArrowLeft") {
				cursor = Number.isNaN(cursor) ? o.span.a : Math.max(o.span.a, Math.min(o.span.b, cursor + (e.key === "ArrowRight" ? step : -step)));
			} else if (!o.span.key(e.key)) return;
			e.preventDefault();
			soon();
		},
	}, canvas);
	o.span.onChange(soon);
	new ResizeObserver(soon).observe(box);
	say();
	return {
		el: h("figure", { class: "chart" }, h("figcaption", null, h("h3", null, o.name), readout), box, values.el),
		set: (series) => {
			o.series = series;
			drawn = series.filter((s) => s.t.length);
			areas = drawn.filter((s) => s.kind === "area");
			values.update();
			soon();
		},
	};
}

/** The values behind the picture, made when they are asked for. */
function table(o: Picture): Live {
	const details = h("details", null, h("summary", null, `${o.name} as a table`));
	const rows = (): number[] => [...new Set(o.series.flatMap((s) => s.t))].sort((a, b) => a - b);
	let grid: Grid<number> | undefined;
	details.addEventListener("toggle", () => {
		if (grid) return;
		grid = new Grid<number>({
			name: `${o.name} over time`, rows: rows(), height: "18rem", key: (t) => t,
			columns: [
				{ key: "time_s", label: "time", value: (t) => Number(t.toFixed(3)), text: (t) => seconds(t), number: true },
				...o.series.map(({ key, label }, k) => {
					const value = (t: number): number | null => {
						const s = o.series[k], y = s.y[stepAt(s, t)];
						return y === undefined || Number.isNaN(y) ? null : y;
					};
					return { key, label, value, text: (t: number) => (value(t) === null ? "–" : o.unit(value(t)!)), number: true };
				}),
			],
		});
		details.append(grid.el);
	});
	return { el: details, update: () => grid?.setRows(rows()) };
}
