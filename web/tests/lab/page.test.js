/* page.test.js - the whole page: every panel, language, size and theme */
import { LANGUAGES, SIZES, axe, goTo, screenshot, visit } from "./helper.js";
for (const size of Object.keys(SIZES)) for (const language of LANGUAGES) for (const theme of ["light", "dark"]) {
visit(`axe ${size} ${language} ${theme}`, {size, language, theme}, async (page) => {
  const errs = [];
  for (const panel of ["learn","plan","watch","open","race"]) {
    const a = Date.now();
    await goTo(page, panel);
    if (panel === "learn") await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    if (panel === "open") await page.locator("#open-sample-tamis").click();
    await page.waitForTimeout(1500);
    const b = Date.now();
    try { await axe(page, panel); } catch (e) { errs.push(panel + " " + JSON.stringify(e.actual)); }
    const c = Date.now();
    await screenshot(page, `${panel}-${language}-${size}-${theme}`);
    console.log(size, language, theme, panel, "axe", c - b, "shot", Date.now() - c);
  }
  if (errs.length) throw new Error(errs.join("\n"));
});
}
