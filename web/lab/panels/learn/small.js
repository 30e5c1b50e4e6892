/* small.js - the Bloom filter of the first steps: 64 bits and 3 hash functions, so that every bit can be seen */
import { bitGrid, bitsOf, tableOf } from "../../cells.js";
import { isNarrow } from "./tools.js";

const SHAPE = { kind: "bloom", bits: 64, hashes: 3 };

export const emptyFilter = (lab) => lab.tamis.Filter.create(SHAPE);

/** A filter with these words. */
export function filterOf(lab, words) {
    const filter = emptyFilter(lab);
    words.forEach((word) => filter.add(word));
    return filter;
}

/** The positions of a word in an array of cells of `width` bits. */
export const placesOf = (filter, word, width = 1) => filter.cells(word).map((cell) => Number(cell.bit) / width);

/** For every position, the words that use it. */
export function usersOf(filter, words, width = 1) {
    const users = new Map();
    for (const word of words) {
        for (const place of new Set(placesOf(filter, word, width))) {
            users.set(place, [...(users.get(place) ?? []), word]);
        }
    }
    return users;
}

/** How many words use a bit that several use. */
export const badgesOf = (users) =>
    new Map([...users].filter(([, words]) => words.length > 1).map(([place, words]) => [place, `×${words.length}`]));

/** The marks of a lookup. */
export const lookupMarks = (bits, places) =>
    new Map(places.map((place) => [place, bits[place] === 0 ? "miss" : "hit"]));

export const bitsIn = (filter) => bitsOf(tableOf(filter));

/** The array of the filter. */
export const drawBits = (options) => bitGrid({ columns: isNarrow() ? 8 : 16, ...options });
