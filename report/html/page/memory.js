/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resident memory over time: the lines of each breakdown as stacked areas, with the RSS of
 * every second and the limit of the control group on top.
 */
const MEMORY_HEIGHT = 170;
const MEMORY_LEGEND = 190; /* width of the names of the areas, in pixels */

/* Names and values of the lines large enough for an area; the rest is "other". */
function memoryAreas() {
	const {accounts, lines, points} = data.memory;
	const most = d3.max(points, (point) => point[1]) || 1;
	const isLarge = ({name}) => d3.max(accounts, (account) => account.lines[name]) > most / 100;
	const large = lines.filter(isLarge), small = lines.filter((line) => !isLarge(line));
	const rows = accounts.map((account) => {
		const row = {seconds: account.seconds};
		large.forEach(({name, label}) => { row[label] = Math.max(account.lines[name], 0); });
		row.other = d3.sum(small, ({name}) => account.lines[name]);
		return row;
	});
	return {names: [...large.map(({label}) => label), "other"], rows};
}

function drawMemory() {
	const {names, rows} = memoryAreas();
	const {points, group} = data.memory, limit = group && group.limit;
	const box = d3.select("#memory div");
	const width = box.node().clientWidth, height = MEMORY_HEIGHT;
	const right = width - MARGIN.right - MEMORY_LEGEND;
	const most = d3.max(points, (point) => point[1]) || 1;
	/* A much higher limit would flatten all areas. */
	const shows = limit > 0 && limit < 3 * most;
	const x = d3.scaleLinear([0, data.timeline.seconds || 1], [MARGIN.left, right]);
	const y = d3.scaleLinear([0, 1.05 * (shows ? Math.max(limit, most) : most)],
		[height - MARGIN.bottom, MARGIN.top]);
	const color = d3.scaleOrdinal(names, names.map((_, i) =>
		d3.interpolateSpectral(i / names.length)));
	const area = d3.area().x((part) => x(part.data.seconds))
		.y0((part) => y(part[0])).y1((part) => y(part[1]));
	box.selectAll("svg").remove();
	const svg = box.append("svg").attr("viewBox", [0, 0, width, height])
		.attr("role", "img").attr("aria-label", data.memory.verdict.text);
	svg.append("g").selectAll("path").data(d3.stack().keys(names)(rows)).join("path")
		.attr("class", "area").attr("fill", (part) => color(part.key)).attr("d", area)
		.append("title").text((part) => part.key);
	svg.append("path").datum(points).attr("class", "rss")
		.attr("d", d3.line().x((point) => x(point[0])).y((point) => y(point[1])));
	if (shows)
		svg.append("line").attr("class", "limit").attr("x1", MARGIN.left).attr("x2", right)
			.attr("y1", y(limit)).attr("y2", y(limit))
			.append("title").text("limit of the control group");
	svg.append("g").attr("transform", `translate(0,${height - MARGIN.bottom})`)
		.call(d3.axisBottom(x).ticks(10).tickFormat((value) => value + " s"));
	svg.append("g").attr("transform", `translate(${MARGIN.left},0)`)
		.call(d3.axisLeft(y).ticks(4).tickFormat((value) => formatNumber(value, "bytes")));
	const legend = svg.append("g").attr("transform", `translate(${right + 12},${MARGIN.top})`)
		.selectAll("g").data([...names].reverse()).join("g")
		.attr("transform", (_, i) => `translate(0,${i * 12})`);
	legend.append("rect").attr("width", 9).attr("height", 9).attr("fill", color);
	legend.append("text").attr("x", 14).attr("y", 9).text((name) => name);
}

/* Collapsed at first; drawn when opened. */
function listenToMemory() {
	const details = document.getElementById("memory");
	details.hidden = !data.memory;
	if (!data.memory)
		return;
	d3.select("#memory summary").text("Resident memory over time");
	details.addEventListener("toggle", () => { if (details.open) drawMemory(); });
	addEventListener("resize", () => { if (details.open) drawMemory(); });
}
