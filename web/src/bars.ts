// SPDX-License-Identifier: Apache-2.0
// bars.ts - draws executions on a time line: how many ran at once, and how much they computed and waited.
//
// skep knows for how long a process computed, waited for a CPU and waited for storage, not when. So these shares fill
// the height of a bar, not its length.
import type { Span } from "./span";
import { colour } from "./view";

export class Bars {
	readonly t0: Float64Array; // seconds since the run began
	readonly t1: Float64Array;
	readonly cpu: Float32Array; // shares of its time
	readonly queue: Float32Array;
	readonly block: Float32Array;
	readonly bad: Uint8Array;
	readonly onPath: Uint8Array;

	constructor(readonly n: number) {
		this.t0 = new Float64Array(n);
		this.t1 = new Float64Array(n);
		this.cpu = new Float32Array(n);
		this.queue = new Float32Array(n);
		this.block = new Float32Array(n);
		this.bad = new Uint8Array(n);
		this.onPath = new Uint8Array(n);
	}
	/** Several CPUs at once make more CPU time than wall time: then the shares are of their sum. */
	set(i: number, t0: number, t1: number, cpuNs: number, queueNs: number, blockNs: number, bad: boolean): void {
		const whole = Math.max((t1 - t0) * 1e9, cpuNs + queueNs + blockNs, 1);
		this.t0[i] = t0;
		this.t1[i] = t1;
		this.cpu[i] = cpuNs / whole;
		this.queue[i] = queueNs / whole;
		this.block[i] = blockNs / whole;
		this.bad[i] = bad ? 1 : 0;
	}
}

export function drawBars(ctx: CanvasRenderingContext2D, bars: Bars, list: ArrayLike<number>, span: Span, width: number, height: number): void {
	const w = Math.ceil(width), all = new Float32Array(w + 1), cpu = new Float32Array(w + 1), queue = new Float32Array(w + 1), block = new Float32Array(w + 1);
	const bad = new Uint8Array(w + 1), path = new Uint8Array(w + 1), room = height - 9;
	let most = 0, c = 0, a = 0, q = 0, b = 0;

	for (let k = 0; k < list.length; k++) {
		const i = list[k];
		if (bars.t1[i] < span.a || bars.t0[i] > span.b) continue;
		const x0 = Math.max(0, Math.min(w - 1, Math.floor(span.x(bars.t0[i], w)))), x1 = Math.max(x0 + 1, Math.min(w, Math.round(span.x(bars.t1[i], w))));
		all[x0]++;
		all[x1]--;
		cpu[x0] += bars.cpu[i];
		cpu[x1] -= bars.cpu[i];
		queue[x0] += bars.queue[i];
		queue[x1] -= bars.queue[i];
		block[x0] += bars.block[i];
		block[x1] -= bars.block[i];
		if (bars.bad[i]) bad[x1 - 1] = 1;
		if (bars.onPath[i]) path.fill(1, x0, x1);
	}
	for (let x = 0; x < w; x++) {
		all[x] = a += all[x];
		cpu[x] = c += cpu[x];
		queue[x] = q += queue[x];
		block[x] = b += block[x];
		most = Math.max(most, a);
	}
	if (!most) return;
	const up = (v: number): number => Math.round((Math.max(0, v) / most) * room * 2) / 2;
	const rest = colour("rest"), ink = [colour("cpu"), colour("queue"), colour("block")];
	for (let x = 0; x < w; ) {
		const h0 = up(all[x]), parts = [up(cpu[x]), up(queue[x]), up(block[x])], from = x;
		for (x++; x < w && up(all[x]) === h0 && up(cpu[x]) === parts[0] && up(queue[x]) === parts[1] && up(block[x]) === parts[2]; x++);
		if (!h0) continue;
		let y = height - 4;
		ctx.fillStyle = rest;
		ctx.fillRect(from, y - h0, x - from, h0);
		for (let p = 0; p < 3; p++) {
			ctx.fillStyle = ink[p];
			ctx.fillRect(from, y - parts[p], x - from, parts[p]);
			y -= parts[p];
		}
	}
	ctx.fillStyle = colour("ink");
	for (let x = 0; x < w; x++) {
		if (path[x]) ctx.fillRect(x, height - 3, 1, 2);
	}
	ctx.fillStyle = colour("bad");
	for (let x = 0; x < w; x++) {
		if (!bad[x]) continue;
		ctx.beginPath();
		ctx.moveTo(x - 3.5, 0.5);
		ctx.lineTo(x + 4.5, 0.5);
		ctx.lineTo(x + 0.5, 7);
		ctx.fill();
	}
	if (most > 1) {
		const text = `×${most}`;
		ctx.font = "10px system-ui, sans-serif";
		ctx.textBaseline = "top";
		ctx.fillStyle = colour("ground");
		ctx.fillRect(width - ctx.measureText(text).width - 5, 1, ctx.measureText(text).width + 4, 11);
		ctx.fillStyle = colour("quiet");
		ctx.fillText(text, width - ctx.measureText(text).width - 3, 2);
	}
}
