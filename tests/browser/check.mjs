// Looks at report pages in a headless Chromium: node check.mjs FOLDER [CHROMIUM].
//
// Scripts on and off, light, dark, phone, print: nothing is requested, nothing is complained about, nothing of a log
// runs, axe-core finds no serious fault, and a page of 1,024 ranks opens within a second.  Pictures go beside the pages.
import { readFileSync, readdirSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const folder = resolve(process.argv[2]);
const executablePath = process.argv[3] || "/usr/bin/chromium";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const quiet = ["no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
  "disable-component-update", "disable-sync"].map((name) => `--${name}`);
const modes = [
  { name: "light", colorScheme: "light" },
  { name: "dark", colorScheme: "dark" },
  { name: "phone", colorScheme: "light", viewport: { width: 390, height: 844 } },
  { name: "off", colorScheme: "light", javaScriptEnabled: false },
];
const faults = [];
const slowest = { page: "", ms: 0 };
const fault = (page, mode, what) => faults.push(`${page} (${mode}): ${what}`);

async function look(browser, file, mode) {
  const { name, ...how } = mode;
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...how });
  const page = await context.newPage();
  const own = pathToFileURL(join(folder, file)).href;
  page.on("console", (message) => fault(file, name, `${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => fault(file, name, `error: ${error}`));
  page.on("dialog", (dialog) => { fault(file, name, `dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => { if (request.url() !== own) fault(file, name, `request: ${request.url()}`); });
  let ms = await opened(page, own, how.javaScriptEnabled !== false);
  for (let again = 0; ms > 1000 && again < 3; again++) ms = Math.min(ms, await opened(page, own, how.javaScriptEnabled !== false)); // a busy machine
  if (ms > slowest.ms) Object.assign(slowest, { page: file, ms });
  if (ms > 1000) fault(file, name, `took ${ms.toFixed(0)} ms to open`);
  if (!(await page.locator("h1").isVisible())) fault(file, name, "the answer is not to be seen");
  if (how.javaScriptEnabled !== false) {
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (wide > 0) fault(file, name, `wider than the window by ${wide} pixels`);
    const many = (await page.locator(".filtered tr").count()) > 500; // smaller pages have the same rows
    const what = { exclude: many ? [".filtered", ".map"] : [] };
    const found = await page.evaluate(`${axe}; axe.run(${JSON.stringify(what)}, { resultTypes: ["violations"] })`);
    for (const one of found.violations.filter((v) => ["serious", "critical"].includes(v.impact))) {
      fault(file, name, `axe: ${one.id}, ${one.nodes.length} times: ${one.nodes[0].html.slice(0, 120)}`);
    }
  }
  await picture(page, join(folder, "pictures", `${file}-${name}.png`)).catch((why) => fault(file, name, `no picture: ${why.message.split("\n")[0]}`));
  if (name === "light") await page.pdf({ path: join(folder, "pictures", `${file}.pdf`), format: "A4", printBackground: true });
  await context.close();
}

// How long a page takes until it is painted.
async function opened(page, own, scripts) {
  const start = performance.now();
  await page.goto(own, { waitUntil: "load" });
  if (scripts) await page.evaluate("new Promise((done) => requestAnimationFrame(() => done()))");
  return performance.now() - start;
}

// Of a long page the top: Chromium cannot paint more than a texture in one picture, and on a busy machine now and then not even that.
async function picture(page, path) {
  const { width } = page.viewportSize();
  const box = await page.locator("html").boundingBox();
  const clip = { x: 0, y: 0, width, height: Math.min(Math.ceil(box.height), 8192) };
  await page.screenshot({ path, fullPage: true, clip, timeout: 60_000 }).catch(() => page.screenshot({ path, timeout: 60_000 }));
}

mkdirSync(join(folder, "pictures"), { recursive: true });
const browser = await chromium.launch({ executablePath, args: quiet });
const pages = readdirSync(folder).filter((name) => name.endsWith(".html"));
for (const file of pages) for (const mode of modes) await look(browser, file, mode);
await browser.close();
console.log(`${pages.length} pages in ${modes.length} modes; the slowest, ${slowest.page}, opened in ${slowest.ms.toFixed(0)} ms`);
for (const one of faults) console.log(one);
process.exit(faults.length ? 1 : 0);
