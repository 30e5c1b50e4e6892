/* shell.text.js - the words around the panels */
export const en = {
    learn: "Learn",
    plan: "Plan",
    watch: "Watch",
    open: "Open",
    race: "Race",
    skip: "Skip to content",
    panels: "Panels",
    dark: "Dark",
    light: "Light",
    foot: (version) =>
        `tamis ${version}, compiled to WebAssembly. Everything runs in this page: nothing leaves your machine.`,
};
export const zh = {
    learn: "学习",
    plan: "规划",
    watch: "观察",
    open: "打开",
    race: "竞速",
    skip: "跳到正文",
    panels: "面板",
    dark: "深色",
    light: "浅色",
    foot: (version) => `tamis ${version}，编译为 WebAssembly。一切都在本页运行，任何数据都不会离开你的机器。`,
};
