// SPDX-License-Identifier: Apache-2.0
package services;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import java.nio.FloatBuffer;
import java.util.HashMap;
import java.util.Map;

/**
 * Inference with ONNX Runtime.  Results of rejected requests are not closed, labels of requests are
 * tensors of strings that are not closed, and a map caches features without a limit.
 */
final class Inference implements Service {
	private static final double REQUESTS_PER_SECOND = 400;
	private static final int ROWS = 32;
	private static final int INPUTS = 256;
	private static final int OUTPUTS = 512;
	private static final int REJECTED_PERIOD = 40;
	private static final int LABELLED_PERIOD = 20;
	private static final int LABELS = 256;
	/** Measured: growth of the C heap. */
	private static final int LABEL_BYTES = 29_000;
	private static final int CACHED_PERIOD = 32;
	private static final int PAYLOAD_BYTES = 400 << 10;

	private final Map<Integer, float[]> features = new HashMap<>();
	private final OrtEnvironment environment = OrtEnvironment.getEnvironment();
	private OrtSession session;
	private Leaks leaks;

	@Override
	public void start(Load load, Leaks on) throws Exception {
		leaks = on;
		OrtSession.SessionOptions options = new OrtSession.SessionOptions();
		/* Each result is a block of malloc: the arena doubles, and never shrinks. */
		options.setCPUArenaAllocator(false);
		options.setIntraOpNumThreads(1);
		session = environment.createSession(Model.multiplication(INPUTS, OUTPUTS), options);
		options.close();
		load.begin();
		load.run("requests", REQUESTS_PER_SECOND, this::infer);
	}

	private void infer(int number) throws OrtException {
		byte[] payload = Texts.text(number, PAYLOAD_BYTES).getBytes();
		float[] values = features(number, payload);
		if (number % LABELLED_PERIOD == 0)
			label(number);
		try (OnnxTensor input = OnnxTensor.createTensor(environment, FloatBuffer.wrap(values),
				new long[] {ROWS, INPUTS})) {
			score(number, input);
		}
	}

	private void score(int number, OnnxTensor input) throws OrtException {
		OrtSession.Result result = session.run(Map.of("x", input)); // leak: results
		float[][] scores = (float[][]) result.get(0).getValue();
		if (scores.length != ROWS)
			throw new IllegalStateException("rows are missing");
		if (leaks.has(number, REJECTED_PERIOD)) {
			leaks.add("results", ROWS * OUTPUTS * Float.BYTES);
			return;
		}
		result.close();
	}

	private float[] features(int number, byte[] payload) {
		float[] values = new float[ROWS * INPUTS]; // leak: features
		for (int i = 0; i < values.length; i++)
			values[i] = payload[i * 7];
		if (leaks.has(number, CACHED_PERIOD)) {
			leaks.add("features", values.length * Float.BYTES);
			features.put(number, values);
		}
		return values;
	}

	private void label(int number) throws OrtException {
		String[] texts = new String[LABELS];
		for (int i = 0; i < LABELS; i++)
			texts[i] = Texts.text(number + i, 60);
		OnnxTensor labels = OnnxTensor.createTensor(environment, texts); // leak: labels
		if (leaks.areOn())
			leaks.add("labels", LABEL_BYTES);
		else
			labels.close();
	}

	@Override
	public void close() throws Exception {
		session.close();
	}
}
