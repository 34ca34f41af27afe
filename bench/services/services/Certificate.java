// SPDX-License-Identifier: Apache-2.0
package services;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.ECGenParameterSpec;

/** A key and its self-signed certificate, which the JDK has no public class to make. */
public final class Certificate {
	private static final int SEQUENCE = 0x30;
	private static final int SET = 0x31;
	private static final int VERSION = 0xa0;
	private static final int INTEGER = 0x02;
	private static final int BIT_STRING = 0x03;
	private static final int TEXT = 0x0c;
	private static final int TIME = 0x17;
	/* ecdsa-with-SHA256 and commonName, with tag and length. */
	private static final byte[] ECDSA = {6, 8, 0x2a, (byte) 0x86, 0x48, (byte) 0xce, 0x3d, 4, 3, 2};
	private static final byte[] COMMON_NAME = {6, 3, 0x55, 4, 3};

	public final PrivateKey key;
	public final X509Certificate certificate;

	public Certificate(String name) throws Exception {
		KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
		generator.initialize(new ECGenParameterSpec("secp256r1"));
		KeyPair pair = generator.generateKeyPair();
		key = pair.getPrivate();
		byte[] subject = der(SEQUENCE,
				der(SET, der(SEQUENCE, COMMON_NAME, der(TEXT, ascii(name)))));
		byte[] algorithm = der(SEQUENCE, ECDSA);
		byte[] valid = der(SEQUENCE, der(TIME, ascii("240101000000Z")),
				der(TIME, ascii("491231235959Z")));
		byte[] body = der(SEQUENCE, der(VERSION, der(INTEGER, new byte[] {2})),
				der(INTEGER, new byte[] {1}), algorithm, subject, valid, subject,
				pair.getPublic().getEncoded());
		Signature signature = Signature.getInstance("SHA256withECDSA");
		signature.initSign(key);
		signature.update(body);
		byte[] whole = der(SEQUENCE, body, algorithm,
				der(BIT_STRING, new byte[1], signature.sign()));
		certificate = (X509Certificate) CertificateFactory.getInstance("X.509")
				.generateCertificate(new ByteArrayInputStream(whole));
	}

	private static byte[] ascii(String text) {
		return text.getBytes(StandardCharsets.US_ASCII);
	}

	/** A value in DER: tag, length, contents of less than 64 KiB. */
	private static byte[] der(int tag, byte[]... parts) {
		ByteArrayOutputStream contents = new ByteArrayOutputStream();
		for (byte[] part : parts)
			contents.writeBytes(part);
		ByteArrayOutputStream out = new ByteArrayOutputStream();
		int length = contents.size();
		out.write(tag);
		if (length >= 0x100) {
			out.write(0x82);
			out.write(length >> 8);
		} else if (length >= 0x80) {
			out.write(0x81);
		}
		out.write(length);
		out.writeBytes(contents.toByteArray());
		return out.toByteArray();
	}
}
