// Opens pages of vramscope html in a browser without a window, does with them what a person does,
// and prints what they show.
// SPDX-License-Identifier: Apache-2.0
// node browse.mjs MODULES BROWSER JOBS: JOBS is a JSON file, [{"name", "page", "pictures": FOLDER,
// "acts": [WORD...], "part": [FROM, TO]}]; part: milliseconds to type, else what is drawn; the
// answer is JSON, by name {"errors", "requests", ...}.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [modules, browserPath, jobsFile] = process.argv.slice(2);
const require = createRequire(modules + '/');
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf-8');
const PATIENCE = { timeout: 120000 }; // milliseconds, of a machine with much else to do

// The exact numbers in what a selector finds.
const numbers = (page, selector) => page.$$eval(selector + ' data', (all) => all.map((one) => Number(one.value)));
const texts = (page, selector) => page.$$eval(selector, (all) => all.map((one) => one.textContent));
const width = (page) => page.evaluate(() => document.documentElement.scrollWidth);

// The page may not evaluate text; what checks it comes in by the browser's own door. rules: null: all.
async function complaints(page, rules) {
  await page.evaluate('window.axe || ' + axe + ';0');
  return page.evaluate(async (rules) => {
    const options = { resultTypes: ['violations'], ...(rules ? { runOnly: { type: 'rule', values: rules } } : {}) };
    return (await window.axe.run(document, options)).violations.map((one) => one.id + ': ' + one.nodes.slice(0, 3).map((node) => node.target + ' ' + node.failureSummary).join(' | '));
  }, rules);
}

async function picture(page, job, name) {
  if (job.pictures) await page.screenshot({ path: `${job.pictures}/${job.name}.${name}.png`, fullPage: true, ...PATIENCE });
}

async function flame(page) {
  const seen = {};
  const total = () => page.$eval('#flame-total data', (one) => Number(one.value));
  const boxes = () => page.$$eval('.flame [role=treeitem]', (all) => all.map((one) => one.getAttribute('aria-label')));
  seen.costs = {};
  const offered = await page.$$eval('#flame-content option', (all) => all.map((one) => one.value));
  for (const cost of [...offered.slice(1), 'peak']) {
    await page.selectOption('#flame-content select', cost);
    seen.costs[cost] = await total();
  }
  seen.boxes = await boxes();
  await page.check('#flame-content input[type=checkbox]');
  seen.inverted = await boxes();
  await page.uncheck('#flame-content input[type=checkbox]');
  await page.focus('.flame [tabindex="0"]');
  await page.keyboard.press('ArrowDown');
  seen.below = await page.evaluate(() => document.activeElement.getAttribute('aria-label'));
  await page.keyboard.press('Enter');
  seen.enlarged = await page.evaluate(() => document.activeElement.style.width);
  seen.detail = await page.textContent('#flame-content .detail');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Home');
  seen.home = await page.evaluate(() => document.activeElement.getAttribute('aria-label'));
  await page.locator('.flame [role=treeitem]').nth(1).dispatchEvent('mouseover');
  seen.byMouse = await page.textContent('#flame-content .detail');
  await page.locator('.flame [role=treeitem]').nth(1).dispatchEvent('click');
  seen.clicked = await page.evaluate(() => document.activeElement.getAttribute('aria-label'));
  await page.keyboard.press('Escape');
  await page.fill('#flame-content input[type=search]', 'load_batch');
  seen.found = await texts(page, '#flame-content .note');
  seen.matches = await page.$$eval('.flame .f-match', (all) => all.length);
  await page.fill('#flame-content input[type=search]', '');
  return seen;
}

async function places(page) {
  const seen = {};
  const column = (n) => page.$$eval(`#places-table tbody tr td:nth-child(${n}) data`, (all) => all.map((one) => Number(one.value)));
  seen.sums = await numbers(page, '#places-table tfoot tr:last-child');
  seen.peaks = await column(1);
  await page.click('#places-table th:nth-child(3) button');
  seen.live = await column(3);
  await page.click('#places-table th:nth-child(3) button');
  seen.liveUpwards = await column(3);
  seen.sorted = await page.getAttribute('#places-table th:nth-child(3)', 'aria-sort');
  const search = page.locator('#places-content input[type=search]');
  await search.fill('load_batch');
  seen.found = await texts(page, '#places-table tbody summary');
  await search.fill('');
  await page.click('#places-table tbody tr:first-child summary');
  await page.waitForSelector('#places-table tbody tr:first-child li', PATIENCE);
  seen.frames = await texts(page, '#places-table tbody tr:first-child li');
  const more = page.locator('#places-content > button');
  seen.rows = await page.locator('#places-table tbody tr').count();
  if (await more.isVisible()) await more.click();
  seen.moreRows = await page.locator('#places-table tbody tr').count();
  return seen;
}

