/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the view, its controls and its link.  Every change goes through update(), which
 * recomputes what changed and draws; the URL contains whatever differs from the defaults.
 */
const DEFAULTS = {
	heap: "all", value: "alloc", unit: "bytes", moment: "end", thread: "", vm: true,
	layout: "icicle", search: "", range: null, filter: null, table: "site",
	sort: {by: "share", down: true}, zoom: [], fold: true, around: "",
};
/* A comparison opens with what is live. */
if (data.base)
	Object.assign(DEFAULTS, {value: "live", sort: {by: "change", down: true}});
const CHOICES = ["heap", "value", "unit", "moment", "thread", "layout"];
const element = (id) => document.getElementById(id);

const view = {state: {...DEFAULTS}, model: null, zoom: 0, focus: -1, hover: -1, found: null};

/* --- the link ---------------------------------------------------------------------------------- */

/*
 * Each value is URL-encoded JSON, since names may contain any character.  Every change is an entry
 * of the history, but `replaces` keeps the steps of one action, such as typing, one entry.
 */
function writeLink(replaces) {
	const parts = [];
	for (const name of Object.keys(DEFAULTS)) {
		const text = JSON.stringify(view.state[name]);
		if (text !== JSON.stringify(DEFAULTS[name]))
			parts.push(name + "=" + encodeURIComponent(text));
	}
	const hash = parts.length ? "#" + parts.join("&") : "";
	if (hash === location.hash)
		return;
	const url = hash || location.pathname + location.search;
	if (replaces)
		history.replaceState(null, "", url);
	else
		history.pushState(null, "", url);
}

const isOption = (id, value) => [...element(id).options].some((option) => option.value === value);

/* Whether a value from a link is valid for its control. */
function isValid(name, value) {
	const {slices} = data.timeline;
	if (CHOICES.includes(name))
		return isOption(name, value);
	switch (name) {
	case "vm": case "fold": return typeof value === "boolean";
	case "search": case "around": return typeof value === "string";
	case "table": return value === "histograms"
		|| (typeof value === "string" && Object.hasOwn(KEYS, value));
	case "zoom": return Array.isArray(value) && value.every(Number.isInteger);
	case "range": return value === null || (Array.isArray(value) && value.length === 2
		&& value.every(Number.isInteger) && value[0] >= 0 && value[0] < value[1] && value[1] <= slices);
	case "filter": return value === null || (typeof value === "object"
		&& Object.hasOwn(FILTERS, value.by) && typeof value.key === "string");
	case "sort": return value !== null && typeof value === "object"
		&& COLUMNS.some((column) => column.name === value.by) && typeof value.down === "boolean";
	default: return false;
	}
}

function readLink() {
	const state = {...DEFAULTS};
	for (const part of location.hash.slice(1).split("&")) {
		const at = part.indexOf("=");
		const name = part.slice(0, at);
		try {
			const value = JSON.parse(decodeURIComponent(part.slice(at + 1)));
			if (Object.hasOwn(DEFAULTS, name) && isValid(name, value))
				state[name] = value;
		} catch {
			/* Values that cannot be parsed keep their default. */
		}
	}
	return state;
}

/* --- drawing ------------------------------------------------------------------------------------- */

/* The zoom is stored as functions from the root, since node numbers differ between trees. */
function findZoom() {
	const {tree, size: total} = view.model;
	let node = 0;
	for (const f of view.state.zoom) {
		const child = childrenOf(view.model, node).find((candidate) => tree.func[candidate] === f);
		if (child !== undefined && total[child] > 0)
			node = child;
		else if (!(view.state.fold && isGlue(f)) && (view.state.vm || data.functions.kind[f] !== VM))
			break; /* others are not shown */
	}
	return node;
}

function filterText({by, key}) {
	if (by !== "finding")
		return `${by} ${key.slice(0, 80)}`;
	const finding = data.leaks[Number(key)];
	return "finding " + (finding ? fileLine(finding.place) || finding.place.name.slice(0, 80) : key);
}

