// SPDX-License-Identifier: Apache-2.0
package services;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import kafka.tools.StorageTool;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Time;

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
	/** Segments are deleted within the run, so that the number of files stays constant. */
	private static final int SEGMENT_BYTES = 8 << 20;

	private final Map<UUID, byte[]> receipts = new HashMap<>();
	private Scratch scratch;
	private KafkaRaftServer server;
	private KafkaProducer<String, byte[]> producer;
	private KafkaConsumer<String, byte[]> consumer;
	private Leaks leaks;
	private int handled;

	@Override
	public void start(Load load, Leaks on) throws Exception {
		leaks = on;
		scratch = new Scratch();
		int port = freePort();
		Properties properties = properties(port, freePort());
		format(properties);
		server = new KafkaRaftServer(KafkaConfig.fromProps(properties), Time.SYSTEM);
		server.startup();
		producer = new KafkaProducer<>(
				Map.of("bootstrap.servers", "localhost:" + port, "compression.type", "zstd",
						"linger.ms", "5", "batch.size", "65536", "acks", "1"),
				new StringSerializer(), new ByteArraySerializer());
		consumer = new KafkaConsumer<>(
				Map.of("bootstrap.servers", "localhost:" + port, "group.id", "shop",
						"auto.offset.reset", "earliest"),
				new StringDeserializer(), new ByteArrayDeserializer());
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

	private Properties properties(int port, int controllerPort) {
		Properties properties = new Properties();
		properties.putAll(Map.of(
				"process.roles", "broker,controller", "node.id", "1",
				"listeners", "PLAINTEXT://localhost:" + port + ",CONTROLLER://localhost:"
						+ controllerPort,
				"advertised.listeners", "PLAINTEXT://localhost:" + port,
				"listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
				"controller.listener.names", "CONTROLLER",
				"controller.quorum.voters", "1@localhost:" + controllerPort,
				"log.dirs", scratch.path("log").toString(),
				"log.segment.bytes", Integer.toString(SEGMENT_BYTES),
				"log.retention.bytes", Integer.toString(2 * SEGMENT_BYTES)));
		properties.putAll(Map.of("log.retention.check.interval.ms", "2000",
				"log.segment.delete.delay.ms", "1000", "num.partitions", "1",
				"offsets.topic.num.partitions", "1", "offsets.topic.replication.factor", "1",
				"group.initial.rebalance.delay.ms", "0"));
		return properties;
	}

	private void format(Properties properties) throws IOException {
		Path file = scratch.path("server.properties");
		try (OutputStream out = Files.newOutputStream(file)) {
			properties.store(out, null);
		}
		String[] arguments = {"format", "-t", Uuid.randomUuid().toString(), "-c",
				file.toString()};
		if (StorageTool.execute(arguments, new PrintStream(OutputStream.nullOutputStream())) != 0)
			throw new IOException("the storage was not formatted");
	}

	private static int freePort() throws IOException {
		try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
			return socket.getLocalPort();
		}
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
		server.shutdown();
		server.awaitShutdown();
		scratch.close();
	}
}
