/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer: the first line of `leaks`, a card for each leak, and the other findings.  A card has
 * the line of the application, figures with intervals, the live bytes over time, what holds the
 * memory, and the next step.
 */
const CARDS_SHOWN = 12; /* leaks; the others are listed */
const STEPS_SHOWN = 40;
const CURVE = {width: 240, height: 44};
const VERDICTS = {found: "Leak found", none: "No leak found", inconclusive: "Inconclusive"};
const OTHER_VERDICTS = [["unclear", "may leak, not clear yet"], ["plateau", "stopped growing"],
	["churn", "freed again"]];

/* --- the findings of `leaks` ----------------------------------------------------------------------- */

/* A frame of the data by its number, or what is no frame of a stack. */
const frameOf = (frame) => typeof frame !== "number" ? frame : {
	name: functionName(data.frames.function[frame]),
	file: data.strings[data.frames.file[frame]], line: data.frames.line[frame],
};

/* What kind of things are counted; undefined for samples. */
const KINDS_COUNTED = {threads: () => "threads",
	classes: ({class: of}) => of ? "class loaders" : "hidden classes"};

data.leaks = data.answer.findings.map((finding) => {
	const {verdict, node, creator, frames} = finding;
	return {...finding, name: verdict, verdict: verdict === "unclosed" ? "leak" : verdict,
		class: finding.class || "", kind: KINDS_COUNTED[finding.heap]?.(finding),
		heap: HEAPS.findIndex(({word}) => word === finding.heap),
		place: typeof node === "string" ? {name: node}
			: frameOf(node ?? creator ?? frames[frames.length - 1]),
		path: frames.filter((frame) => typeof frame === "number")};
});

/* --- texts --------------------------------------------------------------------------------------- */

const limitsOf = ({ci95: [low, high]}) => ({low, high});

const formatRate = (value) => formatNumber(value, "bytes") + "/s";