function showStatus() {
	const {model, state, found} = view;
	const total = element("total");
	const range = state.range ? ", " + state.range.map((slice) => sliceSeconds(slice).toFixed(2))
		.join(" to ") + " s" : "";
	total.replaceChildren();
	addText(total, "b", formatNumber(model.total[0], state.unit));
	const twice = d3.sum(model.heaps, (values) => values[0]) - model.total[0];
	total.append(` ${element("value").selectedOptions[0].text} ${state.unit}${range}`
		+ ` (${HEAPS.map(({name}, heap) =>
			`${name} ${formatNumber(model.heaps[heap][0], state.unit)}`).join(", ")}`
		+ (twice >= 1 ? `, of which ${formatNumber(twice, state.unit)} hold the others` : "") + ")");
	if (model.before)
		total.append(`; before ${formatNumber(model.before[0], state.unit)}, change `
			+ formatChange(model.total[0] - model.before[0], state.unit));
	total.dataset.value = model.total[0];
	HEAPS.forEach(({word}, heap) => total.dataset[word] = model.heaps[heap][0]);
	element("matches").textContent = !found ? "" : found.frames ? `search: `
		+ `${formatNumber(found.weight, state.unit)}, ${formatShare(found.weight, model.total[0])} `
		+ `in ${found.frames} frames` : "search: no match";
	for (const id of ["previous", "next"])
		element(id).hidden = !found || !found.frames;
	element("around").hidden = !model.tree.isCaller;
	element("around").querySelector("b").textContent = state.around.slice(0, 80);
	element("matches").dataset.value = found ? found.weight : "";
	element("filter").hidden = !state.filter;
	element("filter").querySelector("b").textContent = state.filter ? filterText(state.filter) : "";
}

function showSwitches() {
	for (const name of CHOICES)
		element(name).value = view.state[name];
	element("vm").checked = view.state.vm;
	element("fold").checked = view.state.fold;
	element("layout").disabled = Boolean(view.model.tree.isCaller);
	if (element("search").value !== view.state.search)
		element("search").value = view.state.search;
	element("moment").querySelector("[value=peak]").disabled = view.state.value !== "live";
	element("moment").querySelector("[value=range]").disabled = !view.state.range;
	if (view.state.range)
		element("moment").value = "range";
}

function draw() {
	drawTimeline(view, (range) => update({range}));
	drawChart(view);
}

/* Only live values have a snapshot, and those of a range are taken at its end. */
function settle(state) {
	/* The older snapshot has no time slices. */
	if (data.base)
		state.range = null;
	if (state.range || (state.value !== "live" && state.moment === "peak"))
		state.moment = "end";
}

function update(change, replaces = false) {
	Object.assign(view.state, change);
	const {state} = view;
	settle(state);
	view.model = evaluate(state);
	view.zoom = findZoom();
	view.focus = -1;
	view.hover = -1;
	view.found = search(view.model, state.search);
	showSwitches();
	showStatus();
	draw();
	showCard(view, view.zoom);
	drawTable(view, tableActions);
	writeLink(replaces);
}

function sortBy(by) {
	const {sort} = view.state;
	view.state.sort = {by, down: sort.by === by ? !sort.down : by !== "name"};
	drawTable(view, tableActions);
	writeLink();
}

const tableActions = {
	sort: sortBy,
	choose: (key) => update({filter: {by: view.state.table, key}, zoom: []}),
	showFinding,
};

/* The deepest frame that has all of what is selected, as functions from the root. */
function commonZoom({tree, size}) {
	let node = 0;
	for (let child; (child = childrenOf(view.model, node)[0]) && size[child] >= size[0] * 0.999999;)
		node = child;
	return pathTo(tree, node).slice(1).map((at) => tree.func[at]);
}

