// SPDX-License-Identifier: Apache-2.0
// usage: Collectors [PROGRAM SECONDS]
// Produces garbage for SECONDS and prints one line of JSON: objects made, CPU time of the process
// and collections in that time; or "failed" with the reason. start and end are in -Xlog's
// "timenanos".
// Without arguments it reads lines "PROGRAM SECONDS" and answers each with such a line; at the end
// of the input it prints the peak of the resident set since the start of the process, and
// library_bytes: how much of the preloaded library and its mapped log is resident.
// bench/collectors and scripts/soak run it.
//
// PROGRAM: SIZE   arrays of bytes (1024, 700k, 8m); the last 8 are kept
//          lists  linked lists of 20,000 nodes
//          trees  binary trees of 32,767 nodes
//          maps   hash maps of 5,000 numbers and texts
import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

public class Collectors {
    private static final int KEPT = 8;
    // Bytes of small arrays allocated between two clock reads.
    private static final int BATCH = 256 << 10;

    private static final OperatingSystemMXBean SYSTEM =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final List<GarbageCollectorMXBean> BEANS =
        ManagementFactory.getGarbageCollectorMXBeans();

    private static volatile Object sink;

    private static final class Node {
        final Node left;
        final Node right;

        Node(Node left, Node right) {
            this.left = left;
            this.right = right;
        }
    }

    // Produces garbage; returns the number of arrays, lists, trees or maps.
    private interface Round {
        int run();
    }

    private static Round arrays(int size) {
        byte[][] kept = new byte[KEPT][];
        int batch = Math.max(1, BATCH / size);
        return new Round() {
            private int next;

            @Override
            public int run() {
                for (int i = 0; i < batch; i++) {
                    kept[next] = new byte[size];
                    next = (next + 1) % KEPT;
                }
                return batch;
            }
        };
    }

    private static int list() {
        Node head = null;
        for (int i = 0; i < 20000; i++) {
            head = new Node(head, null);
        }
        sink = head;
        return 1;
    }

    private static Node plant(int depth) {
        return depth == 0 ? null : new Node(plant(depth - 1), plant(depth - 1));
    }

    private static int tree() {
        sink = plant(15);
        return 1;
    }

    private static int map() {
        Map<Integer, String> map = new HashMap<>();
        for (int i = 0; i < 5000; i++) {
            map.put(i, Integer.toString(i));
        }
        sink = map;
        return 1;
    }

    private static Round find(String program) {
        switch (program) {
        case "lists":
            return Collectors::list;
        case "trees":
            return Collectors::tree;
        case "maps":
            return Collectors::map;
        default:
            int unit = program.endsWith("k") ? 1 << 10 : program.endsWith("m") ? 1 << 20 : 1;
            return arrays(unit * Integer.parseInt(program.replaceAll("[km]$", "")));
        }
    }

    private static long repeat(Round round, double seconds) {
        long end = System.nanoTime() + (long) (seconds * 1e9);
        long count = 0;
        while (System.nanoTime() < end) {
            count += round.run();
        }
        return count;
    }

    private static long peakBytes() throws IOException {
        for (String line : Files.readAllLines(Paths.get("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", "")) << 10;
            }
        }
        throw new IOException("no VmHWM");
    }

    private static long libraryBytes() throws IOException {
        boolean ours = false;
        long kilobytes = 0;
        for (String line : Files.readAllLines(Paths.get("/proc/self/smaps"))) {
            if (line.matches("[0-9a-f]+-[0-9a-f]+ .*")) {
                ours = line.matches(".*(/libtwinheap[^/]*|[.]thl)");
            } else if (ours && line.startsWith("Rss:")) {
                kilobytes += Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        return kilobytes << 10;
    }

    private static String measure(Round round, double seconds) {
        long[] counts = new long[BEANS.size()];
        for (int i = 0; i < counts.length; i++) {
            counts[i] = BEANS.get(i).getCollectionCount();
        }
        long cpu = SYSTEM.getProcessCpuTime();
        long start = System.nanoTime();
        long made = repeat(round, seconds);
        long end = System.nanoTime();
        cpu = SYSTEM.getProcessCpuTime() - cpu;

        StringBuilder collections = new StringBuilder();
        for (int i = 0; i < counts.length; i++) {
            GarbageCollectorMXBean bean = BEANS.get(i);
            collections.append(String.format("%s\"%s\": %d", i == 0 ? "" : ", ",
                bean.getName(), bean.getCollectionCount() - counts[i]));
        }
        return String.format(
            "{\"made\": %d, \"start\": %d, \"end\": %d, \"cpu_ns\": %d, \"beans\": {%s}}",
            made, start, end, cpu, collections);
    }

    // The first tenth is not measured: the heap still has the garbage of another program.
    private static String run(String program, double seconds) {
        try {
            Round round = find(program);
            repeat(round, seconds / 10);
            return measure(round, seconds);
        } catch (OutOfMemoryError error) {
            return "{\"failed\": \"out of memory\"}";
        } finally {
            sink = null;
        }
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length == 2) {
            String answer = run(arguments[0], Double.parseDouble(arguments[1]));
            System.out.println(answer);
            System.exit(answer.contains("failed") ? 1 : 0);
        }
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            System.out.println(run(words[0], Double.parseDouble(words[1])));
            System.out.flush();
        }
        System.out.printf("{\"peak_bytes\": %d, \"library_bytes\": %d}%n", peakBytes(),
            libraryBytes());
    }
}
