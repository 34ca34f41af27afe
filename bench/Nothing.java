// SPDX-License-Identifier: Apache-2.0
// Does nothing: what a VM costs to start.
public class Nothing {
    public static void main(String[] arguments) {
        System.out.println("checksum 0");
    }
}
