// SPDX-License-Identifier: Apache-2.0
// usage: SampleCost FRAMES COUNT
// Allocates COUNT arrays of 64 bytes below FRAMES Java frames, in compiled code, and prints nanoseconds
// of this thread's CPU time per array. bench/sample-cost runs it.
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

public class SampleCost {
    static volatile Object sink;

    static void allocate(long count) {
        for (long i = 0; i < count; i++) {
            sink = new byte[48];
        }
    }

    static void descend(int frames, long count) {
        if (frames > 0) {
            descend(frames - 1, count);
        } else {
            allocate(count);
        }
        sink = null; // prevents a tail call
    }

    public static void main(String[] arguments) {
        int frames = Integer.parseInt(arguments[0]) - 3;
        long count = Long.parseLong(arguments[1]);
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        for (int i = 0; i < 5; i++) {
            descend(frames, count / 10);
        }
        long start = threads.getCurrentThreadCpuTime();
        descend(frames, count);
        System.out.printf("%.1f%n", (threads.getCurrentThreadCpuTime() - start) / (double) count);
    }
}
