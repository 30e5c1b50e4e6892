/* watch-names.js - what cells are called, and how their values are written */

export const hex = (value) => `0x${value.toString(16)}`;

/** The name of a cell: "bit 37".  `place` is {section, index}; undefined in the layers of a large ribbon filter. */
export function bareName(place, t) {
    if (place === undefined) return t("unnamed");
    const { section, index } = place;
    return section.unit === "column"
        ? t("columnBit", Math.floor(index / section.group), index % section.group)
        : t(`name_${section.unit}`, ((section.from ?? 0) + index).toLocaleString("en-US"));
}

/** The same with the stage of a growing filter: "stage 2, bit 512". */
export function cellName(watched, place, t) {
    const stage = place?.section.stage, name = bareName(place, t);
    return stage !== undefined && watched.info.stages > 1 ? t("inStage", stage, name) : name;
}

/** The value of a cell, in the cell: 1, 3, 0x3a5; an empty slot has none. */
export function cellText(section, value) {
    if (section.bits <= 4 && section.unit !== "slot") return String(value);
    return value === 0n && section.canBeEmpty ? "·" : value.toString(16);
}
