/* core.js - a smaller module: every kind, in the .tamis format alone */
import { compile } from "./load.js";
import { bind, TamisError } from "./tamis.js";

export const { Filter, plan, size, expectedFpr, pack, kinds, version } =
    bind(await compile(new URL("./core.wasm", import.meta.url)));
export { TamisError };
