// SPDX-License-Identifier: Apache-2.0
// pages.mjs ADDRESS REPORT [PICTURES] - every page of skep web in Debian's chromium: its figures against the answers of
// the API, no error in the console, no request to elsewhere, axe-core without a serious finding, and the keyboard.
// ADDRESS: as skep web printed it. REPORT: a file of skep show --html. PICTURES: a folder for screenshots.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { connect, createServer } from "node:net";
import { pathToFileURL } from "node:url";

const from = createRequire(`${process.env.BROWSER_MODULES}/`);
const { default: puppeteer } = await import(pathToFileURL(from.resolve("puppeteer-core")).href);
const axe = readFileSync(from.resolve("axe-core/axe.min.js"), "utf8");
const [address, report, pictures] = process.argv.slice(2);
const origin = new URL(address).origin, token = new URL(address).searchParams.get("token");

let checks = 0, failures = 0, refusing = false;
function check(ok, what) {
	checks++;
	if (ok) return;
	failures++;
	console.log(`FAIL: ${what}`);
}
async function api(path) {
	const answer = await fetch(origin + path, { headers: { Authorization: `Bearer ${token}` } });
	if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
	return answer.json();
}

// The browser reaches skep web through this, which can cut its connections.
const connections = new Set();
const way = createServer((from) => {
	const to = connect(new URL(address).port, new URL(address).hostname);
	for (const [a, b] of [[from, to], [to, from]]) {
		connections.add(a);
		a.pipe(b);
		a.on("close", () => { connections.delete(a); b.destroy(); });
		a.on("error", () => {});
	}
});
await new Promise((done) => way.listen(0, "127.0.0.1", done));
const wayPort = way.address().port;

const browser = await puppeteer.launch({
	executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, protocolTimeout: 120000,
	args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", `--host-resolver-rules=MAP ${new URL(address).host} 127.0.0.1:${wayPort}`],
});
const page = await browser.newPage();
page.setDefaultTimeout(60000);
// axe-core is evaluated by the debugger, which the policy does not concern.
page.on("console", (m) => { if (m.type() === "error" && !refusing) check(false, `console of ${page.url()}: ${m.text()}`); });
page.on("pageerror", (e) => check(false, `error in ${page.url()}: ${e}`));
page.on("request", (r) => { const u = r.url(); check(u.startsWith(`${origin}/`) || /^(file|data|blob):/.test(u), `a request to elsewhere: ${u}`); });

const text = () => page.evaluate(() => document.body.innerText);
const settled = () => page.waitForFunction(() => document.querySelector("main")?.childElementCount && !document.querySelector("[aria-busy]"));
async function open(hash) {
	await page.evaluate((h) => { location.hash = h; }, hash);
	await page.waitForFunction((h) => location.hash.startsWith(h), {}, hash); // the page adds what a reader has set
	await settled();
}
/** While fn runs, the answers of a path are those of made(), not of skep web; a stream gets another one every 0.2 s. */
async function answering(path, made, fn) {
	const answer = (r) => {
		const { pathname, searchParams } = new URL(r.url());
		if (!pathname.endsWith(path)) return void r.continue();
		const body = JSON.stringify(made());
		if (searchParams.has("live")) r.respond({ contentType: "text/event-stream", body: `retry: 200\n\ndata: ${body}\n\n` });
		else r.respond({ contentType: "application/json", body });
	};
	page.on("request", answer);
	await page.setRequestInterception(true);
	try {
		await fn();
	} finally {
		await page.setRequestInterception(false);
		page.off("request", answer);
	}
}
async function picture(name) {
	if (pictures) await page.screenshot({ path: `${pictures}/${name}.png` });
}
async function accessible(name) {
	await page.evaluate(axe);
	const found = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
	for (const v of found.violations) {
		if (v.impact === "serious" || v.impact === "critical") check(false, `axe on ${name}: ${v.id}: ${v.help}: ${v.nodes.slice(0, 2).map((n) => n.html.slice(0, 160)).join(" | ")}`);
	}
}
/** A picture of the time line alone. */
async function timeLine() {
	await page.mouse.move(0, 0);
	await page.waitForFunction(() => [...document.querySelectorAll('[aria-label="Time line"] .grid-body canvas')].some((c) => c.width > 300));
	return (await page.$('[aria-label="Time line"]')).screenshot({ encoding: "base64" });
}
/** The share of the pixels of two pictures that differ by more than a shade. */
async function differ(a, b) {
	const blank = await browser.newPage();
	const share = await blank.evaluate(async (pngs) => {
		const [x, y] = await Promise.all(pngs.map(async (png) => {
			const picture = new Image(), canvas = document.createElement("canvas");
			picture.src = `data:image/png;base64,${png}`;
			await picture.decode();
			canvas.width = picture.width;
			canvas.height = picture.height;
			canvas.getContext("2d").drawImage(picture, 0, 0);
			return canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
		}));
		if (x.width !== y.width || x.height !== y.height) return 1;
		let n = 0;
		for (let i = 0; i < x.data.length; i += 4) if ([0, 1, 2].some((k) => Math.abs(x.data[i + k] - y.data[i + k]) > 16)) n++;
		return n / (x.data.length / 4);
	}, [a, b]);
	await blank.close();
	return share;
}
const rowTexts = (name) => page.evaluate((n) => [...document.querySelectorAll(`[aria-label="${n}"] .grid-body [role=row]`)].map((r) => r.innerText), name);