/*
 * Findings are live at the time of the page; the graph has their rows alone, all of them, and what
 * has no rows, such as threads, is shown by its stack.
 */
function showFinding(number) {
	const path = data.leaks[number].path.map((frame) => data.frames.function[frame]);
	const hasRows = data.finding_rows.includes(number);
	update({value: "live", moment: "end", range: null, thread: "", heap: "all", vm: true, around: "",
		filter: hasRows ? {by: "finding", key: String(number)} : null,
		layout: view.state.layout === "flames" ? "flames" : "icicle", zoom: hasRows ? [] : path});
	if (hasRows)
		update({zoom: commonZoom(view.model)}, true);
	element("explore").scrollIntoView();
	view.focus = view.zoom;
	revealFocus();
	drawChart(view, true);
	chart.canvas.focus({preventScroll: true});
}

function zoomTo(node) {
	const {tree} = view.model;
	view.state.zoom = pathTo(tree, node).slice(1).map((at) => tree.func[at]);
	view.zoom = node;
	view.focus = node;
	drawChart(view);
	showCard(view, node);
	if (view.state.table === "histograms")
		drawTable(view, tableActions);
	writeLink();
}

/* Zooms to the next topmost match, largest first, or to the one before. */
function stepMatch(step) {
	const {topmost} = view.found || {topmost: []};
	if (!topmost.length)
		return;
	const at = topmost.indexOf(view.zoom);
	const next = at < 0 ? (step > 0 ? 0 : topmost.length - 1)
		: (at + step + topmost.length) % topmost.length;
	zoomTo(topmost[next]);
	revealFocus();
	element("announcement").textContent = `match ${next + 1} of ${topmost.length}: `
		+ frameLabel(view, view.zoom).slice(0, 200);
}

/* --- what the user does ---------------------------------------------------------------------- */

