// SPDX-License-Identifier: Apache-2.0
package mixed;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The demo: a gallery that makes thumbnails.  Two workers read photos, have them decoded in C,
 * keep the newest thumbnails in a bounded cache (a plateau, not a leak) and write a history
 * that is never trimmed (a leak in the Java heap).  The decoder leaks as well, see gallery.c.
 */
final class Gallery {
	private static final int WORKERS = 2;
	private static final int PHOTO_BYTES = 96 << 10;
	private static final int STRIPS = 16;
	private static final int CACHED = 256;
	private static final int NOTE_BYTES = 4096;
	private static final int UPLOAD_BYTES = 256 << 10;
	private static final int UPLOAD_EVERY = 8;

	/** Shared by the workers. */
	private static final List<byte[]> HISTORY = new ArrayList<>();
	private static final Map<Long, byte[]> CACHE = new LinkedHashMap<>() {
		private static final long serialVersionUID = 1;

		@Override
		protected boolean removeEldestEntry(Map.Entry<Long, byte[]> eldest) {
			return size() > CACHED;
		}
	};

	private final int worker;
	private long photos;
	private int[] progress;

	private Gallery(int worker) {
		this.worker = worker;
	}

	/** Makes thumbnails for `seconds` seconds. */
	static void run(Ledger ledger, double seconds) throws InterruptedException {
		long deadline = System.nanoTime() + (long) (seconds * 1e9);
		Gallery[] galleries = new Gallery[WORKERS];
		Thread[] threads = new Thread[WORKERS];
		for (int i = 0; i < WORKERS; i++) {
			Gallery gallery = new Gallery(i);
			galleries[i] = gallery;
			threads[i] = new Thread(() -> gallery.work(deadline), "gallery-" + (i + 1));
			threads[i].start();
		}
		for (Thread thread : threads)
			thread.join();
		for (Gallery gallery : galleries)
			gallery.book(ledger);
	}

	private void work(long deadline) {
		while (System.nanoTime() < deadline) {
			byte[] photo = readPhoto(photos);
			byte[] thumbnail = thumbnail(photo);
			remember(photos * WORKERS + worker, thumbnail);
			if (photos % UPLOAD_EVERY == 0)
				upload(thumbnail);
			photos++;
		}
	}

	private static byte[] readPhoto(long number) {
		byte[] photo = new byte[JavaSites.length(PHOTO_BYTES)];
		for (int i = 0; i < photo.length; i += 64)
			photo[i] = (byte) (i * 31 + number);
		return photo;
	}

	/** Decodes and scales; calls onStrip() as it goes. */
	private native byte[] thumbnail(byte[] photo);

	/** Called by the decoder. */
	private void onStrip(int strip) {
		progress = new int[512];
		progress[strip] = strip + 1;
	}

	private static void remember(long key, byte[] thumbnail) {
		byte[] note = note(key);
		synchronized (CACHE) {
			CACHE.put(key, thumbnail);
			HISTORY.add(note);
		}
	}

	private static byte[] note(long key) {
		byte[] note = new byte[JavaSites.length(NOTE_BYTES)];
		note[0] = (byte) key;
		return note;
	}

	/** The buffer is native memory that is freed after a collection of the Java heap. */
	private static void upload(byte[] thumbnail) {
		ByteBuffer buffer = ByteBuffer.allocateDirect(UPLOAD_BYTES);
		buffer.put(thumbnail).flip();
	}

	private void book(Ledger ledger) {
		long uploads = (photos + UPLOAD_EVERY - 1) / UPLOAD_EVERY;
		long thumbnailBytes = JavaSites.heapBytes(64 << 10);
		ledger.addJava("mixed.Gallery.readPhoto", "byte[]", PHOTO_BYTES, photos, 0);
		ledger.addJava("mixed.Gallery.onStrip", "int[]", JavaSites.heapBytes(2048),
				photos * STRIPS, 0);
		ledger.addJava("mixed.Gallery.note", "byte[]", NOTE_BYTES, photos, photos);
		ledger.addJava("gallery_thumbnail", "byte[]", thumbnailBytes, photos,
				Math.min(photos, CACHED / WORKERS));
		ledger.addNative("gallery_photo_buffer", 1 << 20, photos, 0);
		ledger.addNative("gallery_strip_buffer", 64 << 10, photos * STRIPS, 0);
		ledger.addNative("gallery_remember_metadata", 8192, photos, photos);
		ledger.addNative("mixed.Gallery.upload", UPLOAD_BYTES, uploads, Ledger.UNKNOWN);
	}
}