// ---- the token and the list of runs
await page.setViewport({ width: 1280, height: 900 });
await page.goto(address);
await settled();
check(!page.url().includes("token"), "the address still has the token");
const cookies = (await page.cookies(page.url())).filter((c) => c.value === token);
check(cookies.length === 1 && cookies[0].path === new URL(page.url()).pathname && cookies[0].path.length > 30, `one cookie, for the pages alone: ${JSON.stringify(cookies)}`);
check((await page.cookies(`${origin}/`)).length === 0, "the browser would send a cookie to each server of this host");
const runs = await api("/api/runs");
await open("#/runs");
check((await text()).includes(`${runs.length} row`) && (await rowTexts("Runs")).length > 0, `the list has ${runs.length} runs`);
for (const run of runs.slice(0, 3)) check((await text()).includes(run.name), `the list has ${run.name}`);
await accessible("runs");
await picture("runs");
await page.click('[aria-label="Runs"] [role=columnheader] button');
check(await page.$eval('[aria-label="Runs"] [role=columnheader]', (e) => e.getAttribute("aria-sort")) === "ascending", "a click on a head sorts");
await page.type('[aria-label="Filter Runs"]', "no such run at all");
check((await text()).includes("0 rows"), "the filter leaves nothing");
await page.reload();
await settled();
check((await text()).includes("0 rows") && (await page.$eval('[aria-label="Filter Runs"]', (e) => e.value)) === "no such run at all", "the address has the filter");
check(await page.$eval('[aria-label="Runs"] [role=columnheader]', (e) => e.getAttribute("aria-sort")) === "ascending", "the address has the order");
await page.$eval('[aria-label="Filter Runs"]', (e) => { e.value = ""; e.dispatchEvent(new Event("input")); });

