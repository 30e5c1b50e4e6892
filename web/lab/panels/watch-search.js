/* watch-search.js - words that were never added, until the filter reports one of them */

const NOUNS = (
    "otter heron badger lynx marten stoat weasel hare vole shrew mole bat raven crow magpie jay finch wren robin " +
    "swift swallow lark thrush starling sparrow kestrel falcon eagle osprey kite buzzard goose swan teal pintail " +
    "coot grebe plover curlew snipe tern gull puffin petrel gannet seal walrus whale dolphin salmon trout perch " +
    "pike carp eel crab lobster shrimp squid octopus snail slug beetle moth wasp hornet cricket cicada spider " +
    "newt toad frog lizard gecko viper adder turtle tortoise bison moose deer ibex chamois zebra giraffe hippo " +
    "lion tiger leopard cheetah panther jaguar puma coyote jackal hyena panda koala wombat kangaroo possum sloth " +
    "tapir llama alpaca camel donkey mule"
).split(" ");
const ADJECTIVES = (
    "quiet brave early golden silver hidden gentle curious patient clever distant frozen sunny misty lonely merry " +
    "swift ancient modern tiny giant crimson amber violet azure rusty velvet wooden marble paper woolen salty " +
    "bitter sweet sleepy restless polite famous secret humble noble proud silent noisy wild tame northern " +
    "southern eastern western lunar solar stormy rainy windy snowy coastal alpine desert tropical arctic"
).split(" ");

/** Number i of a sequence of different words. */
export function candidate(i) {
    if (i < NOUNS.length) return NOUNS[i];
    const rest = i - NOUNS.length, pairs = ADJECTIVES.length * NOUNS.length;
    /* Steps through the pairs in an order that mixes them: 4001 is prime to their number. */
    const pair = (rest * 4001) % pairs, round = Math.floor(rest / pairs);
    const name = `${ADJECTIVES[pair % ADJECTIVES.length]} ${NOUNS[Math.floor(pair / ADJECTIVES.length)]}`;
    return round === 0 ? name : `${name} ${round + 1}`;
}

const PIECE = 2048;
const SLICE_MS = 12;
/* Twenty million words take some seconds. */
const LIMIT = 20_000_000;

/**
 * Looks up candidates from number `first` on until `filter` reports one that is no member.
 *
 * @param onProgress  is called with the number of words tried; returns false to stop
 * @returns {word, tried, next}: word is null if it was stopped, or if the limit was reached
 */
export async function findFalsePositive(filter, isMember, first, onProgress) {
    for (let tried = 0; tried < LIMIT;) {
        const end = performance.now() + SLICE_MS;
        while (performance.now() < end && tried < LIMIT) {
            const words = Array.from({ length: PIECE }, (_, i) => candidate(first + tried + i));
            const answers = filter.hasMany(words);
            const hit = answers.findIndex((answer, i) => answer === 1 && !isMember(words[i]));
            if (hit >= 0) return { word: words[hit], tried: tried + hit + 1, next: first + tried + hit + 1 };
            tried += PIECE;
        }
        if (!onProgress(tried)) return { word: null, tried, next: first + tried };
        await new Promise((resolve) => setTimeout(resolve));
    }
    return { word: null, tried: LIMIT, next: first + LIMIT };
}
