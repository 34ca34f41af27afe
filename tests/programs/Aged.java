// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;

/**
 * Old objects: kept through a collection, then half of them are dropped.  With an argument, the
 * tool of that path is then told to collect (`ctl PID gc`), its output goes to collected.txt.
 * Without one, the program waits until the objects are gone.  With a second argument another
 * thread is in a JNI critical section meanwhile.  With "signals" N instead, that thread is there, and
 * the program sends itself SIGTERM so often.
 *
 * <p>Prints the exit status of the tool, and how many of the dropped objects are left.
 */
public final class Aged {
	private static final int COUNT = 2000;
	private static final int BYTES = 2048;
	private static final long WAIT_MS = 60000;

	private static final List<byte[]> kept = new ArrayList<>();
	private static final List<WeakReference<byte[]>> dropped = new ArrayList<>();

	private Aged() {
	}

	private static void make() {
		List<byte[]> doomed = new ArrayList<>();

		for (int i = 0; i < COUNT; i++) {
			kept.add(new byte[BYTES]);
			doomed.add(new byte[BYTES]);
			dropped.add(new WeakReference<>(doomed.get(i)));
		}
		System.gc();
		System.gc();
	}

	private static int left() {
		int left = 0;

		for (WeakReference<byte[]> reference : dropped) {
			if (reference.get() != null)
				left++;
		}
		return left;
	}

	private static native void hold(byte[] array);

	private static native void awaitHold();

	private static void holdCritical() {
		System.loadLibrary("critical");
		Thread thread = new Thread(() -> hold(new byte[BYTES]));
		thread.setDaemon(true);
		thread.start();
		awaitHold();
	}

	private static int collect(String tool) throws Exception {
		ProcessBuilder builder = new ProcessBuilder(
			tool, "ctl", Long.toString(ProcessHandle.current().pid()), "gc");

		builder.environment().remove("LD_PRELOAD");
		builder.redirectOutput(new File("collected.txt"));
		builder.redirectError(ProcessBuilder.Redirect.INHERIT);
		return builder.start().waitFor();
	}

	private static void signal(int times) throws Exception {
		String self = Long.toString(ProcessHandle.current().pid());
		ProcessBuilder builder = new ProcessBuilder("sh", "-c",
			"for i in $(seq " + times + "); do kill -TERM " + self + "; sleep 0.1; done");

		builder.environment().remove("LD_PRELOAD");
		holdCritical();
		builder.start();
		Thread.sleep(WAIT_MS);
	}

	public static void main(String[] arguments) throws Exception {
		int status = 0;

		if (arguments.length > 1 && arguments[0].equals("signals"))
			signal(Integer.parseInt(arguments[1]));
		make();
		if (arguments.length > 1)
			holdCritical();
		if (arguments.length > 0)
			status = collect(arguments[0]);
		for (long waited = 0; arguments.length == 0 && left() > 0 && waited < WAIT_MS;
			waited += 20)
			Thread.sleep(20);
		System.out.println("{\"status\": " + status + ", \"left\": " + left() + ", \"kept\": "
			+ kept.size() + "}");
	}
}
