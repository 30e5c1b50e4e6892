/* Guava.java - Guava's half of the live test: guava.c describes what is exchanged.
 *
 *     java Guava check COUNT FILE   reads what tamis wrote, compares it with its own
 *     java Guava write COUNT FILE   writes its own
 */
import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnel;
import com.google.common.hash.Funnels;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

public class Guava {
    static final double[] RATES = {0.5, 0.3, 0.1, 0.03, 0.01, 0.001, 1e-6};
    static long state;

    static long next() {
        long z = state += 0x9e3779b97f4a7c15L;
        z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
        z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
        return z ^ z >>> 31;
    }

    static long below(long range) { return Long.remainderUnsigned(next(), range); }

    static Object key(int funnel) {
        long x = next();
        switch (funnel) {
            case 0: {
                byte[] bytes = new byte[(int) Long.remainderUnsigned(x, 33)];
                for (int i = 0; i < bytes.length; i++) bytes[i] = (byte) ((x >>> (i % 8 * 8)) ^ i);
                return bytes;
            }
            case 1: return x;
            case 2: return (int) x;
            default: return "\u00e9" + Long.toHexString(x);
        }
    }

    static Funnel<?> funnel(int which) {
        switch (which) {
            case 0: return Funnels.byteArrayFunnel();
            case 1: return Funnels.longFunnel();
            case 2: return Funnels.integerFunnel();
            case 3: return Funnels.stringFunnel(StandardCharsets.UTF_8);
            default: return Funnels.unencodedCharsFunnel();
        }
    }

    /* There is no way to create MURMUR128_MITZ_32; an empty stream that names it can be read. */
    @SuppressWarnings("unchecked")
    static BloomFilter<Object> create(int which, long capacity, double rate, int strategy) throws IOException {
        Funnel<Object> funnel = (Funnel<Object>) funnel(which);
        BloomFilter<Object> filter = BloomFilter.create(funnel, capacity, rate);
        if (strategy == 1) return filter;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        filter.writeTo(out);
        byte[] bytes = out.toByteArray();
        bytes[0] = 0;
        return BloomFilter.readFrom(new ByteArrayInputStream(bytes), funnel);
    }

    static long answers(BloomFilter<Object> filter, int funnel) {
        long answers = 0;
        for (int i = 0; i < 64; i++) if (filter.mightContain(key(funnel))) answers |= 1L << i;
        return answers;
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] args) throws IOException {
        boolean writing = args[0].equals("write");
        int count = Integer.parseInt(args[1]), done = 0;
        DataOutputStream out = writing ? new DataOutputStream(new BufferedOutputStream(new FileOutputStream(args[2]))) : null;
        DataInputStream in = writing ? null : new DataInputStream(new BufferedInputStream(new FileInputStream(args[2])));
        for (int i = 0; i < count; i++) {
            state = i;
            long range = next(), power = below(11);
            long capacity = 1 + Long.remainderUnsigned(range, 1L << power);
            long keys = below(capacity + 1);
            int funnel = (int) below(5), strategy = (int) below(2);
            double rate = RATES[(int) below(7)];
            BloomFilter<Object> filter;
            try {
                filter = create(funnel, capacity, rate, strategy);
            } catch (IllegalArgumentException refused) {
                continue;
            }
            for (long k = 0; k < keys; k++) filter.put(key(funnel));
            long afterKeys = state;
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            filter.writeTo(bytes);
            if (writing) {
                out.writeInt(bytes.size());
                bytes.writeTo(out);
                out.writeLong(answers(filter, funnel));
            } else {
                byte[] theirs = new byte[in.readInt()];
                in.readFully(theirs);
                if (!Arrays.equals(theirs, bytes.toByteArray())) throw new AssertionError("filter " + i + ": other bytes");
                BloomFilter<Object> read = BloomFilter.readFrom(new ByteArrayInputStream(theirs), (Funnel<Object>) funnel(funnel));
                state = afterKeys;
                if (answers(read, funnel) != in.readLong()) throw new AssertionError("filter " + i + ": other answers");
            }
            done++;
        }
        if (writing) out.close();
        System.out.println(done + (writing ? " filters written" : " filters of tamis read by Guava: same bytes, same answers"));
    }
}
