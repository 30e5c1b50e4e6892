/* cuckoo.text.js - step 8 */
export const en = {
    title: "Cuckoo: a fingerprint in one of two windows",
    short: "Cuckoo",
    intro: (slots, width) => "The second way out: store something that belongs to one key. A *cuckoo filter* " +
        "stores *fingerprints*, a few bits of the key's hash. Its table is an array of slots, here " + `${slots} ` +
        `of ${width} bits. The hash gives a key two windows ` +
        "of slots, and its fingerprint goes into a free slot of either.\n\nIf all of them are taken, one " +
        "fingerprint there moves to its own other window, as a young cuckoo pushes an egg out of the nest. That " +
        "may push out another one, and so on. Fill the table and watch the *kicks*.",
    next: (word) => `Add next: “${word}”`,
    ten: "Add 10",
    untilKick: "Add until one moves",
    fill: "Fill it up",
    load: "load factor",
    start: (slots) => `${slots} empty slots.`,
    added: (word, print, slot) => `“${word}” (fingerprint ${print}) is in slot ${slot}.`,
    moved: (moves) => `To make room, ${moves.length === 1 ? "a fingerprint" : `${moves.length} fingerprints`} ` +
        `moved: ${moves.map(({ from, to }) => `${from} → ${to}`).join(", ")}.`,
    stashed: (word) => `No slot within reach was free for “${word}”: it is in the stash, a list of eight hashes ` +
        `beside the table.`,
    inTable: (keys, load) => `${keys} keys, load factor ${load}.`,
    removed: (word, slot) => `Removed “${word}”: slot ${slot} is empty again.`,
    unstashed: (word) => `Removed “${word}” from the stash.`,
    looked: (word, print, first, second) => `“${word}” has fingerprint ${print} and the windows at ${first} (1) ` +
        `and ${second} (2):`,
    absent: (word) => `“${word}” is definitely not in the set: there is nothing to remove.`,
    full: (status, message, keys) => `${status}: ${message}, after ${keys} keys. The filter has not changed.`,
    label: (used, slots) => `${slots} slots, ${used} with a fingerprint`,
    stash: "Stash",
    key: "1 and 2: the windows of the word. Arrow: a fingerprint that moved. Bold frame: the new one.",
    outro: "The distance between the two windows depends on the fingerprint alone, so a fingerprint can move " +
        "although its key is no longer known. Large tables work up to a load of 94 to 98 %. A lookup reads two " +
        "cache lines; *removing* empties one slot that matches. An absent key is a false positive if one of the " +
        "slots of its windows holds its fingerprint. Unlike a Bloom filter, a full cuckoo filter does not exceed " +
        "its rate: it refuses the key. At 1 % it needs about as much space as a Bloom filter and can remove.",
};
export const zh = {
    title: "布谷鸟：指纹放在两个窗口之一",
    short: "布谷鸟",
    intro: (slots, width) => "第二条路：存放只属于一个键的东西。*布谷鸟过滤器*存的是*指纹*，也就是键的哈希中的几个" +
        "比特。它的表是一排槽，这里有 " +
        `${slots} 个，每个 ${width} 位。哈希给每个键两个窗口，各含几个槽，指纹放进其中任意一个空槽。\n\n` +
        "如果都占满了，就把其中一个指纹挤到它自己的另一个窗口去，好比布谷鸟的雏鸟把别的蛋推出鸟巢。被挤走的又可能再" +
        "挤走下一个。把表装满，看看它们怎样*搬家*。",
    next: (word) => `添加下一个：“${word}”`,
    ten: "添加 10 个",
    untilKick: "一直添加到有指纹搬家",
    fill: "装满为止",
    load: "负载率",
    start: (slots) => `${slots} 个空槽。`,
    added: (word, print, slot) => `“${word}”（指纹 ${print}）放在槽 ${slot}。`,
    moved: (moves) => `为了腾地方，有 ${moves.length} 个指纹搬了家：` +
        `${moves.map(({ from, to }) => `${from} → ${to}`).join("、")}。`,
    stashed: (word) => `“${word}”够得着的槽都没有空位，于是放进了暂存区：表旁边的一个小列表，能存八个哈希。`,
    inTable: (keys, load) => `共 ${keys} 个键，负载率 ${load}。`,
    removed: (word, slot) => `删除了“${word}”：槽 ${slot} 又空了。`,
    unstashed: (word) => `从暂存区中删除了“${word}”。`,
    looked: (word, print, first, second) => `“${word}”的指纹是 ${print}，两个窗口从槽 ${first}（1）和槽 ${second}` +
        `（2）开始：`,
    absent: (word) => `“${word}”一定不在集合中，没有什么可删除的。`,
    full: (status, _message, keys) => `${status}：过滤器已满（已有 ${keys} 个键）。它没有任何改动。`,
    label: (used, slots) => `${slots} 个槽，其中 ${used} 个有指纹`,
    stash: "暂存区",
    key: "1 和 2：这个词的两个窗口。箭头：搬了家的指纹。粗框：新放入的指纹。",
    outro: "两个窗口的距离只取决于指纹，所以即使已经不知道键是什么，指纹也能搬家。大表可以用到 94% 至 98% 的负载" +
        "率。查询读两条缓存行；*删除*就是清空一个匹配的槽。不在集合中的键，如果窗口里恰好有槽存着同样的指纹，就是误" +
        "判。与布隆过滤器不同，布谷鸟过滤器满了也不会超出误判率，而是拒绝新键。误判率为 1% 时，它和布隆过滤器差不多" +
        "大，却能删除。",
};
