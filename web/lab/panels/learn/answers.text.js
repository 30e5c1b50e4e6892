/* answers.text.js - step 1 */
export const en = {
    title: "Two answers",
    short: "Two answers",
    intro: "You keep a large set of keys somewhere slow: on a disk, in a database, across a network. Most of the " +
        "keys that people look up are not there, and each such lookup is a trip for nothing.\n\nPut a small " +
        "*filter* in front. It stores a few bits per key, whatever the length of the key, and has two answers. " +
        "*Definitely not in the set*: no trip is needed, and this answer is always right. *Possibly in the set*: " +
        "go and look. If the key is not there after all, the answer was a *false positive*, and you choose how " +
        "often that may happen.",
    task: "The first half of these words is stored behind a filter; the other half is not. All of them are looked up:",
    rate: "False positive rate of the filter",
    found: "trip, key found",
    saved: "trip saved",
    wasted: "trip for nothing (false positive)",
    report: (all, saved, absent, wasted, bytes) =>
        `${all} words: the filter saves ${saved} of the ${absent} useless trips and lets ${wasted} through. Its ` +
        `table takes ${bytes} bytes.`,
    label: (found, saved, wasted) => `Outcome of each lookup: ${found} found, ${saved} saved, ${wasted} false ` +
        `positives`,
    names: (words) => `False positives: ${words.join(", ")}`,
    outro: "There are no *false negatives*: no stored key is ever missed. The next steps show why.",
};
export const zh = {
    title: "一个问题，两种回答",
    short: "两种回答",
    intro: "你有一大批键，存放在慢的地方：磁盘、数据库，或者网络另一端。人们查询的键大多并不在里面，每次这样的查询" +
        "都白跑一趟。\n\n在前面放一个小小的*过滤器*。不管键有多长，它只为每个键存几个比特，而且只有两种回答。*一定" +
        "不在集合中*：不必再跑，这个回答永远正确。*可能在集合中*：那就去看一看。如果键其实不在，这就是一次*误判*，" +
        "误判的频率由你来定。",
    task: "这些词的前一半存放在过滤器后面，后一半没有存。把它们全部查一遍：",
    rate: "过滤器的误判率",
    found: "跑一趟，找到了",
    saved: "省了一趟",
    wasted: "白跑一趟（误判）",
    report: (all, saved, absent, wasted, bytes) =>
        `共 ${all} 个词：在 ${absent} 次无用的查询中，过滤器省去了 ${saved} 次，放过了 ${wasted} 次。它的表占 ` +
        `${bytes} 字节。`,
    label: (found, saved, wasted) => `每次查询的结果：找到 ${found} 个，省去 ${saved} 次，误判 ${wasted} 次`,
    names: (words) => `误判的词：${words.join("、")}`,
    outro: "过滤器没有*漏判*：已存入的键绝不会查不到。接下来几步就来说明原因。",
};
