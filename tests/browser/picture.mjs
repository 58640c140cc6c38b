// SPDX-License-Identifier: Apache-2.0
// picture.mjs PAGE VIEW PICTURE [WIDTH HEIGHT] - a picture of a page, for the documents. PAGE: the address of skep web, or
// a file of --html; VIEW: what stands behind the address, "#/run/ID/timeline", "" for what PAGE opens; PICTURE: a file
// .webp. BROWSER_MODULES: where `make check` keeps the browser test's modules. Again, in a build folder, with the runs of
// scripts/terminal-picture and a lake of `tests/bench/fill_fleet 9 4`:
//
//     export BROWSER_MODULES=$PWD/tests/browser/modules
//     picture() { node ../tests/browser/picture.mjs "$@"; }
//     ./skep show --lake /tmp/picture.lake demo --html /tmp/demo.html
//     picture /tmp/demo.html "" ../docs/guides/web-run.webp
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
