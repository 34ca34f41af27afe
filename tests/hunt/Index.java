// SPDX-License-Identifier: Apache-2.0

import java.nio.file.Path;
import java.util.Random;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.MMapDirectory;

/** Lucene: indexes random words with one thread, merges, searches through mapped files. */
public final class Index {
	private static final int DOCUMENTS = 6000;

	private Index() {
	}

	public static void main(String[] arguments) throws Exception {
		Random random = new Random(1);
		try (Directory directory = new MMapDirectory(Path.of(arguments[0]))) {
			IndexWriterConfig config = new IndexWriterConfig(new StandardAnalyzer());
			config.setMaxBufferedDocs(200).setMergeScheduler(new SerialMergeScheduler());
			try (IndexWriter writer = new IndexWriter(directory, config)) {
				for (int i = 0; i < DOCUMENTS; i++) {
					StringBuilder text = new StringBuilder();
					for (int word = 0; word < 60; word++)
						text.append("w").append((int) Math.abs(random.nextGaussian() * 300)).append(' ');
					Document document = new Document();
					document.add(new TextField("text", text.toString(), Field.Store.YES));
					writer.addDocument(document);
					if (i % 1000 == 999)
						writer.commit();
				}
				writer.forceMerge(1);
			}
			try (DirectoryReader reader = DirectoryReader.open(directory)) {
				IndexSearcher searcher = new IndexSearcher(reader);
				for (int word = 0; word < 300; word += 3) {
					TopDocs found = searcher.search(new TermQuery(new Term("text", "w" + word)), 3);
					System.out.print(found.totalHits.value);
					for (ScoreDoc hit : found.scoreDocs)
						System.out.print(" " + hit.doc);
					System.out.println();
				}
			}
		}
	}
}
