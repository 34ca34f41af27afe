/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes a tree with values from the data and the state of the controls.  Rows, nodes and
 * functions are numbers; their properties are stored in columns.
 */
const KINDS = ["java", "native", "vm", "group"];
const VM = 2;
/* In the order of the heap numbers of rows. */
const HEAPS = [{word: "java", name: "Java"}, {word: "native", name: "native"},
	{word: "mapped", name: "mapped"}];

const rowCount = data.rows.heap.length; /* in a comparison those of both snapshots */
const functionCount = data.functions.name.length;

const functionName = (f) => data.strings[data.functions.name[f]];
const functionModule = (f) => data.strings[data.functions.module[f]];
const functionKind = (f) => KINDS[data.functions.kind[f]];

/* By node of the data. */
const nodeFunctions = data.nodes.frame.slice();
for (let i = 0, of = data.frames.function; i < nodeFunctions.length; i++)
	nodeFunctions[i] = of[nodeFunctions[i]];

const nodeFunction = (node) => nodeFunctions[node];

/* A predicate of functions that is computed once for each: 0 = not yet, 1 = no, 2 = yes. */
function memoized(predicate) {
	const known = new Uint8Array(functionCount);
	return (f) => (known[f] || (known[f] = predicate(f) ? 2 : 1)) === 2;
}

/* Whether a function is a Java method outside the Java runtime. */
const isApplication = memoized((f) => functionKind(f) === "java"
	&& !/^(java|javax|jdk|sun|com\.sun)\./.test(functionName(f)));

/* The table key of a row, as text. */
const KEYS = {
	class: (row) => data.strings[data.rows.class[row]]
		|| (data.rows.heap[row] ? "(native memory)" : "(unknown class)"),
	site: (row) => data.strings[data.rows.site[row]],
	package: (row) => data.strings[data.rows.package[row]],
	thread: (row) => data.strings[data.rows.thread[row]],
	library: (row) => data.strings[data.rows.library[row]],
};

/* What a filter selects by: a key of the tables, or the number of a finding. */
const FILTERS = {...KEYS, finding: (row) => String(data.finding_rows[row])};

/* The key of all rows, computed on first use. */
const keyColumns = new Map();

function keyColumn(by) {
	if (!keyColumns.has(by))
		keyColumns.set(by, Array.from({length: rowCount}, (_, row) => FILTERS[by](row)));
	return keyColumns.get(by);
}

/* --- values ---------------------------------------------------------------------------------- */

const figureName = (value, moment) => value === "live" && moment === "peak" ? "peak" : value;

function selectRows(state) {
	const selected = new Uint8Array(rowCount);
	const threads = state.thread && keyColumn("thread");
	const keys = state.filter && keyColumn(state.filter.by);
	const {heap} = data.rows, wanted = HEAPS.findIndex(({word}) => word === state.heap);
	for (let row = 0; row < rowCount; row++)
		selected[row] = (wanted < 0 || wanted === heap[row])
			&& (!threads || threads[row] === state.thread)
			&& (!keys || keys[row] === state.filter.key);
	return selected;
}

/* Calls `visit` with each cell that counts in a range of slices, and its weight. */
function eachCell(value, unit, [from, to], visit) {
	const {birth} = data.cells, death = value === "live" ? data.cells.death : null;
	const temp = value === "temp" ? data.cells.temp : null;
	const weight = value === "alloc" ? data.cells[unit] : data.cells["live_" + unit];
	for (let i = 0; i < birth.length; i++) {
		if (birth[i] < from || birth[i] >= to)
			continue;
		if (death && death[i] >= 0 && death[i] < to)
			continue;
		if (temp && !temp[i])
			continue;
		visit(i, weight[i]);
	}
}

/* The value of each row in a range of slices, and its variance. */
function rangeValues(value, unit, range) {
	const {row} = data.cells, variance = data.cells[unit + "_variance"];
	const sum = new Float64Array(rowCount), spread = new Float64Array(rowCount);
	eachCell(value, unit, range, (i, weight) => {
		sum[row[i]] += weight;
		spread[row[i]] += 1.96 * 1.96 * variance[i];
	});
	return {value: sum, spread};
}

