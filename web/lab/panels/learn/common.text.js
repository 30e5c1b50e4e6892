/* common.text.js - texts that several steps use */
export const en = {
    heading: "How a filter works",
    lead: "Thirteen short steps from an array of bits to the filters inside today's storage engines. Every figure " +
        "is a real filter: the C library runs in this page, and each bit that you see is read from its table.",
    steps: "Steps",
    word: "A word",
    possibly: "possibly in the set",
    definitelyNot: "definitely not in the set",
    add: (word) => `Add “${word}”`,
    addWord: "Add",
    removeWord: "Remove",
    reset: "Start again",
    typeWord: "Type a word to look it up.",
    yes: "yes",
    no: "no",
    colon: ": ",
};
export const zh = {
    heading: "过滤器是怎样工作的",
    lead: "十三个小步骤，从一排比特讲到当今存储引擎里的过滤器。每幅图都是真实的过滤器：C 库就在这个网页里运行，你看" +
        "到的每一位都读自它的表。",
    steps: "步骤",
    word: "一个词",
    possibly: "可能在集合中",
    definitelyNot: "一定不在集合中",
    add: (word) => `添加“${word}”`,
    addWord: "添加",
    removeWord: "删除",
    reset: "重新开始",
    typeWord: "输入一个词来查询。",
    yes: "是",
    no: "否",
    colon: "：",
};
