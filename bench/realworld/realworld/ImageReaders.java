// SPDX-License-Identifier: Apache-2.0
package realworld;

import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import javax.imageio.ImageIO;
import javax.imageio.ImageReader;
import leaks.Pace;
import leaks.Program;
import leaks.Truth;

/** Readers of JPEG images that are kept without dispose(). */
public final class ImageReaders implements Program {
	private static final int IMAGES = 6000;
	private static final int SIDE = 16;

	private final List<ImageReader> forgotten = new ArrayList<>();

	@Override
	public void run(Pace pace, boolean leaking) throws Exception {
		ImageIO.setUseCache(false);
		ByteArrayOutputStream jpeg = new ByteArrayOutputStream();
		BufferedImage image = new BufferedImage(SIDE, SIDE, BufferedImage.TYPE_INT_RGB);
		if (!ImageIO.write(image, "jpeg", jpeg))
			throw new IllegalStateException("no writer for JPEG");
		byte[] bytes = jpeg.toByteArray();
		pace.run(IMAGES, step -> read(bytes, leaking));
		if (leaking)
			Truth.leak("native", "realworld.ImageReaders.read", Truth.UNKNOWN, Truth.UNKNOWN);
	}

	private void read(byte[] jpeg, boolean leaking) throws Exception {
		ImageReader reader = ImageIO.getImageReadersByFormatName("jpeg").next();
		reader.setInput(ImageIO.createImageInputStream(new ByteArrayInputStream(jpeg)));
		if (reader.read(0).getWidth() != SIDE)
			throw new IllegalStateException("another width");
		if (leaking)
			forgotten.add(reader);
		else
			reader.dispose();
	}
}
