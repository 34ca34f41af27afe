/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/*
 * The data, with long columns as typed arrays, decoded when they are first read: a large page has
 * columns that only few views need.  page_columns.h defines the encoding, page.h the contents.
 */
const data = JSON.parse(document.getElementById("data").textContent);

function columnBytes(text) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(text);
	const letters = atob(text);
	const bytes = new Uint8Array(letters.length);
	for (let i = 0; i < bytes.length; i++)
		bytes[i] = letters.charCodeAt(i);
	return bytes;
}

/*
 * Each integer is the difference to the one before, seven bits per byte, the sign in the lowest
 * bit.
 */
function readIntegers(text) {
	const bytes = columnBytes(text);
	const values = new Int32Array(bytes.length);
	let count = 0, last = 0;
	for (let at = 0; at < bytes.length;) {
		let word = 0, shift = 0, byte;
		do {
			byte = bytes[at++];
			word |= (byte & 127) << shift;
			shift += 7;
		} while (byte & 128);
		values[count++] = last = last + (word >>> 1 ^ -(word & 1)) | 0;
	}
	return values.slice(0, count);
}

function readFloats(text) {
	const view = new DataView(columnBytes(text).buffer);
	const values = new Float32Array(view.byteLength / 4);
	for (let i = 0; i < values.length; i++)
		values[i] = view.getFloat32(4 * i, true);
	return values;
}

function readColumns(object, read, names) {
	for (const name of names) {
		const text = object[name];
		const store = (value) => Object.defineProperty(object, name,
			{value, writable: true, enumerable: true, configurable: true});
		Object.defineProperty(object, name, {configurable: true, enumerable: true, set: store,
			get: () => store(read(text))[name]});
	}
}

const SUMS = ["seen", "unseen", "variance", "doubt"];

/* The names, rows and sums of the page, and of the snapshot that it is compared with. */
function readSnapshot(data) {
	readColumns(data.functions, readIntegers, ["name", "module", "kind"]);
	readColumns(data.frames, readIntegers, ["function", "file", "line", "inlined"]);
	readColumns(data.nodes, readIntegers, ["parent", "frame"]);
	readColumns(data.rows, readIntegers, ["heap", "thread", "class", "node", "package", "library",
		"contains", "alloc", "live", "temp", "peak"]);
	readColumns(data.sums, readIntegers, ["samples"]);
	readColumns(data.sums, readFloats, ["covariance"]);
	readColumns(data.sums.bytes, readFloats, SUMS);
	readColumns(data.sums.objects, readFloats, SUMS);
}

readSnapshot(data);
if (data.base)
	readSnapshot(data.base);
readColumns(data, readIntegers, ["finding_rows"]);
readColumns(data.cells, readIntegers, ["row", "birth", "death", "temp", "size"]);
readColumns(data.cells, readFloats, ["bytes", "objects", "bytes_variance", "objects_variance"]);
if (data.cells.live_bytes !== undefined)
	readColumns(data.cells, readFloats, ["live_bytes", "live_objects"]);
else
	Object.defineProperties(data.cells, {live_bytes: {get: () => data.cells.bytes},
		live_objects: {get: () => data.cells.objects}});
