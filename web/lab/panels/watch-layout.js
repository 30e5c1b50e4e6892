/* watch-layout.js - what the table of a filter consists of
 *
 * A section is an array of equal cells: `count` cells of `bits` bits from bit `first` on.
 *
 *     unit        "bit", "counter", "slot", "stash", "hash", or "column" for the bits of a dense table
 *     canBeEmpty  0 means that nothing is stored there
 *     group       cells that belong together: the bits of a lane, of a column (0: none)
 *     stage       of a growing filter
 *
 * doc/format.md describes the tables.  What is not in a section (directories, padding) decides no lookup.  Large
 * xor, fuse and ribbon filters have other sections, which are not listed: the cells of a lookup name their places. */
const HEADER_BYTES = 192, SHAPE_OFFSET = 96;
const STAGE_BYTES = 128, SHARD_BYTES = 64;
const STASH_BYTES = 64;
const KINDS = [, "bloom", "block", "counting", "cuckoo", "xor", "fuse", "ribbon", "growing"];

const numbersAt = (view, offset, count) =>
    Array.from({ length: count }, (_, i) => Number(view.getBigUint64(offset + 8 * i, true)));

/* ---- by kind: sections of a table that begins at byte `at` */

const SECTIONS = {
    bloom: ({ shape, at }) => [{ unit: "bit", first: 8 * at, bits: 1, count: shape[0], group: 0 }],
    block: ({ shape, at }) => Array.from({ length: shape[0] }, (_, block) =>
        ({ unit: "bit", first: 8 * at + 512 * block, bits: 1, count: 512, group: 64, block, from: 512 * block })),
    counting: ({ shape, at }) => [{ unit: "counter", first: 8 * at, bits: 4, count: shape[0], group: 0 }],
    cuckoo: ({ shape, at }) => [
        { unit: "slot", first: 8 * (at + STASH_BYTES), bits: shape[1], count: shape[0], group: 0, canBeEmpty: true },
        { unit: "stash", first: 8 * at, bits: 64, count: 8, group: 0, canBeEmpty: true },
    ],
    xor: ({ view, shape, at }) => shardsOf(view, shape, at).flatMap((shard) => fingerprints(shard, shape[2], 3)),
    fuse: ({ view, shape, at }) =>
        shardsOf(view, shape, at).flatMap((shard) => fingerprints(shard, shape[2], shape[3])),
    ribbon: ({ view, shape, at }) => shardsOf(view, shape, at).flatMap((shard) => ribbonTables(view, shard, shape[2])),
    growing: ({ view, shape, at }) => Array.from({ length: shape[2] }, (_, stage) => {
        const entry = at + STAGE_BYTES * stage;
        const [offset] = numbersAt(view, entry + 24, 1);
        const part = { view, shape: numbersAt(view, entry + 40, 8), at: at + offset };
        return SECTIONS[KINDS[shape[0]]](part).map((section) => ({ ...section, stage }));
    }).flat(),
};

function shardsOf(view, [logShards], at) {
    return Array.from({ length: 2 ** logShards }, (_, i) => {
        const entry = at + SHARD_BYTES * i;
        const [offset] = numbersAt(view, entry, 1);
        return { at: at + offset, entry, words: numbersAt(view, entry + 24, 5) };
    });
}

const denseBytes = (slots, columns) => 8 * Math.ceil((slots * columns) / 64);
const denseTable = (at, slots, columns) =>
    (slots * columns === 0 ? [] : [{ unit: "column", first: 8 * at, bits: 1, count: slots * columns, group: slots }]);

function fingerprints({ at, words: [, range, segment, listed] }, width, slotsOfKey) {
    if (segment === 0) {
        return [...denseTable(at, range, width), ...hashList(at + denseBytes(range, width), listed)];
    }
    const slots = range + (slotsOfKey - 1) * segment;
    return [
        { unit: "slot", first: 8 * at, bits: width, count: slots, group: 0 },
        ...hashList(at + 8 * Math.ceil((slots * width + 56) / 64), listed),
    ];
}

const hashList = (at, count) => (count === 0 ? [] : [{ unit: "hash", first: 8 * at, bits: 64, count, group: 0 }]);

/* Without layers only: in large filters they come first. */
function ribbonTables(view, { at, entry, words }, columns) {
    if (words[0] !== 0 || words[1] !== 0) return [];
    const narrow = view.getUint32(entry + 40, true), wide = view.getUint32(entry + 44, true);
    return [
        ...denseTable(at, narrow, columns - 1),
        ...denseTable(at + denseBytes(narrow, columns - 1), wide, columns),
    ];
}

/** The table of a filter, and its sections. */
export function layoutOf(filter) {
    const { kind, tableBytes } = filter.info(), file = filter.encode();
    const header = new DataView(file.buffer, file.byteOffset, HEADER_BYTES);
    const table = file.subarray(HEADER_BYTES, HEADER_BYTES + tableBytes);
    const view = new DataView(table.buffer, table.byteOffset, table.byteLength);
    const sections = SECTIONS[kind]({ view, shape: numbersAt(header, SHAPE_OFFSET, 8), at: 0 });
    return { kind, table, sections };
}

/** The section and the number of the cell at a bit of the table; undefined if no section has it. */
export function placeOf(layout, bit) {
    const section = layout.sections.find(({ first, bits, count }) => bit >= first && bit < first + bits * count);
    return section && { section, index: Math.floor((bit - section.first) / section.bits) };
}

/** Number of cells in the sections. */
export const cellCount = (layout) => layout.sections.reduce((sum, section) => sum + section.count, 0);
