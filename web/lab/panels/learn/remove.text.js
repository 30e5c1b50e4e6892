/* remove.text.js - step 5 */
export const en = {
    title: "Why a plain filter cannot delete",
    short: "No deletion",
    intro: (gone, shared) => "Shared bits have a second consequence. To delete a key, you would have to clear its " +
        "bits. But some of them may belong " +
        `to other keys as well. Here “${gone}” and “${shared}” share a bit.`,
    remove: (word) => `Remove “${word}” from the filter`,
    refused: (status, message) => `${status}: ${message}`,
    clear: "Clear its bits in a copy of the table",
    restore: "Put the bits back",
    before: (gone, shared, places) => `“${gone}” and “${shared}” share bit ${places}. All stored words are found.`,
    after: (gone, lost) => `The bits of “${gone}” are cleared, and ${lost} vanished with it, although nobody ` +
        `deleted that: a false negative.`,
    quote: (words) => words.map((word) => `“${word}”`).join(", "),
    lookups: "Lookups over these bits",
    vanished: "false negative",
    label: (words, cleared) => `The bits of ${words}${cleared === "" ? "" : `; cleared: ${cleared}`}`,
    outro: "So the library refuses to remove from a Bloom filter. The lookups above read a copy of the table in " +
        "which the bits were cleared by hand, with the positions that the library reports. A filter that loses " +
        "keys is worse than none: it answers “definitely not” about a key that is there. There are two ways out: " +
        "count instead of set, or store something that belongs to one key alone. Both follow after a little " +
        "arithmetic.",
};
export const zh = {
    title: "普通的过滤器为什么不能删除",
    short: "不能删除",
    intro: (gone, shared) => "共用比特还有另一个后果。要删除一个键，就得把它的位清零，可其中有些位也许同时属于别的" +
        "键。" +
        `这里的“${gone}”和“${shared}”就共用一位。`,
    remove: (word) => `从过滤器中删除“${word}”`,
    refused: (status) => `${status}：这种过滤器不能移除键，别的键也用着它的位`,
    clear: "在表的副本里清零它的位",
    restore: "把位放回去",
    before: (gone, shared, places) => `“${gone}”和“${shared}”共用第 ${places} 位。已存的词都查得到。`,
    after: (gone, lost) => `“${gone}”的位清零之后，${lost}也跟着消失了，可谁也没有删除它：这就是漏判。`,
    quote: (words) => words.map((word) => `“${word}”`).join("、"),
    lookups: "在这些位上查询",
    vanished: "漏判",
    label: (words, cleared) => `${words} 的位${cleared === "" ? "" : `；已清零：${cleared}`}`,
    outro: "所以库拒绝从布隆过滤器中删除。上面的查询读的是表的一份副本，其中的位是按库给出的位置手工清零的。会丢键" +
        "的过滤器还不如没有：键明明在，它却说“一定不在”。出路有两条：用计数代替置位，或者存放只属于一个键的东西。先" +
        "算一笔小账，再来看这两条路。",
};
