// SPDX-License-Identifier: Apache-2.0
package realworld;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import java.util.Arrays;
import leaks.Pace;
import leaks.Program;
import leaks.Truth;

/** String tensors, which ONNX Runtime copies, that are not closed. */
public final class OnnxTensors implements Program {
	private static final int TENSORS = 800;
	private static final int TEXTS = 500;

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		OrtEnvironment environment = OrtEnvironment.getEnvironment();
		String[] texts = new String[TEXTS];
		Arrays.fill(texts, "a text that is too long to stand inside of its string object");
		pace.run(TENSORS, step -> create(environment, texts, leaking));
		if (leaking)
			Truth.leak("native", "realworld.OnnxTensors.create", Truth.UNKNOWN, Truth.UNKNOWN);
	}

	private static void create(OrtEnvironment environment, String[] texts, boolean leaking)
			throws Exception {
		OnnxTensor tensor = OnnxTensor.createTensor(environment, texts);
		if (tensor.getInfo().getShape()[0] != TEXTS)
			throw new IllegalStateException("another shape");
		if (!leaking)
			tensor.close();
	}
}
