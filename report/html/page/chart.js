/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flame graph, on a canvas of the size of its visible part.  Frames narrower than a third
 * of a pixel are not visited, so the time to draw depends on the screen and not on the
 * recording.
 */
const ROW_HEIGHT = 19;
const NARROWEST = 0.33;
const CHARACTER_WIDTH = 6.7; /* average of the font below; text is cut to fit */
const SHORTEST_NAME = 6; /* characters of a name beside which there is room for a change */
const FONT = "11.5px system-ui, 'DejaVu Sans', sans-serif";

const chart = {
	box: document.getElementById("chart"),
	canvas: document.querySelector("#chart canvas"),
	room: document.getElementById("room"),
	drawn: [], /* visible items: {node, x, y, width} */
	rows: 0,
};

/* Colors and patterns of the theme, cached until it changes. */
function readTheme() {
	const style = getComputedStyle(document.documentElement);
	const names = ["back", "java", "native", "vm", "group", "mark", "frame-text", "hatch",
		"heap-java", "heap-native", "heap-mapped", "focus", "line", "text", "grew", "shrank", "same"];
	const theme = Object.fromEntries(names.map((n) => [n, style.getPropertyValue("--" + n).trim()]));
	theme.patterns = {native: makePattern(theme.hatch, "lines"), vm: makePattern(theme.hatch, "dots")};
	chart.theme = theme;
}

/* Kinds differ without color: native code is hatched, the VM dotted. */
function makePattern(color, what) {
	const tile = document.createElement("canvas");
	tile.width = tile.height = 6;
	const context = tile.getContext("2d");
	context.strokeStyle = context.fillStyle = color;
	context.lineWidth = 1.4;
	if (what === "lines") {
		context.beginPath();
		for (const shift of [-6, 0, 6]) {
			context.moveTo(shift, 6);
			context.lineTo(shift + 6, 0);
		}
		context.stroke();
	} else {
		context.fillRect(1, 1, 2, 2);
		context.fillRect(4, 4, 2, 2);
	}
	return chart.canvas.getContext("2d").createPattern(tile, "repeat");
}

/* The nodes from the root to `node`, inclusive. */
function pathTo(tree, node) {
	const path = [];
	for (let at = node; at >= 0; at = tree.parent[at])
		path.unshift(at);
	return path;
}

/* Positions frames: the zoomed frame and its ancestors at full width, and what is below it. */
function layOut(view, width) {
	const {model, state} = view;
	const {tree, size: total} = model;
	const placed = [];
	const path = pathTo(tree, view.zoom);
	/* Callers of a sandwich are above its root. */
	const depthOf = (node) => tree.isCaller && tree.isCaller[node] ? -tree.depth[node] : tree.depth[node];
	for (const node of path)
		placed.push({node, x: 0, depth: depthOf(node), width});
	let deepest = Math.max(...placed.map((item) => item.depth));
	const scale = total[view.zoom] > 0 ? width / total[view.zoom] : 0;
	const pending = [[view.zoom, 0]];
	while (pending.length) {
		const [node, left] = pending.pop();
		let x = left, xAbove = left;
		for (const child of childrenOf(model, node)) {
			const childWidth = total[child] * scale;
			if (childWidth < NARROWEST)
				break; /* children are sorted: the others are narrower */
			const isAbove = tree.isCaller && tree.isCaller[child];
			const at = isAbove ? xAbove : x;
			placed.push({node: child, x: at, depth: depthOf(child), width: childWidth});
			deepest = Math.max(deepest, depthOf(child));
			pending.push([child, at]);
			if (isAbove)
				xAbove += childWidth;
			else
				x += childWidth;
		}
	}
	const highest = tree.isCaller ? Math.min(...placed.map((item) => item.depth)) : 0;
	chart.rows = deepest - highest + 1;
	for (const item of placed)
		item.y = ROW_HEIGHT * (state.layout === "flames" ? deepest - item.depth : item.depth - highest);
	return placed;
}

/* Whether a row has several frames folded into it. */
const isFolded = ({model: {tree}}, node) => node > 0 && Boolean(tree.folded) && tree.folded.has(node);

function frameLabel(view, node) {
	const {tree, total} = view.model;
	if (!node && !tree.isCaller)
		return "all: " + formatNumber(total[0], view.state.unit);
	return functionName(tree.func[node]);
}

/* Java packages as initials: "c.e.Gateway.handle". */
function shortenPackages(name) {
	return name.replace(/^((?:[a-z][\w]*\.)+)(?=[A-Z])/, (packages) =>
		packages.split(".").map((word) => word.slice(0, 1)).join("."));
}

const cutMiddle = (text, room) => text.length <= room ? text
	: text.slice(0, Math.ceil((room - 1) / 2)) + "…" + text.slice(text.length - Math.floor((room - 1) / 2));

/* A label for a number of characters: packages are shortened first, then the middle is cut. */
function fitLabel(name, room) {
	return name.length <= room ? name : cutMiddle(shortenPackages(name), room);
}

/* In a comparison from blue, gone, to red, new; else by kind. */
function frameColor({model: {before, total}}, node, kind) {
	const {theme} = chart;
	if (!before)
		return theme[kind];
	const change = relativeChange(total[node], before[node]);
	return d3.interpolateRgb(theme.same, change < 0 ? theme.shrank : theme.grew)(Math.abs(change));
}