function listenToSwitches() {
	for (const name of CHOICES)
		element(name).addEventListener("change", (event) =>
			update(name === "moment" ? {moment: event.target.value, range: null}
				: {[name]: event.target.value}));
	element("vm").addEventListener("change", (event) => update({vm: event.target.checked}));
	element("fold").addEventListener("change", (event) => update({fold: event.target.checked}));
	element("around").querySelector("button").addEventListener("click", () =>
		update({around: "", zoom: []}));
	element("next").addEventListener("click", () => stepMatch(1));
	element("previous").addEventListener("click", () => stepMatch(-1));
	element("search").addEventListener("keydown", (event) => {
		if (event.key === "Enter")
			stepMatch(event.shiftKey ? -1 : 1);
	});
	element("search").addEventListener("input", (event) => {
		/* One entry of the history for a search, not one for each letter. */
		update({search: event.target.value}, view.state.search !== "");
	});
	element("reset").addEventListener("click", () => update(structuredClone(DEFAULTS)));
	element("filter").querySelector("button").addEventListener("click", () => update({filter: null}));
	element("copy-link").addEventListener("click", () =>
		copyFrom(element("copy-link"), location.href, "link"));
	element("save").addEventListener("click", () => saveSvg(view));
	element("help").addEventListener("click", () => element("keys").showModal());
	element("theme").addEventListener("click", () => {
		const root = document.documentElement;
		const isDark = getComputedStyle(root).colorScheme === "dark"
			|| (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
		root.dataset.theme = isDark ? "light" : "dark";
		readTheme();
		drawChart(view);
	});
	for (const tab of document.querySelectorAll("#tabs button"))
		tab.addEventListener("click", () => update({table: tab.dataset.table}));
}

function listenToChart() {
	const at = (event) => {
		const box = chart.canvas.getBoundingClientRect();
		return nodeAt(event.clientX - box.left, event.clientY - box.top);
	};
	chart.canvas.addEventListener("mousemove", (event) => {
		const node = at(event);
		showTip(view, node, event);
		if (node === view.hover)
			return;
		view.hover = node;
		chart.canvas.style.cursor = node >= 0 ? "pointer" : "default";
		if (node >= 0)
			showCard(view, node);
	});
	chart.canvas.addEventListener("mouseleave", () => { element("tip").hidden = true; });
	chart.canvas.addEventListener("click", (event) => {
		const node = at(event);
		if (isFolded(view, node))
			update({fold: false});
		else if (node >= 0)
			zoomTo(node);
	});
	chart.box.addEventListener("scroll", () => drawChart(view, true));
	chart.canvas.addEventListener("keydown", onKey);
}

/* Keys of the graph. */
function onKey(event) {
	const {tree} = view.model;
	if (event.key.startsWith("Arrow")) {
		view.focus = neighbor(view, event.key);
		drawChart(view, true);
		revealFocus();
		showCard(view, view.focus);
		announce(view, view.focus);
	} else if (event.key === "Enter" && view.focus >= 0) {
		zoomTo(view.focus);
	} else if (event.key === "Escape" || event.key === "Backspace") {
		zoomTo(Math.max(tree.parent[view.zoom], 0));
	} else if (event.key === "Home") {
		zoomTo(0);
	} else if (event.key === "n" || event.key === "N") {
		stepMatch(event.key === "n" ? 1 : -1);
	} else {
		return;
	}
	event.preventDefault();
}

/* Keys of the timeline: arrows move the range by a slice, with Shift its end. */
function onTimelineKey(event) {
	const {slices} = data.timeline;
	const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
	let [from, to] = view.state.range || [0, Math.max(Math.round(slices / 8), 1)];
	if (event.key === "Escape") {
		update({range: null});
	} else if (step) {
		if (view.state.range && event.shiftKey)
			to = Math.min(Math.max(to + step, from + 1), slices);
		else if (view.state.range && from + step >= 0 && to + step <= slices)
			[from, to] = [from + step, to + step];
		update({range: [from, to]}, Boolean(view.state.range));
		element("announcement").textContent = `from ${sliceSeconds(from).toFixed(2)} to `
			+ `${sliceSeconds(to).toFixed(2)} seconds: ${element("total").textContent}`;
	} else {
		return;
	}
	event.preventDefault();
}

function revealFocus() {
	const item = chart.placed.find((placed) => placed.node === view.focus);
	const y = item ? item.y - chart.top : 0;
	if (item && (y < 0 || y + ROW_HEIGHT > chart.box.clientHeight))
		chart.box.scrollTop += y - chart.box.clientHeight / 2;
}

function start() {
	const {process} = data;
	element("process").textContent = `${process.seconds.toFixed(1)} s`
		+ (process.complete ? "" : ", killed") + (process.jvm ? ` of Java ${process.jvm}` : "")
		+ `, ${process.sampling}: ${process.command}`;
	element("process").title = process.command;
	element("filters").textContent = data.filters ? "only " + data.filters : "";
	element("filters").title = element("filters").textContent;
	element("timeline").addEventListener("keydown", onTimelineKey);
	const threads = [...new Set(data.rows.thread)].map((number) => data.strings[number]);
	for (const name of [...new Set(threads)].sort())
		element("thread").append(new Option(name.slice(0, 80), name));
	for (const part of document.querySelectorAll(".comparison"))
		part.hidden = !data.base;
	for (const part of document.querySelectorAll(".kinds"))
		part.hidden = Boolean(data.base);
	drawAnswer(tableActions);
	readTheme();
	listenToSwitches();
	listenToChart();
	listenToMemory();
	document.addEventListener("keydown", (event) => {
		if (event.key !== "/" || event.target.matches("input, select"))
			return;
		event.preventDefault();
		element("search").focus();
	});
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
		readTheme();
		drawChart(view);
	});
	addEventListener("resize", draw);
	addEventListener("popstate", () => update(readLink(), true));
	listenToPrinting(view);
	update(readLink(), true);
}

start();
