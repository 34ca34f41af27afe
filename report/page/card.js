/* SPDX-License-Identifier: Apache-2.0 */
/* What is known about one frame.  All text goes in as text, never as markup. */
const PLACES_SHOWN = 4;

function addText(parent, tag, text) {
	return parent.appendChild(Object.assign(document.createElement(tag), {textContent: text}));
}

/* "Codec.java:12", and whether the code is inlined there. */
function framePlaces(view, node) {
	const frame = view.model.tree.frame[node];
	const file = data.strings[data.frames.file[frame]];
	const line = data.frames.line[frame];
	const place = file ? file + (line ? ":" + line : "") : "";
	return data.frames.inlined[frame] ? (place ? place + ", inlined" : "inlined") : place;
}

function addFigures(card, view, node) {
	const {model, state} = view;
	const table = addText(card, "table", "");
	const head = addText(table, "tr", "");
	for (const title of ["heap", state.unit, "95 % interval", "of shown"])
		addText(head, "th", title);
	for (const heap of [0, 1]) {
		if (!data.totals[heap])
			continue;
		const row = addText(table, "tr", "");
		const estimate = estimateNode(model, state, heap, node);
		addText(row, "td", heap ? "native" : "Java");
		addText(row, "td", formatNumber(estimate.estimate, state.unit)).dataset.value =
			estimate.estimate;
		addText(row, "td", estimate.estimate ? formatInterval(estimate, state.unit) : "-");
		addText(row, "td", formatShare(estimate.estimate, model.total[0]));
		row.dataset.heap = heap ? "native" : "java";
	}
}

function showCard(view, node) {
	const card = document.getElementById("card");
	const {tree} = view.model;
	card.replaceChildren();
	if (node <= 0) {
		addText(card, "h2", "all frames");
	} else {
		const f = tree.func[node];
		const kinds = {java: "Java", native: "native", vm: "Java VM", group: "threads"};
		addText(card, "h2", functionName(f));
		addText(card, "p", [kinds[functionKind(f)], framePlaces(view, node), functionModule(f)]
			.filter((text) => text).join(" · "));
	}
	addFigures(card, view, Math.max(node, 0));
}

function announce(view, node) {
	const {model, state} = view;
	document.getElementById("announcement").textContent = frameLabel(view, node).slice(0, 200) + ", "
		+ formatNumber(model.total[node], state.unit) + ", "
		+ formatShare(model.total[node], model.total[0]);
}