// ---- a run that begins and ends while its row and its page are watched
if (process.env.BROWSER_LIVE) {
	// the list is empty first, and the name of the run is hostile
	const name = "watched <b>x</b>\u202e";
	const over = `${process.env.BROWSER_LIVE}.over`; // the run ends once this file is there
	await open("#/runs?state=running");
	check((await text()).includes("No run matches."), "no run runs yet");
	const ended = new Promise((done) => spawn(process.env.SKEP, ["run", "--lake", process.env.BROWSER_LIVE, "--name", name, "--", "sh", "-c", "while [ ! -e \"$0\" ]; do sleep 0.2; done; exit 3", over], { stdio: "ignore" }).on("exit", done));
	const row = (mark) => page.waitForFunction((m) => [...document.querySelectorAll('[aria-label="Runs"] .grid-body [role=row]')].some((r) => r.innerText.includes("watched") && r.innerText.includes(m)), {}, mark);
	const lived = await row("running").then(() => true, () => false);
	check(lived, "a run appears in the list while it runs");
	check((await rowTexts("Runs")).some((r) => r.includes("watched <b>x</b><U+202E>")), "the name of the run is a text, without a mark of direction");
	if (lived) {
		const { id } = (await api("/api/runs")).find((r) => r.name === name);
		await page.evaluate(() => { location.hash = "#/run/last/overview"; });
		await page.waitForFunction((at) => location.hash.startsWith(at), {}, `#/run/${id}/overview`)
			.catch(() => check(false, `#/run/last becomes the address of the run: ${page.url()}`));
		await settled();
		const tab = await page.title();
		check(tab === "watched <b>x</b><U+202E> – skep", `the title of #/run/last is the run's name: ${tab}`);
		// Another run begins: the page stays with its run.
		await new Promise((done) => spawn(process.env.SKEP, ["run", "--lake", process.env.BROWSER_LIVE, "--name", "newer", "--", "true"], { stdio: "ignore" }).on("exit", done));
		check((await api("/api/run/last?summary=1")).run.name === "newer", "another run is the last one");
		writeFileSync(over, "");
		await page.waitForFunction(() => document.body.innerText.includes("failed (exit 3)"));
		check((await page.$eval("h1", (e) => e.innerText)).includes(id), "the page stays with its run when another one begins");
		await open("#/runs");
	}
	writeFileSync(over, "");
	await row("exit 3");
	check((await ended) === 3, "the watched run ended with 3");
}

// ---- a laptop that slept: the page says that it is old, and takes it back though nothing has changed
await open("#/runs");
refusing = true;
way.close();
for (const one of connections) one.destroy();
await page.waitForSelector("#stale").then(() => true, () => check(false, "a page without a connection says that it is not up to date"));
way.listen(wayPort, "127.0.0.1");
await page.waitForFunction(() => !document.querySelector("#stale")).catch(() => check(false, "a page with a connection again still says that it is not up to date"));
refusing = false;

// ---- the views of a large run, a failed one, and a recorded one
const large = runs.reduce((a, b) => (a.totals.processes > b.totals.processes ? a : b));
for (const run of new Set([large, runs.find((r) => r.exit_code > 0), runs[0]])) {
	const shown = await api(`/api/run/${run.id}`);
	for (const [view, wanted] of [
		["overview", [run.name, run.argv[0], "CPU time"]],
		["tasks", shown.tasks.slice(0, 3).map((t) => t.task)],
		["tools", shown.tools.slice(0, 3).map((t) => t.tool)],
		["tune", ["Findings", "Observed path"]],
		["timeline", ["on a CPU"]],
		["processes", [shown.processes.tool[0]]],
	]) {
		await open(`#/run/${run.id}/${view}`);
		if (view === "tune") await page.waitForFunction(() => document.body.innerText.includes("Observed path"));
		const got = await text();
		await page.waitForFunction(() => [...document.querySelectorAll(".plot canvas")].every((c) => c.width && c.height && new Set(new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer)).size > 2))
			.catch(() => check(false, `${view} of ${run.name} has a blank picture`));
		for (const w of wanted) check(got.includes(w), `${view} of ${run.name} says ${w}`);
		if (run === large || view === "overview") await accessible(`${view} of ${run.name}`);
		await picture(`${run.name}-${view}`);
	}
	if (shown.findings.length) {
		await open(`#/run/${run.id}/overview`);
		check((await text()).includes(shown.findings[0].evidence.reason), `the failure of ${run.name} has its reason`);
	}
}

