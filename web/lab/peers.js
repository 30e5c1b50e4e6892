/* peers.js - the Bloom filters of two npm packages, for the race
 *
 * Bundled apart from the page, and only where npm could be reached: sets `globalThis.tamisPeers`,
 * a list of { name, version?, create(n, p) }.  A filter has add(key), has(key) and bytes. */

/* Not the whole of bloom-filters: its other filters need Node's Buffer when they are loaded. */
import * as callidon from "bloom-filters/dist/bloom/bloom-filter.js";
import { version } from "bloom-filters/package.json";
import { BloomFilter as DaviesFilter } from "bloomfilter";

const CallidonFilter = callidon.default.default ?? callidon.default;

function createCallidon(n, p) {
    const filter = CallidonFilter.create(n, p);
    return { add: (key) => filter.add(key), has: (key) => filter.has(key), bytes: Math.ceil(filter.size / 8) };
}

function createDavies(n, p) {
    const filter = DaviesFilter.withTargetError(n, p);
    return { add: (key) => filter.add(key), has: (key) => filter.test(key), bytes: filter.buckets.byteLength };
}

globalThis.tamisPeers = [
    { name: "bloom-filters", version, create: createCallidon },
    { name: "bloomfilter", create: createDavies },
];
