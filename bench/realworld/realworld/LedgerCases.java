// SPDX-License-Identifier: Apache-2.0
package realworld;

import com.sun.jna.Callback;
import com.sun.jna.CallbackReference;
import io.netty.handler.ssl.OpenSsl;
import io.netty.internal.tcnative.CertificateVerifier;
import io.netty.internal.tcnative.SSL;
import io.netty.internal.tcnative.SSLContext;
import java.util.ArrayList;
import java.util.List;
import org.rocksdb.InfoLogLevel;
import org.rocksdb.Logger;
import org.rocksdb.RocksDB;

/**
 * Users of JNI libraries that forget to close something, and their clean twins: see bench/ledger --cases.
 * Arguments: the case, leak or clean, seconds.
 */
public final class LedgerCases {
	interface Compare extends Callback {
		int compare(int a, int b);
	}

	interface Step {
		void run(boolean leaking) throws Exception;
	}

	private static final List<Object> HELD = new ArrayList<>();

	private LedgerCases() {
	}

	/** JNA: a callback for each request, which stays referenced. */
	private static void jna(boolean leaking) {
		Compare callback = new Compare() {
			@Override
			public int compare(int a, int b) {
				return a - b;
			}
		};

		CallbackReference.getFunctionPointer(callback);
		if (leaking)
			HELD.add(callback);
	}

	/** RocksDB: a logger of one's own for each request, not closed. */
	private static void rocksdb(boolean leaking) {
		Logger logger = new Logger(InfoLogLevel.WARN_LEVEL) {
			@Override
			protected void log(InfoLogLevel level, String message) {
			}
		};

		if (!leaking)
			logger.close();
	}

	/** Netty's tcnative: a context with a verifier for each request, not freed. */
	private static void tcnative(boolean leaking) throws Exception {
		CertificateVerifier verifier = new CertificateVerifier() {
			@Override
			public int verify(long ssl, byte[][] chain, String algorithm) {
				return CertificateVerifier.X509_V_OK;
			}
		};
		long context = SSLContext.make(SSL.SSL_PROTOCOL_TLSV1_2, SSL.SSL_MODE_CLIENT);

		SSLContext.setCertVerifyCallback(context, verifier);
		if (!leaking)
			SSLContext.free(context);
	}

	private static Step prepare(String name) throws Exception {
		if (name.equals("jna"))
			return LedgerCases::jna;
		if (name.equals("rocksdb")) {
			RocksDB.loadLibrary();
			return LedgerCases::rocksdb;
		}
		OpenSsl.ensureAvailability();
		return LedgerCases::tcnative;
	}

	public static void main(String[] arguments) throws Exception {
		Step step = prepare(arguments[0]);
		long end = System.nanoTime() + Integer.parseInt(arguments[2]) * 1_000_000_000L;

		for (int i = 0; System.nanoTime() < end; i++) {
			step.run(arguments[1].equals("leak"));
			if (i % 50 == 0)
				System.gc();
			Thread.sleep(5);
		}
	}
}