// ---- a run that goes on: each answer has a process more, before the others, and leaves the reader where he is
const small = runs.find((r) => r.name === "recorded") ?? runs.find((r) => r !== large && r.totals.processes > 2), whole = await api(`/api/run/${small.id}`);
let answers = 0;
function longer() {
	const n = ++answers, got = structuredClone(whole), p = got.processes;
	Object.assign(got.run, { end: null, exit_code: null, signal_name: null, wall_ns: null, state: "running", cwd: `/answer/${n}` });
	p.parent_upid = p.upid.map((_, i) => (i ? p.upid[0] : null));
	for (let i = 1; i <= n; i++) for (const [key, column] of Object.entries(p)) column.unshift(key === "upid" ? `more.${i}` : key === "parent_upid" ? null : column.at(-1));
	return got;
}
await answering(`/api/run/${small.id}`, longer, async () => {
	const at = () => page.$eval(".run-head", (e) => Number(/answer.(\d+)/.exec(e.innerText)?.[1]));
	const later = async () => page.waitForFunction((n) => Number(/answer.(\d+)/.exec(document.querySelector(".run-head").innerText)?.[1]) > n + 1, {}, await at());
	const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent.slice(0, 40));
	const state = () => page.evaluate(() => {
		const tree = document.querySelector('[aria-label="Processes"]'), active = document.getElementById(tree.getAttribute("aria-activedescendant"));
		return { active: active?.innerText, detail: document.querySelector(".detail h3")?.innerText, top: tree.scrollTop };
	});
	const count = () => page.$eval('[aria-label="Processes"]', (e) => Number(e.getAttribute("aria-rowcount")) - 1);
	await open(`#/run/${small.id}/processes`);
	await page.focus('[aria-label="Processes"]');
	await page.keyboard.press("End");
	await page.keyboard.press("Enter");
	const before = await state();
	await later();
	const after = await state();
	check((await focused()) === "Processes", `a newer answer leaves the focus in the tree: ${await focused()}`);
	check(before.active && before.active === after.active, `a newer answer leaves the active row: ${after.active}, not ${before.active}`);
	check(before.detail && before.detail === after.detail, `a newer answer leaves the opened process: ${after.detail}, not ${before.detail}`);
	check((await count()) >= whole.processes.upid.length + 2, `a newer answer leaves the open branch: ${await count()} rows`);
	await page.focus('[aria-label="Filter Processes"]');
	const typed = whole.processes.tool[0];
	for (const c of typed) {
		await page.keyboard.type(c);
		await later();
	}
	check((await focused()) === "Filter Processes", `newer answers leave the focus in the filter: ${await focused()}`);
	check((await page.$eval('[aria-label="Filter Processes"]', (e) => e.value)) === typed, "newer answers leave what is typed in the filter");
	check((await count()) > 0, "the filter finds the processes of newer answers");
	await open(`#/run/${small.id}/overview`);
	await page.waitForFunction(() => !document.body.innerText.includes("Comparing with earlier runs"));
	const charts = await page.$(".chart details summary");
	await charts?.click();
	if (charts) await page.waitForSelector('.chart details [aria-label="Cores over time"]');
	await page.focus(".tabs a[aria-current]");
	await later();
	check(!charts || await page.$('.chart details[open] [aria-label="Cores over time"]'), "a newer answer leaves a table of a chart open");
	check((await focused()) === "Overview", `a newer answer leaves the focus on the tab: ${await focused()}`);
	check((await text()).includes("running") && !(await page.$("#stale")), "a run that goes on is up to date");
});

// ---- a part of the time: the same in the address, on another tab, and after a reload
await open(`#/run/${large.id}/timeline`);
await page.focus('[aria-label="Time line"]');
await page.keyboard.press("+");
const zoomed = () => new URLSearchParams(page.url().split("?")[1]).get("time");
const part = zoomed();
check(/^[0-9.]+-[0-9.]+$/.test(part ?? ""), `the address has the part of the time: ${page.url()}`);
await open(`#/run/${large.id}/overview`);
check(zoomed() === part, `another tab shows the same part: ${zoomed()}, not ${part}`);
await page.reload();
await settled();
check(zoomed() === part, `a reload shows the same part: ${zoomed()}, not ${part}`);
await page.focus('[aria-label="Time line"]');
await page.keyboard.press("0");
check(zoomed() === null, "0 shows the whole run");

