/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms of what is selected, below the zoomed frame: sizes of blocks, and how long they lived
 * or, of what is live, how old they are.  Both count by powers of two.
 */

/* The slice in which a time is. */
const sliceAt = (seconds) => Math.min(Math.floor(seconds * data.timeline.slices
	/ (data.timeline.seconds || 1)), data.timeline.slices - 1);

/* The slice in which live values of the whole recording are taken. */
const liveSlice = (moment) => sliceAt(moment === "peak" ? data.timeline.peak : data.answer.judged.at_s);

/*
 * Live values of the whole recording are taken inside a slice, so that cells tell only about what
 * they were made of: each row's value is divided among its cells that lived until that slice, or
 * among all its cells if none did.
 */
function eachLive(state, rows, visit) {
	const {cells} = data, {unit, moment} = state, {value} = rows;
	const last = liveSlice(moment), weight = cells["live_" + unit];
	const lived = (i) => cells.birth[i] <= last && (cells.death[i] < 0 || cells.death[i] >= last);
	const sums = new Float64Array(rowCount), others = new Float64Array(rowCount);
	for (let i = 0; i < cells.row.length; i++) {
		others[cells.row[i]] += cells[unit][i];
		if (lived(i))
			sums[cells.row[i]] += weight[i];
	}
	for (let i = 0; i < cells.row.length; i++) {
		const row = cells.row[i], age = Math.max(last - cells.birth[i], 0);
		if (!value[row])
			continue;
		if (!(sums[row] > 0))
			visit(i, value[row] * cells[unit][i] / others[row], age);
		else if (lived(i))
			visit(i, value[row] * weight[i] / sums[row], age);
	}
}

/* Calls `visit` with each cell that counts, its weight, and its lifetime or age; null: not freed. */
function eachSelected({state, model}, visit) {
	const {cells, timeline: {slices}} = data, {value, unit} = state;
	const range = state.range || [0, slices];
	if (value === "live" && !state.range)
		eachLive(state, model.rows, visit);
	else
		eachCell(value, unit, range, (i, weight) => visit(i, weight,
			value === "live" ? range[1] - 1 - cells.birth[i]
				: cells.death[i] < 0 ? null : cells.death[i] - cells.birth[i]));
}

/* Which rows are selected and below the zoomed frame. */
function rowsBelow({tree, selected}, node) {
	const below = new Uint8Array(rowCount);
	const {rowOrder, rowsFrom, rowsTo} = tree.order();
	for (let at = rowsFrom[node]; at < rowsTo[node]; at++) {
		const row = rowOrder[at] % rowCount;
		below[row] = selected[row];
	}
	return below;
}

const add = (map, key, weight) => map.set(key, (map.get(key) || 0) + weight);

/*
 * Weights by size, as floor(log2), and by lifetime: floor(log2) of slices, -1 for less than one,
 * and null for what was not freed.
 */
function histograms(view) {
	const {state, model} = view, {cells} = data;
	const rows = rowsBelow(model, view.zoom), sizes = new Map(), times = new Map();
	eachSelected(view, (i, weight, length) => {
		if (!rows[cells.row[i]] || !addsUp(state, cells.row[i]))
			return;
		add(sizes, cells.size[i], weight);
		add(times, length === null ? null : length < 1 ? -1 : Math.floor(Math.log2(length)), weight);
	});
	return {sizes, times};
}

const sizeText = (size) => formatIn(2 ** (size % 10), "bytes", 0) + UNITS.bytes.names[Math.floor(size / 10)];

function sizeLabel(size) {
	return `${sizeText(size)} to ${sizeText(size + 1)}`;
}

function timeLabel(power) {
	const seconds = data.timeline.seconds / data.timeline.slices;
	const text = (value) => value.toPrecision(2).replace(/\.0$/, "") + " s";
	if (power === null)
		return "not freed";
	return power < 0 ? `below ${text(seconds)}` : `${text(seconds * 2 ** power)} to ${text(seconds * 2 ** (power + 1))}`;
}

function addHistogram(box, title, entries, label, unit) {
	addText(box, "h3", title);
	const table = addText(box, "table", "");
	table.className = "histogram";
	const body = addText(table, "tbody", "");
	const sum = d3.sum(entries, (entry) => entry[1]), most = d3.max(entries, (entry) => entry[1]);
	for (const [key, weight] of entries) {
		const line = addText(body, "tr", "");
		addText(line, "th", label(key)).scope = "row";
		const bar = addText(addText(line, "td", ""), "i", "");
		bar.style.width = 100 * weight / (most || 1) + "%";
		addText(line, "td", formatNumber(weight, unit)).dataset.value = weight;
		addText(line, "td", formatShare(weight, sum));
	}
	if (!entries.length)
		addText(box, "p", "Nothing is selected.").className = "note";
}

/* Sizes without a gap, lifetimes from the shortest to what was not freed. */
function drawHistograms(box, view) {
	const {sizes, times} = histograms(view), {unit, value} = view.state;
	const keys = [...sizes.keys()];
	const filled = keys.length ? d3.range(Math.min(...keys), Math.max(...keys) + 1) : [];
	addHistogram(box, `Sizes of blocks, ${unit}`, filled.map((size) => [size, sizes.get(size) || 0]),
		sizeLabel, unit);
	addHistogram(box, `${value === "live" ? "Age" : "Lifetime"}, ${unit}`,
		[...times].sort(([a], [b]) => (a === null) - (b === null) || a - b), timeLabel, unit);
	addText(box, "p", "Times are exact to a time slice of "
		+ `${(data.timeline.seconds / data.timeline.slices).toPrecision(2)} s. The end of a Java object is `
		+ "known when a GC finds it.").className = "note";
}
