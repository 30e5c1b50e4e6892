// Exact.java - java Exact N...: the memory of a java.util.HashSet of N keys
//
// Prints lines "NAME N BYTES".  The bytes are the growth of the heap after a garbage collection.
// Small sets are created many times, so that other objects do not matter.
import java.util.HashSet;

class Exact {
    static long inUse() {
        for (int i = 0; i < 3; i++) System.gc();
        Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    static HashSet<String> make(int keys) {
        HashSet<String> users = new HashSet<>();
        StringBuilder key = new StringBuilder();
        for (int k = 0; k < keys; k++) {
            key.setLength(0);
            String digits = Integer.toString(k);
            users.add(key.append("user:0000000000", 0, 15 - digits.length()).append(digits).toString());
        }
        return users;
    }

    public static void main(String[] arguments) {
        for (String argument : arguments) {
            int keys = Integer.parseInt(argument);
            HashSet<?>[] sets = new HashSet<?>[Math.max(1, 1000000 / keys)];
            long before = inUse();
            for (int i = 0; i < sets.length; i++) sets[i] = make(keys);
            long bytes = (inUse() - before) / sets.length;
            System.out.println("HashSet " + sets[0].size() + " " + bytes);
        }
    }
}
