// SPDX-License-Identifier: Apache-2.0
// grid.ts - a table or a tree of any number of rows: only the rows that can be seen are elements. It sorts, filters, is
// walked by the keyboard, and saves itself as CSV and JSON.
import { set, setting } from "./address";
import { csv, json, save, type Value } from "./download";
import { h, ink, perFrame } from "./view";

export interface Column<R> {
	key: string;
	label: string;
	value: (r: R) => Value;              // for sorting, filters and the saved file
	text?: (r: R) => string;             // on the screen; default: value
	node?: (r: R) => Node | null;        // shown before the text
	draw?: (ctx: CanvasRenderingContext2D, r: R, width: number, height: number) => void; // shown instead
	axis?: (ctx: CanvasRenderingContext2D, width: number, height: number) => void; // above what draw draws
	number?: boolean;
	find?: boolean;                      // the filter searches it; default: if it is a text
	width?: string;                      // "5rem", or "minmax(5rem, 1fr)"
	title?: string;                      // explains the column
}
export interface Tree<R> {
	children: (r: R) => R[];
	key: (r: R) => string | number;
	open: Set<string | number>;
}
/** What outlives the grid: pages keep it, so that a newer answer, or the way back, finds the same order. */
export interface GridState { sort?: string; down?: boolean; filter?: string; top?: number; left?: number; active?: string | number }
interface Options<R> {
	name: string;                        // of the table, and of the file
	columns: Column<R>[];
	rows: R[];
	tree?: Tree<R>;
	key?: (r: R) => string | number;     // of a table: which row it is in each answer
	state?: GridState;
	pick?: (r: R) => void;               // Enter or a click
	picked?: string;                     // what a pick does: "opens the run"
	rowHeight?: number;
	height?: string;
	mark?: (r: R) => string;             // a class of the row
}
interface Shown<R> { row: R; level: number; more: boolean }

let grids = 0;

export class Grid<R> {
	readonly el: HTMLElement;
	private readonly id = `grid${++grids}`;
	private readonly state: GridState;
	private readonly scroller: HTMLElement;
	private readonly body = h("div", { class: "grid-body", role: "rowgroup" });
	private readonly counter = h("span", { class: "quiet", role: "status" });
	private readonly heads = new Map<string, HTMLElement>();
	private readonly rowHeight: number;
	private shown: Shown<R>[] = [];
	private active = 0;
	private drawnWidth = 0; // of a drawn column
	private readonly painted = new Map<number, HTMLElement>(); // rows by their place
	private readonly texts = new Map<R, string>();             // what the filter searches
	private readonly paintSoon = perFrame(() => this.paint());

	constructor(private o: Options<R>) {
		this.state = o.state ?? {};
		this.recall();
		this.rowHeight = o.rowHeight ?? 28;
		const widths = o.columns.map((c) => c.width ?? (c.number ? `minmax(${Math.max(c.node ? 7.5 : 5.5, c.label.length * 0.5 + 1.6)}rem, 9rem)` : "minmax(7rem, 1fr)"));
		const least = widths.reduce((sum, w) => sum + parseFloat(w.replace("minmax(", "")), 0);
		const head = h("div", { class: "grid-row grid-head", role: "row", "aria-rowindex": 1 }, o.columns.map((c) => this.head(c)));
		this.scroller = h("div", {
			class: "grid", role: o.tree ? "treegrid" : "grid", tabindex: 0, "aria-label": o.name, "aria-rowcount": 1,
			"aria-colcount": o.columns.length, style: { "--columns": widths.join(" "), "--least": `${least}rem`, "--row": `${this.rowHeight}px`, "max-height": o.height ?? "70vh" },
			onkeydown: (e: KeyboardEvent) => this.key(e),
			oncolours: () => this.repaint(),
			onscroll: () => {
				this.state.top = this.scroller.scrollTop;
				this.state.left = this.scroller.scrollLeft;
				this.paintSoon();
			},
		}, h("div", { class: "grid-top", role: "rowgroup" }, head), this.body);
		const filter = h("input", {
			type: "search", placeholder: "Filter", "aria-label": `Filter ${o.name}`, value: this.state.filter ?? "",
			oninput: (e: Event) => {
				this.state.filter = (e.target as HTMLInputElement).value;
				this.keep();
				this.arrange();
			},
		});
		this.el = h("div", { class: "grid-box" },
			h("div", { class: "grid-bar" }, filter, this.counter, h("span", { class: "grow" }),
				o.tree && [this.button("Open all", () => this.openAll(true)), this.button("Close all", () => this.openAll(false))],
				this.button("CSV", () => save(`${this.file()}.csv`, "text/csv", csv(...this.cells()))),
				this.button("JSON", () => save(`${this.file()}.json`, "application/json", json(...this.cells())))),
			this.scroller);
		new ResizeObserver(this.paintSoon).observe(this.scroller);
		this.arrange(this.state.top ?? 0, this.state.left ?? 0, true);
	}

