// SPDX-License-Identifier: Apache-2.0
// skepd.ts - the running skepd: the answer of skep status, key by key, lists as tables.
import { bytes, count, ns } from "./format";
import { Grid } from "./grid";
import { failed, type Page } from "./parts";
import { watch } from "./source";
import { h, replace } from "./view";

type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
type Item = { [key: string]: Json };
const plain = (v: Json | undefined): boolean => v === null || typeof v !== "object";

function text(key: string, v: Json | undefined): string {
	if (v === null || v === undefined || v === "") return "–";
	if (typeof v === "number") return key.endsWith("_ns") ? ns(v) : key.endsWith("_bytes") ? bytes(v) : count(v);
	return typeof v === "object" ? JSON.stringify(v) : String(v);
}
/** Objects within an object become columns "delivery.lag_ns". */
function flat(o: Item, before = ""): Item {
	const out: Item = {};
	for (const [key, v] of Object.entries(o)) {
		if (v !== null && typeof v === "object" && !Array.isArray(v)) Object.assign(out, flat(v, `${before}${key}.`));
		else out[before + key] = v;
	}
	return out;
}
function section(name: string, v: Json): HTMLElement | null {
	if (Array.isArray(v)) {
		const rows = v.filter((x): x is Item => !plain(x) && !Array.isArray(x)).map((x) => flat(x)), keys = [...new Set(rows.flatMap((r) => Object.keys(r)))];
		if (!rows.length) return null;
		return h("section", null, h("h2", null, name), new Grid<Item>({
			name, rows, height: "24rem",
			columns: keys.map((key) => {
				const number = rows.some((r) => typeof r[key] === "number");
				return { key, label: key, number, value: (r: Item) => (plain(r[key]) ? (r[key] as string | number | boolean | null) : JSON.stringify(r[key])), text: (r: Item) => text(key, r[key]), width: number ? "minmax(6rem, 9rem)" : undefined };
			}),
		}).el);
	}
	const o = v as Item, simple = Object.entries(o).filter(([, x]) => plain(x)), deep = Object.entries(o).filter(([, x]) => !plain(x));
	return h("section", null, h("h2", null, name), h("dl", { class: "fields" }, simple.map(([key, x]) => [h("dt", null, key), h("dd", null, text(key, x))])),
		deep.map(([key, x]) => section(`${name}: ${key}`, x)));
}

export function skepdPage(): Page {
	const body = h("div", { "aria-busy": "true" }, h("p", { class: "quiet", role: "status" }, "Asking skepd …"));
	const draw = (s: Item): void => {
		const { ok: _ok, request: _request, ...rest } = s;
		const simple = Object.fromEntries(Object.entries(rest).filter(([, v]) => plain(v)));
		replace(body, section("skepd", simple), Object.entries(rest).filter(([, v]) => !plain(v)).map(([key, v]) => section(key, v)));
		body.removeAttribute("aria-busy");
	};

	return { el: h("div", null, h("h1", null, "skepd"), body), title: "skepd", stop: watch<Item>("/api/status", 5000, draw, (error) => replace(body, failed(error))) };
}
