/* SPDX-License-Identifier: Apache-2.0 */
import java.io.File;
import java.io.RandomAccessFile;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.WeakHashMap;
import java.util.concurrent.CountDownLatch;

/**
 * Buffers that are referenced in every possible way, and buffers that are dropped; counted by
 * the tool named by the first argument, once before a collection and once after the Cleaners
 * have run.  The tool's output goes to before.json and after.json, the truth to standard
 * output.
 */
public class Counted {
    private static final int KEPT = 1000;
    private static final int DROPPED = 1500;
    private static final int BYTES = 65536;
    private static final int WEAK = 40;
    private static final int SOFT = 30;
    private static final int CLEANED = 20;
    private static final int MAPPED_KEPT = 3;
    private static final int MAPPED_DROPPED = 2;
    private static final int PAGE = 4096;

    private static final List<Object> held = new ArrayList<>();
    private static final WeakHashMap<Object, Object> keys = new WeakHashMap<>();

    /** Its constant precedes the referent in the order of its fields. */
    interface Numbered {
        int FIRST = Integer.parseInt("1");
        Object SECOND = new Object();
    }

    static final class NumberedReference extends WeakReference<Object> implements Numbered {
        final Object own = new Object();

        NumberedReference(Object referent) {
            super(referent);
        }
    }

    private static ByteBuffer buffer() {
        return ByteBuffer.allocateDirect(BYTES);
    }

    /** Buffers in use, each by a different kind of reference.  Returns their number. */
    private static int hold(CountDownLatch never) throws Exception {
        for (int i = 0; i < KEPT; i++) {
            ByteBuffer kept = buffer();
            held.add(kept);
            // Views of kept buffers are not counted.
            held.add(kept.slice());
            held.add(kept.asReadOnlyBuffer());
        }
        // A view alone keeps its buffer alive.
        held.add(buffer().duplicate().slice().asReadOnlyBuffer());
        for (int i = 0; i < SOFT; i++) {
            held.add(new SoftReference<>(buffer()));
        }
        CountDownLatch there = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            ByteBuffer local = buffer();
            there.countDown();
            await(never);
            local.put(0, (byte) 1);
        }, "holder");
        thread.setDaemon(true);
        thread.start();
        there.await();
        return KEPT + 1 + SOFT + 1 + holdByVirtualThread(never);
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    /** On the stack of an unmounted thread, where virtual threads exist. */
    private static int holdByVirtualThread(CountDownLatch never) throws Exception {
        CountDownLatch there = new CountDownLatch(1);
        Method start;
        try {
            start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException old) {
            return 0;
        }
        Runnable work = () -> {
            ByteBuffer local = buffer();
            there.countDown();
            await(never);
            local.put(0, (byte) 1);
        };
        try {
            Thread thread = (Thread) start.invoke(null, work);
            held.add(thread);
            there.await();
            while (thread.getState() != Thread.State.WAITING) {
                Thread.sleep(1);
            }
        } catch (java.lang.reflect.InvocationTargetException preview) {
            return 0;
        }
        return 1;
    }

    /** Unreachable, although weak references to some exist.  Returns their number. */
    private static int drop() {
        for (int i = 0; i < DROPPED; i++) {
            buffer().put(0, (byte) 1);
        }
        for (int i = 0; i < WEAK; i++) {
            held.add(new WeakReference<>(buffer()));
            held.add(new NumberedReference(new Object[] {buffer()}));
            keys.put(buffer(), "");
        }
        return DROPPED + 3 * WEAK;
    }

    /** Freed manually: neither in use nor waiting, although the objects still exist. */
    private static void clean() throws Exception {
        Class<?> type = Class.forName("sun.misc.Unsafe");
        Field field = type.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        Method method = type.getMethod("invokeCleaner", ByteBuffer.class);
        for (int i = 0; i < CLEANED; i++) {
            ByteBuffer cleaned = buffer();
            method.invoke(field.get(null), cleaned);
            held.add(cleaned);
        }
    }

    private static void map() throws Exception {
        Path path = Files.createTempFile(Path.of("."), "mapped", ".bin");
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            file.setLength(PAGE);
            for (int i = 0; i < MAPPED_KEPT + MAPPED_DROPPED; i++) {
                Object mapped = file.getChannel().map(FileChannel.MapMode.READ_ONLY, 0, PAGE);
                if (i < MAPPED_KEPT) {
                    held.add(mapped);
                }
            }
        }
    }

    private static void count(String tool, String output) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(tool, "rss", "--count-buffers", "--format",
            "json", Long.toString(ProcessHandle.current().pid()));
        builder.environment().remove("LD_PRELOAD");
        builder.redirectOutput(new File(output));
        builder.redirectError(ProcessBuilder.Redirect.INHERIT);
        if (builder.start().waitFor() != 0) {
            throw new IllegalStateException("the tool failed");
        }
    }

    private static long pool(String name) {
        for (BufferPoolMXBean bean : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
            if (bean.getName().equals(name)) {
                return bean.getCount();
            }
        }
        return 0;
    }

    /** Some collectors clear soft references in a collection on request. */
    private static int cleared() {
        int cleared = 0;
        for (Object object : held) {
            if (object instanceof SoftReference && ((SoftReference<?>) object).get() == null) {
                cleared++;
            }
        }
        return cleared;
    }

    /** Returns the number left when all Cleaners have run. */
    private static int collect(int direct, int mapped) throws Exception {
        do {
            System.gc();
            Thread.sleep(10);
        } while (pool("direct") != direct - cleared() || pool("mapped") != mapped);
        return direct - cleared();
    }

    public static void main(String[] arguments) throws Exception {
        CountDownLatch never = new CountDownLatch(1);
        map();
        int reached = hold(never);
        clean();
        int waiting = drop();
        System.out.printf("{\"reached\": %d, \"waiting\": %d, \"bytes\": %d, \"mapped\": %d, "
            + "\"mapped_waiting\": %d, \"page\": %d}%n", reached, waiting, BYTES, MAPPED_KEPT,
            MAPPED_DROPPED, PAGE);
        count(arguments[0], "before.json");
        System.out.printf("{\"left\": %d}%n", collect(reached, MAPPED_KEPT));
        count(arguments[0], "after.json");
    }
}
