// Guava.java - Guava's Bloom filter, measured as bench/measure.c measures its contenders
//
//   java -cp guava.jar:. Guava N...
//
// Prints rows for `tamis-bench --rows`.  It runs in its own process, warmed up; its times are
// compared with those of a run on the same machine right after it.
import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Locale;

public final class Guava {
    private static final int REPEATS = 7;
    private static final int QUERIES = 1 << 20;
    private static final double RATE = 0.01;

    private static long mix(long x) {
        x = (x ^ x >>> 30) * 0xbf58476d1ce4e5b9L;
        x = (x ^ x >>> 27) * 0x94d049bb133111ebL;
        return x ^ x >>> 31;
    }

    private static long member(long i) {
        return mix(2 * i + 1);
    }

    private static long nonMember(long i) {
        return mix(2 * i + 2);
    }

    private interface Task {
        long run();
    }

    private static long sum; // keeps the compiler from omitting lookups

    private static String time(String name, long count, Task task) {
        double[] times = new double[REPEATS];
        for (int warm = 0; warm < 2; warm++) sum += task.run();
        for (int i = 0; i < REPEATS; i++) {
            long start = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            sum += task.run();
            long end = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            times[i] = (end - start) / (double) count;
        }
        Arrays.sort(times);
        return String.format(Locale.ROOT, "\t%s\t%.2f\t%.2f", name, times[0], times[REPEATS / 2]);
    }

    private static BloomFilter<Long> filled(int n) {
        BloomFilter<Long> filter = BloomFilter.create(Funnels.longFunnel(), n, RATE);
        for (int i = 0; i < n; i++) filter.put(member(i));
        return filter;
    }

    private static long query(BloomFilter<Long> filter, long[] keys) {
        long found = 0;
        for (long key : keys) found += filter.mightContain(key) ? 1 : 0;
        return found;
    }

    public static void main(String[] arguments) {
        for (String argument : arguments) {
            int n = Integer.parseInt(argument);
            int rounds = Math.max(1, 500000 / n);
            long[] hits = new long[QUERIES], misses = new long[QUERIES], both = new long[QUERIES];
            for (int i = 0; i < QUERIES; i++) {
                hits[i] = member(Long.remainderUnsigned(mix(i + 77), n));
                misses[i] = nonMember(i);
                both[i] = mix(i) < 0 ? hits[i] : misses[i];
            }
            BloomFilter<Long> filter = filled(n);
            double bits = -Math.log(RATE) / (Math.log(2) * Math.log(2));
            double rate = query(filter, misses) / (double) QUERIES;
            StringBuilder row = new StringBuilder();
            row.append(String.format(Locale.ROOT, "guava\twords\t%d\t%.4f\t%.6f", n, bits, rate));
            row.append(time("add", (long) rounds * n, () -> {
                long made = 0;
                for (int i = 0; i < rounds; i++) made += filled(n).approximateElementCount();
                return made;
            }));
            row.append(time("hit", QUERIES, () -> query(filter, hits)));
            row.append(time("miss", QUERIES, () -> query(filter, misses)));
            row.append(time("mixed", QUERIES, () -> query(filter, both)));
            System.out.println(row);
        }
        if (sum == 42) System.err.println("unlikely");
    }
}
