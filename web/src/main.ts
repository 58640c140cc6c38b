// SPDX-License-Identifier: Apache-2.0
// main.ts - the frame of the pages, and which page an address shows: #/runs, #/run/ID/TAB, #/task/PIPELINE/TASK,
// #/diff/A/B, #/diff/RUN, #/hosts, #/hosts/HOST, #/skepd.
import { diffPage } from "./diff";
import { entitle, failed, type Page } from "./parts";
import { hostsPage } from "./hosts";
import { runPage } from "./run";
import { runsPage } from "./runs";
import { skepdPage } from "./skepd";
import { isReport, open } from "./source";
import { taskPage } from "./task";
import { coloursChanged, h, replace } from "./view";

const THEMES = ["auto", "light", "dark"] as const;
const main = h("main", { id: "main", tabindex: -1 });
let page: Page | undefined;

function stored(): string {
	try {
		return localStorage.getItem("skep-theme") ?? "auto";
	} catch {
		return "auto"; // a report from disk may have no storage
	}
}
function theme(name: string): void {
	document.documentElement.dataset.theme = name;
	coloursChanged();
	try {
		localStorage.setItem("skep-theme", name);
	} catch {
		// then it holds for this page
	}
}

function pageOf(hash: string): Page {
	const [path, query] = hash.replace(/^#\/?/, "").split("?", 2);
	const [name, ...rest] = path.split("/").map((s) => {
		try {
			return decodeURIComponent(s);
		} catch {
			return s;
		}
	});
	switch (name) {
	case "run": if (rest[0]) return runPage(rest[0], rest[1]); break;
	case "task": if (rest[0] && rest[1]) return taskPage(rest[0], rest[1]); break;
	case "diff": if (rest[0]) return rest[1] ? diffPage(rest[1], rest[0]) : diffPage(rest[0]); break;
	case "hosts": return hostsPage(rest[0], new URLSearchParams(query));
	case "skepd": return skepdPage();
	case "runs": case "": case undefined: return runsPage(new URLSearchParams(query));
	}
	return { el: failed(`There is no page ${hash}.`), title: "no page" };
}

function show(): void {
	const from = page?.el;
	page?.stop?.();
	page = pageOf(location.hash);
	entitle(page.title);
	replace(main, page.el);
	if (from) main.focus({ preventScroll: true });
	for (const a of document.querySelectorAll("header.top nav a")) {
		if (location.hash.startsWith((a as HTMLAnchorElement).hash)) a.setAttribute("aria-current", "page");
		else a.removeAttribute("aria-current");
	}
}

async function begin(): Promise<void> {
	const select = h("select", { "aria-label": "Colours", onchange: (e: Event) => theme((e.target as HTMLSelectElement).value) },
		THEMES.map((t) => h("option", { value: t, selected: t === stored() }, t))) as HTMLSelectElement;
	const home = h("a", { href: "#" }, "This report");
	theme(stored());
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", coloursChanged);
	document.body.prepend(
		h("a", { class: "skip", href: "#main", onclick: (e: Event) => { e.preventDefault(); main.focus(); } }, "Skip to the page"),
		h("header", { class: "top" }, h("strong", { class: "brand" }, "skep"),
			h("nav", { "aria-label": "Pages" }, isReport() ? home : [h("a", { href: "#/runs" }, "Runs"), h("a", { href: "#/hosts" }, "Hosts"), h("a", { href: "#/skepd" }, "skepd")]),
			h("span", { class: "grow" }), select), main);
	replace(main, h("p", { class: "quiet", role: "status" }, isReport() ? "Unpacking the report …" : ""));
	let first = "#/runs";
	try {
		first = (await open())?.page ?? first;
	} catch (error) {
		replace(main, failed(`This report cannot be unpacked: ${String(error)}`));
		return;
	}
	home.setAttribute("href", first);
	// An answer lacks what a damaged file of the lake holds: the page says so until it is left.
	document.addEventListener("partial", (e) => {
		document.getElementById("partial")?.remove();
		main.prepend(h("p", { id: "partial", class: "card warn", role: "status" }, (e as CustomEvent<string>).detail));
	});
	document.addEventListener("stale", (e) => {
		const why = (e as CustomEvent<string>).detail, note = document.getElementById("stale");
		if (!why) note?.remove();
		else if (!note) main.prepend(h("p", { id: "stale", class: "card warn", role: "status" }, `Not up to date: ${why}`));
	});
	if (!location.hash) history.replaceState(null, "", first);
	addEventListener("hashchange", show);
	show();
}
void begin();
