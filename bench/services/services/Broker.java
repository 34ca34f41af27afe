// SPDX-License-Identifier: Apache-2.0
package services;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * A broker of Kafka with a producer and a consumer; batches are compressed with zstd, and so are
 * the records by the application.  The stream of a record that is too short is not closed, and
 * the keys of all records are remembered so that none is handled twice.
 */
final class Broker implements Service {
	private static final String TOPIC = "orders";
	private static final double BATCHES_PER_SECOND = 25;
	private static final int RECORDS_PER_BATCH = 12;
	private static final int RECORD_BYTES = 40 << 10;
	private static final int RECEIPT_BYTES = 1200;
	/** Records of this period by number are too short. */
	private static final int SHORT_PERIOD = 72;
	private static final int SHORT_BYTES = 100;
	/** Measured: growth of the C heap. */
	private static final int STREAM_BYTES = 96_100;

	private final Map<UUID, byte[]> receipts = new HashMap<>();
	private Scratch scratch;
	private KafkaNode server;
	private KafkaProducer<String, byte[]> producer;
	private KafkaConsumer<String, byte[]> consumer;
	private Leaks leaks;
	private int handled;

	@Override
	public void start(Load load, Leaks on) throws Exception {
		leaks = on;
		scratch = new Scratch();
		server = new KafkaNode(scratch);
		producer = KafkaNode.producer(server.port());
		consumer = KafkaNode.consumer(server.port());
		consumer.subscribe(List.of(TOPIC));
		/* Both find the topic before the load begins. */
		send(0);
		while (handled == 0)
			poll();
		load.begin();
		load.run("producer", BATCHES_PER_SECOND, step -> {
			for (int i = 0; i < RECORDS_PER_BATCH; i++)
				send(1 + step * RECORDS_PER_BATCH + i);
		});
		load.run("consumer", BATCHES_PER_SECOND, step -> poll());
	}

	private void send(int number) {
		int length = number % SHORT_PERIOD == 0 ? SHORT_BYTES : RECORD_BYTES;
		byte[] record = Zstd.compress(Texts.bytes(number, length));
		producer.send(new ProducerRecord<>(TOPIC, new UUID(1, number).toString(), record));
	}

	private void poll() throws IOException {
		for (ConsumerRecord<String, byte[]> record : consumer.poll(Duration.ofMillis(100)))
			handle(record);
		if (!leaks.areOn())
			receipts.clear();
	}

	private void handle(ConsumerRecord<String, byte[]> record) throws IOException {
		handled++;
		receipts.put(UUID.fromString(record.key()), new byte[RECEIPT_BYTES]); // leak: receipts
		if (leaks.areOn())
			leaks.add("receipts", RECEIPT_BYTES);
		ZstdInputStreamNoFinalizer in =
				new ZstdInputStreamNoFinalizer(new ByteArrayInputStream(record.value())); // leak: streams
		byte[] order = in.readAllBytes(); // leak: streams
		if (order.length == SHORT_BYTES && leaks.areOn()) {
			leaks.add("streams", STREAM_BYTES);
			return;
		}
		in.close();
	}

	@Override
	public void close() throws Exception {
		producer.close();
		consumer.close();
		server.close();
		scratch.close();
	}
}