function wholeValues(value, unit, moment) {
	const figure = figureName(value, moment);
	const number = data.rows[figure], {heap} = data.rows;
	const points = new Float64Array(rowCount);
	for (let row = 0; row < rowCount; row++)
		points[row] = pointOf(number[row], heap[row], unit);
	return {figure, number, value: points};
}

const knownValues = new Map();

/* The values of all rows; those of the last range and of the whole recording are cached. */
function valuesOf(state, value) {
	const range = state.range ? String(state.range) : "";
	if (knownValues.range !== range) {
		knownValues.clear();
		knownValues.range = range;
	}
	const key = `${value} ${state.unit} ${state.moment}`;
	if (!knownValues.has(key))
		knownValues.set(key, range ? rangeValues(value, state.unit, state.range)
			: wholeValues(value, state.unit, state.moment));
	return knownValues.get(key);
}

/*
 * Whether a row counts in a sum over heaps: mapped memory that holds the Java heap or malloc's
 * blocks would count them twice.
 */
const addsUp = (state, row) => state.heap !== "all" || !data.rows.contains[row];

/* Adds the value of each node to its parent, except where `endsBelow`. */
function addUp({count, parent, isCaller}, sums, endsBelow) {
	for (let i = count - 1; i > 0; i--)
		if (sums[i] && !(isCaller && endsBelow(i)))
			sums[parent[i]] += sums[i];
}

/*
 * The children of a node by value, largest first: a part of the tree's list, sorted when it is first
 * asked for.
 */
function childrenOf({tree, size, isSorted}, node) {
	const children = tree.list.subarray(tree.start[node], tree.start[node + 1]);
	if (!isSorted[node]) {
		isSorted[node] = 1;
		children.sort((a, b) => size[b] - size[a] || a - b);
	}
	return children;
}

/* The tree of a state, with the sums by heap and of all heaps by node. */
function evaluate(state) {
	const tree = treeFor(state);
	const rows = valuesOf(state, state.value);
	const selected = selectRows(state);
	const heaps = HEAPS.map(() => new Float64Array(tree.count));
	const total = new Float64Array(tree.count);
	/* Of the older snapshot, in a comparison. */
	const before = data.base ? new Float64Array(tree.count) : null;
	const {rowNode} = tree, {heap} = data.rows, {value: values} = rows;
	for (let i = 0; i < rowNode.length; i++) {
		const node = rowNode[i], row = i % rowCount;
		if (node < 0 || !selected[row])
			continue;
		if (row >= newCount) {
			if (addsUp(state, row))
				before[node] += values[row];
			continue;
		}
		heaps[heap[row]][node] += values[row];
		if (addsUp(state, row))
			total[node] += values[row];
	}
	/* Of a sandwich, the callees alone make up the root. */
	const endsBelow = (i) => tree.isCaller && tree.isCaller[i] && !tree.parent[i];
	for (const sums of before ? [...heaps, total, before] : [...heaps, total])
		addUp(tree, sums, endsBelow);
	/* What the width of a frame shows: in a comparison both values, so that what is gone is seen. */
	const size = before ? total.map((value, i) => value + before[i]) : total;
	return {tree, rows, selected, heaps, total, before, size, isSorted: new Uint8Array(tree.count),
		state: {...state},
		isWhole: !state.range && !state.thread && !state.filter && !tree.isCaller};
}

/*
 * The estimate of a heap for some rows, linked by `next` and ended by -1.  In a range of slices
 * the interval is 1.96 standard deviations.
 */
function estimateRows(rows, heap, unit, first, next) {
	const sum = emptySum();
	let value = 0, spread = 0;
	for (let row = first; row >= 0; row = next(row)) {
		if (data.rows.heap[row] !== heap)
			continue;
		if (rows.spread) {
			value += rows.value[row];
			spread += rows.spread[row];
		} else {
			addSum(sum, rows.number[row]);
		}
	}
	if (!rows.spread)
		return estimateSum(sum, heap, rows.figure, unit);
	return {estimate: value, low: Math.max(0, value - Math.sqrt(spread)),
		high: value + Math.sqrt(spread)};
}

