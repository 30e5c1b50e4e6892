/**
 * The smaller module: every kind, in the .tamis format alone, and slower (it is compiled for size). Its filters belong to
 * it: to unite a filter with one of "tamis", encode it and open it there.
 */
export { Filter, TamisError, expectedFpr, kinds, pack, plan, size, version } from "./index.js";
export type {
    Cell, CellRule, Info, Key, KeyType, Keys, Kind, KindInfo, Need, OpenOptions, Options, PackedKeys, Plan, PlanOptions, Sizing,
} from "./index.js";
