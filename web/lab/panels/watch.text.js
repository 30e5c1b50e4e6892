/* watch.text.js - the words of the panel Watch */
const count = (number) => Math.round(number).toLocaleString("en-US");
const several = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;

export const en = {
    title: "Watch",
    lead: "Type your own words, see where they land in the table, and see why a lookup has its result.",

    kind: "Kind",
    k_bloom: "Bloom", k_block: "blocked Bloom", k_counting: "counting Bloom", k_cuckoo: "cuckoo",
    k_xor: "xor", k_fuse: "binary fuse", k_ribbon: "ribbon", k_growing: "growing",
    rate: "False positive rate",
    capacity: "Capacity, keys",
    capacityStatic: "sized for the words",
    seed: "Seed",
    extra: "Generated words besides",
    noExtra: "none",
    words: "Words, one per line",
    examples: "Examples",
    e_animals: "Animals", e_elements: "Elements", e_urls: "URLs",
    animals: "cat dog fox owl bee ant cow pig hen elk",
    elements: "hydrogen helium lithium carbon nitrogen oxygen neon sodium iron copper silver gold",
    probe: "zebra",

    query: "Query",
    word: "A word",
    add: "Add",
    remove: "Remove",
    find: "Find a false positive",
    stopFinding: "Stop",
    finding: (tried) => `${count(tried)} words tried …`,
    found: (tried) => `The first false positive after ${several(tried, "word", "words")} that were never added.`,
    notFound: (tried) =>
        `${count(tried)} words that were never added: no false positive among them. Choose a higher rate, or add ` +
        "more words.",
    findingStopped: (tried) => `Stopped after ${several(tried, "word", "words")}.`,

    quoted: (word) => `“${word}”`,
    comma: ", ",
    space: " ",
    andMore: (names, more) => `${names} and ${more} more`,
    wordList: "The words in the filter. Point at one to light up its cells; choose it to query it.",
    wordListLarge: "The words in the filter. Choose one to query it.",
    noWords: "There are no words in the filter.",
    moreWords: (number) => `and ${several(number, "more word", "more words")}`,

    possibly: (word) => `“${word}” is possibly in the set.`,
    definitelyNot: (word) => `“${word}” is definitely not in the set.`,
    wasAdded: "Right: you added it.",
    wasGenerated: "Right: it is one of the generated words.",
    trueNegative: "Right: it was never added.",
    falsePositive: "It was never added: a false positive.",
    falseNegative: "But you added it: a false negative, because a word was removed that was never added.",
    inOneStage: (stages, stage) => `The filter has ${stages} stages. Stage ${stage} decides.`,
    inNoStage: (stages) => `The filter has ${stages} stages, and none of them has the word.`,
    stage: (number) => `Stage ${number}`,
    oneIsZero: (name) => `It would have set ${name}, and that is 0.`,
    allBits: (k) => (k === 1 ? "Its bit is 1." : `All ${k} of its bits are 1.`),
    allCounters: (k) => `None of its ${k} counters is 0.`,
    setByOthers: (names) => `The cells were set by other words: ${names}.`,
    generatedWord: "generated",
    noSlot: (number) => `It could be in ${number} slots, and none of them holds its fingerprint.`,
    slotHolds: (name, value) =>
        `${name[0].toUpperCase()}${name.slice(1)} holds ${value}, which is its fingerprint there.`,
    hashHolds: (name, value) => `${name[0].toUpperCase()}${name.slice(1)} holds its hash, ${value}.`,
    storedForOther: (names) => `It was stored for another word: ${names}.`,
    xorIs: (value, wanted) => `Its slots xor to ${value}, and its fingerprint is ${wanted}.`,
    xorIsNot: (value, wanted) => `Its slots xor to ${value}, but its fingerprint is ${wanted}.`,
    xorName: "xor, fingerprint",
    hasIt: "has it",
    hasItNot: "does not have it",
    byChance: (one) =>
        `No other word did this: the table fits its fingerprint by chance, as it does for one word in ${count(one)}.`,
    oneParity: (column, is, wanted) =>
        `In column c${column} the parity of its bits is ${is}, but bit ${column} of its fingerprint is ${wanted}.`,
    allParities: (columns) => `In all ${columns} columns the parity of its bits is the bit of its fingerprint.`,
    parity_ribbon: "A ribbon filter has a parity equation for each column of the table.",
    parity_xor: "A small set is stored as in a ribbon filter, with a parity equation for each column of the table. " +
        "In a large set the xor of three slots is the fingerprint: choose 10,000 generated words to see that.",
    parity_fuse: "A small set is stored as in a ribbon filter, with a parity equation for each column of the table. " +
        "In a large set the xor of four slots is the fingerprint: choose 10,000 generated words to see that.",
    parityHow: "The bold bits are those that the word selects: if an odd number of them is 1, the parity is 1.",
    parityTable: "Parities by column",
    p_column: "column", p_bitsRead: "bits, selected ones bold", p_ones: "ones", p_parity: "parity",
    p_fingerprintBit: "fingerprint", p_result: "result",
    holds: "equal",
    fails: "differs",
    always: "Its part of the table has no columns: every such word is possibly in the set.",
    nothing: "The filter has no word with such a hash.",
    empty: "empty",

    name_bit: (i) => `bit ${i}`, name_counter: (i) => `counter ${i}`, name_slot: (i) => `slot ${i}`,
    name_stash: (i) => `stash entry ${i}`, name_hash: (i) => `listed hash ${i}`,
    columnBit: (column, slot) => `slot ${slot} of column c${column}`,
    inStage: (stage, name) => `stage ${stage}, ${name}`,
    unnamed: "bits of a layer",
    cell: (name, value) => `${name[0].toUpperCase()}${name.slice(1)}: ${value}`,
    cellUsed: (names) => ` (${names})`,
    cellHint: "Point at a cell, or move with the arrow keys in the table, to see which words use it.",
    readNothing: "used by no word",

    legend: "Marks",
    l_hit: "read, and not 0", l_hit_equal: "read: the fingerprint", l_miss: "read, and 0", l_read: "read",
    l_fresh: "has just changed", l_lit: "the word you point at",
    sectionName: (section, watched) => {
        const stage = section.stage === undefined ? "" : `Stage ${section.stage}: `;
        switch (section.unit) {
        case "bit":
            if (section.block === undefined) return stage + several(section.count, "bit", "bits");
            return `${stage}Block ${section.block}: 512 bits, one cache line`;
        case "counter": return `${several(section.count, "counter", "counters")} of 4 bits`;
        case "slot": return `${several(section.count, "slot", "slots")} of ${section.bits} bits, in hexadecimal`;
        case "stash": return "Stash, for keys that found no slot";
        case "hash": return "Hashes that are listed";
        default:
            return several(section.group, "slot", "slots") + " in " +
                several(section.count / section.group, "column", "columns") +
                (watched.options.kind === "ribbon" ? ""
                    : ": a small set is stored as parity equations, as in a ribbon filter");
        }
    },
    stripName: (bits) => `${count(bits)} bits, from left to right: the darker, the fuller.`,
    stripEnlarged: "The cells that the lookup reads are enlarged below.",
    labelSmall: (kind, sections, fill) =>
        `The table of the ${kind} filter: ${sections}. ${Math.round(100 * fill)} % in use. The arrow keys move from ` +
        "cell to cell.",
    labelLarge: (kind, bits, set) =>
        `The table of the ${kind} filter: ${count(bits)} bits, of which ${count(set)} are 1.`,
    zoomIn: "Larger cells",
    zoomOut: "Smaller cells",

    facts: "Facts",
    f_bytes: "Size, with header", f_table: "Table", f_keys: "Words", f_bits: "Bits of cells per word", f_fill: "In use",
    f_hashes: "Cells of a lookup", f_width: "Bits of a fingerprint", f_counter: "Bits of a counter",
    f_stages: "Stages", f_promise: "Promised rate", f_now: "Rate now",
    over: "over capacity",

    added: (word, changed) =>
        `Added “${word}”: ${changed === 0 ? "no cell changed" : several(changed, "cell changed", "cells changed")}.`,
    wasThere: (word) => `“${word}” was possibly in the set already.`,
    newStage: "The last stage was full, so the filter has a new one.",
    removed: (word, changed) => `Removed “${word}”: ${several(changed, "cell changed", "cells changed")}.`,
    neverAdded: (word) => `“${word}” is a false positive: two of its positions are one counter, which an add would ` +
        "have raised twice. Nothing was removed.",
    absent: (word) => `“${word}” is definitely not in the set, so there is nothing to remove.`,
    moved: (word, from, to) => `The fingerprint of “${word}” moved from ${from} to ${to}.`,
    damaged: (names) =>
        `That word was never added. Removing it damaged others: ${names} cannot be found any more. These are false ` +
        "negatives.",
    removedStranger: "That word was never added, but the filter could not know.",
    refused: (names, message) => `Not added: ${names}. ${message}`,
    rebuildWith: "Build it again with the word",
    rebuildWithout: "Build it again without the word",
    rebuilt: (words) => `Built from ${several(words, "word", "words")}.`,
    cannotAdd: (kind) => `A filter of kind ${kind} is static: it is built from all of its words, and takes no more.`,
    cannotRemove: (kind) => `A filter of kind ${kind} cannot remove a word.`,
    badRate: (text) => `“${text}” is not a false positive rate: type 5 %, 0.01 or 1/1000.`,
    badCapacity: (text) => `“${text}” is not a number of keys between 1 and 1,000,000.`,
    badSeed: (text) => `“${text}” is not a seed: type a whole number.`,
    emptyWord: "Type a word first.",
    E_FULL: "The filter is full: no slot is free within reach.",
    E_FPR: "A false positive rate is between 0 and 1.",
    E_FPR_TOO_LOW: "This kind of filter does not support so low a false positive rate.",
};

