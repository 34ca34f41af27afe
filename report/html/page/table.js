/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the graph, summed up by class, site, package, thread or library. */
const LINES_SHOWN = 300;
const COLUMNS = [
	{name: "name", title: "Name"}, {name: "java", title: "Java"}, {name: "native", title: "Native"},
	{name: "mapped", title: "Mapped"},
	{name: "share", title: "Share"}, {name: "change", title: "Change"},
];

/* The columns of heaps that were recorded and are chosen, and the others. */
function shownColumns({heap}) {
	return COLUMNS.filter(({name}) => {
		const number = HEAPS.findIndex(({word}) => word === name);
		if (name === "change" || name === "share")
			return (name === "change") === Boolean(data.base);
		return number < 0 || (data.heaps[number] && (heap === "all" || heap === name));
	});
}

/*
 * One entry per key: {name, java, native, mapped, share, first}; `share` is the sum of all
 * heaps, `first` one of its rows, from which `nextRow` links to the others.
 */
function summarize(view) {
	const {rows, selected} = view.model;
	const keys = keyColumn(view.state.table);
	const groups = new Map(), nextRow = new Int32Array(rowCount);
	for (let row = 0; row < rowCount; row++) {
		if (!selected[row] || !rows.value[row])
			continue;
		const name = keys[row];
		let group = groups.get(name);
		if (!group)
			groups.set(name, group = {name, java: 0, native: 0, mapped: 0, share: 0, change: 0,
				first: -1});
		if (addsUp(view.state, row))
			group.change += row < newCount ? rows.value[row] : -rows.value[row];
		if (row >= newCount)
			continue;
		group[HEAPS[data.rows.heap[row]].word] += rows.value[row];
		if (addsUp(view.state, row))
			group.share += rows.value[row];
		nextRow[row] = group.first;
		group.first = row;
	}
	return {entries: [...groups.values()], nextRow};
}

function sortEntries(entries, sort) {
	const sign = sort.down ? -1 : 1;
	return entries.sort((a, b) => sort.by === "name" ? sign * (a.name < b.name ? -1 : a.name > b.name)
		: sign * (a[sort.by] - b[sort.by]) || (a.name < b.name ? -1 : 1));
}

function addHead(table, view, onSort) {
	const head = addText(addText(table, "thead", ""), "tr", "");
	for (const column of shownColumns(view.state)) {
		const cell = addText(head, "th", "");
		const isSorted = view.state.sort.by === column.name;
		const arrow = isSorted ? (view.state.sort.down ? " ▾" : " ▴") : "";
		const button = addText(cell, "button", column.title + arrow);
		button.type = "button";
		button.addEventListener("click", () => onSort(column.name));
		if (isSorted)
			cell.setAttribute("aria-sort", view.state.sort.down ? "descending" : "ascending");
	}
}

function addEntry(body, view, entry, nextRow, onChoose) {
	const {unit} = view.state;
	const line = addText(body, "tr", "");
	const button = addName(addText(line, "td", ""), "button", entry.name);
	button.type = "button";
	button.addEventListener("click", () => onChoose(entry.name));
	HEAPS.forEach(({word: name}, heap) => {
		if (!shownColumns(view.state).some((column) => column.name === name))
			return;
		const cell = addText(line, "td", entry[name] ? formatNumber(entry[name], unit) : "-");
		cell.dataset.value = entry[name];
		if (entry[name])
			cell.title = formatInterval(estimateRows(view.model.rows, heap, unit, entry.first,
				(row) => nextRow[row]), unit);
	});
	if (!data.base)
		addText(line, "td", formatShare(entry.share, view.model.total[0]));
	else
		addText(line, "td", formatChange(entry.change, unit)).dataset.value = entry.change;
}

function drawTable(view, actions) {
	const box = document.getElementById("table");
	box.replaceChildren();
	for (const tab of document.querySelectorAll("#tabs button"))
		tab.setAttribute("aria-selected", tab.dataset.table === view.state.table);
	if (view.state.table === "histograms")
		drawHistograms(box, view);
	else
		drawSums(box, view, actions);
}

function drawSums(box, view, actions) {
	const matches = view.state.search ? makeMatcher(view.state.search) : null;
	const {entries: summed, nextRow} = summarize(view);
	const all = sortEntries(summed, view.state.sort);
	/* The search is for frames: it narrows the table only if some entry matches. */
	const found = matches ? all.filter((entry) => matches(entry.name)) : all;
	const entries = found.length ? found : all;
	const table = document.createElement("table");
	addHead(table, view, actions.sort);
	const body = addText(table, "tbody", "");
	for (const entry of entries.slice(0, LINES_SHOWN))
		addEntry(body, view, entry, nextRow, actions.choose);
	box.append(table);
	if (entries.length > LINES_SHOWN)
		addText(box, "p", `${entries.length - LINES_SHOWN} more: use the search`).className = "note";
}
