/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A comparison: the names and rows of the older snapshot are appended to those of the page, by
 * name, so that one tree and one selection cover both.  Rows from `newCount` on are the older
 * snapshot's; they have no time slices and belong to no finding.
 */
const newCount = data.rows.count;

/* The numbers on the page of values of the older snapshot; `keyOf` and `append` take an index. */
function matchAll(count, keyOf, known, append) {
	const numbers = new Int32Array(count);
	for (let i = 0; i < count; i++) {
		const key = keyOf(i);
		if (!known.has(key))
			known.set(key, append(i));
		numbers[i] = known.get(key);
	}
	return numbers;
}

/* Both arrays, which have the same type, in one. */
function joined(a, b) {
	const both = new a.constructor(a.length + b.length);
	both.set(a);
	both.set(b, a.length);
	return both;
}

/* Appends columns of the older snapshot, each value converted. */
function joinColumns(to, from, convert) {
	for (const name of Object.keys(convert))
		to[name] = joined(to[name], from[name].map(convert[name]));
}

function joinBase(base) {
	const strings = matchAll(base.strings.length, (i) => base.strings[i],
		new Map(data.strings.map((text, i) => [text, i])),
		(i) => data.strings.push(base.strings[i]) - 1);
	const string = (i) => strings[i], same = (value) => value;
	const {functions, frames, nodes} = base;
	const added = [];
	const keys = new Map(Array.from(data.functions.name, (name, f) =>
		[[name, data.functions.module[f], data.functions.kind[f]].join(), f]));
	const before = data.functions.name.length;
	const numbers = matchAll(functions.name.length,
		(f) => [strings[functions.name[f]], strings[functions.module[f]], functions.kind[f]].join(), keys,
		(f) => before + added.push(f) - 1);
	const only = (column) => Int32Array.from(added, (f) => column[f]);
	joinColumns(data.functions, {name: only(functions.name), module: only(functions.module),
		kind: only(functions.kind)}, {name: string, module: string, kind: same});
	const frameCount = data.frames.function.length, nodeCount = data.nodes.parent.length;
	joinColumns(data.frames, frames, {function: (f) => numbers[f], file: string, line: same, inlined: same});
	joinColumns(data.nodes, nodes, {parent: (node) => node < 0 ? node : node + nodeCount,
		frame: (frame) => frame + frameCount});
	const sumCount = data.sums.samples.length, sum = (number) => number && number + sumCount;
	joinColumns(data.rows, base.rows, {heap: same, thread: string, class: string,
		node: (node) => node + nodeCount, package: string, library: string, contains: same,
		alloc: sum, live: sum, temp: sum, peak: sum});
	data.sums.samples = joined(data.sums.samples, base.sums.samples);
	for (const unit of ["bytes", "objects"])
		for (const name of SUMS)
			data.sums[unit][name] = joined(data.sums[unit][name], base.sums[unit][name]);
	data.finding_rows = joined(data.finding_rows, new Int32Array(base.rows.count).fill(-1));
	data.sums.covariance = joined(data.sums.covariance, base.sums.covariance);
	for (const name of ["strings", "functions", "frames", "nodes", "rows", "sums"])
		delete base[name];
}

if (data.base)
	joinBase(data.base);

/* "+1.20 MiB" */
const formatChange = (change, unit) => (change < 0 ? "-" : "+") + formatNumber(Math.abs(change), unit);

/* The change of a frame or a row relative to the larger of both values, from -1 to 1. */
const relativeChange = (now, before) => (now - before) / (Math.max(now, before) || 1);
