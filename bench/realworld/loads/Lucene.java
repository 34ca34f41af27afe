// SPDX-License-Identifier: Apache-2.0
package loads;

import java.nio.file.Path;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.MMapDirectory;

/** Indexes texts and searches them. */
final class Lucene implements Load {
	private static final int DOCUMENTS = 45_000;
	private static final int WORDS = 60;
	private static final int VOCABULARY = 5000;

	@Override
	public long run(String directory) throws Exception {
		try (Directory index = new MMapDirectory(Path.of(directory))) {
			try (IndexWriter writer = new IndexWriter(index,
					new IndexWriterConfig(new StandardAnalyzer()))) {
				for (int i = 0; i < DOCUMENTS; i++)
					writer.addDocument(document(i));
			}
			return search(index);
		}
	}

	private static Document document(int number) {
		long state = number + 1;
		StringBuilder text = new StringBuilder();
		for (int i = 0; i < WORDS; i++) {
			state = state * 6364136223846793005L + 1442695040888963407L;
			text.append("word").append((state >>> 33) % VOCABULARY).append(' ');
		}
		Document document = new Document();
		document.add(new StringField("id", Integer.toString(number), Field.Store.YES));
		document.add(new TextField("text", text.toString(), Field.Store.NO));
		return document;
	}

	private static long search(Directory index) throws Exception {
		long sum = 0;
		try (DirectoryReader reader = DirectoryReader.open(index)) {
			IndexSearcher searcher = new IndexSearcher(reader);
			for (int i = 0; i < VOCABULARY; i++)
				sum = sum * 31 + searcher.count(new TermQuery(new Term("text", "word" + i)));
		}
		return sum;
	}
}
