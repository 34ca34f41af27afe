/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/*
 * The data, with long columns as typed arrays, decoded when they are first read: a large page has
 * columns that only few views need.  page.h defines the encoding and the contents.
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

/* A column is an object with its text as the only member. */
function readColumns(object) {
	for (const [name, value] of Object.entries(object)) {
		const text = value?.integers ?? value?.floats;
		const store = (column) => Object.defineProperty(object, name,
			{value: column, writable: true, enumerable: true, configurable: true});
		if (text !== undefined)
			Object.defineProperty(object, name, {configurable: true, enumerable: true, set: store,
				get: () => store((value.floats === undefined ? readIntegers : readFloats)(text))[name]});
		else if (value && typeof value === "object" && !Array.isArray(value))
			readColumns(value);
	}
}

readColumns(data);
if (data.cells.live_bytes === undefined)
	Object.defineProperties(data.cells, {live_bytes: {get: () => data.cells.bytes},
		live_objects: {get: () => data.cells.objects}});
