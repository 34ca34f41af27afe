// SPDX-License-Identifier: Apache-2.0
package servers;

import java.io.BufferedReader;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.contrib.streaming.state.EmbeddedRocksDBStateBackend;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.SinkFunction;
import org.apache.flink.streaming.api.functions.source.SourceFunction;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.util.Collector;
import services.Scratch;

/**
 * A job of Flink: lines from a socket, state by user in RocksDB with timers in event time and
 * checkpoints; for each line its number goes back over the socket.
 */
final class Flink implements Server {
	private static final int PARALLELISM = 2;
	private static final int CHECKPOINT_MILLIS = 30_000;
	/** The default, 100 ms, would be nearly all of the latency. */
	private static final int BUFFER_MILLIS = 5;
	private static final MemorySize MANAGED = MemorySize.ofMebiBytes(64);

	/** The job runs in this process; its functions are serialized. */
	private static ServerSocket listener;
	private static Socket client;

	private JobClient job;

	@Override
	public int start(Scratch scratch) throws Exception {
		listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
		Configuration configuration = new Configuration();
		configuration.set(TaskManagerOptions.MANAGED_MEMORY_SIZE, MANAGED);
		StreamExecutionEnvironment environment =
				StreamExecutionEnvironment.createLocalEnvironment(PARALLELISM, configuration);
		environment.enableCheckpointing(CHECKPOINT_MILLIS);
		environment.getCheckpointConfig()
				.setCheckpointStorage(scratch.path("checkpoints").toUri());
		environment.setStateBackend(new EmbeddedRocksDBStateBackend(true));
		environment.setBufferTimeout(BUFFER_MILLIS);
		environment.addSource(new Lines()).map(Event::parse).keyBy(event -> event.user)
				.process(new Sessions()).addSink(new Answers());
		job = environment.executeAsync();
		return listener.getLocalPort();
	}

	/** The lines that the client sends; time is their number, so that it stops while none comes. */
	private static final class Lines implements SourceFunction<String> {
		private static final long serialVersionUID = 1;
		private static final int WATERMARK_PERIOD = 100;

		private volatile boolean isCancelled;

		@Override
		public void run(SourceContext<String> context) throws IOException {
			client = listener.accept();
			client.setTcpNoDelay(true);
			BufferedReader in = new BufferedReader(new InputStreamReader(
					client.getInputStream(), StandardCharsets.ISO_8859_1));
			String line;
			for (long time = 0; !isCancelled && (line = in.readLine()) != null; time++) {
				synchronized (context.getCheckpointLock()) {
					context.collectWithTimestamp(line, time);
					if (time % WATERMARK_PERIOD == 0)
						context.emitWatermark(new Watermark(time - 1));
				}
			}
		}

		@Override
		public void cancel() {
			isCancelled = true;
			try {
				client.close();
			} catch (IOException error) {
				error.printStackTrace();
			}
		}
	}

	/** A line: number, user, and text. */
	public static final class Event {
		public int number;
		public int user;
		public String text;

		static Event parse(String line) {
			String[] words = line.split(",", 3);
			Event event = new Event();
			event.number = Integer.parseInt(words[0]);
			event.user = Integer.parseInt(words[1]);
			event.text = words[2];
			return event;
		}
	}

	/** The state of a user. */
	public static final class Session {
		public int events;
		public long until;
		public String last;
	}

	/** Counts the events of sessions, which end some time after their last event. */
	private static final class Sessions extends KeyedProcessFunction<Integer, Event, Integer> {
		private static final long serialVersionUID = 1;
		private static final long SESSION = 20_000;

		private transient ValueState<Session> state;

		@Override
		public void open(OpenContext context) {
			state = getRuntimeContext().getState(
					new ValueStateDescriptor<>("session", Session.class));
		}

		@Override
		public void processElement(Event event, Context context, Collector<Integer> out)
				throws IOException {
			Session session = state.value();
			if (session == null) {
				session = new Session();
				context.timerService().registerEventTimeTimer(context.timestamp() + SESSION);
			}
			session.events++;
			session.until = context.timestamp() + SESSION;
			session.last = event.text;
			state.update(session);
			out.collect(event.number);
		}

		@Override
		public void onTimer(long time, OnTimerContext context, Collector<Integer> out)
				throws IOException {
			Session session = state.value();
			if (session.until > time)
				context.timerService().registerEventTimeTimer(session.until);
			else
				state.clear();
		}
	}

	/** The numbers of the events that were handled. */
	private static final class Answers implements SinkFunction<Integer> {
		private static final long serialVersionUID = 1;

		@Override
		public void invoke(Integer number, Context context) throws IOException {
			synchronized (listener) {
				new DataOutputStream(client.getOutputStream()).writeInt(number);
			}
		}
	}

	@Override
	public void close() throws Exception {
		job.cancel().get();
		listener.close();
	}
}
