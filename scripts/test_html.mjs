// Opens reports in a headless Chromium and uses them: see scripts/test_html.sh.
// Arguments: the folder of playwright-core, the browser, the folder of the
// reports and screenshots.
import {createRequire} from "node:module";
import path from "node:path";

const [modules, browserPath, folder] = process.argv.slice(2);
const {chromium} = createRequire(path.resolve(modules) + "/")("playwright-core");

let failures = 0;
function check(ok, what) {
  if (ok) return;
  ++failures;
  console.error(`FAILED: ${what}`);
}

// Opens a report and notes what it must not do.
async function open(browser, name, options) {
  const page = await (await browser.newContext(options)).newPage();
  const url = "file://" + path.resolve(folder, name + ".html");
  page.on("console", message => check(message.type() !== "error", `${name}: console: ${message.text()}`));
  page.on("pageerror", error => check(false, `${name}: ${error.stack}`));
  page.on("request", request => check(request.url() === url, `${name}: loads ${request.url()}`));
  await page.goto(url);
  return page;
}

// Pixels of the plot that are neither transparent nor grey: lines and points.
const colouredPixels = page => page.evaluate(() => {
  const canvas = document.querySelector(".plot canvas");
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let coloured = 0;
  for (let k = 0; k < data.length; k += 4) {
    const [r, g, b, a] = data.slice(k, k + 4);
    if (a > 128 && Math.max(r, g, b) - Math.min(r, g, b) > 40) ++coloured;
  }
  return coloured;
});

async function testPlot(page, name) {
  const many = await colouredPixels(page);
  check(many > 500, `${name}: the plot has lines (${many} pixels)`);
  const largest = await page.locator(".note").first().textContent();
  const box = await page.locator(".plot .u-over").boundingBox();
  await page.mouse.move(box.x + 3, box.y + box.height / 2);
  const note = await page.locator(".note").first().textContent();
  check(note.startsWith("At ") && note !== largest, `${name}: hover says the payload: ${note}`);
  const value = await page.locator(".legend .value").first().textContent();
  check(/^[\d.]+ (ns|µs|ms|s)$/.test(value), `${name}: hover shows the bound: ${value}`);
  await page.locator(".plot").first().focus();
  await page.keyboard.press("ArrowRight");
  check(await page.locator(".note").first().textContent() !== note, `${name}: an arrow key moves the cursor`);
  await page.getByRole("button", {name: "Show none"}).click();
  check(await colouredPixels(page) < many / 4, `${name}: the legend switches lines off`);
  const series = page.locator(".legend button").nth(1);
  await series.focus();
  await page.keyboard.press("Enter");
  check(await series.getAttribute("aria-pressed") === "true", `${name}: a key switches a line on`);
  check(await colouredPixels(page) > 50, `${name}: that line is drawn`);
  await page.getByRole("button", {name: "Show all"}).click();
  await page.getByRole("button", {name: "Efficiency", exact: true}).click();
  check(/%$/.test(await page.locator(".legend .value").first().textContent()), `${name}: efficiency in per cent`);
}

// Numbers of a column of "12.3 µs" texts, in seconds.
const UNITS = {s: 1, ms: 1e-3, "µs": 1e-6, ns: 1e-9};
async function times(page) {
  const column = await page.locator("#points thead th").evaluateAll(heads => heads.findIndex(head => head.textContent.startsWith("time")));
  const texts = await page.locator(`#points tbody td:nth-child(${column + 1})`).allTextContents();
  return texts.filter(text => text !== "-").map(text => { const [number, unit] = text.split(" "); return number * UNITS[unit]; });
}

async function testTable(page, name, word) {
  const rows = () => page.locator("#points tbody tr").count();
  const all = await rows();
  const head = page.locator("#points thead button", {hasText: /^time/});
  await head.click();
  const rising = await times(page);
  check(rising.every((time, k) => k === 0 || time >= rising[k - 1]), `${name}: sorts up`);
  await head.focus();
  await page.keyboard.press("Enter");
  const falling = await times(page);
  check(falling.every((time, k) => k === 0 || time <= falling[k - 1]), `${name}: a key sorts down`);
  check(await page.locator("#points th[aria-sort=descending]").count() === 1, `${name}: says how it is sorted`);
  await page.fill("#points-filter", word);
  const found = await rows();
  check(found > 0 && found < all, `${name}: the filter leaves ${found} of ${all} rows`);
  const texts = await page.locator("#points tbody tr").allTextContents();
  check(texts.every(text => text.includes(word)), `${name}: those with ${word}`);
  await page.fill("#points-filter", "");
}

async function testMap(page, name) {
  const link = page.locator(".planes [data-direction]").first();
  await link.hover();
  const note = page.locator("#links-of-the-slice .note");
  check(/:x|:y|:z/.test(await note.textContent()), `${name}: hover names the link: ${await note.textContent()}`);
  await page.locator(".planes svg").first().focus();
  await page.keyboard.press("ArrowRight");
  check(/^Chip /.test(await note.textContent()), `${name}: arrow keys visit chips: ${await note.textContent()}`);
}

async function testTimeline(page, name) {
  const note = page.locator("#timeline-of-the-busiest-chip .note");
  check(await page.locator(".time rect").count() > 0, `${name}: the timeline has bars`);
  await page.locator(".time svg").focus();
  await page.keyboard.press("ArrowRight");
  check(/ long$/.test(await note.textContent()), `${name}: an arrow key visits a bar: ${await note.textContent()}`);
  await page.getByRole("button", {name: "Zoom in"}).click();
}

async function screenshots(browser, name) {
  for (const width of [1280, 400]) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await open(browser, name, {viewport: {width, height: 900}, colorScheme});
      await page.waitForTimeout(100);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      check(wide <= width, `${name}: ${wide} pixels wide on a screen of ${width}`);
      await page.screenshot({path: path.join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: true});
      await page.context().close();
    }
  }
}

const TESTS = {
  compare: async page => { await testPlot(page, "compare"); await testTable(page, "compare", "swing-exchange"); await testMap(page, "compare"); },
  collective: async page => { await testMap(page, "collective"); await testTimeline(page, "collective"); },
  sweep: async page => { await testPlot(page, "sweep"); await testTable(page, "sweep", "v4:4x4x8"); },
  simulate: async page => { await testMap(page, "simulate"); await testTimeline(page, "simulate"); },
};

const browser = await chromium.launch({executablePath: browserPath, args: ["--no-sandbox"]});
for (const [name, test] of Object.entries(TESTS)) {
  const page = await open(browser, name, {viewport: {width: 1280, height: 900}});
  page.setDefaultTimeout(5000);
  try {
    await test(page);
  } catch (error) {
    check(false, `${name}: ${error.message}`);
  }
  await page.context().close();
  await screenshots(browser, name);
}
await browser.close();
console.log(failures === 0 ? "reports: all checks passed" : `reports: ${failures} checks failed`);
process.exit(failures === 0 ? 0 : 1);