// ---- the tree, by keyboard alone
await open(`#/run/${large.id}/processes`);
await page.focus('[aria-label="Processes"]');
const active = () => page.evaluate(() => { const id = document.querySelector('[aria-label="Processes"]').getAttribute("aria-activedescendant"); return document.getElementById(id)?.innerText ?? ""; });
const rows = () => page.$eval('[aria-label="Processes"]', (e) => Number(e.getAttribute("aria-rowcount")) - 1);
const before = await active();
await page.keyboard.press("ArrowDown");
check((await active()) !== before || (await rows()) === 1, "the arrow moves down");
await page.click('[aria-label="Open all: Processes"]');
const all = (await api(`/api/run/${large.id}`)).processes.upid.length;
check((await rows()) === all, `the open tree has ${await rows()} of ${all} processes`);
check((await page.$$('[aria-label="Processes"] .grid-body [role=row]')).length < 120, "only the rows that can be seen are elements");
await page.focus('[aria-label="Processes"]');
await page.keyboard.press("End");
await page.waitForFunction((n) => { const id = document.querySelector('[aria-label="Processes"]').getAttribute("aria-activedescendant"); return id.endsWith(`-${n - 1}`) && document.getElementById(id); }, {}, all);
await page.keyboard.press("Enter");
check((await text()).includes("voluntary_switches"), "Enter shows all of a process");
await page.reload();
await settled();
check((await text()).includes("voluntary_switches"), "the address has the process");
await page.focus('[aria-label="Processes"]');
await page.keyboard.press("Home");
// a recorded run has parents
await open(`#/run/${runs[0].id}/processes`);
if (await page.$('[aria-label="Processes"] [aria-expanded=true]')) {
	const opened = await rows();
	await page.click('[aria-label="Processes"] [aria-expanded=true]'); // closes the first branch, and is there
	check((await rows()) < opened, "a click closes a branch");
	await page.focus('[aria-label="Processes"]');
	await page.keyboard.press("ArrowRight");
	check((await rows()) === opened, "the right arrow opens it");
	await page.keyboard.press("ArrowLeft");
	check((await rows()) < opened, "the left arrow closes it");
}

// a program that replaces itself again and again: a level for each exec
const DEEP = 12000;
await answering(`/api/run/${small.id}`, () => {
	const got = structuredClone(whole), p = got.processes;
	for (const [key, column] of Object.entries(p)) p[key] = Array.from({ length: DEEP }, (_, i) => (key === "image" ? i : key === "parent_upid" ? null : column[0]));
	return got;
}, async () => {
	await open(`#/run/${small.id}/processes`);
	await page.click('[aria-label="Open all: Processes"]');
	check((await rows()) === DEEP, `the open tree has ${await rows()} of ${DEEP} levels`);
	await page.type('[aria-label="Filter Processes"]', whole.processes.tool[0]);
	check((await rows()) === DEEP, `the filter finds ${await rows()} of ${DEEP} levels`);
	const lines = await page.evaluate(async () => {
		const make = URL.createObjectURL;
		let saved;
		URL.createObjectURL = (blob) => make.call(URL, (saved = blob));
		document.querySelector('[aria-label="CSV: Processes"]').click();
		URL.createObjectURL = make;
		return (await saved?.text())?.trim().split("\r\n").length;
	});
	check(lines === DEEP + 1, `the CSV file has ${lines} lines`);
	await page.$eval('[aria-label="Filter Processes"]', (e) => { e.value = ""; e.dispatchEvent(new Event("input")); });
});

