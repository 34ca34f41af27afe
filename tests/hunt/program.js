// SPDX-License-Identifier: Apache-2.0
// For Rhino and Nashorn: closures, strings, exceptions, regular expressions and generated code.
var words = {};
function Node(left, right) { this.left = left; this.right = right; }
function tree(depth) { return depth === 0 ? null : new Node(tree(depth - 1), tree(depth - 1)); }
function count(node) { return node === null ? 1 : count(node.left) + count(node.right); }
var total = 0;
for (var i = 0; i < 12; i++) total += count(tree(12));
for (var j = 0; j < 20000; j++) {
	var key = "k" + (j * 7919 % 503);
	words[key] = (words[key] || "") .slice(-40) + j.toString(36).replace(/[a-m]/g, "_");
}
for (var k = 0; k < 150; k++) total += eval("(function (a) { return a * " + k + " + " + k + "; })")(k);
var caught = 0;
for (var m = 0; m < 300; m++) { try { null.x; } catch (e) { caught++; } }
var keys = Object.keys(words).sort();
print(total + " " + caught + " " + keys.length + " " + words[keys[100]]);