/* The estimate of a heap for a value in and below a node. */
function estimateNode(model, state, value, heap, node) {
	const {tree, selected} = model;
	const rows = valuesOf(state, value);
	if (node === 0 && model.isWhole)
		return data.heaps[heap].figures[rows.figure][state.unit];
	const {rowOrder, rowsFrom, rowsTo} = tree.order();
	let at = rowsFrom[node];
	const next = () => {
		while (at < rowsTo[node]) {
			const entry = rowOrder[at++], row = entry % rowCount;
			if (selected[row] && row < newCount && (node || entry < rowCount))
				return row;
		}
		return -1;
	};
	return estimateRows(rows, heap, state.unit, next(), next);
}

/* --- search ---------------------------------------------------------------------------------- */

/* A case-insensitive regular expression, or the plain text if it is not a valid one. */
function makeMatcher(text) {
	try {
		const expression = new RegExp(text, "i");
		return (name) => expression.test(name);
	} catch {
		const lower = text.toLowerCase();
		return (name) => name.toLowerCase().includes(lower);
	}
}

/* The value of the stacks of a sandwich of which callers or callees are covered, each once. */
function coveredRows({tree, rows, selected, state}, covered) {
	let weight = 0;
	for (let row = 0; row < rowCount; row++) {
		const below = tree.rowNode[row], above = tree.rowNode[rowCount + row];
		if (below >= 0 && selected[row] && row < newCount && addsUp(state, row)
			&& (covered[below] || (above >= 0 && covered[above])))
			weight += rows.value[row];
	}
	return weight;
}

/*
 * Numbers of matching functions, the value of the topmost matching frames, and these frames by
 * value; null = no search.
 */
function search(model, text) {
	if (!text)
		return null;
	const matches = makeMatcher(text);
	const found = Uint8Array.from({length: functionCount}, (_, f) => matches(functionName(f)));
	const {tree, size: total} = model;
	const covered = new Uint8Array(tree.count);
	const topmost = [];
	let weight = 0, frames = 0;
	for (let i = 1; i < tree.count; i++) {
		const isFound = found[tree.func[i]];
		covered[i] = covered[tree.parent[i]] || isFound;
		if (isFound && total[i] > 0)
			frames++;
		if (isFound && !covered[tree.parent[i]] && total[i] > 0) {
			weight += model.total[i];
			topmost.push(i);
		}
	}
	topmost.sort((a, b) => total[b] - total[a] || a - b);
	return {found, weight: tree.isCaller ? coveredRows(model, covered) : weight, frames, topmost};
}

/* --- numbers for people, as the tool prints them ----------------------------------------------- */

const UNITS = {
	bytes: {base: 1024, names: [" B", " KiB", " MiB", " GiB", " TiB", " PiB"]},
	objects: {base: 1000, names: ["", " K", " M", " G", " T", " P"]},
};

/* The index of the unit that a value is printed in. */
function unitOf(value, unit) {
	const {base, names} = UNITS[unit];
	let at = 0;
	for (value = Math.abs(value); value >= base - 0.5 && at < names.length - 1; at++)
		value /= base;
	return at;
}

function formatIn(value, unit, at) {
	value /= UNITS[unit].base ** at;
	const size = Math.abs(value);
	return value.toFixed(at === 0 || size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

function formatNumber(value, unit) {
	const at = unitOf(value, unit);
	return formatIn(value, unit, at) + UNITS[unit].names[at];
}

/* Printed in the unit of the upper end. */
function formatInterval({low, high}, unit) {
	if (high - low <= 1e-9 * high)
		return "exact";
	const at = unitOf(high, unit);
	return formatIn(low, unit, at) + " .. " + formatIn(high, unit, at) + UNITS[unit].names[at];
}

const formatShare = (part, whole) => !whole ? "-"
	: part > 0 && part < 1e-4 * whole ? "<0.01 %" : (100 * part / whole).toPrecision(3) + " %";
