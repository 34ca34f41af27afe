/* SPDX-License-Identifier: Apache-2.0 */
/* What leaves the page: the link, a finding as Markdown, and the graph as SVG, also for printing. */

/* Copies text; pages opened from disk may have no clipboard API. */
async function copyText(text, what) {
	let copied = false;
	try {
		await navigator.clipboard.writeText(text);
		copied = true;
	} catch {
		const field = document.body.appendChild(document.createElement("textarea"));
		field.value = text;
		field.select();
		copied = document.execCommand("copy");
		field.remove();
	}
	document.getElementById("announcement").textContent = what + (copied ? " copied" : " not copied");
	return copied;
}

/* Shows on a button for a second and a half that its text was copied. */
async function copyFrom(button, text, what) {
	const {textContent: label} = button;
	if (button.disabled)
		return;
	button.disabled = true;
	button.textContent = await copyText(text, what) ? "Copied" : "Not copied";
	setTimeout(() => Object.assign(button, {textContent: label, disabled: false}), 1500);
}

/* Code in Markdown: the fence is longer than any run of backticks inside. */
function markdownCode(text) {
	const longest = d3.max(text.match(/`+/g) || [""], (run) => run.length);
	const fence = "`".repeat(longest + 1), pad = /^`|`$/.test(text) ? " " : "";
	return fence + pad + text.replace(/[\r\n]+/g, " ") + pad + fence;
}

/* A finding with its figures and its stack, the allocation first. */
function findingMarkdown(number) {
	const finding = data.leaks[number], {place} = finding;
	const stack = finding.path.slice(-STEPS_SHOWN).reverse().map((frame) => {
		const line = fileLine({file: data.strings[data.frames.file[frame]], line: data.frames.line[frame]});
		return ("    " + functionName(data.frames.function[frame]).replace(/[\r\n]+/g, " ")
			+ (line ? ` (${line})` : ""));
	});
	return [
		`**${finding.name || finding.verdict}** ${markdownCode(place.name)}`
			+ (fileLine(place) ? ` (${markdownCode(fileLine(place))})` : "") + `, ${aboutFinding(finding)}`, "",
		...[["live", estimateText(finding.live_bytes, (value) => formatNumber(value, "bytes"))],
			["growth", estimateText(finding.growth_bytes_per_s, formatRate)], ...factsOf(finding)]
			.filter(([, text]) => text).map(([term, text]) => `- ${term}: ${text}`),
		...(stack.length ? ["", ...stack] : []), "",
		`${programName()}, ${data.process.seconds.toFixed(1)} s, ${data.process.sampling}; twinheap `
			+ data.version, "",
	].join("\n");
}

/* --- SVG ------------------------------------------------------------------------------------------- */

const SVG_SPACE = "http://www.w3.org/2000/svg";

/* The graph as it is laid out, with all its rows, as an SVG element. */
function makeSvg(view) {
	const {theme} = chart, {model, state} = view;
	const width = chart.box.clientWidth, height = chart.rows * ROW_HEIGHT;
	const root = document.createElementNS(SVG_SPACE, "svg");
	const svg = d3.select(root).attr("xmlns", SVG_SPACE).attr("viewBox", `0 0 ${width} ${height}`)
		.attr("font-family", "system-ui, DejaVu Sans, sans-serif").attr("font-size", 11.5);
	svg.append("title").text(document.title);
	svg.append("rect").attr("width", width).attr("height", height).attr("fill", theme.back);
	for (const {node, x, y, width: full} of chart.placed) {
		const f = model.tree.func[node];
		const group = svg.append("g");
		group.append("title").text(`${frameLabel(view, node)}: `
			+ `${formatNumber(model.total[node], state.unit)}, ${formatShare(model.total[node], model.total[0])}`);
		group.append("rect").attr("x", x.toFixed(1)).attr("y", y).attr("width", Math.max(full - 0.6, 0.4).toFixed(1))
			.attr("height", ROW_HEIGHT - 1)
			.attr("fill", view.found && f >= 0 && view.found.found[f] ? theme.mark
				: frameColor(view, node, f >= 0 ? functionKind(f) : "group"));
		const room = Math.floor((full - 6) / CHARACTER_WIDTH);
		if (room >= 2)
			group.append("text").attr("x", (x + 3).toFixed(1)).attr("y", y + 13)
				.attr("fill", theme["frame-text"]).text(drawnLabel(view, node, room));
	}
	return root;
}

function saveSvg(view) {
	const text = new XMLSerializer().serializeToString(makeSvg(view));
	const link = document.createElement("a");
	link.href = URL.createObjectURL(new Blob([text], {type: "image/svg+xml"}));
	link.download = programName().replace(/[^\w.-]/g, "_") + ".svg";
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/* The canvas shows what is scrolled to; a printed page has all of the graph. */
function listenToPrinting(view) {
	const box = document.getElementById("printed");
	addEventListener("beforeprint", () => {
		box.replaceChildren(makeSvg(view));
		for (const details of document.querySelectorAll("#cards details"))
			details.open = true;
	});
	addEventListener("afterprint", () => box.replaceChildren());
}
