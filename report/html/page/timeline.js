/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live bytes of what is chosen over the recording, collections with the heap in use after them,
 * leaks, the peak and marks; a brush selects a range of whole slices.
 */
const MARGIN = {left: 70, right: 14, top: 6, bottom: 18};
const KEY_HEIGHT = 18;
const MARK_ROOM = 7; /* width of a letter of a mark's name, in pixels */

const timeline = {box: d3.select("#timeline")};

const sliceSeconds = (slice) => slice * data.timeline.seconds / data.timeline.slices;

/*
 * Live bytes of each heap that is shown; null: not shown.  Of mapped memory beside other heaps only
 * what adds to them.
 */
function timelineCurves({state, model}) {
	const isChosen = state.around ? rowsBelow(model, 0) : model.selected;
	const curves = liveCurves(HEAPS.length, (row) =>
		isChosen[row] && addsUp(state, row) ? data.rows.heap[row] : -1);
	return HEAPS.map(({word}, number) =>
		data.heaps[number] && (state.heap === "all" || state.heap === word) ? curves[number] : null);
}

/* The leaks that are shown over time: bytes of the heaps that are shown, worst first. */
const LEAKS_DRAWN = 4;
const NAME_HEIGHT = 11;

function timelineLeaks({heap}) {
	return data.leaks.map((finding, number) => ({finding, number}))
		.filter(({finding}) => finding.verdict === "leak" && (finding.kind ? heap === "all"
			: heap === "all" || heap === HEAPS[finding.heap].word))
		.slice(0, LEAKS_DRAWN)
		.map(({finding, number}) => ({finding, number, points: curveOf(number).map(([seconds, value]) =>
			[seconds, finding.kind ? value * finding.live_bytes.estimate / (finding.live_objects.estimate || 1) : value])}));
}

function drawTimeline(view, onRange) {
	const node = timeline.box.node();
	const width = node.clientWidth, height = node.clientHeight - KEY_HEIGHT;
	const curves = timelineCurves(view);
	const {heap} = view.state;
	const isWhole = !view.state.filter && !view.state.thread && !view.state.around;
	const leaks = isWhole ? timelineLeaks(view.state) : [];
	const uses = isWhole && (heap === "all" || heap === "java")
		? data.timeline.uses.filter(([seconds]) => seconds >= 0) : [];
	const most = d3.max([...curves.filter((curve) => curve).map((curve) => d3.max(curve)),
		...uses.map((use) => use[1]), ...leaks.map(({points}) => d3.max(points, (point) => point[1])), 1]);
	const x = d3.scaleLinear([0, data.timeline.seconds || 1], [MARGIN.left, width - MARGIN.right]);
	const y = d3.scaleLinear([0, most], [height - MARGIN.bottom, MARGIN.top]);
	timeline.box.selectAll("svg").remove();
	const svg = timeline.box.append("svg").attr("viewBox", [0, 0, width, height]);
	svg.append("g").attr("transform", `translate(0,${height - MARGIN.bottom})`)
		.call(d3.axisBottom(x).ticks(Math.min(width / 90, 10)).tickFormat((value) => value + " s"));
	svg.append("g").attr("transform", `translate(${MARGIN.left},0)`)
		.call(d3.axisLeft(y).tickValues([0, most / 2, most])
			.tickFormat((value) => formatNumber(value, "bytes")));
	svg.append("g").selectAll("line").data(data.timeline.collections).join("line")
		.attr("class", "collection").attr("x1", (c) => x(c.start)).attr("x2", (c) => x(c.start))
		.attr("y1", height - MARGIN.bottom - 8).attr("y2", height - MARGIN.bottom)
		.append("title").text((c) => c.kind);
	curves.forEach((curve, number) => {
		const {word} = HEAPS[number];
		document.querySelector(`#timeline [data-key=${word}]`).hidden = !curve;
		if (!curve)
			return;
		const along = (shape) => shape.x((_, i) => x(sliceSeconds(i)));
		svg.append("path").datum([...curve]).attr("class", "live-" + word)
			.attr("d", number === 0 ? along(d3.area()).y0(y(0)).y1((value) => y(value))
				: along(d3.line()).y((value) => y(value)));
	});
	document.querySelector("#timeline [data-key=use]").hidden = !uses.length;
	document.querySelector("#timeline [data-key=leak]").hidden = !leaks.length;
	svg.append("g").selectAll("circle").data(uses).join("circle").attr("class", "use")
		.attr("r", 2.2).attr("cx", (use) => x(use[0])).attr("cy", (use) => y(use[1]));
	svg.append("line").attr("class", "peak").attr("x1", x(data.timeline.peak))
		.attr("x2", x(data.timeline.peak)).attr("y1", MARGIN.top).attr("y2", height - MARGIN.bottom);
	addReferences(svg, isWhole && heap === "all", x, height);
	addMarks(svg, x, height);
	addBrush(svg, x, width, height, view, onRange);
	addLeaks(svg, leaks, x, y);
}

