/* race-entrants.js - who takes part in the race, and with which keys
 *
 * An entrant wraps one filter: create(n, p), then add(keys) in slices or build(keys) in one call, then
 * hasMany(keys) (not the peers) and has(key). */

/* ---- keys: number i of a kind of keys.  join makes flat strings; "+" would make trees of
 * pieces that the first filter to read a key would have to pay for. */

const SECTIONS = ["news", "shop/shoes", "wiki", "photos", "users/profile", "search", "video", "forum/thread"];

export const KEY_FORMS = {
    numbered: (i) => ["key-", i].join(""),
    urls: (i) => [
        "https://www.example.com/", SECTIONS[i % SECTIONS.length], "/",
        (Math.imul(i, 2654435761) >>> 0).toString(36), "?id=", i,
    ].join(""),
};

/* ---- entrants */

const isStatic = (tamis, kind) => tamis.kinds.find(({ name }) => name === kind).static;

function ownEntrant(tamis, kind) {
    let filter;
    const replace = (made) => {
        filter?.free();
        filter = made;
    };
    return {
        name: kind,
        colour: `var(--kind-${kind})`,
        isPeer: false,
        isStatic: isStatic(tamis, kind),
        create: (n, p) => replace(tamis.Filter.create({ kind, capacity: n, fpr: p })),
        addMany: (keys) => filter.addMany(keys),
        build: (keys, p) => replace(tamis.Filter.build(keys, { kind, fpr: p })),
        hasMany: (keys) => filter.hasMany(keys),
        has: (key) => filter.has(key),
        bytes: () => filter.info().bytes,
        free: () => replace(undefined),
    };
}

function peerEntrant(peer) {
    let filter;
    return {
        name: peer.version === undefined ? peer.name : `${peer.name} ${peer.version}`,
        colour: "var(--line-strong)",
        isPeer: true,
        isStatic: false,
        create: (n, p) => {
            filter = peer.create(n, p);
        },
        addMany: (keys) => {
            for (const key of keys) filter.add(key);
        },
        has: (key) => filter.has(key),
        bytes: () => filter.bytes,
        free: () => {
            filter = undefined;
        },
    };
}

/** The packages that web/lab/peers.js brought along, if the page includes it. */
export const peers = () => globalThis.tamisPeers ?? [];

/** Everybody who takes part. */
export const entrantsOf = (tamis) => [
    ...tamis.kinds.map(({ name }) => ownEntrant(tamis, name)),
    ...peers().map(peerEntrant),
];