// every control can be reached, and shows where the focus is
await open(`#/run/${large.id}/overview`);
await page.evaluate(() => document.body.focus());
const seen = new Set();
for (let i = 0; i < 60; i++) {
	await page.keyboard.press("Tab");
	seen.add(await page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? ""));
}
for (const wanted of ["Skip to the page", "Runs", "Tasks", "Filter Time line", "Time line"]) check(seen.has(wanted), `Tab reaches ${wanted}: ${[...seen].join(", ").slice(0, 400)}`);

// ---- hosts: the figures of skep hosts, and one host with its items
const hosts = await api("/api/hosts?since=400d");
await open("#/hosts?since=400d");
await page.waitForFunction(() => document.body.innerText.includes("Wasted") && document.querySelector('[aria-label="Hosts"]'));
check((await rowTexts("Hosts")).length === Math.min(hosts.hosts.length, 40) || hosts.hosts.length > 20, `a row for each of ${hosts.hosts.length} hosts`);
check((await rowTexts("Hosts")).some((r) => r.includes(hosts.hosts[0].host)), "the hosts have their names");
await accessible("hosts");
await picture("hosts");
await page.click('[aria-label="Hosts"] .grid-body [role=row]');
await page.waitForFunction(() => location.hash.startsWith("#/hosts/"));
await settled();
check((await rowTexts("The host, its GPUs and containers")).length > 0, "a host has its items");
const shares = (await rowTexts("CPU time of the host")).map((r) => Number(/([0-9.]+) %/.exec(r)?.[1] ?? NaN));
check(shares.length === 6 && Math.abs(shares.reduce((a, b) => a + b, 0) - 100) < 3, `the ledger of a host has all of its time: ${shares}`);
await page.click("details summary");
await page.waitForFunction(() => document.querySelector('[aria-label="Hours"]'));
await accessible("a host");
await picture("host");

// A page that is left open goes on with the time: its axis, its hours.
const hosted = hosts.hosts.find((x) => x.items.some((i) => i.hours.start.length)), day = 86400e3;
let shift = 0;
await answering("/api/hosts", () => {
	const got = structuredClone(hosts), later = (t) => new Date(Date.parse(t) + shift * day).toISOString();
	Object.assign(got, { since: later(got.since), until: later(got.until) });
	for (const x of got.hosts) for (const i of x.items) i.hours.start = i.hours.start.map(later);
	return got;
}, async () => {
	await open("#/hosts?since=401d");
	await page.waitForFunction(() => document.querySelector('[aria-label="Hosts"] .grid-head canvas')?.style.width);
	await page.click("details summary");
	await page.waitForSelector('[aria-label="Hours"] .grid-body [role=row]');
	await page.focus('[aria-label="Filter Hours"]');
	await page.keyboard.type(hosted.host);
	const axis = () => page.$eval('[aria-label="Hosts"] .grid-head canvas', (c) => c.toDataURL());
	const was = await axis(), hour = (await rowTexts("Hours"))[0];
	shift = 3;
	await page.waitForFunction((h) => document.querySelector('[aria-label="Hours"] .grid-body [role=row]').innerText !== h, {}, hour)
		.catch(() => check(false, "the table of hours goes on with the time"));
	check((await axis()) !== was, "the axis of the hours goes on with the time");
	check(await page.evaluate(() => document.activeElement.getAttribute("aria-label") === "Filter Hours"), "newer hours leave the focus");
});

