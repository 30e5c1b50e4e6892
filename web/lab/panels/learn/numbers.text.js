/* numbers.text.js - step 6 */
export const en = {
    title: "Four numbers: n, m, k and p",
    short: "n, m, k, p",
    intro: "A Bloom filter of *m* bits with *k* hash functions that holds *n* keys has a false positive rate *p*. " +
        "A hash function misses a given bit with probability 1 − 1/m, so after n keys a share of about 1 − " +
        "e^(−kn/m) of the bits is set: the *fill*. An absent key passes if all of its k bits are set.\n\nMove the " +
        "sliders. The rate slider sets m and k by the textbook. Then a real filter of this shape is filled and " +
        "measured.",
    n: "keys n", m: "bits m", k: "hash functions k", p: "rate p",
    fill: "fill", bestK: "best k", bitsPerKey: "bits per key", measured: "measured", measuredFill: "measured fill",
    rateByKeys: "False positive rate by the number of keys", rateByHashes: "Rate and fill by the number of hash " +
        "functions",
    keys: "keys", hashes: "hash functions", rate: "rate", share: "share", now: "now",
    seed: "Measure with another seed",
    report: (n, m, k, p, measured, wrong) => `${n} keys in ${m} bits with k = ${k}: expected rate ${p}. Measured ` +
        `with 10,000 absent keys: ${measured} (${wrong} false positives).`,
    outro: "With few hash functions a key checks too few bits; with many, the array fills up. The lowest rate is " +
        "reached when *half of the bits are set*: k = (m/n) ln 2. Around the minimum the curve is flat, so a k " +
        "that is off by one costs little. Too many keys cost much more: see how steep the first curve is beyond " +
        "the number that the filter was made for. Each factor of ten in p costs 4.8 bits per key; the length of " +
        "the keys plays no part.",
};
export const zh = {
    title: "四个数：n、m、k 和 p",
    short: "n、m、k、p",
    intro: "布隆过滤器有 *m* 个比特、*k* 个哈希函数，存了 *n* 个键，误判率是 *p*。一次哈希错过某一位的概率是 1 − " +
        "1/m，所以存入 n 个键之后，大约有 1 − e^(−kn/m) 的位是 1，这就是*填充率*。不在集合中的键，只有 k 位全是 1 " +
        "才会被放过。\n\n拖动滑块看看。拖动误判率时，m 和 k 按教科书的公式来定。随后会真的建一个这样的过滤器，装满" +
        "并测量。",
    n: "键数 n", m: "比特数 m", k: "哈希函数个数 k", p: "误判率 p",
    fill: "填充率", bestK: "最佳 k", bitsPerKey: "每键比特数", measured: "实测误判率", measuredFill: "实测填充率",
    rateByKeys: "误判率随键数的变化", rateByHashes: "误判率与填充率随哈希函数个数的变化",
    keys: "键数", hashes: "哈希函数个数", rate: "误判率", share: "比例", now: "当前",
    seed: "换一个种子再测",
    report: (n, m, k, p, measured, wrong) => `${m} 个比特、k = ${k}、${n} 个键：预期误判率 ${p}。用 10,000 个不在集合` +
        `中的键实测：${measured}（${wrong} 次误判）。`,
    outro: "哈希函数太少，每个键检查的位就太少；太多，数组又会被填满。*恰有一半的位是 1* 时误判率最低，此时 k = " +
        "(m/n) ln 2。最低点附近曲线很平，k 差一个影响不大。键太多的代价就大得多：看第一条曲线，超出设计容量之后有多" +
        "陡。误判率每降到十分之一，每个键要多花 4.8 个比特；键有多长则毫无影响。",
};