/*
 * The label of a frame for a number of characters: folded frames are marked, and in a comparison it
 * ends with the change, which is never cut.
 */
function drawnLabel(view, node, room) {
	const {before, total} = view.model;
	const name = (isFolded(view, node) ? "▸ " : "") + frameLabel(view, node);
	const change = before && before[node] !== total[node]
		? " " + formatChange(total[node] - before[node], view.state.unit) : "";
	return change && room >= change.length + SHORTEST_NAME
		? fitLabel(name, room - change.length) + change : fitLabel(name, room);
}

function drawFrame(context, view, item, top) {
	const {theme} = chart;
	const {tree, heaps, total} = view.model;
	const kind = tree.func[item.node] >= 0 ? functionKind(tree.func[item.node]) : "group";
	const y = item.y - top;
	const width = Math.max(item.width - 0.6, 0.4);
	const isFound = view.found && item.node && view.found.found[tree.func[item.node]];
	context.fillStyle = isFound ? theme.mark : frameColor(view, item.node, kind);
	context.fillRect(item.x, y, width, ROW_HEIGHT - 1);
	if (width < 3)
		return;
	if (chart.theme.patterns[kind]) {
		context.fillStyle = chart.theme.patterns[kind];
		context.fillRect(item.x, y, width, ROW_HEIGHT - 1);
	}
	/* Of the mapped memory only what the sum has. */
	const [java, native] = heaps.map((values) => values[item.node]);
	const parts = [java, native, total[item.node] - java - native];
	let left = item.x;
	HEAPS.forEach(({word}, heap) => {
		const part = width * parts[heap] / (total[item.node] || 1);
		context.fillStyle = theme["heap-" + word];
		if (word === "mapped") /* dashed: not told from Java by color alone */
			for (let x = 0; x < part; x += 6)
				context.fillRect(left + x, y + ROW_HEIGHT - 4, Math.min(4, part - x), 3);
		else
			context.fillRect(left, y + ROW_HEIGHT - 4, part, 3);
		left += part;
	});
	const room = Math.floor((width - 6) / CHARACTER_WIDTH);
	if (room >= 2) {
		context.fillStyle = theme["frame-text"];
		context.fillText(drawnLabel(view, item.node, room), item.x + 3, y + 11.5, width - 4);
	}
	if (isFound) { /* visible without color */
		context.strokeStyle = theme.text;
		context.lineWidth = 1.5;
		context.strokeRect(item.x + 0.75, y + 0.75, Math.max(width - 1.5, 1), ROW_HEIGHT - 2.5);
	}
	if (item.node === view.focus) {
		context.strokeStyle = theme.focus;
		context.lineWidth = 2;
		context.strokeRect(item.x + 1, y + 1, Math.max(width - 2, 1), ROW_HEIGHT - 3);
	}
}

function drawChart(view, keepsPlaces) {
	const width = chart.box.clientWidth, height = chart.box.clientHeight;
	const ratio = window.devicePixelRatio || 1;
	if (!keepsPlaces)
		chart.placed = layOut(view, width);
	const full = Math.max(chart.rows * ROW_HEIGHT, height);
	chart.room.style.height = full + "px";
	chart.canvas.width = width * ratio;
	chart.canvas.height = height * ratio;
	chart.canvas.style.width = width + "px";
	chart.canvas.style.height = height + "px";
	/* Flames are aligned to the bottom. */
	const top = chart.box.scrollTop - (view.state.layout === "flames"
		? full - chart.rows * ROW_HEIGHT : 0);
	const context = chart.canvas.getContext("2d");
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.clearRect(0, 0, width, height);
	context.font = FONT;
	context.textBaseline = "middle";
	chart.top = top;
	chart.drawn = chart.placed.filter((item) =>
		item.y + ROW_HEIGHT > top && item.y < top + height);
	for (const item of chart.drawn)
		drawFrame(context, view, item, top);
}

/* The node at a point of the canvas, or -1. */
function nodeAt(x, y) {
	const hit = chart.drawn.find((item) => x >= item.x && x < item.x + Math.max(item.width, 1)
		&& y >= item.y - chart.top && y < item.y - chart.top + ROW_HEIGHT);
	return hit ? hit.node : -1;
}

/* The node reached from the focused one by an arrow key. */
function neighbor(view, key) {
	const {tree, size: total} = view.model;
	const node = view.focus < 0 ? view.zoom : view.focus;
	const [down, up] = view.state.layout === "flames" ? ["ArrowUp", "ArrowDown"]
		: ["ArrowDown", "ArrowUp"];
	const isAbove = (at) => Boolean(tree.isCaller) && tree.isCaller[at] === 1;
	/* The callers of a sandwich are above its root. */
	const deeper = isAbove(node) || (tree.isCaller && !node && key === up) ? up : down;
	const isShown = (candidate) => chart.placed.some((item) => item.node === candidate);
	if (key === "ArrowUp" || key === "ArrowDown") {
		const child = childrenOf(view.model, node)
			.find((at) => isAbove(at) === (deeper === up));
		if (key !== deeper)
			return tree.parent[node] >= 0 ? tree.parent[node] : node;
		return total[child] > 0 && isShown(child) ? child : node;
	}
	if (tree.parent[node] < 0)
		return node;
	const siblings = childrenOf(view.model, tree.parent[node]);
	const next = siblings[siblings.indexOf(node) + (key === "ArrowLeft" ? -1 : 1)];
	return next !== undefined && isShown(next) ? next : node;
}
