/* bits.text.js - step 2 */
export const en = {
    title: "An array of bits and three hash functions",
    short: "Bits and hashes",
    intro: "A *Bloom filter* is an array of bits, all 0 at first, and a few hash functions. A hash function turns " +
        "a key into a position in the array: always the same position for the same key, and for different keys as " +
        "if drawn at random.\n\nHere are 64 bits and three hash functions. Type a word, or change one letter of " +
        "it, and see where it lands.",
    report: (word, places) => `“${word}” has the positions ${places}. Nothing is stored yet: all 64 bits are 0.`,
    label: (word, places) => `64 bits, all 0. The word ${word} has the positions ${places}.`,
    outro: "The library computes one 64-bit hash of the word and derives all positions from it, which is as good " +
        "as three independent functions and much faster.",
    and: (places) => places.join(", "),
    collide: "Two of its positions are the same: that happens, and does no harm.",
};
export const zh = {
    title: "一排比特和三个哈希函数",
    short: "比特与哈希",
    intro: "*布隆过滤器*就是一排比特（起初全是 0），外加几个哈希函数。哈希函数把键变成数组里的一个位置：同一个键总" +
        "是得到同一个位置，不同的键则像随机抽取一样。\n\n这里有 64 个比特和三个哈希函数。输入一个词，再改动其中一个" +
        "字，看看它落在哪里。",
    report: (word, places) => `“${word}”的位置是 ${places}。现在还什么都没存：64 位全是 0。`,
    label: (word, places) => `64 个比特，全是 0。“${word}”的位置是 ${places}。`,
    outro: "库只为这个词算一次 64 位哈希，再从中推出所有位置。效果不输三个独立的哈希函数，速度却快得多。",
    and: (places) => places.join("、"),
    collide: "其中两个位置恰好相同：这种事会发生，也无妨。",
};
