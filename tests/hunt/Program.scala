// SPDX-License-Identifier: Apache-2.0
object Program {
  sealed trait Tree[+A]
  case object Leaf extends Tree[Nothing]
  case class Node[A](left: Tree[A], value: A, right: Tree[A]) extends Tree[A]
  def insert[A](tree: Tree[A], value: A)(implicit order: Ordering[A]): Tree[A] = tree match {
    case Leaf => Node(Leaf, value, Leaf)
    case Node(l, v, r) if order.lt(value, v) => Node(insert(l, value), v, r)
    case Node(l, v, r) => Node(l, v, insert(r, value))
  }
  def main(args: Array[String]): Unit = {
    val words = for { i <- 1 to 1000; w <- List(s"a$i", s"b${i * 7 % 13}") if w.length > 1 } yield w
    println(words.foldLeft(Leaf: Tree[String])(insert(_, _)).hashCode)
    println(words.groupBy(_.length).view.mapValues(_.size).toList.sorted)
  }
}
