// SPDX-License-Identifier: Apache-2.0
// usage: PushLoad SECONDS
// A service for bench/push: once per second a request allocates 2,000 arrays of up to 16 KiB, 16 MB, at
// 64 call paths; the last 2,000 arrays stay.
import java.util.Random;

public final class PushLoad {
    private static final int TURN_MS = 1000;
    private static final int ARRAYS = 2000;
    private static final int KEPT = 2000;
    private static final int LEVELS = 6; // 2^LEVELS call paths
    private static final int LARGEST = 16 << 10;

    private static final byte[][] kept = new byte[KEPT][];
    private static final Random random = new Random(1);

    private PushLoad() {
    }

    private static byte[] left(int way, int level) {
        if (level == 0)
            return new byte[random.nextInt(LARGEST)];
        return (way & 1) == 0 ? left(way >> 1, level - 1) : right(way >> 1, level - 1);
    }

    private static byte[] right(int way, int level) {
        if (level == 0)
            return new byte[random.nextInt(LARGEST)];
        return (way & 1) == 0 ? left(way >> 1, level - 1) : right(way >> 1, level - 1);
    }

    public static void main(String[] arguments) throws InterruptedException {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000_000;

        while (System.nanoTime() < end) {
            for (int i = 0; i < ARRAYS; i++)
                kept[random.nextInt(KEPT)] = left(random.nextInt(), LEVELS);
            Thread.sleep(TURN_MS);
        }
    }
}
