/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flame graph, on a canvas of the size of its visible part.  Frames narrower than a third
 * of a pixel are not visited, so the time to draw depends on the screen and not on the
 * recording.
 */
const ROW_HEIGHT = 19;
const NARROWEST = 0.33;
const CHARACTER_WIDTH = 6.7; /* average of the font below; text is cut to fit */
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
		"heap-java", "heap-native", "heap-mapped", "focus", "line", "text"];
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
	const {tree, total} = model;
	const placed = [];
	const path = pathTo(tree, view.zoom);
	for (const node of path)
		placed.push({node, x: 0, depth: tree.depth[node], width});
	let deepest = tree.depth[view.zoom];
	const scale = total[view.zoom] > 0 ? width / total[view.zoom] : 0;
	const pending = [[view.zoom, 0]];
	while (pending.length) {
		const [node, left] = pending.pop();
		let x = left;
		for (let i = tree.start[node]; i < tree.start[node + 1]; i++) {
			const child = tree.list[i];
			const childWidth = total[child] * scale;
			if (childWidth < NARROWEST)
				break; /* children are sorted: the others are narrower */
			placed.push({node: child, x, depth: tree.depth[child], width: childWidth});
			deepest = Math.max(deepest, tree.depth[child]);
			pending.push([child, x]);
			x += childWidth;
		}
	}
	chart.rows = deepest + 1;
	for (const item of placed)
		item.y = ROW_HEIGHT * (state.layout === "flames" ? deepest - item.depth : item.depth);
	return placed;
}

function frameLabel(view, node) {
	return node ? functionName(view.model.tree.func[node])
		: "all: " + formatNumber(view.model.total[0], view.state.unit);
}

function drawFrame(context, view, item, top) {
	const {theme} = chart;
	const {tree, heaps, total} = view.model;
	const kind = item.node ? functionKind(tree.func[item.node]) : "group";
	const y = item.y - top;
	const width = Math.max(item.width - 0.6, 0.4);
	const isFound = view.found && item.node && view.found.found[tree.func[item.node]];
	context.fillStyle = isFound ? theme.mark : theme[kind];
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
		context.fillRect(left, y + ROW_HEIGHT - 4, part, 3);
		left += part;
	});
	const room = Math.floor((width - 6) / CHARACTER_WIDTH);
	if (room >= 2) {
		const label = frameLabel(view, item.node);
		context.fillStyle = theme["frame-text"];
		context.fillText(label.length <= room ? label : label.slice(0, room - 1) + "…",
			item.x + 3, y + 11.5, width - 4);
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
	const {tree, total} = view.model;
	const node = view.focus < 0 ? view.zoom : view.focus;
	const deeper = view.state.layout === "flames" ? "ArrowUp" : "ArrowDown";
	const isShown = (candidate) => chart.placed.some((item) => item.node === candidate);
	if (key === "ArrowUp" || key === "ArrowDown") {
		const child = tree.list[tree.start[node]];
		if (key !== deeper)
			return tree.parent[node] >= 0 ? tree.parent[node] : node;
		return tree.start[node] < tree.start[node + 1] && total[child] > 0 && isShown(child)
			? child : node;
	}
	if (tree.parent[node] < 0)
		return node;
	const from = tree.start[tree.parent[node]], to = tree.start[tree.parent[node] + 1];
	const at = tree.list.subarray(from, to).indexOf(node) + from + (key === "ArrowLeft" ? -1 : 1);
	return at >= from && at < to && isShown(tree.list[at]) ? tree.list[at] : node;
}
