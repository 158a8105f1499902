// What advise and fit say of the file, as sections of the page.
// SPDX-License-Identifier: Apache-2.0
import { bytes, count, make, name, table } from './dom.js';
import { counted } from './numbers.js';
import { stack } from './views.js';

// "vramscope fit train.4711.trace", for a shell.
function command(words, file) {
  const isPlain = /^[\w./%+:@,=-]+$/.test(file);
  return make('code', {}, name(`vramscope ${words} ${isPlain ? file : "'" + file.replaceAll("'", "'\\''") + "'"}`));
}

// In the place of an answer that takes too long for a page.
function elsewhere(answer) {
  return make('p', {}, 'The trace is large; this command answers from it: ', command(answer.verb, answer.file));
}

function finding(advice, one) {
  const rows = one.sites.map((site) => [bytes(site.bytes), count(site.count), stack(site.frames)]);
  return make('article', {},
    make('h3', {}, name(one.title)),
    make('p', {}, name(one.shown)),
    rows.length > 0 ? table('Call sites', ['#Bytes', '#Count', 'Where'], rows) : null,
    one.sites_left_out > 0 ? make('p', { class: 'note' }, `and ${counted(one.sites_left_out, 'more call site')}`) : null,
    make('p', {}, name(one.to_do)),
    make('p', { class: 'note' }, 'See: ', command(one.command, advice.file)));
}

export function advice(advice) {
  if (advice.verb) return [elsewhere(advice)];
  return [
    make('p', {}, advice.summary),
    ...advice.findings.map((one) => finding(advice, one)),
    advice.left_out > 0 ? make('p', {}, `and ${counted(advice.left_out, 'more finding')}: `, command('advise -n 0', advice.file)) : null,
    advice.rest === '' ? null : make('p', { class: 'note' }, advice.rest),
  ];
}

export function fit(fit) {
  if (fit.verb) return [elsewhere(fit)];
  const { gpus, rows, file, allocations } = fit.answer;
  const some = (value) => (value === null ? '-' : bytes(value));
  const gpuRows = gpus.map((gpu, i) => [name(gpu.name), bytes(gpu.memory_bytes), name(fit.fits[i]), some(gpu.spare_bytes), some(gpu.missing_bytes)]);
  const settingsRows = rows.map((row, i) => [name(fit.settings[i]), some(row.least_bytes), bytes(row.peak_reserved_bytes), bytes(row.peak_requested_bytes)]);
  return [
    make('p', {}, 'The smallest amount of GPU memory with which this run completes, by replays of its ', counted(allocations, 'allocation'), '. To search for better settings: ', command('tune', file)),
    table('On common GPUs', ['GPU', '#Memory', 'Fits', '#Spare', '#Missing'], gpuRows),
    table('By settings', ['Settings', '#Least', '#Reserved', '#Requested'], settingsRows),
    ...fit.remarks.filter((text) => text !== '').map((text) => make('p', { class: 'note' }, name(text))),
  ];
}
