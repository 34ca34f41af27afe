/* SPDX-License-Identifier: Apache-2.0 */
/* The selected frame in detail.  All text is inserted as text, never as markup. */

function addText(parent, tag, text) {
	return parent.appendChild(Object.assign(document.createElement(tag), {textContent: text}));
}

/* For example "Codec.java:12"; also whether the code is inlined there. */
function framePlaces(view, node) {
	const frame = view.model.tree.frame[node];
	const file = data.strings[data.frames.file[frame]];
	const line = data.frames.line[frame];
	const place = file ? file + (line ? ":" + line : "") : "";
	return data.frames.inlined[frame] ? (place ? place + ", inlined" : "inlined") : place;
}

const VALUES = {alloc: "allocated", live: "live", temp: "temporary"};

/* Draws an interval as a line from `low` to `high`, the right end, with a mark at the estimate. */
function addBar(cell, {estimate, low, high}) {
	const bar = addText(cell, "span", "");
	bar.className = "bar";
	const line = addText(bar, "i", ""), dot = addText(bar, "b", "");
	const percent = (value) => 100 * value / high + "%";
	if (!(estimate > 0))
		return;
	line.style.left = percent(low);
	line.style.width = percent(high - low);
	dot.style.left = percent(estimate);
}

/* One value: a table row for each heap. */
function addFigure(table, view, node, value) {
	const {model, state} = view;
	const isChosen = value === state.value;
	for (const [heap, {word, name}] of HEAPS.entries()) {
		if (!data.heaps[heap] || (state.heap !== "all" && state.heap !== word))
			continue;
		const estimate = estimateNode(model, state, value, heap, node);
		if (word === "mapped" && !estimate.estimate)
			continue;
		const row = addText(table, "tr", "");
		row.dataset.heap = word;
		if (isChosen)
			row.className = "chosen";
		addText(row, "td", `${VALUES[value]}, ${name}`);
		addText(row, "td", formatNumber(estimate.estimate, state.unit)).dataset.value =
			estimate.estimate;
		addText(row, "td", estimate.estimate ? formatInterval(estimate, state.unit) : "-");
		addText(row, "td", isChosen ? formatShare(estimate.estimate, model.total[0]) : "");
		addBar(addText(row, "td", ""), estimate);
	}
}

/* The value of the graph comes first. */
function addFigures(card, view, node) {
	const {state} = view;
	const table = addText(card, "table", "");
	const head = addText(table, "tr", "");
	for (const title of ["", state.unit, "95 % CI", "share", ""])
		addText(head, "th", title);
	addFigure(table, view, node, state.value);
	for (const value of Object.keys(VALUES))
		if (value !== state.value)
			addFigure(table, view, node, value);
}

function addCardActions(card, view, node) {
	const around = addText(card, "button", "Callers and callees");
	around.type = "button";
	around.disabled = view.state.around === functionName(view.model.tree.func[node]);
	around.addEventListener("click", () =>
		update({around: functionName(view.model.tree.func[node]), zoom: []}));
}

function showCard(view, node) {
	const card = document.getElementById("card");
	const {tree} = view.model;
	card.replaceChildren();
	if (node <= 0 && !tree.isCaller) {
		addText(card, "h2", "all frames");
	} else {
		node = Math.max(node, 0);
		const f = tree.func[node];
		const kinds = {java: "Java", native: "native", vm: "Java VM", group: "threads"};
		addText(card, "h2", functionName(f));
		addText(card, "p", [kinds[functionKind(f)], framePlaces(view, node), functionModule(f)]
			.filter((text) => text).join(" · "));
		addCardActions(card, view, node);
	}
	const {before, total} = view.model, at = Math.max(node, 0);
	if (before)
		addText(card, "p", `before ${formatNumber(before[at], view.state.unit)}, now `
			+ `${formatNumber(total[at], view.state.unit)}: `
			+ formatChange(total[at] - before[at], view.state.unit)).className = "change";
	addFigures(card, view, at);
}

/* Name and value of a frame, beside the pointer. */
function showTip(view, node, event) {
	const tip = document.getElementById("tip");
	tip.hidden = node < 0;
	if (node < 0)
		return;
	const {model, state} = view;
	tip.replaceChildren();
	addText(tip, "b", frameLabel(view, node).slice(0, 400));
	addText(tip, "span", `${formatNumber(model.total[node], state.unit)}, `
		+ (model.before ? `before ${formatNumber(model.before[node], state.unit)}, `
			+ formatChange(model.total[node] - model.before[node], state.unit)
			: formatShare(model.total[node], model.total[0]))
		+ (isFolded(view, node) ? "; several frames: click to unfold" : ""));
	const {clientX: x, clientY: y} = event, box = tip.getBoundingClientRect();
	tip.style.left = Math.max(Math.min(x + 14, innerWidth - box.width - 4), 4) + "px";
	tip.style.top = (y + 18 + box.height < innerHeight ? y + 18 : y - box.height - 8) + "px";
}

function announce(view, node) {
	const {model, state} = view;
	document.getElementById("announcement").textContent = frameLabel(view, node).slice(0, 200) + ", "
		+ formatNumber(model.total[node], state.unit) + ", "
		+ formatShare(model.total[node], model.total[0]);
}
