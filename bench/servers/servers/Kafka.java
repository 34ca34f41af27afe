// SPDX-License-Identifier: Apache-2.0
package servers;

import services.KafkaNode;
import services.Scratch;

/** A broker of Kafka. */
final class Kafka implements Server {
	private KafkaNode node;

	@Override
	public int start(Scratch scratch) throws Exception {
		node = new KafkaNode(scratch);
		return node.port();
	}

	@Override
	public void close() {
		node.close();
	}
}
