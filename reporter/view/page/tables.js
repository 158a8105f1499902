// The table of places that allocated: to sort, to search, with each call stack behind its row.
// SPDX-License-Identifier: Apache-2.0
import { bytes, count, make, searchField } from './dom.js';
import { countText, counted, durationText } from './numbers.js';

const STEP = 50; // rows shown at first, and more at a time

// Title, which of the eight numbers, how it reads, and whether narrow pages leave it out; those that
// the input does not tell (`untold`) are no columns.
const ALL_COLUMNS = [
  ['At peak', 0, bytes, false],
  ['Blocks at peak', 1, count, true],
  ['Live at the end', 2, bytes, false],
  ['Total', 4, bytes, true],
  ['Allocations', 5, count, true],
  ['Temporary', 7, count, true],
  ['Time', 6, (ns) => make('data', { value: ns }, durationText(ns)), true],
];

export class Places {
  constructor(model, place, state) {
    this.model = model;
    this.columns = ALL_COLUMNS.filter(([, index]) => !model.report.untold.includes(index));
    this.state = state;
    this.words = '';
    this.most = STEP;
    this.column = 0;
    this.isDescending = true;
    this.heads = this.columns.map(([title, , , isMinor], i) => make('th', { scope: 'col', class: isMinor ? 'number minor' : 'number' }, make('button', { type: 'button', onclick: () => this.sortBy(i) }, title)));
    this.body = make('tbody');
    this.foot = make('tfoot');
    this.shown = make('p', { class: 'note', 'aria-live': 'polite' });
    this.button = make('button', { type: 'button', class: 'print-not', onclick: () => { this.most += 10 * STEP; this.draw(); } }, 'Show more');
    const head = make('thead', {}, make('tr', {}, this.heads, make('th', { scope: 'col', class: 'minor' }, 'Memory'), make('th', { scope: 'col' }, 'Where')));
    const caption = 'Call sites that allocated';
    const table = make('table', { id: 'places-table' }, make('caption', {}, caption + ', requested bytes'), head, this.body, this.foot);
    const controls = make('div', { class: 'controls' }, searchField('Find in call stacks', (words) => { this.words = words.toLowerCase(); this.most = STEP; this.draw(); }));
    place.replaceChildren(controls, make('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': caption }, table), this.shown, this.button);
  }

  sortBy(column) {
    this.isDescending = column === this.column ? !this.isDescending : true;
    this.column = column;
    this.draw();
  }

  draw() {
    const { rows, others, total } = this.model.chosen(this.state);
    const index = this.columns[this.column][1];
    const sign = this.isDescending ? -1 : 1;
    const wanted = rows.filter((row) => row.numbers.some((number) => number !== 0) && (this.words === '' || this.model.stackText(row.node).includes(this.words)));
    wanted.sort((a, b) => sign * (a.numbers[index] - b.numbers[index]));
    this.heads.forEach((head, i) => head.setAttribute('aria-sort', i !== this.column ? 'none' : this.isDescending ? 'descending' : 'ascending'));
    this.body.replaceChildren(...wanted.slice(0, this.most).map((row) => this.row(row)));
    const folded = this.model.report.folded;
    const share = (this.model.report.folded_share_ppm / 1e4).toPrecision(2);
    const rest = folded === 0 ? null : this.sums(others, `${counted(folded, 'other call site')}, each at most ${share} % of everything`);
    this.foot.replaceChildren(...[rest, this.sums(total, 'All together')].filter(Boolean));
    this.shown.textContent = `${countText(Math.min(this.most, wanted.length))} of ${counted(wanted.length, 'row')}` + (this.words === '' ? '' : ' found');
    this.button.hidden = wanted.length <= this.most;
  }

  cells(numbers) {
    return this.columns.map(([, index, show, isMinor]) => make('td', { class: isMinor ? 'number minor' : 'number' }, show(numbers[index])));
  }

  sums(numbers, text) {
    return make('tr', {}, this.cells(numbers), make('td', { class: 'minor' }), make('td', { class: 'where' }, text));
  }

  row(row) {
    const stack = make('ol', {});
    const details = make('details', { ontoggle: () => { if (stack.childElementCount === 0) stack.append(...this.model.stackItems(row.node)); } },
      make('summary', {}, make('bdi', {}, this.model.stackLine(row.node))), stack);
    return make('tr', {}, this.cells(row.numbers), make('td', { class: 'minor' }, this.model.report.memory[row.memory].name), make('td', { class: 'where' }, details));
  }
}
