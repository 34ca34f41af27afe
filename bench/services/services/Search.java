// SPDX-License-Identifier: Apache-2.0
package services;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.SearcherManager;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.MMapDirectory;

/**
 * A search server of Lucene: documents are replaced while they are searched.  Queries that were
 * subscribed to are never removed, and readers of an archive, which map its files, are not closed.
 */
public final class Search implements Service {
	private static final int DOCUMENTS = 20_000;
	private static final int DOCUMENT_BYTES = 1500;
	private static final double UPDATES_PER_SECOND = 60;
	private static final double REFRESHES_PER_SECOND = 2;
	private static final double QUERIES_PER_SECOND = 240;
	/** The others are only subscribed to, or dropped. */
	private static final int SEARCHED_PERIOD = 8;
	private static final int TERMS = 8;
	private static final int VOCABULARY = 2000;
	private static final int SUBSCRIBED_PERIOD = 2;
	private static final double ARCHIVE_READS_PER_SECOND = 1;
	private static final int ARCHIVED = 500;
	/** Measured: a query with its clauses, terms and lists. */
	private static final int QUERY_BYTES = 1840;

	private final List<Query> subscriptions = new ArrayList<>();
	private final List<DirectoryReader> readers = new ArrayList<>();
	private Scratch scratch;
	private Directory directory;
	private Directory archive;
	private long archiveBytes;
	private IndexWriter writer;
	private SearcherManager searchers;
	private Leaks leaks;

	@Override
	public void start(Load load, Leaks on) throws Exception {
		leaks = on;
		scratch = new Scratch();
		archive = fillArchive();
		directory = new MMapDirectory(scratch.path("index"));
		writer = new IndexWriter(directory, new IndexWriterConfig(new StandardAnalyzer()));
		for (int i = 0; i < DOCUMENTS; i++)
			writer.addDocument(document(i, i));
		searchers = new SearcherManager(writer, null);
		load.begin();
		load.run("updates", UPDATES_PER_SECOND, step -> {
			int number = (int) (step * 7919L % DOCUMENTS);
			writer.updateDocument(id(number), document(number, step));
		});
		load.run("refresh", REFRESHES_PER_SECOND, step -> searchers.maybeRefresh());
		load.run("queries", QUERIES_PER_SECOND, this::query);
		load.run("archive", ARCHIVE_READS_PER_SECOND, this::readArchive);
	}

	private Directory fillArchive() throws Exception {
		Path path = scratch.path("archive");
		MMapDirectory created = new MMapDirectory(path);
		/* The files are read as a whole, so that what is mapped is resident. */
		created.setPreload(MMapDirectory.ALL_FILES);
		IndexWriterConfig configuration =
				new IndexWriterConfig(new StandardAnalyzer()).setUseCompoundFile(false);
		try (IndexWriter archiver = new IndexWriter(created, configuration)) {
			for (int i = 0; i < ARCHIVED; i++)
				archiver.addDocument(document(i, i));
			archiver.forceMerge(1);
		}
		try (Stream<Path> files = Files.list(path)) {
			archiveBytes = files.mapToLong(file -> file.toFile().length()).sum();
		}
		return created;
	}

	public static Term id(int number) {
		return new Term("id", Integer.toString(number));
	}

	public static Document document(int number, int version) {
		Document document = new Document();
		String text = Texts.text(version, DOCUMENT_BYTES);
		document.add(new StringField("id", Integer.toString(number), Field.Store.YES));
		document.add(new TextField("text", text, Field.Store.NO));
		document.add(new StoredField("stored", text));
		return document;
	}

	private void query(int number) throws Exception {
		Query query = parse(number); // leak: subscriptions
		if (number % SEARCHED_PERIOD == 0)
			search(searchers, query);
		Texts.renderPage(number);
		if (leaks.has(number, SUBSCRIBED_PERIOD)) {
			leaks.add("subscriptions", QUERY_BYTES);
			subscriptions.add(query);
		}
	}

	/** Reads the documents found, and returns their number. */
	public static int search(SearcherManager searchers, Query query) throws Exception {
		IndexSearcher searcher = searchers.acquire();
		try {
			ScoreDoc[] hits = searcher.search(query, 10).scoreDocs;
			for (ScoreDoc hit : hits)
				searcher.storedFields().document(hit.doc);
			return hits.length;
		} finally {
			searchers.release(searcher);
		}
	}

	public static Query parse(int number) {
		BooleanQuery.Builder builder = new BooleanQuery.Builder(); // leak: subscriptions
		for (int i = 0; i < TERMS; i++) {
			String word = "word" + (number * 31 + i * 17) % VOCABULARY; // leak: subscriptions
			Term term = new Term("text", word); // leak: subscriptions
			builder.add(new TermQuery(term), BooleanClause.Occur.SHOULD); // leak: subscriptions
		}
		return builder.build(); // leak: subscriptions
	}

	private void readArchive(int number) throws Exception {
		DirectoryReader reader = DirectoryReader.open(archive); // leak: readers
		reader.storedFields().document(number % ARCHIVED);
		if (leaks.areOn()) {
			leaks.add("readers", archiveBytes);
			readers.add(reader);
		} else {
			reader.close();
		}
	}

	@Override
	public void close() throws Exception {
		searchers.close();
		writer.close();
		directory.close();
		archive.close();
		scratch.close();
	}
}
