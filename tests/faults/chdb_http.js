// SPDX-License-Identifier: Apache-2.0
// chdb_http.js DIR PORT: ClickHouse's HTTP interface in front of chDB (npm: chdb), as far as the sink "clickhouse" and
// `skep lake init` use it: a query in the URL or the body, INSERT ... FORMAT with the data in the body, gzip and zstd,
// settings as parameters, X-ClickHouse-Exception-Code.  For servers newer than Debian's; tests/faults/clickhouse.sh.
// One query at a time: figures are of the engine, not of a server.
"use strict";
const fs = require("fs");
const http = require("http");
const path = require("path");
const zlib = require("zlib");
const { Session } = require("chdb");

const [dir, port] = process.argv.slice(2);
fs.mkdirSync(dir, { recursive: true });
const session = new Session(path.join(dir, "data"));
let files = 0;

function unpack(body, coding) {
	if (coding === "gzip")
		return zlib.gunzipSync(body);
	if (coding === "zstd") // node has it from 22.15 on
		return zlib.zstdDecompressSync(body);
	return body;
}

function run(url, body) {
	const params = new URL(url, "http://x").searchParams;
	const settings = [];
	let query = params.get("query") || "", file = null;
	for (const [name, value] of params)
		if (name !== "query" && name !== "database")
			settings.push(`${name} = '${value.replace(/['\\]/g, "\\$&")}'`);
	const insert = /^(\s*INSERT\s[^]*?)\sFORMAT\s+(\w+)\s*$/i.exec(query);
	if (!insert)
		query = query ? query + " " + body.toString() : body.toString();
	session.query("USE " + (params.get("database") || "default"));
	if (insert) {
		file = path.join(dir, `insert-${++files}`);
		fs.writeFileSync(file, body);
		query = `${insert[1]} FROM INFILE '${file}' ` + (settings.length ? `SETTINGS ${settings.join(", ")} ` : "") +
			`FORMAT ${insert[2]}`;
	}
	try {
		return session.query(query, "TabSeparated");
	} finally {
		if (file)
			fs.unlinkSync(file);
	}
}

http.createServer((request, response) => {
	const parts = [];
	request.on("data", (part) => parts.push(part));
	request.on("end", () => {
		try {
			const text = run(request.url, unpack(Buffer.concat(parts), request.headers["content-encoding"]));
			response.writeHead(200, { "Content-Type": "text/tab-separated-values" });
			response.end(text);
		} catch (e) {
			const words = String(e.message || e).replace(/^Query failed: /, "");
			const code = /Code: (\d+)/.exec(words);
			const found = code && ["60", "81"].includes(code[1]) ? 404 : code ? 400 : 500;
			response.writeHead(found, code ? { "X-ClickHouse-Exception-Code": code[1] } : {});
			response.end(words + "\n");
		}
	});
}).listen(Number(port), "127.0.0.1", () => console.log("listening"));
