/* SPDX-License-Identifier: Apache-2.0 */
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.zip.Deflater;

/**
 * Fills memory of one kind, named by the first argument, and ends: none, un-ended Deflaters, a
 * cache of direct buffers, dropped buffers, threads with deep stacks, threads that write to a
 * channel, classes, a file mapped and read, a Java heap.
 */
public class Resident {
    private static final List<Object> kept = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "idle":
                break;
            case "deflaters":
                deflaters(1000);
                break;
            case "buffers":
                buffers(Integer.parseInt(arguments[1]));
                break;
            case "threads":
                threads(300);
                break;
            case "waiting":
                buffers(1000);
                System.gc();
                List<Object> before = List.copyOf(kept);
                buffers(1500);
                kept.clear();
                kept.addAll(before);
                break;
            case "channels":
                channels(40, 4 << 20);
                break;
            case "classes":
                classes(1500);
                System.out.println("{\"case\": \"classes\", \"metaspace\": " + metaspace() + "}");
                return;
            case "file":
                file(64 << 20);
                break;
            case "heap":
                heap(96);
                break;
            default:
                throw new IllegalArgumentException(arguments[0]);
        }
        // The final breakdown is taken after the last instruction of this program.
        System.out.println("{\"case\": \"" + arguments[0] + "\"}");
    }

    /** Each has about 270 KB of malloc; what zlib does not use yet stays untouched. */
    private static void deflaters(int count) {
        byte[] some = new byte[200];
        byte[] packed = new byte[1000];
        for (int i = 0; i < count; i++) {
            Deflater deflater = new Deflater();
            deflater.setInput(some);
            deflater.deflate(packed);
            kept.add(deflater);
        }
    }

    private static void buffers(int count) {
        for (int i = 0; i < count; i++) {
            ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 16);
            for (int at = 0; at < buffer.capacity(); at += 4096) {
                buffer.put(at, (byte) 1);
            }
            kept.add(buffer);
        }
    }

    /** Defined repeatedly by class loaders. */
    public static class Defined {
        int count;
        String text = "";

        public int add(int more) {
            for (int i = 0; i < more; i++) {
                count += i * more;
                text += count;
            }
            return count;
        }
    }

    /** Each has its own part of metaspace. */
    private static class Loader extends ClassLoader {
        Object define(byte[] code) throws Exception {
            String name = Defined.class.getName();
            return defineClass(name, code, 0, code.length).getDeclaredConstructor().newInstance();
        }
    }

    private static void classes(int count) throws Exception {
        byte[] code = Resident.class.getResourceAsStream("Resident$Defined.class").readAllBytes();
        for (int i = 0; i < count; i++) {
            kept.add(new Loader().define(code));
        }
    }

    /** Committed bytes, including the class space, as in NMT. */
    private static long metaspace() {
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getName().equals("Metaspace")) {
                return pool.getUsage().getCommitted();
            }
        }
        throw new IllegalStateException("no metaspace");
    }

    private static int descend(int depth, CountDownLatch there, CountDownLatch done) {
        if (depth > 0) {
            return descend(depth - 1, there, done) + 1;
        }
        there.countDown();
        try {
            done.await();
        } catch (InterruptedException interrupted) {
            return 1;
        }
        return 0;
    }

    /** Daemon threads that still run when the process ends. */
    private static void threads(int count) throws Exception {
        CountDownLatch there = new CountDownLatch(count);
        CountDownLatch never = new CountDownLatch(1);
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(null, () -> descend(2000, there, never), "deep-" + i, 2 << 20);
            thread.setDaemon(true);
            thread.start();
        }
        there.await();
    }

    /** Each thread copies its buffer to a direct one, and keeps that as long as it lives. */
    private static void channels(int count, int bytes) throws Exception {
        CountDownLatch written = new CountDownLatch(count);
        CountDownLatch never = new CountDownLatch(1);
        ByteBuffer shared = ByteBuffer.allocate(bytes);
        FileChannel channel = FileChannel.open(Path.of("/dev/null"), StandardOpenOption.WRITE);
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(() -> {
                try {
                    channel.write(shared.duplicate());
                    written.countDown();
                    never.await();
                } catch (IOException | InterruptedException failed) {
                    throw new IllegalStateException(failed);
                }
            }, "writer-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        written.await();
    }

    private static void file(int bytes) throws Exception {
        Path path = Files.createTempFile(Path.of("."), "mapped", ".bin");
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            byte[] block = new byte[1 << 20];
            for (int at = 0; at < bytes; at += block.length) {
                file.write(block);
            }
            MappedByteBuffer buffer =
                file.getChannel().map(FileChannel.MapMode.READ_ONLY, 0, bytes);
            int sum = 0;
            for (int at = 0; at < bytes; at += 4096) {
                sum += buffer.get(at);
            }
            kept.add(buffer);
            kept.add(sum);
        }
    }

    private static void heap(int mebibytes) {
        for (int i = 0; i < mebibytes; i++) {
            kept.add(new byte[1 << 20]);
        }
    }
}