const histograms = (page) => page.$$eval('#histograms table', (all) => all.map((table) => [...table.querySelectorAll('tbody tr')].map((row) => [row.cells[0].textContent, Number(row.querySelector('data').value)])));

const titles = (page, selector) => page.$$eval(selector, (all) => all.map((one) => one.title));

// All that follows a part that is chosen.
async function below(page) {
  return { sums: await numbers(page, '#places-table tfoot tr:last-child'), histograms: await histograms(page),
    refusals: await texts(page, '#oom h3'), columns: await titles(page, '.columns-chart > span'), mapAt: await numbers(page, '#map-content > .note'), mapSums: await numbers(page, '#map-sums') };
}

async function timeline(page, job) {
  const seen = { isThere: (await page.locator('.uplot').count()) === 1 };
  if (!seen.isThere) return seen;
  const said = () => page.textContent('#window-text');
  seen.all = await said();
  await page.locator('.u-over').scrollIntoViewIfNeeded();
  const at = await page.locator('.u-over').boundingBox();
  await page.mouse.move(at.x + at.width * 0.25, at.y + 50);
  await page.mouse.down();
  await page.mouse.move(at.x + at.width * 0.5, at.y + 60, { steps: 4 });
  await page.mouse.up();
  await page.mouse.move(0, 0);
  const fields = () => page.$$eval('#timeline-content input', (all) => all.map((one) => Number(one.value)));
  seen.drawn = await fields();
  const type = async (part) => {
    await page.fill('#timeline-content input >> nth=0', String(part[0]));
    await page.fill('#timeline-content input >> nth=1', String(part[1]));
    await page.click('#timeline-content button[type=submit]');
  };
  await type([0, 0.5]);
  seen.typed = await said();
  await type(job.part || seen.drawn);
  seen.edges = await fields();
  seen.part = await below(page);
  await type([600, 700]);
  seen.none = await below(page);
  await page.click('#window-all');
  seen.again = await said();
  seen.whole = await below(page);
  seen.marks = await texts(page, '#marks li');
  return seen;
}

async function map(page) {
  const seen = { isThere: await page.isVisible('#map') };
  if (!seen.isThere) return seen;
  seen.sums = await numbers(page, '#map-sums');
  seen.segments = await page.locator('.segment').count();
  seen.used = await page.$$eval('.blocks > .b-used, .blocks > .b-pin', (all) => all.length);
  seen.free = await page.$$eval('.blocks > .b-free', (all) => all.length);
  const pins = page.locator('.b-pin:not(.swatch)');
  seen.pins = await pins.count();
  await page.locator('.segment .blocks').first().focus();
  await page.keyboard.press('End');
  seen.byKey = await page.textContent('#map-detail');
  await page.locator('.segment .blocks > span').first().dispatchEvent('mouseenter');
  seen.byMouse = await page.textContent('#map-detail');
  if (seen.pins > 0) {
    await pins.first().dispatchEvent('mouseenter');
    seen.pin = await page.textContent('#map-detail');
  }
  return seen;
}

