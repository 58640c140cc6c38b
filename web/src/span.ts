// SPDX-License-Identifier: Apache-2.0
// span.ts - the part of a run's time that its pictures show: all of them zoom together.
import { seconds } from "./format";
import { colour } from "./view";

export class Span {
	a = 0;
	b: number;
	private readonly watchers: (() => void)[] = [];
	constructor(public whole: number) {
		this.b = whole = this.whole = Math.max(whole, 1e-3);
	}
	/** A longer run: a reader who sees all of it goes on to see all of it. */
	grow(whole: number): this {
		const all = this.a <= 0 && this.b >= this.whole;
		this.whole = Math.max(whole, 1e-3);
		this.show(all ? 0 : this.a, all ? this.whole : this.b);
		return this;
	}
	onChange(fn: () => void): void {
		this.watchers.push(fn);
	}
	show(a: number, b: number): void {
		const least = this.whole / 1e6, size = Math.min(this.whole, Math.max(least, b - a));
		this.a = Math.max(0, Math.min(a, this.whole - size));
		this.b = this.a + size;
		for (const fn of this.watchers) fn();
	}
	zoom(factor: number, around = (this.a + this.b) / 2): void {
		this.show(around - (around - this.a) * factor, around + (this.b - around) * factor);
	}
	move(by: number): void {
		this.show(this.a + by * (this.b - this.a), this.b + by * (this.b - this.a));
	}
	x(t: number, width: number): number {
		return ((t - this.a) / (this.b - this.a)) * width;
	}
	at(x: number, width: number): number {
		return this.a + (x / width) * (this.b - this.a);
	}
	/** Zooms and moves; false: not a key of a time line. */
	key(key: string): boolean {
		if (key === "+" || key === "=") this.zoom(0.5);
		else if (key === "-") this.zoom(2);
		else if (key === "0") this.show(0, this.whole);
		else if (key === ",") this.move(-0.25);
		else if (key === ".") this.move(0.25);
		else return false;
		return true;
	}
}

/** Round numbers, at most n of them, within a and b. */
export function ticks(a: number, b: number, n: number, steps: number[] = [1, 2, 5]): number[] {
	const rough = (b - a) / Math.max(1, n), power = 10 ** Math.floor(Math.log10(rough || 1));
	const step = [...steps, 10].map((s) => s * power).find((s) => s >= rough) ?? rough;
	const list: number[] = [];
	for (let i = Math.ceil(a / step - 1e-9); i * step <= b + 1e-9 * step; i++) list.push(i * step);
	return list;
}
/** The same for bytes: powers of 1024. */
export function byteTicks(most: number, n: number): number[] {
	const power = 1024 ** Math.max(0, Math.floor(Math.log(most) / Math.log(1024)));
	return ticks(0, most / power, n).map((v) => v * power);
}
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
export function timeTicks(a: number, b: number, n: number): number[] {
	const rough = (b - a) / Math.max(1, n), step = rough > 0.7 ? TIME_STEPS.find((s) => s >= rough) : undefined;
	if (!step) return ticks(a, b, n);
	const list: number[] = [];
	for (let i = Math.ceil(a / step); i * step <= b; i++) list.push(i * step);
	return list;
}
/** 1:02:03, or 12.5 s where the steps are small */
export function moment(t: number, step: number): string {
	if (step < 1 || t < 60) return seconds(Number(t.toFixed(6)));
	const two = (n: number): string => String(Math.floor(n)).padStart(2, "0");
	return t >= 3600 ? `${Math.floor(t / 3600)}:${two((t % 3600) / 60)}:${two(t % 60)}` : `${Math.floor(t / 60)}:${two(t % 60)}`;
}

export function drawTimeAxis(ctx: CanvasRenderingContext2D, span: Span, width: number, y: number, lineTo: number): void {
	const list = timeTicks(span.a, span.b, Math.max(2, width / 90)), step = list.length > 1 ? list[1] - list[0] : span.b - span.a;

	ctx.font = "11px system-ui, sans-serif";
	ctx.textBaseline = "middle";
	for (const t of list) {
		const x = Math.round(span.x(t, width)) + 0.5, text = moment(t, step), half = ctx.measureText(text).width / 2;
		ctx.strokeStyle = colour("rule");
		ctx.beginPath();
		ctx.moveTo(x, lineTo);
		ctx.lineTo(x, y - 6);
		ctx.stroke();
		ctx.fillStyle = colour("quiet");
		ctx.fillText(text, Math.max(0, Math.min(width - 2 * half, x - half)), y);
	}
}
