/* peeling.text.js - step 9 */
export const en = {
    title: "Xor and binary fuse: three slots and an equation",
    short: "Xor and fuse",
    intro: (keys) => "If all keys are known before the first lookup, less space is enough. An *xor filter* is an " +
        "array of small slots. A key has three of them, one in each third, and the filter is built so that *the " +
        "xor of these slots is the key's fingerprint*. A *binary fuse filter* does the same with three or four " +
        "slots (here four) in neighbouring segments.\n\n" +
        `Below are both, with the same ${keys} real keys: phrases of two words. Type anything.`,
    word: "A phrase",
    aMember: "A stored phrase", anAbsent: "An absent one",
    xor: "Xor filter", fuse: "Binary fuse filter",
    slot: (at) => `slot ${at}`, xorOfAll: "xor", wanted: (bits) => `wanted ${bits}`,
    looked: (word) => `“${word}” is`,
    saysWord: (word, xor, fuse) => `“${word}”: xor filter: ${xor}; binary fuse filter: ${fuse}.`,
    peel: "Such a filter is built by *peeling*. Each key is an equation. Find every slot that only one key uses: " +
        "that key can be satisfied last, by setting this slot, whatever the others are. Take these keys away, " +
        "which leaves other slots with one key, and repeat. When all keys are gone, assign the slots in the " +
        "opposite order.\n\nHere is the peeling of the two filters above, round by round from top to bottom. A " +
        "column is a place in the array: green while its slots are in use, orange where a round has just freed some.",
    play: "Play", pause: "Pause", step: "One round", all: "All rounds", round: "round",
    axis: (slots, rounds) => `${slots} slots from left to right, ${rounds} rounds from top to bottom`,
    state: (name, left, keys) => `${name}: ${left} of ${keys} keys left`,
    report: (round, parts) => `Round ${round}. ${parts.join("; ")}.`,
    label: (name, slots, rounds) => `${name}: ${slots} slots, peeled in ${rounds} rounds.`,
    labelXor: "Keys disappear everywhere at the same time.",
    labelFuse: "Two waves start at both ends and meet in the middle.",
    outro: (xor, fuse) => "In the xor filter the peeling must get going everywhere at once, which takes 1.23 slots " +
        "per key. In the fuse filter fewer keys compete for the slots at both ends. So it starts there, and each " +
        "peeled key frees a slot of the next: two waves run through the array, at " +
        `a load at which the middle could not have started. These two take ${xor} and ${fuse} slots per key. ` +
        "With w bits in a slot, an absent key passes with probability 1 / 2^w.\n\nSuch filters are *static*: a new " +
        "key needs all the old ones. Sets of up to a few thousand keys get a denser layout here, the one of the " +
        "next step.",
};
export const zh = {
    title: "异或与二元融合：几个槽，一个等式",
    short: "异或与融合",
    intro: (keys) => "如果在第一次查询之前就知道所有的键，还可以更省空间。*异或过滤器*是一排小槽，每个键有三个槽，" +
        "三等分的每段里各一个；建好之后，*这几个槽的异或正好等于键的指纹*。*二元融合过滤器*道理相同，只是三个或四个" +
        "槽（这里是四个）落在相邻的几段里。\n\n" +
        `下面两个过滤器存着同样的 ${keys} 个真实的键，都是由两个词拼成的短语。随便输入什么试试。`,
    word: "一个短语",
    aMember: "一个已存的短语", anAbsent: "一个没有存的",
    xor: "异或过滤器", fuse: "二元融合过滤器",
    slot: (at) => `槽 ${at}`, xorOfAll: "异或", wanted: (bits) => `应为 ${bits}`,
    looked: (word) => `“${word}”`,
    saysWord: (word, xor, fuse) => `“${word}”：异或过滤器：${xor}；二元融合过滤器：${fuse}。`,
    peel: "这种过滤器靠*剥离*来构建。每个键就是一个等式。先找出只有一个键使用的槽：不管别的槽是什么值，最后设置这个" +
        "槽就能满足那个键。把这些键拿走，又会有别的槽只剩一个键，如此反复。等所有的键都拿走了，再按相反的顺序给槽赋" +
        "值。\n\n这里是上面两个过滤器的剥离过程，从上到下一轮一轮地进行。横向是数组中的位置：绿色表示那里的槽还" +
        "在用，橙色表示这一轮刚刚腾空。",
    play: "播放", pause: "暂停", step: "走一轮", all: "全部", round: "轮次",
    axis: (slots, rounds) => `从左到右 ${slots} 个槽，从上到下 ${rounds} 轮`,
    state: (name, left, keys) => `${name}：${keys} 个键还剩 ${left} 个`,
    report: (round, parts) => `第 ${round} 轮。${parts.join("；")}。`,
    label: (name, slots, rounds) => `${name}：${slots} 个槽，${rounds} 轮剥完。`,
    labelXor: "各处的键同时消失。",
    labelFuse: "两道波从两端出发，在中间会合。",
    outro: (xor, fuse) => "异或过滤器的剥离必须各处同时起步，所以每个键要 1.23 个槽。融合过滤器两端的槽竞争的键较" +
        "少，剥离便从那里开始，每剥掉一个键，又为下一个腾出槽来：" +
        `两道波就这样穿过整个数组，而这样的负载下，中间本来是无法起步的。这两个过滤器每个键分别用 ${xor} 和 ` +
        `${fuse} 个槽。` +
        "每个槽 w 位时，不在集合中的键被放过的概率是 1 / 2^w。\n\n这类过滤器是*静态*的：要加一个新键，就得有全部旧" +
        "键。几千个键以内的集合，库会改用更紧凑的布局，也就是下一步要讲的那种。",
};
