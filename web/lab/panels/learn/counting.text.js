/* counting.text.js - step 7 */
export const en = {
    title: "Counting",
    short: "Counting",
    intro: (gone, shared) => "The first way out is to *count*. A counting Bloom filter has a small counter in " +
        "place of each bit. Adding a key increments its counters, removing it decrements them, and a lookup checks " +
        "that none is 0. The filter below holds the same words as the plain " +
        `one before. Remove “${gone}”: the counter that it shares with “${shared}” drops by one, and “${shared}” ` +
        `stays.`,
    lookups: "Lookups",
    many: "Add 15 times",
    count: (times) => `(counted: ${times})`,
    start: "64 counters of 4 bits. Add and remove words.",
    didAdd: (word, places) => `Added “${word}”: counters ${places} went up.`,
    didRemove: (word, places) => `Removed “${word}”: counters ${places} went down.`,
    neverAdded: (word) => `“${word}” is a false positive: two of its positions are one counter, which an add would ` +
        "have raised twice. Nothing was removed.",
    absent: (word) => `“${word}” is definitely not in the set: there is nothing to remove.`,
    unchanged: (word) => `The counters of “${word}” are saturated: they do not change.`,
    full: (count) => `${count} ${count === 1 ? "counter is" : "counters are"} saturated at 15 and will stay there.`,
    label: (used) => `64 counters, ${used} of them not 0`,
    outro: "Four bits are enough: in a full filter the average counter is about 0.7. A counter that does reach 15 " +
        "is *saturated*. It is no longer known how many keys share it, so it never goes down again. That may leave " +
        "a false positive, but never a false negative.\n\nThe price is four times the space. And there is a rule " +
        "for every filter that can remove: remove only keys that you added. Removing a false positive would " +
        "decrement the counters of other keys.",
};
export const zh = {
    title: "计数",
    short: "计数",
    intro: (gone, shared) => "第一条路是*计数*。计数布隆过滤器把每一位换成一个小计数器：添加时加一，删除时减一，查" +
        "询时检查有没有为 0 的。" +
        `下面的过滤器存着和前面一样的词。删除“${gone}”试试：它与“${shared}”共用的计数器只减了一，“${shared}”还在。`,
    lookups: "查询",
    many: "添加 15 次",
    count: (times) => `（计数：${times}）`,
    start: "64 个 4 位计数器。添加、删除几个词试试。",
    didAdd: (word, places) => `添加了“${word}”：计数器 ${places} 加一。`,
    didRemove: (word, places) => `删除了“${word}”：计数器 ${places} 减一。`,
    neverAdded: (word) => `“${word}”是误判：它有两个位置落在同一个计数器上，真添加过的话这个计数器会加两次。没有移除任何东西。`,
    absent: (word) => `“${word}”一定不在集合中，没有什么可删除的。`,
    unchanged: (word) => `“${word}”的计数器已经饱和，不再变化。`,
    full: (count) => `有 ${count} 个计数器在 15 饱和，从此不再变化。`,
    label: (used) => `64 个计数器，其中 ${used} 个不为 0`,
    outro: "4 位就够了：装满的过滤器里，计数器平均只有 0.7 左右。真到了 15 的计数器就*饱和*了：有多少键共用它已无从" +
        "知晓，所以它不再减小。这也许会留下误判，但绝不会造成漏判。\n\n代价是四倍的空间。凡是能删除的过滤器都有一条" +
        "规矩：只删除自己添加过的键。如果删掉一个误判的键，减掉的就是别的键的计数。",
};
