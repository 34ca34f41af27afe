// SPDX-License-Identifier: Apache-2.0
// Does nothing: measures the start of a VM.
public class Nothing {
    public static void main(String[] arguments) {
        System.out.println("checksum 0");
    }
}
