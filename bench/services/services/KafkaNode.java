// SPDX-License-Identifier: Apache-2.0
package services;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import kafka.tools.StorageTool;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Time;

/** A cluster of Kafka with one node, broker and controller, and clients of it. */
public final class KafkaNode implements AutoCloseable {
	/** Segments are deleted within the run, so that the number of files stays constant. */
	private static final int SEGMENT_BYTES = 8 << 20;

	private final int port;
	private final KafkaRaftServer server;

	/** Formats a storage directory there, and starts. */
	public KafkaNode(Scratch scratch) throws IOException {
		port = freePort();
		Properties properties = properties(scratch);
		format(scratch.path("server.properties"), properties);
		server = new KafkaRaftServer(KafkaConfig.fromProps(properties), Time.SYSTEM);
		server.startup();
	}

	public int port() {
		return port;
	}

	private Properties properties(Scratch scratch) throws IOException {
		int controllerPort = freePort();
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

	private static void format(Path file, Properties properties) throws IOException {
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

	/** A producer for the node at that port. */
	public static KafkaProducer<String, byte[]> producer(int port) {
		return new KafkaProducer<>(
				Map.of("bootstrap.servers", "localhost:" + port, "compression.type", "zstd",
						"linger.ms", "5", "batch.size", "65536", "acks", "1"),
				new StringSerializer(), new ByteArraySerializer());
	}

	/** A consumer, alone in its group, from the first record on. */
	public static KafkaConsumer<String, byte[]> consumer(int port) {
		return new KafkaConsumer<>(
				Map.of("bootstrap.servers", "localhost:" + port, "group.id", "shop",
						"auto.offset.reset", "earliest"),
				new StringDeserializer(), new ByteArrayDeserializer());
	}

	@Override
	public void close() {
		server.shutdown();
		server.awaitShutdown();
	}
}
