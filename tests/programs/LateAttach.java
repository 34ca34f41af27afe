// SPDX-License-Identifier: Apache-2.0

import com.sun.tools.attach.VirtualMachine;

/**
 * Loads an agent into the running VM, like jcmd and similar tools, but into its own (requires
 * -Djdk.attach.allowAttachSelf=true), and then allocates COUNT arrays of 4 KiB.
 *
 * <pre>LateAttach AGENT COUNT</pre>
 */
public final class LateAttach {
	static volatile Object sink;

	private LateAttach() {
	}

	private static byte[] block() {
		return new byte[4096 - 16];
	}

	public static void main(String[] arguments) throws Exception {
		String pid = Long.toString(ProcessHandle.current().pid());
		VirtualMachine vm = VirtualMachine.attach(pid);
		vm.loadAgentPath(arguments[0], "");
		vm.detach();
		int count = Integer.parseInt(arguments[1]);
		for (int i = 0; i < count; i++)
			sink = block();
		System.out.println("attached");
	}
}
