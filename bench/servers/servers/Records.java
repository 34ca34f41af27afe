// SPDX-License-Identifier: Apache-2.0
package servers;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import services.KafkaNode;
import services.Texts;

/** Producers of Kafka, and a consumer: a record is answered when it is consumed. */
final class Records implements OpenLoop.Clients {
	private static final String TOPIC = "orders";
	private static final int PRODUCERS = 4;
	private static final int PARTITIONS = 4;
	private static final int RECORD_BYTES = 1000;
	private static final Duration POLL = Duration.ofMillis(100);
	/** Sent before the load begins. */
	private static final int FIRST = -1;

	private final List<KafkaProducer<String, byte[]>> producers = new ArrayList<>();
	private final KafkaConsumer<String, byte[]> consumer;

	Records(int port) throws Exception {
		try (Admin admin = Admin.create(Map.of("bootstrap.servers", "localhost:" + port))) {
			admin.createTopics(List.of(new NewTopic(TOPIC, PARTITIONS, (short) 1))).all().get();
		}
		consumer = KafkaNode.consumer(port);
		consumer.subscribe(List.of(TOPIC));
		for (int i = 0; i < PRODUCERS; i++) {
			producers.add(KafkaNode.producer(port));
			produce(i, FIRST).get();
		}
		for (int seen = 0; seen < PRODUCERS; )
			seen += consumer.poll(POLL).count();
	}

	private Future<?> produce(int producer, int number) {
		return producers.get(producer).send(new ProducerRecord<>(TOPIC,
				Integer.toString(number), Texts.bytes(number, RECORD_BYTES)));
	}

	@Override
	public int senders() {
		return PRODUCERS;
	}

	@Override
	public boolean send(int sender, int number) {
		produce(sender, number);
		return false;
	}

	/** Receives records; does not return. */
	void consume(OpenLoop loop) {
		while (true)
			for (ConsumerRecord<String, byte[]> record : consumer.poll(POLL))
				loop.answered(Integer.parseInt(record.key()));
	}
}
