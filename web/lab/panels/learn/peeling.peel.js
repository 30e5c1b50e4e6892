/* peeling.peel.js - peels the slots of an xor or fuse filter, as its construction does, round by round */

const DIRECTORY_BYTES = 64; /* one shard: its table follows the directory of the tables */

/** The slots of a key: positions of the array, from the cells of its lookup. */
export const slotsOf = (cells) =>
    cells.filter(({ rule }) => rule === "xor").map(({ bit, bits }) => (bit - 8 * DIRECTORY_BYTES) / bits);

/**
 * Peels: in each round all keys go that are alone in a slot.  Returns for every slot the round after which it is free
 * (0: no key uses it), and the keys left after each round.
 */
export function peel(keys) {
    const slots = 1 + keys.reduce((most, places) => Math.max(most, ...places), 0);
    const degree = new Uint32Array(slots), sum = new Uint32Array(slots), freed = new Uint16Array(slots);
    keys.forEach((places, key) => places.forEach((at) => {
        degree[at]++;
        sum[at] ^= key; /* of a slot with one key, this is the key */
    }));
    let queue = [...degree.keys()].filter((at) => degree[at] === 1), left = keys.length;
    const leftAfter = [left];
    while (queue.length > 0) {
        const next = [];
        for (const alone of queue) {
            if (degree[alone] !== 1) continue; /* its key went with another slot */
            const key = sum[alone];
            left--;
            for (const at of keys[key]) {
                sum[at] ^= key;
                if (--degree[at] === 1) next.push(at);
                else if (degree[at] === 0) freed[at] = leftAfter.length;
            }
        }
        /* The keys of the last slots may all have gone with others. */
        if (left < leftAfter.at(-1)) leftAfter.push(left);
        queue = next;
    }
    return { slots, freed, leftAfter, rounds: leftAfter.length - 1 };
}

/** For `bins` equal pieces of the array and each round: the shares of slots in use, and of those that it frees. */
export function sharesOf({ slots, freed, rounds }, bins) {
    const perRound = Array.from({ length: rounds + 1 }, () => new Float32Array(bins)), total = new Float32Array(bins);
    freed.forEach((round, at) => {
        const bin = Math.floor((at * bins) / slots);
        perRound[round][bin]++;
        total[bin]++;
    });
    const used = total.slice();
    return perRound.map((gone) => {
        used.forEach((_, bin) => (used[bin] -= gone[bin]));
        return { used: used.map((one, bin) => one / total[bin]), freed: gone.map((one, bin) => one / total[bin]) };
    });
}