	setRows(rows: R[]): void {
		this.o.rows = rows;
		this.texts.clear();
		this.arrange(this.scroller.scrollTop, this.scroller.scrollLeft, true);
	}
	/** Draws again what can be seen, as when a time line zooms. */
	repaint(): void {
		this.forget();
		this.paintSoon();
	}
	private forget(): void {
		for (const row of this.painted.values()) row.remove();
		this.painted.clear();
	}

	private button(label: string, onclick: () => void): HTMLElement {
		return h("button", { type: "button", onclick, "aria-label": `${label}: ${this.o.name}` }, label);
	}
	private slug(): string {
		return this.o.name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
	}
	private file(): string {
		return `skep-${this.slug()}`;
	}
	/** The address is first: it may come from someone else. */
	private recall(): void {
		const sort = setting(`${this.slug()}.sort`), filter = setting(`${this.slug()}.filter`);
		if (sort !== null) {
			this.state.down = sort.startsWith("-");
			this.state.sort = sort.replace("-", "");
		}
		if (filter !== null) this.state.filter = filter;
		this.keep();
	}
	private keep(): void {
		set(`${this.slug()}.sort`, this.state.sort ? `${this.state.down ? "-" : ""}${this.state.sort}` : "");
		set(`${this.slug()}.filter`, this.state.filter ?? "");
	}
	private cells(): [string[], Value[][]] {
		const columns = this.o.columns.filter((c) => !c.draw);
		const rows = this.o.tree ? this.everyRow() : this.shown.map((s) => s.row);
		return [columns.map((c) => c.key), rows.map((row) => columns.map((c) => c.value(row)))];
	}
	private everyRow(): R[] {
		const all: R[] = [], rest = [...this.o.rows].reverse();
		for (let row = rest.pop(); row !== undefined; row = rest.pop()) {
			const children = this.o.tree!.children(row);
			all.push(row);
			for (let i = children.length - 1; i >= 0; i--) rest.push(children[i]);
		}
		return all;
	}

	private head(c: Column<R>): HTMLElement {
		const sorts = !this.o.tree && !c.draw;
		const el = h("div", { class: c.axis ? "cell drawn" : c.number ? "cell number" : "cell", role: "columnheader", title: c.title, "aria-label": c.label },
			c.axis ? h("canvas", { "aria-hidden": "true" }) : sorts ? h("button", { type: "button", onclick: () => this.sortBy(c) }, c.label) : h("span", null, c.label));
		this.heads.set(c.key, el);
		return el;
	}
	private sortBy(c: Column<R>): void {
		const again = this.state.sort === c.key;
		this.state.down = again ? !this.state.down : Boolean(c.number);
		this.state.sort = c.key;
		this.keep();
		this.arrange();
	}
	private openAll(open: boolean): void {
		const tree = this.o.tree!;
		tree.open.clear();
		if (open) for (const row of this.everyRow()) tree.open.add(tree.key(row));
		this.arrange();
	}