// The table of processes and the map: columns by their titles, rows by their cells' texts.
async function ranks(page) {
  const seen = {};
  const column = (title) => page.$$eval('#ranks-table', ([table], title) => {
    const at = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent === title);
    return [...table.tBodies[0].rows].map((row) => row.cells[at].textContent);
  }, title);
  const sort = (title) => page.click(`#ranks-table th button:text-is("${title}")`);
  seen.rows = (await column('Rank')).length;
  await sort('Rank');
  seen.ranks = await column('Rank');
  await sort('Rank');
  seen.downwards = await column('Rank');
  await sort('Host memory');
  seen.sorted = await page.$$eval('#ranks-table th', (all) => all.filter((one) => one.getAttribute('aria-sort') !== 'none').map((one) => one.textContent + ' ' + one.getAttribute('aria-sort')));
  await sort('Rank');
  // What is drawn: how opaque each cell is, a list a rank.
  seen.cells = await page.$eval('#ranks-map', (canvas) => {
    const { data, width, height } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return [...Array(height)].map((_, y) => [...Array(width)].map((_, x) => data[4 * (y * width + x) + 3]));
  });
  seen.height = await page.$eval('#ranks-map', (canvas) => canvas.getBoundingClientRect().height);
  await page.focus('#ranks-map');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('End');
  seen.byKey = await page.textContent('#ranks-detail');
  await page.locator('#ranks-map').hover({ position: { x: 1, y: 1 } });
  seen.byMouse = await page.textContent('#ranks-detail');
  return seen;
}

async function moreRanks(page) {
  await page.click('#processes-content > button');
  return page.locator('#ranks-table tbody tr').count();
}

const ACTS = { flame, places, timeline, map, ranks, moreRanks };

async function open(browser, job, seen) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE.timeout);
  page.on('pageerror', (error) => seen.errors.push(String(error)));
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && seen.errors.push(message.text()));
  page.on('dialog', (dialog) => { seen.dialogs.push(dialog.message()); dialog.dismiss(); });
  await context.route('**/*', (route) => {
    if (route.request().url() === 'file://' + job.page) return route.continue();
    seen.requests.push(route.request().url());
    return route.abort();
  });
  return page;
}

// Seconds of a processor that the page's own thread has used until all of it was painted.
async function drawn(page, job) {
  const browser = await page.context().newCDPSession(page);
  await browser.send('Performance.enable', { timeDomain: 'threadTicks' });
  await page.goto('file://' + job.page, { waitUntil: 'load', ...PATIENCE });
  await page.waitForSelector('#flame-total data', PATIENCE);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const { metrics } = await browser.send('Performance.getMetrics');
  await browser.detach();
  return metrics.find((one) => one.name === 'TaskDuration').value;
}

async function look(browser, job) {
  const seen = { errors: [], requests: [], dialogs: [] };
  const page = await open(browser, job, seen);
  seen.drawn_s = await drawn(page, job);
  seen.title = await page.title();
  seen.text = await page.evaluate(() => document.body.innerText);
  seen.overview = await texts(page, '#overview li');
  seen.ledger = await numbers(page, '#overview');
  seen.changes = await numbers(page, '#changes');
  seen.processes = await numbers(page, '#processes');
  seen.refusals = await numbers(page, '#oom');
  seen.advice = await numbers(page, '#advice');
  seen.fit = await numbers(page, '#fit');
  seen.histograms = await histograms(page);
  seen.fields = await page.$$eval('#timeline-content input', (all) => all.map((one) => Number(one.value)));
  seen.links = await page.$$eval('nav a', (all) => all.map((one) => one.getAttribute('href')).filter((link) => !document.querySelector(link) || document.querySelector(link).hidden));
  for (const act of job.acts) seen[act] = await ACTS[act](page, job);
  seen.axe = { light: await complaints(page, null) };
  await picture(page, job, 'light');
  await page.emulateMedia({ colorScheme: 'dark' });
  seen.axe.dark = await complaints(page, ['color-contrast']); // the others do not look at colours
  await picture(page, job, 'dark');
  await page.selectOption('#controls select >> nth=1', 'light');
  seen.paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  seen.widths = {};
  for (const wide of [400, 2000]) {
    await page.setViewportSize({ width: wide, height: 900 });
    seen.widths[wide] = await width(page);
    await picture(page, job, String(wide));
  }
  await page.emulateMedia({ media: 'print' });
  seen.printsControls = await page.isVisible('#controls');
  await page.context().close();
  return seen;
}

const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'], ...PATIENCE });
const answers = {};
const jobs = JSON.parse(readFileSync(jobsFile, 'utf-8'));
// Two at a time: each waits for its page most of the time.
const work = async () => {
  for (let job = jobs.shift(); job; job = jobs.shift()) answers[job.name] = await look(browser, job);
};
await Promise.all([work(), work()]);
await browser.close();
console.log(JSON.stringify(answers));
