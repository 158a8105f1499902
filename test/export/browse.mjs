// Opens files in viewers that are pages, in a browser without a window, and prints what they show.
// SPDX-License-Identifier: Apache-2.0
// node browse.mjs MODULES BROWSER JOBS: JOBS is JSON, [{"page": URL, "file": PATH, "keys": "3"}]; the
// answer is JSON, for each job {"title", "text", "errors"}.
import { createRequire } from 'node:module';

const [modules, browserPath, jobsText] = process.argv.slice(2);
const { chromium } = createRequire(modules + '/')('playwright-core');

// The file is given to the page's own button for files.
async function show(context, job) {
  const page = await context.newPage();
  const errors = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  await page.goto(job.page);
  await page.waitForSelector('input[type=file]', { state: 'attached' });
  await page.setInputFiles('input[type=file]', job.file);
  let text = '';
  for (let tries = 0; tries < 100 && !text.includes(job.wanted); tries++) {
    if (tries % 10 === 5 && job.keys) await page.keyboard.press(job.keys);
    await page.waitForTimeout(100);
    text = await page.evaluate(() => document.body.innerText);
  }
  const title = await page.title();
  await page.close();
  return { title, text, errors };
}

const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--allow-file-access-from-files'] });
const context = await browser.newContext();
const answers = [];
for (const job of JSON.parse(jobsText)) answers.push(await show(context, job));
console.log(JSON.stringify({ version: browser.version(), answers }));
await browser.close();
