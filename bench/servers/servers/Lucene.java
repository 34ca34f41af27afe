// SPDX-License-Identifier: Apache-2.0
package servers;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.search.SearcherManager;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.MMapDirectory;
import services.Scratch;
import services.Search;

/** Searches of Lucene, while documents are replaced; searchers see them after a second. */
final class Lucene implements Server {
	private static final int DOCUMENTS = 20_000;
	private static final int THREADS = 4;
	/** The requests of this period by number replace a document. */
	private static final int UPDATE_PERIOD = 5;

	private final ScheduledExecutorService refresher =
			Executors.newSingleThreadScheduledExecutor();
	private Directory directory;
	private IndexWriter writer;
	private SearcherManager searchers;
	private Front front;

	@Override
	public int start(Scratch scratch) throws Exception {
		directory = new MMapDirectory(scratch.path("index"));
		writer = new IndexWriter(directory, new IndexWriterConfig(new StandardAnalyzer()));
		for (int i = 0; i < DOCUMENTS; i++)
			writer.addDocument(Search.document(i, i));
		searchers = new SearcherManager(writer, null);
		refresher.scheduleAtFixedRate(this::refresh, 1, 1, TimeUnit.SECONDS);
		front = new Front(null, Executors.newFixedThreadPool(THREADS), this::answer);
		return front.port();
	}

	private void refresh() {
		try {
			searchers.maybeRefresh();
		} catch (Exception error) {
			error.printStackTrace();
		}
	}

	private byte[] answer(int number) throws Exception {
		if (number % UPDATE_PERIOD == 0) {
			int document = (int) (number * 7919L % DOCUMENTS);
			writer.updateDocument(Search.id(document), Search.document(document, number));
			return new byte[] {1};
		}
		int hits = Search.search(searchers, Search.parse(number));
		return Integer.toString(hits).getBytes(StandardCharsets.US_ASCII);
	}

	@Override
	public void close() throws Exception {
		front.close();
		refresher.shutdown();
		refresher.awaitTermination(5, TimeUnit.SECONDS);
		searchers.close();
		writer.close();
		directory.close();
	}
}