/*
 * JNI global references, with a scale of their own from 0 to the number at the top; only if their
 * number changes by half.
 */
const REFERENCES_CHANGE = 1.5;

function addReferences(svg, isShown, x, height) {
	const points = isShown ? data.timeline.references : [];
	const most = d3.max(points, (point) => point[1]), least = d3.min(points, (point) => point[1]);
	const isDrawn = points.length > 1 && most >= REFERENCES_CHANGE * least;
	document.querySelector("#timeline [data-key=references]").hidden = !isDrawn;
	if (!isDrawn)
		return;
	const y = d3.scaleLinear([0, most], [height - MARGIN.bottom, MARGIN.top]);
	const last = [data.timeline.seconds, points[points.length - 1][1]];
	svg.append("path").datum([...points, last]).attr("class", "references")
		.attr("d", d3.line().curve(d3.curveStepAfter).x((point) => x(point[0]))
			.y((point) => y(point[1])));
	svg.append("text").attr("class", "references").attr("x", x.range()[1]).attr("y", MARGIN.top + 8)
		.attr("text-anchor", "end").text(formatNumber(most, "objects") + " references");
}

/* The height of each leak's name, above the end of its curve and above the name below it. */
function heightsOfNames(leaks, y) {
	const heights = leaks.map(({points}) => y(points[points.length - 1][1]) - 4);
	let below = y(0) + NAME_HEIGHT;
	for (const i of d3.range(leaks.length).sort((a, b) => heights[b] - heights[a]))
		below = heights[i] = Math.max(Math.min(heights[i], below - NAME_HEIGHT), MARGIN.top + 8);
	return heights;
}

/* The curves of leaks, with the line of the application; a click shows the finding. */
function addLeaks(svg, leaks, x, y) {
	const heights = heightsOfNames(leaks, y);
	const group = svg.append("g").selectAll("g").data(leaks).join("g").attr("class", "leak");
	group.append("path").attr("d", ({points}) => d3.line().x((point) => x(point[0]))
		.y((point) => y(point[1]))(points));
	group.append("text").attr("x", ({points}) => x(points[points.length - 1][0]) - 4)
		.attr("y", (_, i) => heights[i])
		.attr("text-anchor", "end")
		.text(({finding}) => cutMiddle(fileLine(finding.place) || finding.place.name, 32));
	group.append("title").text(({finding}) => finding.place.name);
	group.on("click", ({number}) => showFinding(number));
}

/* Names are shown if they fit before the next mark; hovering shows every name. */
function addMarks(svg, x, height) {
	const marks = data.timeline.marks.filter((mark) => mark.seconds >= 0);
	document.getElementById("key-marks").hidden = !marks.length;
	const group = svg.append("g").selectAll("g").data(marks).join("g").attr("class", "mark");
	group.append("line").attr("x1", (mark) => x(mark.seconds)).attr("x2", (mark) => x(mark.seconds))
		.attr("y1", MARGIN.top).attr("y2", height - MARGIN.bottom);
	group.append("path").attr("d", (mark) => `M${x(mark.seconds)},${MARGIN.top}l7,3.5l-7,3.5z`);
	group.append("text").attr("x", (mark) => x(mark.seconds) + 9).attr("y", MARGIN.top + 8)
		.text((mark, i) => {
			const end = i + 1 < marks.length ? x(marks[i + 1].seconds) : x.range()[1] + 10;
			const room = Math.floor((end - x(mark.seconds) - 12) / MARK_ROOM);
			return mark.name.length <= room ? mark.name
				: room > 2 ? mark.name.slice(0, room - 1) + "…" : "";
		});
	group.append("title").text((mark) => `${mark.name}, ${mark.seconds.toFixed(2)} s`);
}

function addBrush(svg, x, width, height, view, onRange) {
	const {slices, seconds} = data.timeline;
	const toSlice = (pixel) => Math.round(x.invert(pixel) / (seconds || 1) * slices);
	const brush = d3.brushX()
		.extent([[MARGIN.left, MARGIN.top], [width - MARGIN.right, height - MARGIN.bottom]])
		.on("end", () => {
			let chosen = d3.event.selection && d3.event.selection.map(toSlice);
			if (chosen && chosen[0] >= chosen[1])
				chosen = null;
			/*
			 * update() also moves the brush, to the range of the state; that must
			 * not select it again.
			 */
			if (String(chosen) !== String(view.state.range))
				onRange(chosen);
		});
	const group = svg.append("g").attr("class", "brush").call(brush);
	if (view.state.range)
		group.call(brush.move, view.state.range.map((slice) => x(sliceSeconds(slice))));
}
