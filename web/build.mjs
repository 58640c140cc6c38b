// SPDX-License-Identifier: Apache-2.0
// build.mjs OUT: bundles the pages into OUT: app.js, app.css, index.html, and report.html.
//
// report.html is the one-file report without its parts: skep replaces the words @CSS@, @JS@ and @DATA@. The browser runs
// only the script, and applies only the style, whose hash is in the page's content security policy; so they must
// arrive byte for byte.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "dist");

async function bundle(entry) {
	const result = await build({
		entryPoints: [join(here, "src", entry)],
		bundle: true,
		minify: true,
		write: false,
		format: "iife",
		target: ["chrome103", "firefox113", "safari16.4"], // the first ones with DecompressionStream
		charset: "ascii",
		legalComments: "none",
		logLevel: "warning",
	});
	return result.outputFiles[0].text.trimEnd();
}

const js = await bundle("main.ts");
const css = await bundle("style.css");
if (/<\/(script|style)/i.test(js + css)) throw new Error("the bundle would end its own element in the report");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const page = (name) => readFileSync(join(here, "src", name), "utf8");
mkdirSync(out, { recursive: true });
writeFileSync(join(out, "app.js"), js);
writeFileSync(join(out, "app.css"), css);
writeFileSync(join(out, "index.html"), page("index.html"));
writeFileSync(join(out, "report.html"), page("report.html").replace("@JS_HASH@", hash(js)).replace("@CSS_HASH@", hash(css)));
