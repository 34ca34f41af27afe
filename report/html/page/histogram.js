/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms of what is selected, below the zoomed frame: sizes of blocks, and how long they lived
 * or, of what is live, how old they are.  Both count by powers of two.
 */

/* The slice in which a time is. */
const sliceAt = (seconds) => Math.min(Math.floor(seconds * data.timeline.slices
	/ (data.timeline.seconds || 1)), data.timeline.slices - 1);

/* The slice in or at whose end live values of the whole recording are taken. */
const liveSlice = (moment) => sliceAt(moment === "peak" ? data.timeline.peak : data.judged.at_s);

/*
 * Calls `visit` with each cell that counts, its weight, and its lifetime or age in slices; null: not
 * freed.  What is freed in the slice in which live values are taken was live when it began.
 */
function eachSelected(state, visit) {
	const {cells, timeline: {slices}} = data, {value, unit, moment} = state;
	if (value !== "live" || state.range) {
		const range = state.range || [0, slices];
		eachCell(value, unit, range, (i, weight) => visit(i, weight,
			value === "live" ? range[1] - 1 - cells.birth[i]
				: cells.death[i] < 0 ? null : cells.death[i] - cells.birth[i]));
		return;
	}
	const last = liveSlice(moment), weight = cells["live_" + unit];
	for (let i = 0; i < cells.row.length; i++) {
		const birth = cells.birth[i], death = cells.death[i];
		if (birth <= last && (death < 0 || death > last || (death === last && birth < last)))
			visit(i, weight[i], last - birth);
	}
}

/* Which rows are selected and below the zoomed frame. */
function rowsBelow({tree, selected}, node) {
	const below = new Uint8Array(rowCount);
	for (let at = tree.rowsFrom[node]; at < tree.rowsTo[node]; at++) {
		const row = tree.rowOrder[at] % rowCount;
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
	eachSelected(state, (i, weight, length) => {
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
