// SPDX-License-Identifier: Apache-2.0
// Evaluates the cases of test_page_statistics.c with the statistics of the page.
//
// usage: node page_statistics.js INTERVAL.js CASES
//
// A case is one line: a name and its numbers. The answer has the same form, with all digits.
"use strict";
const fs = require("fs");
const vm = require("vm");

const [script, cases] = process.argv.slice(2);
vm.runInThisContext(fs.readFileSync(script, "utf8"), {filename: script});

// A sum in the order of write_sum().
function takeSum(numbers) {
	const values = () => {
		const [seen, unseen, variance, doubt] = numbers.splice(0, 4);
		return {seen, unseen, variance, doubt};
	};
	const [samples, covariance] = numbers.splice(0, 2);
	return {samples, covariance, bytes: values(), objects: values()};
}

// A heap whose rows are all hidden: its whole is that of the case.
function setHeap([isShare, gap, totalError, isExact, total], whole) {
	globalThis.data = {rows: {count: 0}, heaps: [{outside: whole, exact: isExact === 1,
		bytes: {estimate: total}, total_error: totalError,
		figures: {alloc: {share: isShare === 1, gap}}}]};
	vm.runInThisContext("knownWholes.length = 0");
}

const limits = ({estimate, low, high}) => [estimate, low, high];

const answers = {
	quantile: ([level]) => [normalQuantile(level)],
	misses: (numbers) => [misses(...numbers)],
	score: (numbers) => [distributionScore(...numbers)],
	estimate(numbers) {
		const [isShare, gap] = numbers.splice(0, 2);
		const part = takeSum(numbers), whole = isShare ? takeSum(numbers) : null;
		return [...limits(estimateBytes(part, whole, gap)),
			...limits(estimateObjects(part, whole, gap))];
	},
	heap(numbers) {
		const heap = numbers.splice(0, 5), part = takeSum(numbers);
		setHeap(heap, takeSum(numbers));
		return [...limits(estimateSum(part, 0, "alloc", "bytes")),
			...limits(estimateSum(part, 0, "alloc", "objects"))];
	},
};

for (const line of fs.readFileSync(cases, "utf8").trimEnd().split("\n")) {
	const [name, ...numbers] = line.split(" ");
	console.log(answers[name](numbers.map(Number)).join(" "));
}
