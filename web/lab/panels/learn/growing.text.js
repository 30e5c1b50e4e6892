/* growing.text.js - step 12 */
export const en = {
    title: "Growing, when n is unknown",
    short: "Growing",
    intro: (capacity, promise) => "Every filter so far has to know its number of keys. A *growing filter* (a " +
        "scalable Bloom filter) starts small and adds another stage, twice as large, whenever the last is full. A " +
        "lookup checks all stages.\n\nA key is a false positive if it is one in any stage, so the rates of the " +
        "stages add up. Each stage therefore gets a lower rate than the one before, from a series whose sum is the " +
        "promised rate. This filter starts with " +
        `a capacity of ${capacity} and promises ${promise}. Feed it.`,
    addCount: (count) => `Add ${count}`,
    stage: (i) => `stage ${i}`,
    keysOf: (keys, capacity) => `${keys} of ${capacity} keys`,
    sum: "sum of the rates", promise: "promised", now: "expected now", measured: "measured",
    report: (keys, stages, sum, promise) => `${keys} keys in ${stages} ${stages === 1 ? "stage" : "stages"}. Their ` +
        `rates add up to ${sum}, under the promised ${promise}.`,
    full: (max) => `That is enough for a web page: ${max} keys.`,
    outro: "The first stage gets half of the promise, because most filters never grow; stage i > 0 gets a " +
        "sixteenth of it, times (7/8)^(i−1). If an older stage already reports a key, the key is not inserted " +
        "again, so repeated keys take no space. The price: after a thousandfold growth at 1 % it takes 19.6 bits " +
        "per key, where one stage takes 11.6.",
};
export const zh = {
    title: "可增长：不知道 n 的时候",
    short: "可增长",
    intro: (capacity, promise) => "到目前为止，过滤器都要事先知道有多少键。*可增长过滤器*（scalable Bloom filter）" +
        "从小做起，最后一级满了，就再加一级，容量加倍。查询时每一级都要查。\n\n键只要在任何一级误判，就是误判，所以" +
        "各级的误判率是相加的。于是每一级的误判率都比前一级低，取自一个级数，总和正好是承诺的误判率。" +
        `这个过滤器从容量 ${capacity} 开始，承诺 ${promise}。往里加键吧。`,
    addCount: (count) => `添加 ${count} 个`,
    stage: (i) => `第 ${i} 级`,
    keysOf: (keys, capacity) => `${capacity} 个键的容量，已有 ${keys} 个`,
    sum: "各级误判率之和", promise: "承诺", now: "当前预期", measured: "实测",
    report: (keys, stages, sum, promise) => `${keys} 个键，${stages} 级。各级误判率之和是 ${sum}，低于承诺的 ` +
        `${promise}。`,
    full: (max) => `对一个网页来说足够了：${max} 个键。`,
    outro: "第 0 级分得承诺的一半，因为大多数过滤器根本不会增长；之后的第 i 级分得十六分之一，再乘以 (7/8)^(i−1)。" +
        "如果前面某一级已经报告有这个键，就不再添加，所以重复的键不占空间。代价是：误判率 1%、增长一千倍之后，每个" +
        "键要 19.6 个比特，而只有一级时是 11.6 个。",
};
