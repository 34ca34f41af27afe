// SPDX-License-Identifier: Apache-2.0
package realworld;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import leaks.Pace;
import leaks.Program;
import leaks.Truth;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.MMapDirectory;

/** A reader of a Lucene index per request, not closed: each maps the files of the index. */
public final class LuceneReaders implements Program {
	private static final int REQUESTS = 400;
	private static final int DOCUMENTS = 4000;
	private static final int BYTES = 1000;

	private final List<DirectoryReader> forgotten = new ArrayList<>();

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		try (Scratch scratch = new Scratch();
				Directory directory = new MMapDirectory(Path.of(scratch.path("index")))) {
			fill(directory);
			pace.run(REQUESTS, step -> read(directory, leaking));
			if (leaking)
				Truth.leak("mapped", "realworld.LuceneReaders.read", scratch.mappedBytes(),
						Truth.UNKNOWN);
		}
	}

	private static void fill(Directory directory) throws Exception {
		byte[] content = new byte[BYTES];
		new java.util.Random(1).nextBytes(content);
		IndexWriterConfig configuration = new IndexWriterConfig().setUseCompoundFile(false);
		try (IndexWriter writer = new IndexWriter(directory, configuration)) {
			for (int i = 0; i < DOCUMENTS; i++) {
				Document document = new Document();
				document.add(new StoredField("content", content));
				writer.addDocument(document);
			}
			writer.forceMerge(1);
		}
	}

	private void read(Directory directory, boolean leaking) throws Exception {
		DirectoryReader reader = DirectoryReader.open(directory);
		if (reader.numDocs() != DOCUMENTS)
			throw new IllegalStateException("documents are missing");
		reader.storedFields().document(DOCUMENTS / 2);
		if (leaking)
			forgotten.add(reader);
		else
			reader.close();
	}
}
