// SPDX-License-Identifier: Apache-2.0
sealed interface Tree<out A>
object Leaf : Tree<Nothing>
data class Node<A>(val left: Tree<A>, val value: A, val right: Tree<A>) : Tree<A>

fun <A : Comparable<A>> Tree<A>.insert(value: A): Tree<A> = when (this) {
    is Leaf -> Node(Leaf, value, Leaf)
    is Node -> if (value < this.value) copy(left = left.insert(value)) else copy(right = right.insert(value))
}

inline fun <reified T> names(values: List<Any>) = values.filterIsInstance<T>().map { it.toString() }

fun main() {
    val words = sequence { for (i in 1..1000) { yield("a$i"); yield("b${i * 7 % 13}") } }.toList()
    println(words.fold<String, Tree<String>>(Leaf) { tree, word -> tree.insert(word) }.hashCode())
    println(words.groupingBy { it.length }.eachCount().toSortedMap())
    println(names<String>(words).size)
}
