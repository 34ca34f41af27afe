/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live bytes of all heaps over the recording, collections with the heap in use after them, the
 * peak and marks; a brush selects a range of whole slices.
 */
const MARGIN = {left: 70, right: 14, top: 6, bottom: 18};
const KEY_HEIGHT = 18;
const MARK_ROOM = 7; /* width of a letter of a mark's name, in pixels */

const timeline = {box: d3.select("#timeline")};

const sliceSeconds = (slice) => slice * data.timeline.seconds / data.timeline.slices;

function drawTimeline(view, onRange) {
	const node = timeline.box.node();
	const width = node.clientWidth, height = node.clientHeight - KEY_HEIGHT;
	const curve = data.timeline.live;
	const moment = (i) => i * data.timeline.seconds / (curve[0].length - 1);
	const uses = data.timeline.uses.filter(([seconds]) => seconds >= 0);
	const most = d3.max([...curve.flat(), ...uses.map((use) => use[1]), 1]);
	const x = d3.scaleLinear([0, data.timeline.seconds || 1], [MARGIN.left, width - MARGIN.right]);
	const y = d3.scaleLinear([0, most], [height - MARGIN.bottom, MARGIN.top]);
	timeline.box.selectAll("svg").remove();
	const svg = timeline.box.append("svg").attr("viewBox", [0, 0, width, height]);
	svg.append("g").attr("transform", `translate(0,${height - MARGIN.bottom})`)
		.call(d3.axisBottom(x).ticks(10).tickFormat((value) => value + " s"));
	svg.append("g").attr("transform", `translate(${MARGIN.left},0)`)
		.call(d3.axisLeft(y).tickValues([0, most / 2, most])
			.tickFormat((value) => formatNumber(value, "bytes")));
	svg.append("g").selectAll("line").data(data.timeline.collections).join("line")
		.attr("class", "collection").attr("x1", (c) => x(c.start)).attr("x2", (c) => x(c.start))
		.attr("y1", height - MARGIN.bottom - 8).attr("y2", height - MARGIN.bottom)
		.append("title").text((c) => c.kind);
	svg.append("path").datum(curve[0]).attr("class", "live-java")
		.attr("d", d3.area().x((_, i) => x(moment(i))).y0(y(0)).y1((value) => y(value)));
	for (const heap of [1, 2])
		svg.append("path").datum(curve[heap]).attr("class", "live-" + HEAPS[heap].word)
			.attr("d", d3.line().x((_, i) => x(moment(i))).y((value) => y(value)));
	svg.append("g").selectAll("circle").data(uses).join("circle").attr("class", "use")
		.attr("r", 2.2).attr("cx", (use) => x(use[0])).attr("cy", (use) => y(use[1]));
	svg.append("line").attr("class", "peak").attr("x1", x(data.timeline.peak))
		.attr("x2", x(data.timeline.peak)).attr("y1", MARGIN.top).attr("y2", height - MARGIN.bottom);
	addMarks(svg, x, height);
	addBrush(svg, x, width, height, view, onRange);
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
