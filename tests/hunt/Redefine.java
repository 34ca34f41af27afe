// SPDX-License-Identifier: Apache-2.0

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.util.Random;

/** An agent that retransforms classes of the program all the time, with the bytes they have. */
public final class Redefine {
	private static final int AT_A_TIME = 4;

	private Redefine() {
	}

	private static final class Same implements ClassFileTransformer {
		@Override
		public byte[] transform(ClassLoader loader, String name, Class<?> type,
			ProtectionDomain domain, byte[] bytes) {
			return type == null ? null : bytes.clone();
		}
	}

	private static void loop(Instrumentation instrumentation) throws InterruptedException {
		Random random = new Random(1);
		while (true) {
			Class<?>[] all = instrumentation.getAllLoadedClasses();
			for (int i = 0; i < AT_A_TIME; i++) {
				Class<?> type = all[random.nextInt(all.length)];
				try {
					if (type.getClassLoader() != null && instrumentation.isModifiableClass(type))
						instrumentation.retransformClasses(type);
				} catch (Throwable error) {
					continue; // for example a class without all that it refers to
				}
			}
			Thread.sleep(1);
		}
	}

	public static void premain(String argument, Instrumentation instrumentation) {
		instrumentation.addTransformer(new Same(), true);
		Thread thread = new Thread(() -> {
			try {
				loop(instrumentation);
			} catch (InterruptedException exception) {
				Thread.currentThread().interrupt();
			}
		}, "redefine");
		thread.setDaemon(true);
		thread.start();
	}
}
