/* choose.text.js - step 13 */
export const en = {
    title: "Which one?",
    short: "Which one?",
    intro: "Four points decide. Are *all keys known* before the first lookup? Then a static kind: `fuse`, " +
        "or `ribbon` if every byte counts. Will keys be *removed*? `cuckoo`; or `counting`, if filters are merged " +
        "or a key is added several times. Is the *number of keys unknown*? `growing`. Otherwise `block`, the " +
        "fastest; or `bloom` if a few percent of space matter more than speed.",
    kind: "kind", size: "bits per key at 1 %", add: "add", remove: "remove", merge: "merge", use: "use it for",
    report: (keys, bound) => `Bits per key for ${keys} keys, computed by the library. No filter can use fewer than ` +
        `${bound}.`,
    table: "The kinds of filters",
    plan: "Plan a filter for your numbers",
    use_bloom: "least space among those that take adds, down to 1 %",
    use_block: "speed",
    use_counting: "removing, if filters are merged",
    use_cuckoo: "removing, in the least space",
    use_xor: "comparison: fuse is smaller",
    use_fuse: "static sets, queried often",
    use_ribbon: "static sets, if space is expensive",
    use_growing: "streams, de-duplication",
};
export const zh = {
    title: "选哪一种？",
    short: "选哪一种",
    intro: "四个问题就能决定。第一次查询之前，*所有的键都知道*吗？那就用静态的：`fuse`；每个字节都要省的话，用" +
        " `ribbon`。键会被*删除*吗？用 `cuckoo`；如果过滤器要合并，或者同一个键会多次添加，用 `counting`。*不知道有" +
        "多少键*？用 `growing`。其余情况用 `block`，它最快；如果省几个百分点的空间比速度更要紧，用 `bloom`。",
    kind: "种类", size: "误判率 1% 时每键比特数", add: "添加", remove: "删除", merge: "合并", use: "适合",
    report: (keys, bound) => `${keys} 个键时每个键的比特数，由库算出。任何过滤器都不可能少于 ${bound}。`,
    table: "过滤器的种类",
    plan: "按你的数据规划一个过滤器",
    use_bloom: "可以添加的各种里最省空间（误判率不低于 1% 时）",
    use_block: "速度",
    use_counting: "需要删除，而且要合并",
    use_cuckoo: "需要删除，空间最省",
    use_xor: "用于比较：fuse 更小",
    use_fuse: "静态集合，查询频繁",
    use_ribbon: "静态集合，空间宝贵",
    use_growing: "数据流、去重",
};
