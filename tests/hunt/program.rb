# SPDX-License-Identifier: Apache-2.0
# JRuby: blocks, strings, exceptions, fibers and code evaluated at run time.
words = Hash.new { |h, k| h[k] = +"" }
20_000.times { |i| words["k#{i * 7919 % 503}"] << i.to_s(36).tr("a-m", "_") }
puts words.keys.sort.first(5).map { |k| words[k].size }.inspect
puts (1..100).map { |n| eval("lambda { |a| a.map { |x| x * #{n} }.sum }").call([1, 2, 3]) }.sum
caught = 0
500.times { begin; raise ArgumentError, "x"; rescue ArgumentError; caught += 1; end }
fiber = Fiber.new { 200.times { |i| Fiber.yield i * i } }
puts (1..200).map { fiber.resume }.sum, caught
