// SPDX-License-Identifier: Apache-2.0
package services;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** A model in the format of ONNX: y = x * w, written as protobuf by hand. */
final class Model {
	private static final int VERSION = 8;
	private static final int OPERATORS_VERSION = 13;
	private static final int FLOAT = 1;

	private Model() {
	}

	static byte[] multiplication(int inputs, int outputs) {
		byte[] node = join(text(1, "x"), text(1, "w"), text(2, "y"), text(4, "MatMul"));
		ByteBuffer weights = ByteBuffer.allocate(inputs * outputs * Float.BYTES)
				.order(ByteOrder.LITTLE_ENDIAN);
		for (int i = 0; i < inputs * outputs; i++)
			weights.putFloat(i % 17);
		byte[] initializer = join(number(1, inputs), number(1, outputs), number(2, FLOAT),
				text(8, "w"), field(9, weights.array()));
		byte[] graph = join(field(1, node), text(2, "multiplication"), field(5, initializer),
				field(11, value("x", inputs)), field(12, value("y", outputs)));
		return join(number(1, VERSION), field(7, graph),
				field(8, join(text(1, ""), number(2, OPERATORS_VERSION))));
	}

	/** A matrix of any number of rows. */
	private static byte[] value(String name, int columns) {
		byte[] shape = join(field(1, text(2, "rows")), field(1, number(1, columns)));
		byte[] tensor = join(number(1, FLOAT), field(2, shape));
		return join(text(1, name), field(2, field(1, tensor)));
	}

	private static byte[] text(int tag, String value) {
		return field(tag, value.getBytes(StandardCharsets.UTF_8));
	}

	private static byte[] number(int tag, long value) {
		return join(varint(tag << 3), varint(value));
	}

	private static byte[] field(int tag, byte[] contents) {
		return join(varint(tag << 3 | 2), varint(contents.length), contents);
	}

	private static byte[] varint(long value) {
		ByteArrayOutputStream out = new ByteArrayOutputStream();
		for (; value >= 0x80; value >>>= 7)
			out.write((int) value | 0x80);
		out.write((int) value);
		return out.toByteArray();
	}

	private static byte[] join(byte[]... parts) {
		ByteArrayOutputStream out = new ByteArrayOutputStream();
		for (byte[] part : parts)
			out.writeBytes(part);
		return out.toByteArray();
	}
}
