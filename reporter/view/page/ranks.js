// The processes of a merged report: a row each, to sort, and a heat map of what each held over time.
// SPDX-License-Identifier: Apache-2.0
import { bytes, count, make, name } from './dom.js';
import { bytesText, countText, counted, durationText } from './numbers.js';
import { ending, peakOf, who } from './views.js';

const STEP = 50; // rows of the table shown at first, and more at a time
const MAP_HEIGHT = 640; // pixels, unless a row needs more
const MOST_OF_ROW = 16;

const duration = (ns) => (ns === null ? '' : make('data', { value: ns }, durationText(ns)));

// Title, what is sorted by, the cell, and how the cell looks.
function columnsOf(processes, most) {
  const hasRanks = processes.some((one) => one.rank !== null);
  const meter = (one) => {
    const bar = make('span', { class: 'meter' });
    bar.style.width = (100 * one.peak_bytes) / most + '%';
    return bar;
  };
  return [
    hasRanks && ['Rank', (one) => one.rank ?? -1, (one) => String(one.rank ?? ''), null],
    ['Pid', (one) => one.pid, (one) => String(one.pid), null],
    ['Program', (one) => one.executable, (one) => name(one.executable.split('/').pop()), null],
    ['Host', (one) => one.hostname, (one) => name(one.hostname), null],
    ['Ended', ending, ending, null],
    ['Peak', (one) => one.peak_bytes, peakOf, 'number'],
    ['Peak at', (one) => one.peak_ns ?? -1, (one) => duration(one.peak_ns), 'number'],
    ['From the median', (one) => one.apart_bytes ?? -1, (one) => (one.apart_bytes ? bytes(one.apart_bytes) : ''), 'number'],
    ['Host memory', (one) => one.host_peak_bytes, (one) => bytes(one.host_peak_bytes), 'number'],
    ['Now', (one) => one.current_bytes, (one) => bytes(one.current_bytes), 'number'],
    ['Allocations', (one) => one.allocations, (one) => count(one.allocations), 'number'],
    ['Allocating', (one) => one.allocating_ns, (one) => duration(one.allocating_ns), 'number'],
    ['Share of the highest peak', (one) => one.peak_bytes, meter, 'wide'],
  ].filter(Boolean);
}

