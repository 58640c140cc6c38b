// SPDX-License-Identifier: Apache-2.0
// picture.mjs PAGE VIEW PICTURE [WIDTH HEIGHT] - a picture of a page, for the documents. PAGE: the address of skep web, or
// a file of --html; VIEW: what stands behind the address, "#/run/ID/timeline", "" for what PAGE opens; PICTURE: a file
// .webp. BROWSER_MODULES: where `make check` keeps the browser test's modules. Those of docs/guides again, in a build folder,
// as root, on a quiet machine:
//
//     export BROWSER_MODULES=$PWD/tests/browser/modules SKEP_PLUGIN_DIRS=$PWD/plugins-run skep=$PWD/skep
//     cp -r ../tests/pipelines/reads /srv/reads; sysctl kernel.task_delayacct=1
//     (cd /srv/reads; PAIRS=150000 $skep run --name nightly --pipeline reads --lake /tmp/picture.lake -- ./run.sh work)
//     ./skep show --lake /tmp/picture.lake nightly --html /tmp/nightly.html
//     node ../tests/browser/picture.mjs /tmp/nightly.html "" ../docs/guides/web-run.webp 1280 1560
//     tests/bench/fill_fleet 12 7 path=/tmp/fleet.lake; ./skep web --lake /tmp/fleet.lake   # the address is PAGE
//     node ../tests/browser/picture.mjs PAGE "#/hosts?since=2026-11-03T00:00:00Z&until=2026-11-10T00:00:00Z" \
//         ../docs/guides/web-hosts.webp 1280 700
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const from = createRequire(`${resolve(process.env.BROWSER_MODULES)}/`);
const { default: puppeteer } = await import(pathToFileURL(from.resolve("puppeteer-core")).href);
const [where, view, picture, width = "1280", height = "900"] = process.argv.slice(2);
const browser = await puppeteer.launch({
	executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true,
	args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"],
});
const page = await browser.newPage();
const settled = () => page.waitForFunction(() => document.querySelector("main")?.childElementCount && !document.querySelector("[aria-busy]") && !document.body.innerText.includes("…"));

await page.setViewport({ width: Number(width), height: Number(height), deviceScaleFactor: 1.5 });
await page.goto(where.includes("://") ? where : pathToFileURL(resolve(where)).href);
await settled();
if (view) await page.evaluate((v) => { location.hash = v; }, view);
await settled();
await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
await page.screenshot({ path: picture, type: "webp", quality: 85 });
await browser.close();
