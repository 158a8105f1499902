// Who held memory over time: each part of a trace as a column, with what the places that held most
// held when the part's most was held.
// SPDX-License-Identifier: Apache-2.0
import { bytes, make, name, table } from './dom.js';
import { bytesText, counted, durationText } from './numbers.js';

export const SHOWN = 7; // places, each with a colour; the eighth is for the others

export class Holders {
  constructor(model, place, state) {
    this.model = model;
    this.state = state;
    this.chart = make('div', { class: 'columns-chart', role: 'img' });
    this.text = make('div');
    place.replaceChildren(make('p', { class: 'note' }, 'Requested bytes at the peak of each part of the run. The colours are explained in the list below.'), this.chart, this.text);
  }

  draw() {
    const { first, partNs, totals, top } = this.model.holders(this.state, SHOWN);
    const highest = Math.max(...totals, 1);
    const columns = totals.map((total, i) => {
      const held = top.map((one) => one.held[i]);
      const rest = total - held.reduce((sum, value) => sum + value, 0);
      const column = make('span', { title: `${durationText((first + i) * partNs)}: ${bytesText(total)}` }, [...held, rest].map((value, k) => {
        const part = value > 0 ? make('i', { class: 'k' + (k < held.length ? k : SHOWN) }) : null;
        if (part) part.style.height = (100 * value) / highest + '%';
        return part;
      }));
      return column;
    });
    this.chart.replaceChildren(...columns);
    const names = top.map((one) => this.model.stackLine(one.node));
    this.chart.setAttribute('aria-label', `Who held memory in ${counted(totals.length, 'part')} of the run: ` + top.map((one, k) => `${names[k]}, at most ${bytesText(one.most)}`).join('; '));
    const rows = top.map((one, k) => [make('span', { class: 'swatch k' + k }), bytes(one.most), name(names[k])]);
    const others = totals.map((total, i) => total - top.reduce((sum, one) => sum + one.held[i], 0));
    if (Math.max(...others) > 0) rows.push([make('span', { class: 'swatch k' + SHOWN }), bytes(Math.max(...others)), 'all others']);
    this.text.replaceChildren(table('Call sites that held the most memory', ['Colour', '#At most', 'Where'], rows));
  }
}