export class Ranks {
  // runs: processes and how they differ; over: the heat map's data, or null.
  constructor(runs, over) {
    const timed = new Map((over ? over.ranks : []).map((one) => [one.hostname + ' ' + one.pid, one]));
    this.rows = runs.processes.map((one) => {
      const { peak_ns = null, apart_bytes = null, levels = '' } = timed.get(one.hostname + ' ' + one.pid) || {};
      return { ...one, peak_ns, apart_bytes, levels };
    });
    this.over = over;
    this.columns = columnsOf(this.rows, Math.max(...this.rows.map((one) => one.peak_bytes), 1));
    this.column = this.columns.findIndex(([title]) => title === 'Peak');
    this.isDescending = true;
    this.most = STEP;
    this.heads = this.columns.map(([title, , , style], i) => make('th', { scope: 'col', class: style }, make('button', { type: 'button', onclick: () => this.sortBy(i) }, title)));
    this.body = make('tbody');
    this.shown = make('p', { class: 'note', 'aria-live': 'polite' });
    this.button = make('button', { type: 'button', class: 'print-not', onclick: () => { this.most += 10 * STEP; this.draw(); } }, 'Show more');
    const caption = 'Processes';
    const table = make('table', { id: 'ranks-table' }, make('caption', {}, caption), make('thead', {}, make('tr', {}, this.heads)), this.body);
    this.parts = [make('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': caption }, table), this.shown, this.button, ...(over ? this.map() : [])];
    this.draw();
  }

  sortBy(column) {
    this.isDescending = column === this.column ? !this.isDescending : this.columns[column][3] !== null;
    this.column = column;
    this.draw();
  }

  draw() {
    const key = this.columns[this.column][1];
    const sign = this.isDescending ? -1 : 1;
    this.rows.sort((a, b) => sign * (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
    this.heads.forEach((head, i) => head.setAttribute('aria-sort', i !== this.column ? 'none' : this.isDescending ? 'descending' : 'ascending'));
    this.body.replaceChildren(...this.rows.slice(0, this.most).map((one) => make('tr', {}, this.columns.map(([, , cell, style]) => make('td', { class: style }, cell(one))))));
    this.shown.textContent = `${countText(Math.min(this.most, this.rows.length))} of ${countText(this.rows.length)} processes`;
    this.button.hidden = this.rows.length <= this.most;
    this.paint();
  }

  // Of those that have a timeline, in the order of the table.
  map() {
    const when = this.over.clock === 'wall' ? 'the start of the first process, by the hosts’ clocks' : 'the start of each process';
    this.detail = make('p', { class: 'detail', 'aria-live': 'polite', id: 'ranks-detail' });
    this.canvas = make('canvas', { id: 'ranks-map', tabindex: 0, role: 'application', 'aria-roledescription': 'heat map', 'aria-label': `Memory of ${counted(this.over.ranks.length, 'rank')} over time, a line each; arrows go from step to step and from rank to rank` });
    this.at = [0, 0];
    this.canvas.addEventListener('mousemove', (event) => {
      const box = this.canvas.getBoundingClientRect();
      this.tell(Math.floor(((event.clientX - box.left) / box.width) * this.over.steps), Math.floor(((event.clientY - box.top) / box.height) * this.timed.length));
    });
    this.canvas.addEventListener('keydown', (event) => {
      const [step, row] = this.at;
      const moves = { ArrowLeft: [step - 1, row], ArrowRight: [step + 1, row], ArrowUp: [step, row - 1], ArrowDown: [step, row + 1], Home: [0, row], End: [this.over.steps - 1, row] };
      if (!(event.key in moves)) return;
      event.preventDefault();
      this.tell(...moves[event.key]);
    });
    const memory = this.over.is_of_host ? 'Host memory' : 'Device memory';
    return [make('h3', {}, 'Each process over time'),
      make('p', { class: 'note' }, `${memory} from nothing (pale) to ${bytesText(this.over.most_bytes)} (dark); time goes from left to right and begins at ${when}. Lines are in the order of the table.`),
      make('div', { class: 'heat' }, this.canvas), make('p', { class: 'axis' }, make('span', {}, '0 s'), make('span', {}, durationText(this.over.step_ns * this.over.steps))), this.detail];
  }

  paint() {
    if (!this.over) return;
    this.timed = this.rows.filter((one) => one.levels !== '');
    const row = Math.min(MOST_OF_ROW, Math.max(1, Math.floor(MAP_HEIGHT / this.timed.length)));
    this.canvas.width = this.over.steps;
    this.canvas.height = this.timed.length;
    this.canvas.style.height = row * this.timed.length + 'px';
    const context = this.canvas.getContext('2d');
    const style = getComputedStyle(document.documentElement);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.fillStyle = style.getPropertyValue('--c0');
    this.timed.forEach((one, y) => [...one.levels].forEach((letter, x) => {
      if (letter === ' ') return; // it does not run
      context.globalAlpha = 0.06 + (0.94 * this.over.alphabet.indexOf(letter)) / (this.over.alphabet.length - 1);
      context.fillRect(x, y, 1, 1);
    }));
  }

  tell(step, row) {
    this.at = [Math.min(Math.max(step, 0), this.over.steps - 1), Math.min(Math.max(row, 0), this.timed.length - 1)];
    const one = this.timed[this.at[1]];
    const letter = one.levels[this.at[0]];
    const about = (this.over.alphabet.indexOf(letter) / (this.over.alphabet.length - 1)) * this.over.most_bytes;
    const held = letter === ' ' ? 'does not run' : `about ${bytesText(Math.round(about))}`;
    this.detail.textContent = `${who(one)} at ${durationText(this.at[0] * this.over.step_ns)}: ${held}; median ${bytesText(this.over.medians[this.at[0]])}`;
  }
}