	private matches(row: R, words: string[]): boolean {
		let text = this.texts.get(row);
		if (text === undefined) {
			text = this.o.columns.filter((c) => c.find ?? !(c.draw || c.number)).map((c) => String(c.value(row) ?? "")).join(" ").toLowerCase();
			this.texts.set(row, text);
		}
		return words.every((w) => text.includes(w));
	}
	private order(rows: R[]): R[] {
		const c = this.o.columns.find((x) => x.key === this.state.sort);
		if (!c || this.o.tree) return rows;
		const sign = this.state.down ? -1 : 1;
		return rows.map((row) => ({ row, v: c.value(row) })).sort((a, b) => {
			if (a.v === b.v) return 0;
			if (a.v === null || a.v === undefined) return 1; // unknown values come last in both orders
			if (b.v === null || b.v === undefined) return -1;
			return a.v < b.v ? -sign : sign;
		}).map((x) => x.row);
	}

	private keyOf(i: number): string | number | undefined {
		const row = this.shown[i]?.row;
		return row === undefined ? undefined : this.o.tree ? this.o.tree.key(row) : this.o.key?.(row);
	}
	private activate(i: number): void {
		this.active = Math.max(0, Math.min(this.shown.length - 1, i));
		this.state.active = this.keyOf(this.active);
	}

	/** Computes the visible rows from all rows, the filter, the order and the open branches. follow: the active row stays active. */
	private arrange(top = 0, left = this.scroller.scrollLeft, follow = false): void {
		const words = (this.state.filter ?? "").toLowerCase().split(/\s+/).filter(Boolean);
		const tree = this.o.tree;
		this.shown = [];
		this.forget();
		if (tree) {
			// Not by recursion: each exec is a child of the image before it, so a tree may be deeper than the browser's stack.
			const branches = [{ rows: this.o.rows, next: 0, at: -1, any: false }]; // at: the row of the branch; any: it has a match
			const leave = (at: number, within: boolean): void => {
				if (!words.length || within || this.matches(this.shown[at].row, words)) branches[branches.length - 1].any = true;
				else this.shown.length = at;
			};
			while (branches.length) {
				const branch = branches[branches.length - 1];
				if (branch.next === branch.rows.length) {
					branches.pop();
					if (branches.length) leave(branch.at, branch.any);
					continue;
				}
				const row = branch.rows[branch.next++], children = tree.children(row), at = this.shown.length;
				this.shown.push({ row, level: branches.length, more: children.length > 0 });
				if (words.length || tree.open.has(tree.key(row))) branches.push({ rows: children, next: 0, at, any: false });
				else leave(at, false);
			}
		} else {
			const rows = words.length ? this.o.rows.filter((r) => this.matches(r, words)) : this.o.rows;
			for (const row of this.order(rows)) this.shown.push({ row, level: 1, more: false });
		}
		for (const [key, el] of this.heads) {
			if (key === this.state.sort && !tree) el.setAttribute("aria-sort", this.state.down ? "descending" : "ascending");
			else el.removeAttribute("aria-sort");
		}
		this.counter.textContent = `${this.shown.length.toLocaleString("en-GB")} ${this.shown.length === 1 ? "row" : "rows"}`;
		if (this.state.active !== undefined) {
			const at = follow ? this.shown.findIndex((_, i) => this.keyOf(i) === this.state.active) : -1;
			this.activate(at >= 0 ? at : this.active);
		}
		this.active = Math.min(this.active, Math.max(0, this.shown.length - 1));
		this.scroller.setAttribute("aria-rowcount", String(this.shown.length + 1));
		this.body.style.height = `${this.shown.length * this.rowHeight}px`;
		this.paint();
		requestAnimationFrame(() => {
			this.scroller.scrollTop = top;
			this.scroller.scrollLeft = left;
			this.paint();
		});
	}