// ---- comparisons, a task over runs, skepd
const named = runs.filter((r) => r.pipeline === large.pipeline);
await open(`#/diff/${runs[runs.length - 1].id}/${runs[0].id}`);
await page.waitForFunction(() => document.body.innerText.includes("What is different about it"));
check((await text()).includes("wall time"), "the comparison has figures");
await accessible("diff");
await picture("diff");
// The chooser has the compared runs, though the list lacks them, and the address names them otherwise.
await answering("/api/runs", () => [runs[0]], async () => {
	for (const [a, b] of [[runs[1].id, runs[2].id], ["last", large.name], ["", large.id]]) {
		const of = await api(`/api/diff?${new URLSearchParams(a ? { a, b } : { b })}`).catch(() => undefined);
		if (!of) continue; // it has no history
		await open(`#/diff/${a ? `${a}/` : ""}${b}`);
		await page.waitForSelector("form.filters select");
		const got = await page.$$eval("form.filters select", (list) => list.map((s) => s.value)), wanted = [of.history ? "" : of.a[0].id, of.b[0].id];
		check(got.join() === wanted.join(), `the comparison of ${a || "the history"} with ${b} selects ${got}, not ${wanted}`);
	}
});
// By keyboard: an arrow key chooses, the button compares.
await open(`#/diff/${runs[1].id}/${runs[0].id}`);
await page.waitForSelector("form.filters select");
await page.focus("form.filters select");
await page.keyboard.press("ArrowDown");
await page.keyboard.press("ArrowDown");
const third = await page.$eval("form.filters select", (e) => e.value).catch(() => "");
check(runs[3].id === third, `two arrow keys choose the run after the next: ${third}`);
check(await page.evaluate(() => document.activeElement === document.querySelector("form.filters select")), "an arrow key leaves the focus in the chooser");
if (third) {
	await page.focus("form.filters button");
	await page.keyboard.press("Enter");
	await page.waitForFunction((h) => location.hash === h, {}, `#/diff/${third}/${runs[0].id}`).catch(() => check(false, `the button compares: ${page.url()}`));
}
await settled();
const tasks = (await api(`/api/run/${large.id}?summary=1`)).tasks;
if (tasks.length && large.pipeline) {
	await open(`#/task/${encodeURIComponent(large.pipeline)}/${encodeURIComponent(tasks[0].task)}`);
	check((await text()).includes("Executions"), `the task over ${named.length} runs`);
	// Where it is another day than in Greenwich, the pictures have the day of the reader.
	const ahead = new Date(large.start).getUTCHours() >= 10;
	await page.emulateTimezone(ahead ? "Etc/GMT-14" : "Etc/GMT+12");
	await page.evaluate(() => {
		const fill = CanvasRenderingContext2D.prototype.fillText;
		window.drawn = [];
		CanvasRenderingContext2D.prototype.fillText = function (text, ...at) { window.drawn.push(text); fill.call(this, text, ...at); };
	});
	await page.select('[aria-label="Colours"]', "light"); // draws again
	const local = new Date(Date.parse(large.start) + (ahead ? 14 : -12) * 3600e3).toISOString().slice(5, 10);
	await page.waitForFunction((d) => window.drawn.includes(d), {}, local).catch(() => check(false, `the pictures of a task lack ${local}`));
	await page.emulateTimezone(null);
	await page.select('[aria-label="Colours"]', "auto");
	await accessible("task");
	await picture("task");
}

// ---- skepd, where there is one: the figures change in place
if (process.env.BROWSER_LIVE) {
	await open("#/skepd");
	await page.waitForFunction(() => document.querySelector('[aria-label="Rules"] .grid-body [role=row]'));
	check((await rowTexts("Rules"))[0].includes("no-true"), "the rules of skepd");
	await accessible("skepd");
	await picture("skepd");
	const field = () => page.evaluate(() => [...document.querySelectorAll("dt")].find((d) => d.textContent === "uptime_ns")?.nextElementSibling.textContent);
	const before = await field();
	await page.focus('[aria-label="Rules"]');
	await page.waitForFunction((was) => [...document.querySelectorAll("dt")].find((d) => d.textContent === "uptime_ns")?.nextElementSibling.textContent !== was, {}, before);
	check(await page.evaluate(() => document.activeElement?.getAttribute("aria-label") === "Rules"), "a newer answer of skepd leaves the focus where it is");
}