export const zh = {
    title: "观察",
    lead: "输入你自己的词，看它们落在表的哪些位置，也看看每次查询为什么得到这样的结果。",

    kind: "种类",
    k_bloom: "布隆", k_block: "分块布隆", k_counting: "计数布隆", k_cuckoo: "布谷鸟",
    k_xor: "异或（xor）", k_fuse: "二元融合（fuse）", k_ribbon: "Ribbon", k_growing: "可增长",
    rate: "误判率",
    capacity: "容量（键数）",
    capacityStatic: "按词数确定",
    seed: "种子",
    extra: "另加自动生成的词",
    noExtra: "无",
    words: "词，每行一个",
    examples: "示例",
    e_animals: "动物", e_elements: "元素", e_urls: "网址",
    animals: "猫 狗 狐狸 猫头鹰 蜜蜂 蚂蚁 奶牛 猪 母鸡 麋鹿",
    elements: "氢 氦 锂 碳 氮 氧 氖 钠 铁 铜 银 金",
    probe: "斑马",

    query: "查询",
    word: "一个词",
    add: "添加",
    remove: "删除",
    find: "找一个误判",
    stopFinding: "停止",
    finding: (tried) => `已试 ${count(tried)} 个词……`,
    found: (tried) => `试到第 ${count(tried)} 个从未添加的词，出现了误判。`,
    notFound: (tried) => `试了 ${count(tried)} 个从未添加的词，没有误判。可以调高误判率，或多添加一些词。`,
    findingStopped: (tried) => `已停止，共试了 ${count(tried)} 个词。`,

    quoted: (word) => `“${word}”`,
    comma: "、",
    space: "",
    andMore: (names, more) => `${names}等（另有 ${more} 个）`,
    wordList: "过滤器里的词。指向一个词，它的单元会亮起；点选即可查询。",
    wordListLarge: "过滤器里的词。点选即可查询。",
    noWords: "过滤器里还没有词。",
    moreWords: (number) => `还有 ${count(number)} 个词`,

    possibly: (word) => `“${word}”可能在集合中。`,
    definitelyNot: (word) => `“${word}”一定不在集合中。`,
    wasAdded: "没错，你添加过它。",
    wasGenerated: "没错，它是自动生成的词之一。",
    trueNegative: "没错，它从未添加。",
    falsePositive: "它从未添加：这是一次误判。",
    falseNegative: "可你添加过它：这是漏判，原因是删除了一个从未添加的词。",
    inOneStage: (stages, stage) => `过滤器有 ${stages} 级，由第 ${stage} 级决定结果。`,
    inNoStage: (stages) => `过滤器有 ${stages} 级，每一级里都没有这个词。`,
    stage: (number) => `第 ${number} 级`,
    oneIsZero: (name) => `如果添加过它，${name}就不会是 0；而现在是 0。`,
    allBits: (k) => `它的 ${k} 个位全部是 1。`,
    allCounters: (k) => `它的 ${k} 个计数器都不是 0。`,
    setByOthers: (names) => `这些单元是由别的词置上的：${names}。`,
    generatedWord: "自动生成",
    noSlot: (number) => `它只可能在 ${number} 个槽里，而这些槽里都没有它的指纹。`,
    slotHolds: (name, value) => `${name}里是 ${value}，正是它在此处的指纹。`,
    hashHolds: (name, value) => `${name}里是它的哈希值 ${value}。`,
    storedForOther: (names) => `这是为另一个词存入的：${names}。`,
    xorIs: (value, wanted) => `它的几个槽异或得 ${value}，它的指纹也是 ${wanted}。`,
    xorIsNot: (value, wanted) => `它的几个槽异或得 ${value}，而它的指纹是 ${wanted}。`,
    xorName: "异或值，指纹",
    hasIt: "有它",
    hasItNot: "没有它",
    byChance: (one) => `这不是某个词造成的：表的内容恰好与它的指纹相符，平均每 ${count(one)} 个词会碰上一个。`,
    oneParity: (column, is, wanted) => `在 c${column} 列，它选中的位的奇偶性是 ${is}，而指纹的第 ${column} 位是 ${wanted}。`,
    allParities: (columns) => `在全部 ${columns} 列中，它选中的位的奇偶性都与指纹的对应位相同。`,
    parity_ribbon: "ribbon 过滤器的每一列对应一个奇偶方程。",
    parity_xor: "小集合按ribbon 过滤器的方式存储，表的每一列对应一个奇偶方程。词很多时，三个槽的异或值就是指纹：" +
        "选择另加 10,000 个自动生成的词即可看到。",
    parity_fuse: "小集合按ribbon 过滤器的方式存储，表的每一列对应一个奇偶方程。词很多时，四个槽的异或值就是指纹：" +
        "选择另加 10,000 个自动生成的词即可看到。",
    parityHow: "粗体的位是这个词选中的：其中 1 的个数为奇数，奇偶性就是 1。",
    parityTable: "各列的奇偶性",
    p_column: "列", p_bitsRead: "位（粗体为选中）", p_ones: "1 的个数", p_parity: "奇偶性", p_fingerprintBit: "指纹位", p_result: "结果",
    holds: "相同",
    fails: "不同",
    always: "它所在的部分没有列：这样的词都会被报告为可能在集合中。",
    nothing: "过滤器里没有哈希值与它相符的词。",
    empty: "空",

    name_bit: (i) => `第 ${i} 位`, name_counter: (i) => `${i} 号计数器`, name_slot: (i) => `${i} 号槽`,
    name_stash: (i) => `暂存区 ${i}`, name_hash: (i) => `第 ${i} 个列出的哈希值`,
    columnBit: (column, slot) => `c${column} 列 ${slot} 号槽`,
    inStage: (stage, name) => `第 ${stage} 级${name}`,
    unnamed: "某一层的位",
    cell: (name, value) => `${name}：${value}`,
    cellUsed: (names) => `（${names}）`,
    cellHint: "指向一个单元，或在表中用方向键移动，可以看到哪些词用到它。",
    readNothing: "没有词用到",

    legend: "图例",
    l_hit: "读到，且不为 0", l_hit_equal: "读到指纹", l_miss: "读到，为 0", l_read: "读到", l_fresh: "刚刚改变", l_lit: "所指的词",
    sectionName: (section, watched) => {
        const stage = section.stage === undefined ? "" : `第 ${section.stage} 级：`;
        switch (section.unit) {
        case "bit":
            if (section.block === undefined) return `${stage}${count(section.count)} 位`;
            return `${stage}第 ${section.block} 块：512 位，一个缓存行`;
        case "counter": return `${count(section.count)} 个 4 位计数器`;
        case "slot": return `${count(section.count)} 个槽，每个 ${section.bits} 位，以十六进制显示`;
        case "stash": return "暂存区：存放没有找到槽的键";
        case "hash": return "逐个列出的哈希值";
        default: return `${count(section.group)} 个槽，${count(section.count / section.group)} 列` +
            `${watched.options.kind === "ribbon" ? "" : "：小集合像ribbon 过滤器那样，以奇偶方程存储"}`;
        }
    },
    stripName: (bits) => `共 ${count(bits)} 位，从左到右排列，颜色越深越满。`,
    stripEnlarged: "查询读到的单元在下方放大显示。",
    labelSmall: (kind, sections, fill) => `${kind} 过滤器的表：${sections}。已用 ${Math.round(100 * fill)} %。用方向键在单元之间移动。`,
    labelLarge: (kind, bits, set) => `${kind} 过滤器的表：共 ${count(bits)} 位，其中 ${count(set)} 位是 1。`,
    zoomIn: "放大单元",
    zoomOut: "缩小单元",

    facts: "数据",
    f_bytes: "大小（含文件头）", f_table: "表", f_keys: "词数", f_bits: "每词占单元位数", f_fill: "已用", f_hashes: "每次查询读的单元数",
    f_width: "指纹位数", f_counter: "计数器位数", f_stages: "级数", f_promise: "承诺的误判率", f_now: "当前误判率",
    over: "超出容量",

    added: (word, changed) => `已添加“${word}”：${changed === 0 ? "没有单元改变" : `${count(changed)} 个单元改变`}。`,
    wasThere: (word) => `“${word}”此前就可能在集合中。`,
    newStage: "最后一级已满，过滤器增加了一级。",
    removed: (word, changed) => `已删除“${word}”：${count(changed)} 个单元改变。`,
    neverAdded: (word) => `“${word}”是误判：它有两个位置落在同一个计数器上，真添加过的话这个计数器会加两次。没有移除任何东西。`,
    absent: (word) => `“${word}”一定不在集合中，没有可删除的。`,
    moved: (word, from, to) => `“${word}”的指纹从${from}移到了${to}。`,
    damaged: (names) => `这个词从未添加。删除它损坏了别的词：${names}再也查不到了，成了漏判。`,
    removedStranger: "这个词从未添加，但过滤器无从知道。",
    refused: (names, message) => `未能添加：${names}。${message}`,
    rebuildWith: "连同这个词重新构建",
    rebuildWithout: "去掉这个词重新构建",
    rebuilt: (words) => `已由 ${count(words)} 个词构建。`,
    cannotAdd: (kind) => `${kind} 过滤器是静态的：由全部词一次构建，之后不能再添加。`,
    cannotRemove: (kind) => `${kind} 过滤器不能删除词。`,
    badRate: (text) => `“${text}”不是误判率，请输入 5 %、0.01 或 1/1000 这样的值。`,
    badCapacity: (text) => `“${text}”不是 1 到 1,000,000 之间的键数。`,
    badSeed: (text) => `“${text}”不是种子，请输入整数。`,
    emptyWord: "请先输入一个词。",
    E_FULL: "过滤器已满：可用的槽都被占了。",
    E_FPR: "误判率必须在 0 和 1 之间。",
    E_FPR_TOO_LOW: "这种过滤器不支持这么低的误判率。",
};