	private paint(): void {
		const height = this.scroller.clientHeight || 600, from = Math.max(0, Math.floor(this.scroller.scrollTop / this.rowHeight) - 4);
		const to = Math.min(this.shown.length, from + Math.ceil(height / this.rowHeight) + 8);
		const fresh: [number, HTMLElement][] = [];

		for (const [i, row] of this.painted) {
			if (i >= from && i < to) continue;
			row.remove();
			this.painted.delete(i);
		}
		for (let i = to - 1; i >= from; i--) {
			if (this.painted.has(i)) continue;
			const row = this.row(i);
			this.body.insertBefore(row, this.painted.get(i + 1) ?? null); // in the order of reading
			this.painted.set(i, row);
			fresh.push([i, row]);
		}
		for (const [i, row] of this.painted) row.classList.toggle("active", i === this.active);
		for (const c of this.o.columns) if (c.draw) this.draw(c, fresh);
		if (this.shown.length) this.scroller.setAttribute("aria-activedescendant", `${this.id}-${this.active}`);
	}
	private draw(c: Column<R>, rows: [number, HTMLElement][]): void {
		const at = this.o.columns.indexOf(c), head = this.heads.get(c.key)!, width = head.clientWidth;
		if (width < 8) return;
		if (width !== this.drawnWidth) {
			this.drawnWidth = width;
			rows = [...this.painted];
		}
		c.axis?.(ink(head.firstChild as HTMLCanvasElement, width, this.rowHeight), width, this.rowHeight);
		for (const [i, row] of rows) {
			const canvas = row.children[at].firstChild as HTMLCanvasElement;
			c.draw!(ink(canvas, width, this.rowHeight), this.shown[i].row, width, this.rowHeight);
		}
	}
	private row(i: number): HTMLElement {
		const { row, level, more } = this.shown[i], tree = this.o.tree;
		const open = tree && more ? Boolean(this.state.filter) || tree.open.has(tree.key(row)) : undefined;
		return h("div", {
			class: `grid-row ${this.o.mark?.(row) ?? ""}`, role: "row", id: `${this.id}-${i}`, "aria-rowindex": i + 2,
			"aria-level": tree && level, "aria-expanded": open === undefined ? undefined : String(open),
			style: { transform: `translateY(${i * this.rowHeight}px)` },
			onclick: () => this.click(i),
		}, this.o.columns.map((c, at) => {
			if (c.draw) return h("div", { class: "cell drawn", role: "gridcell" }, h("canvas", { "aria-hidden": "true" }));
			const text = c.text ? c.text(row) : String(c.value(row) ?? "–");
			return h("div", { class: c.number ? "cell number" : "cell", role: "gridcell", title: text },
				tree && at === 0 && h("span", { class: `twig ${open === undefined ? "" : open ? "open" : "closed"}`, style: { "margin-left": `${(level - 1) * 0.9}rem` } }),
				c.node?.(row), h("span", { class: "text" }, text));
		}));
	}

	private click(i: number): void {
		this.activate(i);
		if (this.o.tree && this.shown[i].more) this.toggle(i);
		else this.paint();
		this.o.pick?.(this.shown[i].row);
	}
	private toggle(i: number, open?: boolean): void {
		const tree = this.o.tree!, key = tree.key(this.shown[i].row);
		if (open ?? !tree.open.has(key)) tree.open.add(key);
		else tree.open.delete(key);
		this.arrange(this.scroller.scrollTop);
	}
	private key(e: KeyboardEvent): void {
		const page = Math.max(1, Math.floor(this.scroller.clientHeight / this.rowHeight) - 2), last = this.shown.length - 1;
		const to: Record<string, number> = {
			ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page, PageUp: this.active - page, Home: 0, End: last,
		};
		if (e.target !== this.scroller || e.altKey || e.ctrlKey || e.metaKey || last < 0) return;
		if (e.key in to) this.move(to[e.key]);
		else if (e.key === "Enter" || e.key === " ") this.click(this.active);
		else if (this.o.tree && e.key === "ArrowRight" && this.shown[this.active].more) this.toggle(this.active, true);
		else if (this.o.tree && e.key === "ArrowLeft") this.leave();
		else return;
		e.preventDefault();
	}
	/** Closes the branch, or goes to its parent. */
	private leave(): void {
		const { level, row } = this.shown[this.active], tree = this.o.tree!;
		if (tree.open.has(tree.key(row))) return this.toggle(this.active, false);
		let i = this.active;
		while (i > 0 && this.shown[i].level >= level) i--;
		this.move(i);
	}
	private move(i: number): void {
		this.activate(i);
		const top = this.active * this.rowHeight, room = this.scroller.clientHeight - this.body.offsetTop;
		if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
		else if (top + this.rowHeight > this.scroller.scrollTop + room) this.scroller.scrollTop = top + this.rowHeight - room;
		this.paint();
	}
}