// ---- names that are markup are text, on every page
if (process.env.BROWSER_HOSTILE) {
	const name = process.env.BROWSER_HOSTILE, [b, a] = (await api("/api/runs")).filter((r) => r.name === name);
	const pages = ["#/runs", ...["overview", "timeline", "tasks", "tools", "tune", "processes"].map((tab) => `#/run/${b.id}/${tab}`),
		`#/diff/${a.id}/${b.id}`, `#/task/${encodeURIComponent(name)}/${encodeURIComponent(name)}`];
	for (const hash of pages) {
		await open(hash);
		await page.waitForFunction((n) => document.body.innerText.includes(n), {}, name).catch(() => check(false, `${hash} lacks the name as text`));
		check(await page.evaluate(() => window.hostile === undefined && !document.querySelector("main img, main script")), `${hash} takes a name for markup`);
	}
	await open(`#/run/${b.id}/overview`);
	check((await text()).includes("a<U+202E>b"), "a mark that turns the direction is visible");
}

// ---- dark, and a phone
await open(`#/run/${large.id}/timeline`);
const light = await timeLine();
await page.focus('[aria-label="Colours"]');
await page.keyboard.press("ArrowDown");
await page.keyboard.press("ArrowDown");
check((await page.$eval('[aria-label="Colours"]', (e) => e.value)) === "dark", "two arrow keys choose the third of the colours");
check(await page.evaluate(() => document.activeElement.getAttribute("aria-label") === "Colours"), "an arrow key leaves the focus at the colours");
check((await differ(light, await timeLine())) > 0.3, "other colours change the pictures that are shown");
await open(`#/run/${large.id}/overview`);
await accessible("overview in dark");
await picture("dark");
await open(`#/run/${large.id}/timeline`);
check((await differ(light, await timeLine())) > 0.3, "dark is another picture than light");
await page.setViewport({ width: 390, height: 844, isMobile: true, hasTouch: true });
for (const hash of ["#/runs", "#/hosts?since=400d", `#/run/${large.id}/overview`, `#/run/${large.id}/processes`]) {
	await open(hash);
	const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
	check(wide <= 0, `${hash} is ${wide} pixels wider than a phone`);
	await picture(`phone${hash.replace(/\W+/g, "-")}`);
}

// ---- the report, from disk
await page.setViewport({ width: 1280, height: 900 });
await page.goto("about:blank"); // the page that was left would say that its stream ended
await page.setOfflineMode(true);
await page.goto(pathToFileURL(report).href);
await settled();
await page.waitForFunction(() => document.querySelector(".grid-body [role=row]"));
check((await text()).includes("CPU time") && (await text()).includes("Time line"), "the report shows its run");
await page.evaluate(() => { location.hash = `${location.hash.split("/").slice(0, 3).join("/")}/processes`; });
await settled();
check((await rowTexts("Processes")).length > 0, "the report has its processes");
await accessible("the report");
await page.evaluate((id) => { location.hash = `#/run/${id}/timeline`; }, large.id);
await settled();
const share = await differ(light, await timeLine());
check(share < 0.01, `the time line of the report is that of skep web: ${share * 100} % of its pixels differ`);
// The policy of the report runs no other script, and says so in the console.
refusing = true;
const ran = await page.evaluate(() => new Promise((done) => {
	const s = document.createElement("script");
	document.addEventListener("securitypolicyviolation", () => done("refused"), { once: true });
	s.textContent = "window.ran = true";
	document.body.append(s);
	setTimeout(() => done(window.ran ? "ran" : "nothing"), 2000);
})).catch(() => "refused");
check(ran === "refused", `a foreign script in the report: ${ran}`);

refusing = false;

// ---- the same in the files of tune, diff and run
const others = [["tune.html", "What to ask for"], ["diff.html", "What is different about it"], ["run.html", "CPU time"]];
for (const [file, wanted] of others) {
	const path = report.replace("report.html", file);
	if (!existsSync(path)) continue;
	await page.goto(pathToFileURL(path).href);
	await settled();
	await page.waitForFunction((w) => document.body.innerText.includes(w), {}, wanted).catch(() => check(false, `${file} lacks ${wanted}`));
	check(!(await text()).includes("this report has only its own run"), `${file} has its answers`);
}

await browser.close();
console.log(`${checks} checks, ${failures} failed`);
process.exit(failures ? 1 : 0);
