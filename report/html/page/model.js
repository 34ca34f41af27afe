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

const nodeFunction = (node) => data.frames.function[data.nodes.frame[node]];

/* Whether a function is a Java method outside the Java runtime. */
const isApplication = (f) => functionKind(f) === "java"
	&& !/^(java|javax|jdk|sun|com\.sun)\./.test(functionName(f));

/* Whether a function belongs to the C++ library. */
const isPlumbing = (f) => functionKind(f) === "native"
	&& /^(std::|__gnu_cxx::|operator new)/.test(functionName(f));

/*
 * The site of a row: the allocating function and, if that is not Java code of the application,
 * the application method that called it; without Java, the caller of the C++ library.
 */
function siteOf(row) {
	const leaf = nodeFunction(data.rows.node[row]);
	if (isApplication(leaf))
		return functionName(leaf);
	let runtime = -1, client = -1;
	for (let node = data.rows.node[row]; node >= 0; node = data.nodes.parent[node]) {
		const f = nodeFunction(node);
		if (isApplication(f))
			return functionName(leaf) + " < " + functionName(f);
		if (runtime < 0 && f !== leaf && functionKind(f) === "java")
			runtime = f;
		if (client < 0 && functionKind(f) !== "group" && !isPlumbing(f))
			client = f;
	}
	const caller = runtime < 0 ? client : runtime;
	return functionName(leaf)
		+ (caller < 0 || caller === leaf ? "" : " < " + functionName(caller));
}

