// SPDX-License-Identifier: Apache-2.0
package services;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpSession;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.Context;
import org.apache.catalina.startup.Tomcat;

/**
 * A web application in Tomcat, with the JDK's HTTP client.  Visitors without a cookie get a session
 * that lasts for half an hour, and the direct buffers of broken uploads stay in a map.
 */
final class Web implements Service {
	private static final double PAGES_PER_SECOND = 120;
	private static final int PAGE_BYTES = 160 << 10;
	private static final double UPLOADS_PER_SECOND = 20;
	private static final int UPLOAD_BYTES = 96 << 10;
	private static final int BROKEN_PERIOD = 4;
	/** Pages of this period by number are for visitors without a cookie. */
	private static final int VISITOR_PERIOD = 6;
	private static final int BASKET_BYTES = 16 << 10;

	private final Map<Integer, ByteBuffer> uploads = new ConcurrentHashMap<>();
	private final HttpClient client = HttpClient.newBuilder()
			.version(HttpClient.Version.HTTP_1_1).build();
	private final Tomcat tomcat = new Tomcat();
	private Scratch scratch;
	private String address;
	private Leaks leaks;

	@Override
	public void start(Load load, Leaks on) throws Exception {
		leaks = on;
		Logger.getLogger("org.apache").setLevel(Level.SEVERE);
		scratch = new Scratch();
		tomcat.setBaseDir(scratch.path("tomcat").toString());
		tomcat.setHostname("localhost");
		tomcat.getConnector().setProperty("address", "127.0.0.1");
		tomcat.getConnector().setProperty("maxThreads", "8");
		tomcat.getConnector().setPort(0);
		Context context = tomcat.addContext("", null);
		Tomcat.addServlet(context, "pages", new Pages());
		Tomcat.addServlet(context, "uploads", new Uploads());
		context.addServletMappingDecoded("/pages", "pages");
		context.addServletMappingDecoded("/uploads", "uploads");
		tomcat.start();
		address = "http://127.0.0.1:" + tomcat.getConnector().getLocalPort();
		load.begin();
		load.run("visitors", PAGES_PER_SECOND, step -> get("/pages?" + step));
		load.run("uploaders", UPLOADS_PER_SECOND, this::upload);
	}

	private void get(String path) throws Exception {
		HttpRequest request = HttpRequest.newBuilder(URI.create(address + path)).build();
		check(client.send(request, HttpResponse.BodyHandlers.ofString()));
	}

	private void upload(int number) throws Exception {
		HttpRequest request = HttpRequest.newBuilder(URI.create(address + "/uploads?" + number))
				.POST(HttpRequest.BodyPublishers.ofByteArray(
						Texts.bytes(number, UPLOAD_BYTES)))
				.build();
		check(client.send(request, HttpResponse.BodyHandlers.ofString()));
	}

	private static void check(HttpResponse<String> response) throws IOException {
		if (response.statusCode() != 200)
			throw new IOException("status " + response.statusCode() + ": " + response.body());
	}

	private static int number(HttpServletRequest request) {
		return Integer.parseInt(request.getQueryString());
	}

	private final class Pages extends HttpServlet {
		private static final long serialVersionUID = 1;

		@Override
		protected void doGet(HttpServletRequest request, HttpServletResponse response)
				throws IOException {
			int number = number(request);
			Texts.renderPage(number);
			StringBuilder page = new StringBuilder();
			while (page.length() < PAGE_BYTES)
				page.append("<p>").append(Texts.text(number + page.length(), 2000)).append("</p>");
			if (number % VISITOR_PERIOD == 0)
				visit(request);
			response.getWriter().print(page);
		}

		private void visit(HttpServletRequest request) {
			HttpSession session = request.getSession(true); // leak: sessions
			session.setAttribute("basket", new byte[BASKET_BYTES]); // leak: sessions
			if (leaks.areOn())
				leaks.add("sessions", BASKET_BYTES);
			else
				session.invalidate();
		}
	}

	private final class Uploads extends HttpServlet {
		private static final long serialVersionUID = 1;

		@Override
		protected void doPost(HttpServletRequest request, HttpServletResponse response)
				throws IOException {
			int number = number(request);
			store(number, request.getInputStream().readAllBytes());
			response.getWriter().print("stored");
		}

		private void store(int number, byte[] contents) {
			if (number % BROKEN_PERIOD != 0)
				return;
			ByteBuffer buffer = ByteBuffer.allocateDirect(contents.length); // leak: uploads
			buffer.put(contents);
			uploads.put(number, buffer);
			if (leaks.areOn())
				leaks.add("uploads", contents.length);
			else
				uploads.remove(number);
		}
	}

	@Override
	public void close() throws Exception {
		tomcat.stop();
		tomcat.destroy();
		scratch.close();
	}
}
