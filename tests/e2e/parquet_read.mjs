// SPDX-License-Identifier: Apache-2.0
// parquet_read.mjs MODULES READER BASE...: reads BASE.parquet with a program that is not ours (READER: hyparquet or duckdb,
// from the folder MODULES) and compares each value with BASE.ndjson, the same rows; prints rows, columns and types.
// hyparquet sees times in ns, DuckDB those of UTC in us.
import fs from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, reader, ...bases] = process.argv.slice(2);
const require = createRequire(modules + "/x.js");
const load = async (name) => await import(pathToFileURL(require.resolve(name)));

// Times become BigInt ns, numbers Number, maps objects.
async function hyparquet(parquet) {
	const { parquetReadObjects, parquetMetadata } = await load("hyparquet");
	const { compressors } = await import(pathToFileURL(modules + "/node_modules/hyparquet-compressors/src/index.js"));
	const buffer = fs.readFileSync(parquet);
	const file = buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + buffer.byteLength);
	const metadata = parquetMetadata(file);
	const parsers = { timestampFromNanoseconds: (ns) => ({ ns }), stringFromBytes: (b) => b && new TextDecoder("utf-8", { fatal: true }).decode(b) };
	const rows = await parquetReadObjects({ file, compressors, parsers });
	const types = metadata.schema.slice(1).filter((e) => e.logical_type).map((e) => `${e.name}:${e.logical_type.type}${e.logical_type.unit || e.logical_type.bitWidth || ""}`);
	return { rows, by: metadata.created_by, types, groups: metadata.row_groups.length, unit: 1n };
}

async function duckdb(parquet) {
	const { DuckDBInstance } = await load("@duckdb/node-api");
	const db = await (await DuckDBInstance.create(":memory:")).connect();
	const from = `read_parquet('${parquet}')`;
	const plain = (v) => {
		if (v === null || typeof v !== "object")
			return v;
		if (v.entries)
			return Object.fromEntries(v.entries.map((e) => [e.key, e.value]));
		if (v.items)
			return [...v.items];
		return { ns: v.nanos !== undefined ? v.nanos : v.micros * 1000n };
	};
	const rows = (await (await db.runAndReadAll(`SELECT * FROM ${from}`)).getRowObjects()).map((r) =>
		Object.fromEntries(Object.entries(r).map(([k, v]) => [k, plain(v)])));
	const types = (await (await db.runAndReadAll(`DESCRIBE SELECT * FROM ${from}`)).getRows()).map((r) => `${r[0]}:${r[1]}`);
	const meta = await (await db.runAndReadAll(`SELECT created_by, num_row_groups FROM parquet_file_metadata('${parquet}')`)).getRows();
	return { rows, by: meta[0][0], types, groups: Number(meta[0][1]), unit: 1000n };
}

const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{9})Z$/;
function same(read, want, unit) {
	if (want === null)
		return read === null || read === undefined;
	if (read === null || read === undefined)
		return false;
	if (typeof want === "string" && read.ns !== undefined) {
		const [, seconds, ns] = TIME.exec(want);
		return read.ns / unit === (BigInt(Date.parse(seconds + "Z")) * 1000000n + BigInt(ns)) / unit;
	}
	if (typeof want === "number") // JSON has numbers up to 2^63 - 1, which a double rounds
		return Number(read) === want || (want >= 2 ** 63 && Number(read) >= want);
	if (Array.isArray(want))
		return Array.isArray(read) && read.length === want.length && want.every((v, i) => same(read[i], v, unit));
	if (typeof want === "object")
		return Object.keys(read).length === Object.keys(want).length && Object.entries(want).every(([k, v]) => same(read[k], v, unit));
	return read === want;
}

function show(value) {
	return JSON.stringify(value, (k, v) => typeof v === "bigint" ? String(v) : v);
}

let failures = 0;
for (const base of bases) {
	const name = base.split("/").slice(-2).join("/");
	try {
		const read = await { hyparquet, duckdb }[reader](base + ".parquet");
		const wanted = fs.readFileSync(base + ".ndjson", "utf8").split("\n").filter((l) => l).map((l) => JSON.parse(l));
		if (read.rows.length !== wanted.length)
			throw new Error(`${read.rows.length} rows, and ${wanted.length} in NDJSON`);
		wanted.forEach((want, i) => {
			const keys = Object.keys(read.rows[i]).join();
			if (keys !== Object.keys(want).join())
				throw new Error(`columns ${keys}, and in NDJSON ${Object.keys(want)}`);
			for (const [key, value] of Object.entries(want))
				if (!same(read.rows[i][key], value, read.unit))
					throw new Error(`row ${i}, ${key}: ${show(read.rows[i][key])}, and ${show(value)} in NDJSON`);
		});
		console.log(`ok - ${reader} reads ${name}: ${wanted.length} rows, ${Object.keys(wanted[0] || {}).length} columns, ${read.groups} row groups, by ${read.by}`);
		console.log(read.types.join(" "));
	} catch (e) {
		failures++;
		console.log(`FAIL - ${reader}, ${name}: ${e.stack}`);
	}
}
process.exit(failures > 0 ? 1 : 0);
