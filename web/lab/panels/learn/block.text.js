/* block.text.js - step 11 */
export const en = {
    title: "Block: one cache line",
    short: "Block",
    intro: "Back to bits, and to speed. A processor fetches memory in *cache lines* of 64 bytes. In a large Bloom " +
        "filter the positions of a key are scattered over several lines, and fetching those takes most of the time " +
        "of a lookup.\n\nA *blocked Bloom filter* puts all bits of a key into one line. The hash chooses the line, " +
        "and in it one bit in each of eight lanes of 64 bits, which a few vector instructions compute and test at " +
        "once.",
    report: (word, line, lines, bits, set) => `“${word}” is in line ${line} of ${lines}; ${set} of its ${bits} bits ` +
        `are set.`,
    label: (line, word) => `Line ${line}: 8 lanes of 64 bits, with the bits of ${word} outlined`,
    compare: (keys) => `Cache lines that a lookup touches, counted for filters of the same size with ${keys} keys:`,
    kind: "filter", present: "stored key", absent: "absent key", fpr: "measured rate",
    block: "blocked Bloom", bloom: "Bloom",
    outro: "An absent key stops at its first 0, a stored key reads all of its bits. The library's own Bloom filter " +
        "places bits in pairs, two in one line, which halves their number. The price of blocks is space: by chance " +
        "some lines get more keys than others, and full lines have many false positives. At 1 % that costs 5 % " +
        "more bits, at 0.1 % 9 % more. Because a key changes one line only, many threads can add at the same time " +
        "without a lock.",
};
export const zh = {
    title: "分块：一条缓存行",
    short: "分块",
    intro: "再回到比特，这次说速度。处理器以 64 字节的*缓存行*为单位读取内存。在大的布隆过滤器里，一个键的位置散落" +
        "在好几行里，查询的时间大都花在取这些行上。\n\n*分块布隆过滤器*把一个键的所有位都放进同一行。哈希先选出一" +
        "行，再在行内八个 64 位的通道里各选一位，用几条向量指令就能同时算好、查完。",
    report: (word, line, lines, bits, set) => `“${word}”在第 ${line} 行（共 ${lines} 行），它的 ${bits} 位中有 ` +
        `${set} 位是 1。`,
    label: (line, word) => `第 ${line} 行：8 个 64 位通道，“${word}”的位带框`,
    compare: (keys) => `同样大小、同样 ${keys} 个键的过滤器，一次查询要读几条缓存行：`,
    kind: "过滤器", present: "已存的键", absent: "不在的键", fpr: "实测误判率",
    block: "分块布隆", bloom: "布隆",
    outro: "不在集合中的键遇到第一个 0 就停，已存的键要读完所有的位。库自己的布隆过滤器把位成对放置，两位在同一行，" +
        "行数便减半。分块的代价是空间：有的行碰巧分到更多的键，而太满的行误判就多。误判率 1% 时要多用 5% 的比特，" +
        "0.1% 时多 9%。由于一个键只改动一行，多个线程可以同时添加，不必加锁。",
};
