/* load.js - compiles a WebAssembly module, from a file or over HTTP */

/* The smallest module with a SIMD instruction. */
const SIMD_PROBE = Uint8Array.of(
    0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11);

/** Does this engine run modules with SIMD? */
export const hasSimd = () => WebAssembly.validate(SIMD_PROBE);

async function bytesAt(url) {
    if (url.protocol === "file:") {
        const files = "node:fs/promises"; /* a variable: bundlers for browsers leave it alone */
        const { readFile } = await import(/* @vite-ignore */ /* webpackIgnore: true */ files);
        return readFile(url);
    }
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
    return response.arrayBuffer();
}

/** Compiles the module at an address. */
export const compile = async (url) => WebAssembly.compile(await bytesAt(url));
