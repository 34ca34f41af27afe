/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A comparison: the names and rows of the older snapshot are appended to those of the page, and
 * functions of the same name are one, so that one tree and one selection cover both.  Rows from `newCount` on are the older
 * snapshot's; they have no time slices and belong to no finding.
 */
const newCount = data.rows.count;

/* Both arrays, which have the same type, in one. */
function joined(a, b) {
	const both = new a.constructor(a.length + b.length);
	both.set(a);
	both.set(b, a.length);
	return both;
}

/* Appends all columns of the older snapshot, each value converted. */
function joinColumns(to, from, convert) {
	for (const name of Object.keys(from))
		if (ArrayBuffer.isView(from[name]))
			to[name] = joined(to[name], convert[name] ? from[name].map(convert[name]) : from[name]);
		else if (typeof from[name] === "object")
			joinColumns(to[name], from[name], convert);
}

/* By number of a function: the first one with the same name, module and kind. */
function firstFunctions({name, module, kind}) {
	const known = new Map();
	return name.map((_, f) => {
		const key = [data.strings[name[f]], data.strings[module[f]], kind[f]].join("\n");
		return known.get(key) ?? known.set(key, f).get(key);
	});
}

function joinBase(base) {
	const behind = ({length}) => (number) => number < 0 ? number : number + length;
	const string = behind(data.strings), node = behind(data.nodes.parent);
	const functionBehind = behind(data.functions.name), frame = behind(data.frames.function);
	const sumBehind = behind(data.sums.samples), sum = (number) => number && sumBehind(number);
	data.strings = data.strings.concat(base.strings);
	joinColumns(data.functions, base.functions, {name: string, module: string});
	const firsts = firstFunctions(data.functions);
	joinColumns(data.frames, base.frames, {function: (f) => firsts[functionBehind(f)], file: string});
	joinColumns(data.nodes, base.nodes, {parent: node, frame});
	joinColumns(data.sums, base.sums, {});
	joinColumns(data.rows, base.rows, {thread: string, class: string, node, package: string,
		library: string, alloc: sum, live: sum, temp: sum, peak: sum});
	data.finding_rows = joined(data.finding_rows, new Int32Array(base.rows.count).fill(-1));
	for (const name of ["strings", "functions", "frames", "nodes", "rows", "sums"])
		delete base[name];
}

if (data.base)
	joinBase(data.base);

/* "+1.20 MiB" */
const formatChange = (change, unit) => (change < 0 ? "-" : "+") + formatNumber(Math.abs(change), unit);

/* The change of a frame or a row relative to the larger of both values, from -1 to 1. */
const relativeChange = (now, before) => (now - before) / (Math.max(now, before) || 1);
