// SPDX-License-Identifier: Apache-2.0
// web.mjs ADDRESS RUN [FILE] - how long the pages of a run take in chromium: wall time to the first paint and to the
// content, the main thread's CPU time (which other load of the machine does not change), and the time of interactions.
// FILE: its one-file report, too.  BROWSER_MODULES: a folder with puppeteer-core; tests/browser/browser.sh makes one.
// Medians of ROUNDS (5).
//
//	tests/bench/fill_lake 3 30 3 3333 path=/tmp/lake; skep web --lake /tmp/lake
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const from = createRequire(`${process.env.BROWSER_MODULES}/`);
const { default: puppeteer } = await import(pathToFileURL(from.resolve("puppeteer-core")).href);
const [address, run, file] = process.argv.slice(2);
const rounds = Number(process.env.ROUNDS ?? 5);
const browser = await puppeteer.launch({
	executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, protocolTimeout: 300000,
	args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});
const figures = new Map();
const add = (name, ms) => figures.set(name, [...(figures.get(name) ?? []), ms]);

async function measure(name, url) {
	const page = await browser.newPage();
	page.setDefaultTimeout(300000);
	await page.setViewport({ width: 1280, height: 900 });
	const debug = await page.createCDPSession();
	await debug.send("Performance.enable");
	const busy = async () => (await debug.send("Performance.getMetrics")).metrics.find((m) => m.name === "ThreadTime").value * 1000;
	await page.goto(url);
	await page.waitForFunction(() => document.querySelector(".grid-body [role=row]"));
	const { paint, content } = await page.evaluate(() => ({
		paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN,
		content: performance.now(),
	}));
	add(`${name}: first paint, wall`, paint);
	add(`${name}: content, wall`, content);
	add(`${name}: content, CPU`, await busy());
	// each interaction: the main thread's CPU time until the frame after it
	const interact = async (what, act) => {
		const before = await busy();
		await page.evaluate(`(${act})()`);
		await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
		add(`${name}: ${what}, CPU`, (await busy()) - before);
	};
	await page.evaluate((r) => { location.hash = `#/run/${r}/processes`; }, run);
	await page.waitForFunction(() => document.querySelector('[aria-label="Processes"] .grid-body [role=row]'));
	await interact("nothing (the measurement's own cost)", () => undefined);
	await interact("open all processes", () => document.querySelector('[aria-label="Open all: Processes"]').click());
	await interact("scroll the tree", () => { const g = document.querySelector('[aria-label="Processes"]'); g.scrollTop = g.scrollHeight / 2; });
	await interact("a key in the tree", () => document.querySelector('[aria-label="Processes"]').dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true })));
	await interact("filter the tree", () => { const f = document.querySelector('[aria-label="Filter Processes"]'); f.value = "sort"; f.dispatchEvent(new Event("input")); });
	await page.evaluate((r) => { location.hash = `#/run/${r}/timeline`; }, run);
	await page.waitForFunction(() => document.querySelector('[aria-label="Time line"] .grid-body [role=row]'));
	await interact("zoom the time line", () => document.querySelector('[aria-label="Time line"]').dispatchEvent(new KeyboardEvent("keydown", { key: "+", bubbles: true })));
	await page.evaluate((r) => { location.hash = `#/run/${r}/tasks`; }, run);
	await page.waitForFunction(() => document.querySelector('[aria-label="Tasks"] .grid-body [role=row]'));
	await interact("sort the tasks", () => document.querySelectorAll('[aria-label="Tasks"] [role=columnheader] button')[5].click());
	await page.close();
}

for (let i = 0; i < rounds; i++) {
	await measure("skep web", `${address.split("#")[0]}#/run/${run}/overview`);
	if (file) await measure("one file", pathToFileURL(file).href);
}
await browser.close();
for (const [name, list] of figures) {
	list.sort((a, b) => a - b);
	console.log(`${list[list.length >> 1].toFixed(1).padStart(9)} ms  ${name}`);
}