/* The table key of a row, as text. */
const KEYS = {
	class: (row) => data.strings[data.rows.class[row]]
		|| (data.rows.heap[row] ? "(native memory)" : "(unknown class)"),
	site: siteOf,
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

/* --- shape ----------------------------------------------------------------------------------- */

/*
 * A tree of functions: parent and function by node (0 is the root and has no function), and the
 * frame of the data that it came from.  Parents precede their children.  A page may have
 * millions of nodes, for which a Map takes seconds: children are looked up in a hash table of
 * node numbers with linear probing, at most half full.
 */
class GrowingTree {
	constructor() {
		this.count = 1;
		this.parent = new Int32Array(1 << 12);
		this.func = new Int32Array(1 << 12);
		this.frame = new Int32Array(1 << 12);
		this.parent[0] = this.func[0] = this.frame[0] = -1;
		this.slots = new Int32Array(1 << 13);
	}

	/* The slot at which the search for a child starts. */
	slotOf(node, f) {
		const hash = Math.imul(node + Math.imul(f, 0x85ebca6b), 0x9e3779b1);
		return (hash ^ hash >>> 16) & this.slots.length - 1;
	}

	enlarge() {
		const mask = 4 * this.parent.length - 1;
		for (const name of ["parent", "func", "frame"]) {
			const larger = new Int32Array(2 * this.count);
			larger.set(this[name]);
			this[name] = larger;
		}
		this.slots = new Int32Array(mask + 1);
		for (let i = 1; i < this.count; i++) {
			let slot = this.slotOf(this.parent[i], this.func[i]);
			while (this.slots[slot])
				slot = slot + 1 & mask;
			this.slots[slot] = i;
		}
	}

	/* The child of a node for a function; added if missing. */
	child(node, f, dataFrame) {
		const {parent, func, slots} = this;
		let slot = this.slotOf(node, f);
		for (; slots[slot]; slot = slot + 1 & slots.length - 1) {
			const found = slots[slot];
			if (parent[found] === node && func[found] === f)
				return found;
		}
		const made = this.count++;
		parent[made] = node;
		func[made] = f;
		this.frame[made] = dataFrame;
		slots[slot] = made;
		if (this.count === parent.length)
			this.enlarge();
		return made;
	}
}

/*
 * Frames with which threads start, executors and launchers call, and lambdas and reflection pass
 * on: consecutive ones are one row if folded.
 */
const GLUE = new RegExp("^(?:" + [
	"_start|__libc_start_(?:main|call_main).*|_*clone3?|start_thread|__GI_+clone.*|thread_start",
	"ThreadJavaMain|JavaMain|JLI_Launch|CallJavaMainInNewThread",
	"\\[jvm\\] (?:thread_native_entry|jni_Call\\w*|JavaThread::\\w+|Thread::call_run)",
	"java\\.lang\\.(?:Thread|VirtualThread)\\.(?:run|runWith)",
	"jdk\\.internal\\.(?:vm|reflect)\\..*|java\\.lang\\.reflect\\..*|java\\.lang\\.invoke\\..*",
	"java\\.util\\.concurrent\\.(?:ThreadPoolExecutor|ForkJoin|FutureTask|Executors\\$|CompletableFuture\\$)"
		+ ".*\\.(?:run|runWorker|call|exec|doExec|topLevelExec|scan|runAndReset)",
	".*\\$\\$Lambda.*"].join("|") + ")$");

const glue = new Map();

function isGlue(f) {
	if (!glue.has(f))
		glue.set(f, GLUE.test(functionName(f)));
	return glue.get(f);
}

/* The nodes that are shown as their parent: VM frames, and frames of a row of glue but the first. */
function isHidden(state, node, f) {
	if (!state.vm && data.functions.kind[f] === VM)
		return true;
	const up = data.nodes.parent[node];
	return state.fold && up >= 0 && isGlue(f) && isGlue(nodeFunction(up));
}

function makeTree(state) {
	const tree = new GrowingTree();
	const folded = new Set();
	const nodeOf = new Int32Array(data.nodes.parent.length);
	for (let i = 0; i < nodeOf.length; i++) {
		const up = data.nodes.parent[i] < 0 ? 0 : nodeOf[data.nodes.parent[i]];
		const frame = data.nodes.frame[i];
		const f = data.frames.function[frame];
		const hidden = isHidden(state, i, f);
		nodeOf[i] = hidden ? up : tree.child(up, f, frame);
		if (hidden && isGlue(f))
			folded.add(up);
	}
	return Object.assign(finishTree(tree, data.rows.node.map((node) => nodeOf[node])), {folded});
}

/* From the allocating function to the root of the thread. */
function makeInvertedTree(state) {
	const tree = new GrowingTree();
	const rowNode = new Int32Array(rowCount);
	for (let row = 0; row < rowCount; row++) {
		let node = 0;
		for (let at = data.rows.node[row]; at >= 0; at = data.nodes.parent[at]) {
			const frame = data.nodes.frame[at];
			const f = data.frames.function[frame];
			if (!isHidden(state, at, f))
				node = tree.child(node, f, frame);
		}
		rowNode[row] = node;
	}
	return finishTree(tree, rowNode);
}

/*
 * The callees and the callers of a function: the root is the function, below it are its callees
 * and, marked in `isCaller`, its callers.  Each stack counts once, from the frame of the function
 * nearest to the root.  Rows are numbered twice: as callees, and from rowCount on as callers.
 */
function makeSandwich(state, wanted) {
	const tree = new GrowingTree();
	const rowNode = new Int32Array(2 * rowCount).fill(-1);
	const path = [];
	for (let row = 0; row < rowCount; row++) {
		path.length = 0;
		for (let at = data.rows.node[row]; at >= 0; at = data.nodes.parent[at]) {
			const frame = data.nodes.frame[at], f = data.frames.function[frame];
			if (f === wanted || !isHidden(state, at, f))
				path.push([f, frame]);
		}
		path.reverse();
		const first = path.findIndex(([f]) => f === wanted);
		if (first < 0)
			continue;
		let node = 0, up = 0;
		for (const [f, frame] of path.slice(first + 1))
			node = tree.child(node, f, frame);
		/* Callers must not share nodes with callees: their functions are numbered on from the end. */
		for (const [f, frame] of path.slice(0, first).reverse())
			up = tree.child(up, f + functionCount, frame);
		rowNode[row] = node;
		rowNode[rowCount + row] = first ? up : -1;
	}
	const isCaller = new Uint8Array(tree.count);
	for (let i = 1; i < tree.count; i++)
		if (tree.func[i] >= functionCount) {
			isCaller[i] = 1;
			tree.func[i] -= functionCount;
		}
	tree.func[0] = wanted;
	return Object.assign(finishTree(tree, rowNode), {isCaller});
}

/*
 * Orders rows by node, those of a node before those of its descendants, so that the rows in and
 * below a node are one range: `rowOrder` from `rowsFrom` to `rowsTo`.
 */
function orderRows({count, parent, start, list}, rowNode) {
	const size = new Int32Array(count).fill(1), place = new Int32Array(count);
	for (let i = count - 1; i > 0; i--)
		size[parent[i]] += size[i];
	for (let i = 0; i < count; i++) {
		let next = place[i] + 1;
		for (let k = start[i]; k < start[i + 1]; k++) {
			place[list[k]] = next;
			next += size[list[k]];
		}
	}
	const begin = new Int32Array(count + 1);
	for (const node of rowNode)
		if (node >= 0)
			begin[place[node] + 1]++;
	for (let i = 0; i < count; i++)
		begin[i + 1] += begin[i];
	const next = begin.slice(), rowOrder = new Int32Array(begin[count]);
	for (let row = 0; row < rowNode.length; row++)
		if (rowNode[row] >= 0)
			rowOrder[next[place[rowNode[row]]]++] = row;
	return {rowOrder, rowsFrom: place.map((at) => begin[at]),
		rowsTo: place.map((at, i) => begin[at + size[i]])};
}

/* Adds each node's children, as a range of `list`, its depth and its rows. */
function finishTree(tree, rowNode) {
	const {count} = tree;
	const parent = tree.parent.slice(0, count);
	const start = new Int32Array(count + 1);
	const depth = new Int32Array(count);
	const list = new Int32Array(Math.max(count - 1, 0));
	for (let i = 1; i < count; i++) {
		start[parent[i] + 1]++;
		depth[i] = depth[parent[i]] + 1;
	}
	for (let i = 0; i < count; i++)
		start[i + 1] += start[i];
	const next = start.slice();
	for (let i = 1; i < count; i++)
		list[next[parent[i]]++] = i;
	const made = {count, parent, func: tree.func.slice(0, count),
		frame: tree.frame.slice(0, count), rowNode, start, list, depth};
	return Object.assign(made, orderRows(made, rowNode));
}

const trees = new Map();

const functionNamed = (name) => data.functions.name.findIndex((text) => data.strings[text] === name);

function treeFor(state) {
	const isSandwich = state.around !== "" && functionNamed(state.around) >= 0;
	const key = [state.layout === "inverted", state.vm, state.fold, isSandwich && state.around].join();
	/* There may be a sandwich for each function: only the last one is kept. */
	if (isSandwich && !trees.has(key))
		for (const known of [...trees.keys()].filter((text) => !text.endsWith("false")))
			trees.delete(known);
	if (!trees.has(key))
		trees.set(key, isSandwich ? makeSandwich(state, functionNamed(state.around))
			: state.layout === "inverted" ? makeInvertedTree(state) : makeTree(state));
	return trees.get(key);
}

/* --- values ---------------------------------------------------------------------------------- */

const figureName = (value, moment) => value === "live" && moment === "peak" ? "peak" : value;

function selectRows(state) {
	const selected = new Uint8Array(rowCount);
	const threads = state.thread && keyColumn("thread");
	const keys = state.filter && keyColumn(state.filter.by);
	for (let row = 0; row < rowCount; row++)
		selected[row] = (state.heap === "all" || state.heap === HEAPS[data.rows.heap[row]].word)
			&& (!threads || threads[row] === state.thread)
			&& (!keys || keys[row] === state.filter.key);
	return selected;
}

/* Calls `visit` with each cell that counts in a range of slices, and its weight. */
function eachCell(value, unit, [from, to], visit) {
	const {cells} = data;
	const weight = value === "alloc" ? cells[unit] : cells["live_" + unit];
	for (let i = 0; i < cells.row.length; i++) {
		if (cells.birth[i] < from || cells.birth[i] >= to)
			continue;
		if (value === "live" && cells.death[i] >= 0 && cells.death[i] < to)
			continue;
		if (value === "temp" && !cells.temp[i])
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
	const number = data.rows[figure];
	return {
		figure, number,
		value: new Float64Array(rowCount).map(
			(_, row) => pointOf(number[row], data.rows.heap[row], unit)),
	};
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

/*
 * The tree of a state, with the sums by heap and of all heaps by node; children are sorted by
 * value.
 */
function evaluate(state) {
	const tree = treeFor(state);
	const rows = valuesOf(state, state.value);
	const selected = selectRows(state);
	const heaps = HEAPS.map(() => new Float64Array(tree.count));
	const total = new Float64Array(tree.count);
	/* Of the older snapshot, in a comparison. */
	const before = data.base ? new Float64Array(tree.count) : null;
	tree.rowNode.forEach((node, i) => {
		const row = i % rowCount;
		if (node < 0 || !selected[row])
			return;
		if (row >= newCount) {
			if (addsUp(state, row))
				before[node] += rows.value[row];
			return;
		}
		heaps[data.rows.heap[row]][node] += rows.value[row];
		if (addsUp(state, row))
			total[node] += rows.value[row];
	});
	/* Of a sandwich, the callees alone make up the root. */
	const endsBelow = (i) => tree.isCaller && tree.isCaller[i] && !tree.parent[i];
	for (let i = tree.count - 1; i > 0; i--) {
		if (!endsBelow(i))
			for (const values of before ? [...heaps, total, before] : [...heaps, total])
				values[tree.parent[i]] += values[i];
	}
	/* What the width of a frame shows: in a comparison both values, so that what is gone is seen. */
	const size = before ? total.map((value, i) => value + before[i]) : total;
	for (let i = 0; i < tree.count; i++)
		if (tree.start[i + 1] - tree.start[i] > 1)
			tree.list.subarray(tree.start[i], tree.start[i + 1])
				.sort((a, b) => size[b] - size[a] || a - b);
	return {tree, rows, selected, heaps, total, before, size, state: {...state},
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
	let at = tree.rowsFrom[node];
	const next = () => {
		while (at < tree.rowsTo[node]) {
			const entry = tree.rowOrder[at++], row = entry % rowCount;
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
	return value.toFixed(at === 0 ? 0 : size >= 100 ? 0 : size >= 10 ? 1 : 2);
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
