// Bars: the ledger of each device, and histograms.
// SPDX-License-Identifier: Apache-2.0
import { bytes, count, make, name, table } from './dom.js';
import { bytesText, percentText } from './numbers.js';

const COLOURS = 7; // the eighth is for the rest

function bar(label, parts, whole) {
  const made = make('div', { class: 'bar', role: 'img', 'aria-label': label });
  for (const { style, value, text } of parts) {
    const part = make('span', { class: style, title: text });
    part.style.width = (100 * value) / Math.max(whole, 1) + '%';
    made.append(part);
  }
  return made;
}

// One stacked bar that adds up to the device, one of what is used, and the same as a table.
// Of several processes what each used is of another time, and no share of the device; what was
// outside of them is a bound, and in no sum.
function ledgerOf(device, ledger, isOfSeveral) {
  const known = ledger.filter((entry) => entry.device === device.device && entry.device_bytes > 0).sort((a, b) => b.device_bytes - a.device_bytes);
  const isBound = (entry) => isOfSeveral && entry.kind === 'others';
  const entries = known.filter((entry) => !isBound(entry));
  const outside = known.filter(isBound).reduce((sum, entry) => sum + entry.device_bytes, 0);
  const parts = entries.map((entry, i) => ({ style: 'k' + Math.min(i, COLOURS), value: entry.device_bytes, text: `${entry.kind}, ${entry.owner}: ${bytesText(entry.device_bytes)}` }));
  const free = Math.max(device.total_bytes - device.used_bytes, 0);
  const isKnown = device.total_bytes > 0 && !isOfSeveral; // how large it is
  const all = isKnown ? [...parts, { style: 'kfree', value: free, text: `free: ${bytesText(free)}` }] : parts;
  const title = `${device.gpu}: ${bytesText(device.used_bytes)} ` + (isKnown ? `of ${bytesText(device.total_bytes)} used` : 'used') + (isOfSeveral ? ', added over processes at different times' : '');
  const rows = entries.map((entry, i) => [make('span', { class: 'swatch k' + Math.min(i, COLOURS) }), bytes(entry.device_bytes), percentText(entry.device_bytes, device.used_bytes), name(entry.kind), name(entry.owner)]);
  if (isKnown) rows.push([make('span', { class: 'swatch kfree' }), bytes(free), '', 'free', '']);
  return [
    make('h3', {}, title),
    bar(title + ': ' + all.map((part) => part.text).join('; '), all, isKnown ? device.total_bytes : device.used_bytes),
    isKnown && device.used_bytes * 3 < device.total_bytes && parts.length > 0 ? [make('p', { class: 'note' }, 'What is used, enlarged:'), bar('What is used: ' + parts.map((part) => part.text).join('; '), parts, device.used_bytes)] : null,
    outside > 0 ? make('p', { class: 'note' }, `Others, not in it: when the process that saw least outside itself looked, at most ${bytesText(outside)} were outside of these processes.`) : null,
    table(`Owners of the memory of ${device.gpu} when ${isOfSeveral ? 'each process ended or wrote its report' : 'the report was written'}`, ['Colour', '#Bytes', '#Of what is used', 'Kind', 'Owner'], rows),
  ];
}

export function ledgers(owners, isOfSeveral) {
  return owners.devices.filter((device) => device.used_bytes > 0).map((device) => ledgerOf(device, owners.ledger, isOfSeveral)).flat(3);
}

// Two or more empty ones that follow each other become one.
function joined(counts) {
  const rows = [];
  for (let i = 0; i < counts.length; ) {
    let end = i;
    while (end < counts.length && counts[end][1] === 0) end += 1;
    rows.push(end - i > 1 ? [`none in ${end - i} classes`, 0] : counts[i]);
    i = Math.max(end, i + 1);
  }
  return rows;
}

// counts: [name, number]. Leading and trailing zeros are left out.
export function histogram(caption, heading, counts) {
  const first = counts.findIndex(([, number]) => number > 0);
  if (first < 0) return null;
  const last = counts.length - [...counts].reverse().findIndex(([, number]) => number > 0);
  const shown = counts.slice(first, last);
  const most = Math.max(...shown.map(([, number]) => number));
  const rows = joined(shown).map(([text, number]) => {
    const meter = make('span', { class: 'meter' });
    meter.style.width = (100 * number) / most + '%';
    return [text, count(number), number > 0 ? meter : ''];
  });
  const made = table(caption, [heading, '#Allocations', 'Share'], rows);
  made.querySelectorAll('td:last-child, th:last-child').forEach((cell) => cell.classList.add('wide'));
  return made;
}
