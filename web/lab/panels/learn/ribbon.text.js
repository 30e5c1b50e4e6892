/* ribbon.text.js - step 10 */
export const en = {
    title: "Ribbon: a band of equations",
    short: "Ribbon",
    intro: (keys, slots, columns) => "Peeling needs some slots to spare. *Gaussian elimination* solves the " +
        "equations with hardly any, but takes n³ steps for n arbitrary equations. A *ribbon filter* gives every " +
        "key 64 neighbouring coefficients, at a start that its hash determines; all others are 0. Sorted by start, " +
        "the rows form a narrow *ribbon* along the diagonal, and elimination touches only neighbours.\n\n" +
        `This is the system of a real filter: ${keys} keys (rows), ${slots} slots. Each dot is a coefficient of 1.`,
    saysMatrix: (keys, slots, dots) => `${keys} rows and ${slots} slots: as many as keys. ${dots} of the ` +
        `coefficients are 1, all in the band.`,
    table: (columns) => `The solution is a table of ${columns} columns of bits, one for each bit of the ` +
        `fingerprint. A lookup takes, in ` +
        "each column, the bits that the key's coefficients select and compares their *parity* (is their number " +
        "odd?) with the bit of the fingerprint.",
    column: (i) => `column ${i}`,
    parity: (found, wanted) => `parity ${found}, wanted ${wanted}`,
    label: (i, found, wanted) => `Column ${i}: 64 bits, the selected ones are outlined. Parity ${found}, wanted ` +
        `${wanted}.`,
    labelMatrix: (keys, slots) => `Matrix of ${keys} rows and ${slots} columns: the coefficients form a band along ` +
        `the diagonal.`,
    report: (word, start, agree, columns, result) => `“${word}” starts at slot ${start}; ${agree} of ${columns} ` +
        `parities agree: ${result}.`,
    aMember: "A stored phrase", anAbsent: "An absent one",
    outro: "An absent key agrees by chance in each column with probability ½, so r columns give a rate of 1 / 2^r. " +
        "Large ribbon filters also *bump*: the system gets more keys than it has room for, and the few that do not " +
        "fit move to a second, smaller ribbon. At rates that are powers of two that takes 0.2 to 0.3 % more than " +
        "the bound. It is the smallest filter here; builds and lookups take about twice the time of `fuse`.",
};
export const zh = {
    title: "Ribbon：一条方程带",
    short: "Ribbon",
    intro: (keys, slots) => "剥离总要留一些空槽。用*高斯消元*来解，几乎不必留空，可是任意 n 个方程要算 n³ 步。" +
        "*Ribbon 过滤器*给每个键 64 个相邻的系数，从哈希决定的起点开始，其余系数都是 0。按起点排序之后，所有的行沿" +
        "对角线形成一条窄窄的*带子*（ribbon），消元只涉及相邻的行。\n\n" +
        `下面是一个真实的过滤器的方程组：${keys} 个键（行），${slots} 个槽。每个点是一个为 1 的系数。`,
    saysMatrix: (keys, slots, dots) => `${keys} 行，${slots} 个槽：和键一样多。有 ${dots} 个系数是 1，全都在带子里。`,
    table: (columns) => `解出来的是一张 ${columns} 列比特的表，每列对应指纹的一位。查询时，在每一列中取出键的系数选` +
        `中的那些位，看它们的*奇偶性*` +
        "（1 的个数是不是奇数）与指纹的这一位是否相同。",
    column: (i) => `第 ${i} 列`,
    parity: (found, wanted) => `奇偶性 ${found}，应为 ${wanted}`,
    label: (i, found, wanted) => `第 ${i} 列：64 位，选中的带框。奇偶性是 ${found}，应为 ${wanted}。`,
    labelMatrix: (keys, slots) => `${keys} 行 ${slots} 列的矩阵：系数沿对角线形成一条带子。`,
    report: (word, start, agree, columns, result) => `“${word}”从槽 ${start} 开始；${columns} 列中有 ${agree} 列的奇` +
        `偶相符：${result}。`,
    aMember: "一个已存的短语", anAbsent: "一个没有存的",
    outro: "不在集合中的键，每一列碰巧相符的概率是 ½，所以 r 列的误判率是 1 / 2^r。大的 Ribbon 过滤器还会*挤出" +
        "*（bumping）：往方程组里放的键比它容得下的还多，放不下的少数键转到第二条小得多的带子里。误判率是 2 的幂" +
        "时，它只比理论下界多用 0.2% 到 0.3%，是这里最小的过滤器；构建和查询的时间大约是 `fuse` 的两倍。",
};
