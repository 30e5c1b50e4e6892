/* add.text.js - step 3 */
export const en = {
    title: "Adding keys",
    short: "Adding",
    intro: "To *add* a key, set the bits at its positions. To *look it up*, compute the same positions again: if " +
        "one of these bits is 0, the key was never added, since adding it would have set that bit. If all are 1, " +
        "it is possibly in the set.\n\nNothing ever clears a bit. That is why a filter has no false negatives.",
    nothing: "Nothing is stored: every word is definitely not in the set.",
    report: (count, set, shared) => `${count} ${count === 1 ? "word has" : "words have"} set ${set} of 64 bits` +
        (shared === 0 ? "." : `; ${shared} ${shared === 1 ? "bit is" : "bits are"} shared (×2, ×3: how many words ` +
        `use it).`),
    added: (word, fresh) => fresh === 0 ? `“${word}” sets no new bit.` : `“${word}” turns on ${fresh} ` +
        `${fresh === 1 ? "bit" : "bits"} (+).`,
    label: (set, words) => `64 bits, ${set} of them set, by: ${words}`,
    other: "Look up or add any word",
    allSet: (word) => `All bits of “${word}” are set: possibly in the set.`,
    someZero: (word, zeros) => `“${word}” was never added: its ` +
        `${zeros.length === 1 ? "bit" : "bits"} ${zeros.join(", ")} would be 1.`,
    enough: (max) => `These are ${max} words, enough for 64 bits. Start again.`,
    chosen: "Stored words (select one to see its bits):",
    outro: "The array does not say which word set a bit. A word that finds its bits already set costs nothing, and " +
        "that is the first sign of trouble.",
};
export const zh = {
    title: "添加键",
    short: "添加",
    intro: "*添加*一个键，就是把它的几个位置都设为 1。*查询*时再算一遍同样的位置：只要有一位是 0，这个键就从未添加" +
        "过，否则那一位早就是 1 了；如果全是 1，它就可能在集合中。\n\n没有任何操作会把位清零，所以过滤器不会漏判。",
    nothing: "还没有存任何词：所有词都一定不在集合中。",
    report: (count, set, shared) => `${count} 个词设置了 64 位中的 ${set} 位` +
        (shared === 0 ? "。" : `，其中 ${shared} 位是共用的（×2、×3 表示有几个词用到它）。`),
    added: (word, fresh) => fresh === 0 ? `“${word}”没有设置新的位。` : `“${word}”新设置了 ${fresh} 位（+）。`,
    label: (set, words) => `64 个比特，其中 ${set} 个是 1，来自：${words}`,
    other: "查询或添加任意一个词",
    allSet: (word) => `“${word}”的位全是 1：可能在集合中。`,
    someZero: (word, zeros) => `“${word}”从未添加过，否则第 ${zeros.join("、")} 位就是 1 了。`,
    enough: (max) => `已经有 ${max} 个词，对 64 个比特来说够多了。请重新开始。`,
    chosen: "已存的词（选一个，看它的位）：",
    outro: "数组并不记录某一位是谁设置的。如果一个词发现自己的位全都已经是 1，添加它便毫无代价，而麻烦正是从这里开" +
        "始的。",
};
