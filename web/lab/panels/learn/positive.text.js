/* positive.text.js - step 4 */
export const en = {
    title: "A false positive, found live",
    short: "False positives",
    intro: "Words share bits. Sooner or later all bits of a word are set, each by another word, and the filter can " +
        "no longer show that the word was never added. Below, the animals of a list of common nouns are added one " +
        "after the other, and all other nouns are looked up.",
    count: "Words added",
    report: (stored, absent, wrong, expected, fill) => `${stored} words set ${fill} of the 64 bits. Of ${absent} ` +
        `words that were not added, ${wrong} ${wrong === 1 ? "is" : "are"} possibly in the set; at this fill, ` +
        `${expected} are expected.`,
    found: "False positives (select one):",
    none: "No false positive yet. Add more words.",
    blame: (word) => `Nobody added “${word}”, but:`,
    setBy: (place, words) => `bit ${place} was set by ${words}`,
    label: (word, places) => `The bits of the false positive ${word}: ${places}. All are set.`,
    labelNone: (fill) => `64 bits, ${fill} of them set`,
    outro: "An absent word passes if all three of its bits are set. If a share f of the bits is set, that happens " +
        "with probability f × f × f. The same word always gets the same answer: a false positive stays one as long " +
        "as the filter lives. In front of a slow store it costs one useless trip, nothing more.",
};
export const zh = {
    title: "当场找到一次误判",
    short: "误判",
    intro: "词与词会共用比特。迟早会有某个词，它的每一位都被别的词设成了 1，过滤器也就无法知道它其实从未添加过。下" +
        "面把一份常用名词表里的动物依次添加进去，再查询其余所有名词。",
    count: "已添加的词数",
    report: (stored, absent, wrong, expected, fill) => `${stored} 个词设置了 64 位中的 ${fill} 位。在 ${absent} 个没` +
        `有添加的词中，有 ${wrong} 个被报告为可能在集合中；按当前的填充率，预期是 ${expected} 个。`,
    found: "误判的词（选一个看看）：",
    none: "还没有误判。再添加几个词试试。",
    blame: (word) => `没有人添加过“${word}”，可是：`,
    setBy: (place, words) => `第 ${place} 位是${words}设置的`,
    label: (word, places) => `误判的词“${word}”的位：${places}，全都是 1。`,
    labelNone: (fill) => `64 个比特，其中 ${fill} 个是 1`,
    outro: "一个不在集合中的词，只要它的三位全是 1，就会被放过。如果已设置的位占比为 f，这件事的概率就是 f × f × " +
        "f。同一个词的回答永远相同：只要过滤器还在，误判就一直是误判。放在慢速存储前面，它只会让你多跑一趟，仅此而已。",
};
