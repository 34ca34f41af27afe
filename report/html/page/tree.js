/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of the graph: trees of functions, made from the nodes of the data and cached by the
 * controls that they depend on.  Their nodes have no values.
 */

/*
 * A tree of functions: parent and function by node (0 is the root and has no function), and the
 * frame of the data that it came from.  Parents precede their children.  A page may have
 * millions of nodes, for which a Map takes seconds.  Most nodes have one child: the first one is
 * found in `first`, by node, and the others in a hash table of node numbers with linear probing, at
 * most half full.
 */
class GrowingTree {
	/* `expected`: about as many nodes as there will be. */
	constructor(expected) {
		const capacity = 1 << Math.max(12, 32 - Math.clz32(expected));
		this.count = 1;
		for (const name of ["parent", "func", "frame", "first"])
			this[name] = new Int32Array(capacity);
		this.parent[0] = this.func[0] = this.frame[0] = -1;
		this.slots = new Int32Array(1 << 13);
		this.slotsTaken = 0;
	}

	/* The slot at which the search for a child starts. */
	slotOf(node, f) {
		const hash = Math.imul(node + Math.imul(f, 0x85ebca6b), 0x9e3779b1);
		return (hash ^ hash >>> 16) & this.slots.length - 1;
	}

	enlarge() {
		for (const name of ["parent", "func", "frame", "first"]) {
			const larger = new Int32Array(2 * this.count);
			larger.set(this[name]);
			this[name] = larger;
		}
	}

	enlargeSlots() {
		const known = this.slots.filter((node) => node);
		const mask = 2 * this.slots.length - 1;
		this.slots = new Int32Array(mask + 1);
		for (const node of known) {
			let slot = this.slotOf(this.parent[node], this.func[node]);
			while (this.slots[slot])
				slot = slot + 1 & mask;
			this.slots[slot] = node;
		}
	}

	append(node, f, dataFrame) {
		if (this.count === this.parent.length)
			this.enlarge();
		const made = this.count++;
		this.parent[made] = node;
		this.func[made] = f;
		this.frame[made] = dataFrame;
		return made;
	}

	/* The child of a node for a function; added if missing. */
	child(node, f, dataFrame) {
		const first = this.first[node];
		if (!first) {
			const made = this.append(node, f, dataFrame);
			this.first[node] = made;
			return made;
		}
		return this.func[first] === f ? first : this.otherChild(node, f, dataFrame);
	}

	otherChild(node, f, dataFrame) {
		const {parent, func, slots} = this;
		let slot = this.slotOf(node, f);
		for (; slots[slot]; slot = slot + 1 & slots.length - 1) {
			const found = slots[slot];
			if (parent[found] === node && func[found] === f)
				return found;
		}
		const made = this.append(node, f, dataFrame);
		slots[slot] = made;
		if (2 * ++this.slotsTaken > slots.length)
			this.enlargeSlots();
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

const isGlue = memoized((f) => GLUE.test(functionName(f)));

/* The nodes that are shown as their parent: VM frames, and frames of a row of glue but the first. */
function isHidden(state, node, f) {
	if (!state.vm && data.functions.kind[f] === VM)
		return true;
	const up = data.nodes.parent[node];
	return state.fold && up >= 0 && isGlue(f) && isGlue(nodeFunction(up));
}

function makeTree(state) {
	const {parent, frame} = data.nodes;
	const tree = new GrowingTree(parent.length);
	const folded = new Set();
	const nodeOf = new Int32Array(parent.length);
	for (let i = 0; i < nodeOf.length; i++) {
		const up = parent[i] < 0 ? 0 : nodeOf[parent[i]];
		const f = nodeFunctions[i];
		const hidden = isHidden(state, i, f);
		nodeOf[i] = hidden ? up : tree.child(up, f, frame[i]);
		if (hidden && isGlue(f))
			folded.add(up);
	}
	const {node} = data.rows, rowNode = new Int32Array(rowCount);
	for (let row = 0; row < rowCount; row++)
		rowNode[row] = nodeOf[node[row]];
	return Object.assign(finishTree(tree, rowNode), {folded});
}

/* The nodes of a row that are shown, and those of `wanted`, from the allocating function to the root. */
function shownNodes(state, row, wanted) {
	const nodes = [];
	for (let at = data.rows.node[row]; at >= 0; at = data.nodes.parent[at])
		if (nodeFunction(at) === wanted || !isHidden(state, at, nodeFunction(at)))
			nodes.push(at);
	return nodes;
}

/* From the allocating function to the root of the thread. */
function makeInvertedTree(state) {
	const tree = new GrowingTree(data.nodes.parent.length);
	const rowNode = new Int32Array(rowCount);
	for (let row = 0; row < rowCount; row++)
		for (const at of shownNodes(state, row))
			rowNode[row] = tree.child(rowNode[row], nodeFunction(at), data.nodes.frame[at]);
	return finishTree(tree, rowNode);
}

/*
 * The callees and the callers of a function: the root is the function, below it are its callees
 * and, marked in `isCaller`, its callers.  Each stack counts once, from the frame of the function
 * nearest to the root.  Rows are numbered twice: as callees, and from rowCount on as callers.
 */
function makeSandwich(state, wanted) {
	const tree = new GrowingTree(rowCount);
	const rowNode = new Int32Array(2 * rowCount).fill(-1);
	const {frame} = data.nodes;
	for (let row = 0; row < rowCount; row++) {
		const shown = shownNodes(state, row, wanted);
		const first = shown.findLastIndex((at) => nodeFunction(at) === wanted);
		if (first < 0)
			continue;
		let node = 0, up = 0;
		for (const at of shown.slice(0, first).reverse())
			node = tree.child(node, nodeFunction(at), frame[at]);
		/* Callers must not share nodes with callees: their functions are numbered on from the end. */
		for (const at of shown.slice(first + 1))
			up = tree.child(up, nodeFunction(at) + functionCount, frame[at]);
		rowNode[row] = node;
		rowNode[rowCount + row] = up || -1;
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
function orderRows({count, parent}, rowNode) {
	const size = new Int32Array(count).fill(1), place = new Int32Array(count);
	for (let i = count - 1; i > 0; i--)
		size[parent[i]] += size[i];
	/* Where the next child of a node goes. */
	const free = new Int32Array(count).fill(1);
	for (let i = 1; i < count; i++) {
		place[i] = free[parent[i]];
		free[parent[i]] += size[i];
		free[i] = place[i] + 1;
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
	const rowsFrom = new Int32Array(count), rowsTo = new Int32Array(count);
	for (let i = 0; i < count; i++) {
		rowsFrom[i] = begin[place[i]];
		rowsTo[i] = begin[place[i] + size[i]];
	}
	return {rowOrder, rowsFrom, rowsTo};
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
	let known = null;
	made.order = () => known ??= orderRows(made, rowNode);
	return made;
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
