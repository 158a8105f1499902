// The report as the page draws it: rows of numbers, and call stacks by node of one tree.
// SPDX-License-Identifier: Apache-2.0
import { make, name } from './dom.js';

const NUMBERS = 8;
const IN_LINE = 4; // frames of a call stack in one line
const [FUNCTION, FULL, PLACE, PATH, MODULE, SORT, INNER] = [0, 1, 2, 3, 4, 5, 6];

// As the memory of the device itself is called.
function gpuName(report, device) {
  const found = report.memory.find((memory) => memory.kind === 'device' && memory.device === device);
  return found ? found.name : `GPU ${device}`;
}

// "GPU 0": of what has a kind and a device.
export function memoryName(report, one) {
  if (one.kind === 'all') return `${gpuName(report, one.device)}, all kinds`;
  const found = report.memory.find((memory) => memory.kind === one.kind && memory.device === one.device);
  return found ? found.name : one.kind;
}

function sumOf(all) {
  return Array.from({ length: NUMBERS }, (_, i) => all.reduce((sum, numbers) => sum + numbers[i], 0));
}

// The eight numbers of a row between two parts of the trace. changes: for each part in which the row
// changed eight numbers, which windows_json.h describes. peak: the part in which its memory held most.
function within(changes, first, last, peak) {
  const numbers = Array(NUMBERS).fill(0);
  for (let i = 0; i < changes.length && changes[i] <= last; i += 8) {
    const [part, mostBytes, mostCount, liveBytes, liveCount, bytes, calls, ns] = changes.slice(i, i + 8);
    if (part <= peak) {
      numbers[0] = part === peak ? mostBytes : liveBytes;
      numbers[1] = part === peak ? mostCount : liveCount;
    }
    numbers[2] = liveBytes;
    numbers[3] = liveCount;
    if (part < first) continue;
    numbers[4] += bytes;
    numbers[5] += calls;
    numbers[6] += ns;
  }
  return numbers;
}

// What a row held when its memory held most in each of so many parts.
function heldIn(changes, first, length) {
  const held = [];
  let live = 0;
  let at = 0;
  for (let part = 0; part < first + length; part++) {
    let most = live;
    if (at < changes.length && changes[at] === part) {
      most = changes[at + 1];
      live = changes[at + 3];
      at += 8;
    }
    if (part >= first) held.push(most);
  }
  return held;
}

export class Model {
  constructor(report) {
    this.report = report;
    this.rows = report.rows.map(([node, memory, ...numbers]) => ({ node, memory, numbers }));
    this.paths = new Map();
    this.lines = new Map(); // by node the one that its row shows
    for (let i = 0; i < (report.lines ?? []).length; i += 2) this.lines.set(report.lines[i], report.lines[i + 1]);
    this.window = null; // sums of a part of the run, where there are any
    this.parts = null; // of a trace: the first and the last that are chosen; null: all
    this.moment = this.wholeMoment(); // of the map
  }

  // What the page is about now: rows, what the folded places come to, and both together.
  chosen(state) {
    const { rows, others, totals } = this.window || { rows: this.rows, others: this.report.others, totals: this.report.memory.map((one) => one.totals) };
    if (state.memory < 0) return { rows, others: sumOf(others), total: sumOf(totals) };
    return { rows: rows.filter((row) => row.memory === state.memory), others: others[state.memory], total: totals[state.memory] };
  }

  wholeMoment() {
    return this.report.map.moments[this.report.map.whole];
  }

  // Leaves the parts of a trace that the window touches; null: all of it. Gives the window as it is
  // then, from the beginning of a part to the end of one.
  choose(window) {
    const windows = this.report.windows;
    this.window = null;
    this.parts = null;
    this.moment = this.wholeMoment();
    if (!windows || window === null) return null;
    const first = Math.floor(window[0] / windows.part_ns);
    const last = Math.max(first, Math.ceil(window[1] / windows.part_ns) - 1);
    this.parts = [first, last];
    const peaks = windows.highest.map((parts) => parts.slice(first, last + 1).reduce((best, bytes, i, all) => (bytes > all[best] ? i : best), 0) + first);
    const part = peaks.length > 0 ? peaks[0] : first;
    const [number, at_ns] = this.report.map.parts.slice(2 * part);
    this.moment = { ...this.report.map.moments[number], at_ns };
    const rows = this.rows.map((row, i) => ({ ...row, numbers: within(windows.rows[i], first, last, peaks[row.memory]) }));
    const others = windows.others.map((changes, memory) => within(changes, first, last, peaks[memory]));
    const totals = others.map((numbers, memory) => sumOf([numbers, ...rows.filter((row) => row.memory === memory).map((row) => row.numbers)]));
    const counts = (parts) => parts.slice(first, last + 1).reduce((sums, part) => sums.map((sum, i) => sum + (part[i] || 0)), Array(80).fill(0));
    this.window = { rows, others, totals, sizes: counts(windows.sizes), lives: counts(windows.lives) };
    return [first * windows.part_ns, (last + 1) * windows.part_ns];
  }