const fileLine = ({file, line}) => file ? file.replace(/^.*\//, "") + (line ? ":" + line : "") : "";

/* What a finding is made of: threads, class loaders, a class, or blocks of a heap. */
function aboutFinding(finding) {
	if (finding.kind)
		return finding.kind + (finding.class && ` of ${finding.class.slice(0, 200)}`);
	return HEAPS[finding.heap].name + (finding.class && ", " + finding.class.slice(0, 200));
}

function countText(finding) {
	const {estimate, exact} = finding.live_objects;
	const unjoined = finding.unjoined_threads || 0;
	if (finding.kind)
		return `${exact ? "" : "about "}${formatNumber(estimate - unjoined, "objects")} alive, `
			+ (unjoined ? `${formatNumber(unjoined, "objects")} ended but not joined, ` : "")
			+ `${finding.growth_objects_per_s.estimate.toPrecision(3)}/s`;
	return estimate ? `about ${formatNumber(estimate, "objects")} `
		+ (finding.heap === 0 ? "objects" : "blocks") : "";
}

/* What holds the memory, as far as the recording shows it. */
function holderText(finding) {
	const {owner, kind, collections_survived: survived, holders: held} = finding;
	if (kind === "threads")
		return finding.unjoined_threads
			? "threads that were not joined or detached: each holds its stack, also when it has ended"
			: "threads that have not ended: each holds its stack";
	if (held && held.length)
		return held.map((line) => line.slice(0, 1000)).join("; ");
	if (kind)
		return "classes stay loaded as long as their loader is reachable";
	if (owner)
		return `${owner.class.slice(0, 200)}, ${owner.samples_collected} of ${owner.samples} samples collected: `
			+ (owner.state === "collected" ? "owners collected, memory still allocated"
				: owner.samples_collected ? "owners of live blocks may also be dead" : "the owners are alive");
	if (finding.heap === 0)
		return survived ? `still reachable after ${survived} GC${survived === 1 ? "" : "s"}` : "";
	return "no Java object is known to own it";
}

/* What to do next about a leak. */
function nextText(finding) {
	const {owner, kind, holders: held} = finding;
	if (kind === "threads")
		return finding.unjoined_threads ? "Join these threads, or detach them."
			: "End these threads, or use a pool of limited size; jcmd PID Thread.print lists them.";
	if (kind === "class loaders" && held && held.length)
		return "Remove the loaders, and the objects of their classes, from their holder.";
	if (kind === "class loaders")
		return "Find what keeps the loaders reachable: twinheap ctl PID holders while it runs.";
	if (kind)
		return "Generate the class once and reuse it, or let go of what refers to it.";
	if (owner && owner.state === "collected")
		return `Free the memory with its owner: close it, or register a Cleaner in ${owner.class}.`;
	if (held && held.length)
		return "Remove the objects from their holder, or limit its size.";
	if (owner)
		return `Find what keeps ${owner.class} reachable: twinheap ctl PID holders while it runs.`;
	if (finding.heap === 0)
		return `Find what keeps ${finding.class || "these objects"} reachable: `
			+ "twinheap ctl PID holders while it runs.";
	return finding.heap === 2 ? "Find where the mapping should be unmapped: see its stack."
		: "Find where the block should be freed: see its stack.";
}

/* Terms with their texts, which may be empty. */
const factsOf = (finding) => [["count", countText(finding)], ["why", finding.why],
	["held by", holderText(finding)], ["later", finding.later],
	["next", finding.verdict === "leak" ? nextText(finding) : ""]];

/* --- live bytes over time ------------------------------------------------------------------------- */

/* The live bytes of rows at the beginning of each slice and at the end, by group. */
function liveCurves(groups, groupOf) {
	const {cells, timeline: {slices}} = data;
	const curves = Array.from({length: groups}, () => new Float64Array(slices + 1));
	for (let i = 0; i < cells.row.length; i++) {
		const group = groupOf(cells.row[i]);
		if (group < 0)
			continue;
		curves[group][cells.birth[i] + 1] += cells.live_bytes[i];
		if (cells.death[i] >= 0)
			curves[group][cells.death[i] + 1] -= cells.live_bytes[i];
	}
	for (const curve of curves)
		for (let i = 1; i <= slices; i++)
			curve[i] = Math.max(curve[i] + curve[i - 1], 0);
	return curves;
}

const knownCurves = {};

/* Points [seconds, value] of a finding up to the time at which it is judged. */
function curveOf(number) {
	const {curve} = data.leaks[number], {at_s: judged} = data.answer.judged;
	if (curve)
		return curve.map((value, i) => [judged * i / (curve.length - 1), value]);
	/* As the figures of the card: of the finding's first heap. */
	knownCurves.all ||= liveCurves(data.leaks.length, (row) => {
		const found = data.finding_rows[row];
		return found >= 0 && data.leaks[found].heap === data.rows.heap[row] ? found : -1;
	});
	return [...knownCurves.all[number]].map((value, i) => [sliceSeconds(i), value])
		.filter(([seconds], i) => !i || seconds <= judged * 1.0001);
}

function drawCurve(card, number) {
	const points = curveOf(number), unit = data.leaks[number].curve ? "objects" : "bytes";
	const {width, height} = CURVE;
	const most = d3.max(points, (point) => point[1]) || 1, last = points[points.length - 1];
	const x = d3.scaleLinear([0, last[0] || 1], [0, width]);
	const y = d3.scaleLinear([0, most], [height - 1, 2]);
	const title = `${unit === "bytes" ? "live" : "alive at the end, by time of creation"}: `
		+ `up to ${formatNumber(most, unit)} in ${last[0].toFixed(1)} s`;
	const figure = d3.select(card).append("figure");
	const svg = figure.append("svg").attr("viewBox", [0, 0, width, height])
		.attr("preserveAspectRatio", "none").attr("role", "img").attr("aria-label", title);
	svg.append("title").text(title);
	svg.append("path").datum(points).attr("class", "area")
		.attr("d", d3.area().x((point) => x(point[0])).y0(y(0)).y1((point) => y(point[1])));
	svg.append("path").datum(points).attr("class", "line")
		.attr("d", d3.line().x((point) => x(point[0])).y((point) => y(point[1])));
	const caption = figure.append("figcaption");
	caption.append("span").text("0 s");
	caption.append("span").text((unit === "bytes" ? "live, up to " : "alive, ")
		+ formatNumber(most, unit));
	caption.append("span").text(last[0].toFixed(1) + " s");
}

/* --- cards ------------------------------------------------------------------------------------------ */

/* A name that is cut in the middle if there is no room for it. */
function addName(parent, tag, name) {
	const text = name.slice(0, 400);
	const made = addText(parent, tag, "");
	const tail = Math.min(Math.ceil(text.length / 2), 16);
	made.classList.add("name");
	made.title = name.slice(0, 2000);
	addText(made, "span", text.slice(0, text.length - tail));
	addText(made, "span", text.slice(text.length - tail));
	return made;
}

function addFact(list, term, text) {
	if (!text)
		return;
	addText(list, "dt", term);
	addText(list, "dd", text);
}

function estimateText(estimate, format) {
	const {low, high} = limitsOf(estimate);
	return format(estimate.estimate)
		+ (high > low ? ` (${formatInterval({low, high}, "bytes")})` : "");
}

/* The lines around that of a frame, if --source has its file. */
function addSource(parent, frame) {
	const found = data.sources.find(([number]) => number === frame);
	if (!found)
		return;
	const [, first, lines] = found, line = data.frames.line[frame];
	const box = addText(parent, "pre", "");
	box.tabIndex = 0;
	box.setAttribute("aria-label", "Source");
	lines.forEach((text, i) => {
		const row = addText(box, first + i === line ? "b" : "span",
			`${String(first + i).padStart(5)}  ${text}\n`);
		row.className = "line";
	});
}

/* The nearest frame to the allocation whose source is known, one of the application first. */
function mainSource({path}) {
	const known = [...path].reverse().filter((frame) =>
		data.sources.some(([number]) => number === frame));
	return known.find((frame) => isApplication(data.frames.function[frame])) ?? known[0];
}

/* The stack from the allocation to the root; frames of the application are marked. */
function addStack(card, finding) {
	if (!finding.path.length)
		return;
	const details = addText(card, "details", "");
	addText(details, "summary", `Stack, ${finding.path.length} frames`);
	const list = addText(details, "ol", "");
	for (const frame of finding.path.slice(-STEPS_SHOWN).reverse()) {
		const f = data.frames.function[frame];
		const line = addText(list, "li", "");
		line.className = isApplication(f) ? "application" : "";
		addName(line, "span", functionName(f));
		const place = fileLine({file: data.strings[data.frames.file[frame]],
			line: data.frames.line[frame]}) || functionModule(f).replace(/^.*\//, "");
		addText(line, "span", place).className = "place";
		if (frame !== mainSource(finding))
			addSource(list, frame);
	}
	if (finding.path.length > STEPS_SHOWN)
		addText(details, "p", `${finding.path.length - STEPS_SHOWN} more`).className = "note";
}

/* Buttons of a finding. */
function addActions(card, number, actions) {
	const finding = data.leaks[number];
	const box = addText(card, "p", "");
	box.className = "actions";
	if (finding.path.length || !finding.kind) {
		const show = addText(box, "button", "Show in the graph");
		show.type = "button";
		show.addEventListener("click", () => actions.showFinding(number));
	}
	const copy = addText(box, "button", "Copy as Markdown");
	copy.type = "button";
	copy.addEventListener("click", () => copyFrom(copy, findingMarkdown(number), "finding"));
}

function addCard(box, number, actions) {
	const finding = data.leaks[number], {place} = finding;
	const article = addText(box, "article", "");
	article.dataset.finding = number;
	const card = addText(article, "div", ""), rest = addText(article, "div", "");
	const head = addText(card, "h3", "");
	addText(head, "span", finding.name || finding.verdict).className = "verdict-" + finding.verdict;
	addText(head, "b", fileLine(place) || place.name.slice(0, 200));
	if (fileLine(place))
		addName(card, "p", place.name).classList.add("where");
	addText(card, "p", aboutFinding(finding)).className = "about";
	const live = addText(card, "p", "");
	live.className = "figures";
	addText(live, "b", formatNumber(finding.live_bytes.estimate, "bytes")).dataset.value =
		finding.live_bytes.estimate;
	live.append(` (${formatInterval(limitsOf(finding.live_bytes), "bytes")}), grows by `);
	addText(live, "b", formatRate(finding.growth_bytes_per_s.estimate));
	drawCurve(card, number);
	addSource(card, mainSource(finding));
	const facts = addText(rest, "dl", ""), [count, ...others] = factsOf(finding);
	addFact(facts, ...count);
	for (const other of (finding.heaps || []).slice(1))
		addFact(facts, "and", `${HEAPS.find(({word}) => word === other.heap).name}: `
			+ `${estimateText(other.live_bytes, (value) => formatNumber(value, "bytes"))}, `
			+ `grows by ${formatRate(other.growth_bytes_per_s.estimate)}`);
	for (const fact of others)
		addFact(facts, ...fact);
	addStack(rest, finding);
	addActions(rest, number, actions);
}

/* --- the answer as a whole ------------------------------------------------------------------------ */

/* The time at which live values are taken, and what comes after it. */
function momentText() {
	const {at_s: seconds, before} = data.answer.judged;
	return `at ${seconds.toFixed(2)} s` + (before ? `, before ${before}` : "");
}

/*
 * The detection limits, and how to lower them; that of mapped memory only if the page has no
 * other, as in the first line.
 */
function addLimits(box) {
	const limits = data.answer.detection_limits_bytes_per_s;
	const isAlone = !data.heaps[0] && !data.heaps[1];
	const texts = HEAPS.filter(({word}, heap) => data.heaps[heap] && limits[word] > 0
		&& (word !== "mapped" || isAlone))
		.map(({word, name}) => `${name} ${formatRate(limits[word])}`);
	if (texts.length)
		addText(box, "p", `Detection limits: ${texts.join(", ")}. A recording twice as long, or with half `
			+ "the sampling interval (-i), halves them.").className = "limits";
}

function addOthers(box, actions) {
	const shown = new Set([...box.querySelectorAll("article")].map((card) => +card.dataset.finding));
	for (const [verdict, meaning] of [["leak", "further leaks"], ["part", "with the same cause as one above"],
		...OTHER_VERDICTS]) {
		const numbers = data.leaks.map((_, number) => number)
			.filter((number) => data.leaks[number].verdict === verdict && !shown.has(number));
		if (!numbers.length)
			continue;
		const details = addText(box, "details", "");
		details.className = "others";
		const bytes = d3.sum(numbers, (number) => data.leaks[number].live_bytes.estimate);
		addText(details, "summary", `${numbers.length} ${meaning}: ${formatNumber(bytes, "bytes")}`);
		drawFindings(details, numbers, actions);
	}
	if (data.leaks_left_out)
		addText(box, "p", `${data.leaks_left_out} more: see twinheap leaks`).className = "note";
}

/* Findings as a table, each with its reason. */
function drawFindings(box, numbers, actions) {
	const table = box.appendChild(document.createElement("table"));
	table.className = "findings";
	const head = addText(addText(table, "thead", ""), "tr", "");
	for (const title of ["Where", "Live", "Growth"])
		addText(head, "th", title).scope = "col";
	const body = addText(table, "tbody", "");
	for (const number of numbers) {
		const finding = data.leaks[number], {place} = finding;
		const line = addText(body, "tr", "");
		const button = addName(addText(line, "td", ""), "button", place.name);
		button.type = "button";
		button.addEventListener("click", () => actions.showFinding(number));
		const live = addText(line, "td", formatNumber(finding.live_bytes.estimate, "bytes"));
		live.dataset.value = finding.live_bytes.estimate;
		live.title = formatInterval(limitsOf(finding.live_bytes), "bytes");
		addText(line, "td", formatRate(finding.growth_bytes_per_s.estimate)).title =
			formatInterval(limitsOf(finding.growth_bytes_per_s), "bytes");
		const reason = addText(body, "tr", "");
		reason.className = "why";
		addText(reason, "td", [aboutFinding(finding), fileLine(place)].filter((text) => text).join(", ")
			+ ": " + finding.why + (finding.later ? "; " + finding.later : "")).colSpan = 3;
	}
}

function drawAnswer(actions) {
	const box = document.getElementById("answer"), {answer: outcome} = data;
	box.className = outcome.verdict;
	const head = addText(box, "h2", "");
	addText(head, "span", VERDICTS[outcome.verdict]).className = "verdict";
	head.append(outcome.headline[0].toUpperCase() + outcome.headline.slice(1));
	const facts = addText(box, "p", `Judged ${momentText()}.`);
	if (data.memory)
		facts.append(` Resident memory: ${data.memory.verdict.text}.`);
	if (data.base)
		addText(box, "p", `Compared with ${data.base.at_s.toFixed(2)} s of ${data.base.command.slice(0, 200)}. `
			+ "Changes are point estimates: twinheap diff lists which are significant.").className = "compared";
	if (outcome.advice)
		addText(box, "p", `Next: ${outcome.advice}.`).className = "advice";
	if (outcome.verdict !== "found")
		addLimits(box);
	const cards = addText(box, "div", "");
	cards.id = "cards";
	data.leaks.map((_, number) => number).filter((number) => data.leaks[number].verdict === "leak")
		.slice(0, CARDS_SHOWN).forEach((number) => addCard(cards, number, actions));
	addOthers(box, actions);
	document.title = `${programName()}: ${outcome.headline} - twinheap`;
	document.querySelector("meta[name=description]").content =
		`${outcome.headline}. Native and Java allocations of ${data.process.command.slice(0, 200)}`;
}

/* The main class, jar or program of the command line. */
function programName() {
	const words = data.process.command.split(" ");
	const at = words.findIndex((word, i) => i && !word.startsWith("-")
		&& !["-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-opens",
			"--add-modules", "--add-exports"].includes(words[i - 1]));
	const name = data.process.jvm && at > 0 ? words[at] : words[0];
	return name.replace(/^.*\//, "").slice(0, 80);
}
