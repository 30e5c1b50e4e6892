/* index.js - the package: every kind and every format */
import { compile, hasSimd } from "./load.js";
import { bind, TamisError } from "./tamis.js";

/** Does this engine run the module with SIMD? */
export const simd = hasSimd();

/* Both addresses are written out, so that bundlers find both files. */
const url = simd
    ? new URL("./tamis-simd.wasm", import.meta.url)
    : new URL("./tamis.wasm", import.meta.url);

export const { Filter, Container, plan, size, expectedFpr, detect, pack, kinds, formats, version } =
    bind(await compile(url));
export { TamisError };