  // By part of a trace that is chosen: what was held when most was, in all and by the places that
  // held most, of which `most` are given.
  holders(state, most) {
    const { highest, rows, part_ns } = this.report.windows;
    const isChosen = (memory) => state.memory < 0 || memory === state.memory;
    const length = Math.max(...highest.map((parts) => parts.length));
    const [first, last] = this.parts || [0, length - 1];
    const sums = highest.filter((_, memory) => isChosen(memory));
    const totals = Array.from({ length: Math.min(last, length - 1) - first + 1 }, (_, i) => sums.reduce((sum, parts) => sum + (parts[first + i] || 0), 0));
    const top = this.rows.flatMap((row, i) => {
      if (!isChosen(row.memory)) return [];
      const held = heldIn(rows[i], first, totals.length);
      return [{ node: row.node, held, most: Math.max(...held) }];
    });
    top.sort((a, b) => b.most - a.most);
    return { first, partNs: part_ns, totals, top: top.slice(0, most).filter((one) => one.most > 0) };
  }

  // Histograms of what the page is about now, as [name, number].
  histograms() {
    const { sizes, lives } = this.report;
    if (!this.window) return [sizes, lives];
    const named = (all, counts) => all.map(([name], i) => [name, counts[i]]);
    return [named(sizes, this.window.sizes), named(lives, this.window.lives)];
  }

  // Frames from where the program began to the one that allocated.
  path(node) {
    const path = [];
    for (let at = node; at !== 0; at = this.report.nodes[2 * (at - 1)]) path.push(this.report.nodes[2 * (at - 1) + 1]);
    return path.reverse();
  }

  text(frame, field) {
    return this.report.strings[this.report.frames[frame][field]];
  }
  sort(frame) {
    return this.report.frames[frame][SORT];
  }

  // "main (train.cu:94)".
  frameName(frame) {
    if (frame === -1) return 'all';
    if (frame === -2) return `${this.report.folded} other call sites`;
    const place = this.text(frame, PLACE);
    return this.text(frame, FUNCTION) + (place === '' ? '' : ` (${place})`);
  }

  // Names of the frames that rows leave out.
  innerNames() {
    return this.report.frames.flatMap((frame, i) => (frame[INNER] ? [this.frameName(i)] : []));
  }

  // What a search looks at.
  frameText(frame) {
    if (frame < 0) return this.frameName(frame);
    return [FUNCTION, FULL, PATH, PLACE, MODULE].map((field) => this.text(frame, field)).join('\n').toLowerCase();
  }

  frameDetails(frame) {
    if (frame < 0) return [];
    const [function_, full, path, module] = [FUNCTION, FULL, PATH, MODULE].map((field) => this.text(frame, field));
    return [full !== '' && full !== function_ ? full : '', path, module].filter((text) => text !== '').flatMap((text) => [make('br'), name(text)]);
  }

  callers(node) {
    return this.path(node).reverse();
  }
  stackLine(node) {
    const frames = this.callers(this.lines.get(node) ?? node).filter((frame) => this.sort(frame) !== 2);
    return frames.slice(0, IN_LINE).map((frame) => this.frameName(frame)).join(' < ') + (frames.length > IN_LINE ? ' < ..' : '');
  }
  stackItems(node) {
    return this.callers(node).map((frame) => make('li', {}, name(this.frameName(frame)), ...this.frameDetails(frame)));
  }
  stackText(node) {
    if (!this.paths.has(node)) this.paths.set(node, this.path(node).map((frame) => this.frameText(frame)).join('\n'));
    return this.paths.get(node);
  }
}
