// SPDX-License-Identifier: Apache-2.0
// Groovy: dynamic calls, closures, and classes compiled at run time.
class Shape { int side; def area() { side * side } }
def shapes = (1..20000).collect { new Shape(side: it % 50) }
println shapes*.area().sum()
println shapes.groupBy { it.side % 7 }.collectEntries { k, v -> [k, v.size()] }.sort()
def shell = new GroovyShell()
println((1..40).collect { n -> shell.evaluate("class C$n { static f(a) { a.collect { it + $n }.sum() } }; C${n}.f([1, 2, 3])") }.sum())
println((1..3000).collect { "${it}:${it.toString().reverse()}" }.join(',').hashCode())
