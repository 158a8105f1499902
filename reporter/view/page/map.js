// Segments drawn to scale with the blocks in them, and the block that pins each.
// SPDX-License-Identifier: Apache-2.0
import { bytes, choice, count, make, name, table } from './dom.js';
import { memoryName } from './model.js';
import { bytesText, countText, counted, durationText } from './numbers.js';

const STYLES = { active_allocated: 'b-used', inactive: 'b-free' };

export class SegmentMap {
  constructor(model, place) {
    this.model = model;
    this.map = model.report.map;
    this.detail = make('p', { class: 'detail', 'aria-live': 'polite', id: 'map-detail' });
    this.rows = make('div', { id: 'segments' });
    this.text = make('div');
    this.keys = this.map.moments[this.map.whole].places.map((one) => `${one.kind} ${one.device}`);
    this.key = this.keys[0];
    const names = this.map.moments[this.map.whole].places.map((one, i) => [this.keys[i], memoryName(model.report, one)]);
    this.moment = make('p', { class: 'note' });
    const legend = [['b-used', 'in use'], ['b-mixed', 'small blocks'], ['b-pending', 'waiting or set apart'], ['b-free', 'free'], ['b-pin', 'holds its segment']];
    place.replaceChildren(this.moment, make('div', { class: 'controls' }, choice('Memory:', names, this.key, (key) => { this.key = key; this.draw(); })), this.text,
      make('ul', { class: 'legend' }, legend.map(([style, text]) => make('li', {}, make('span', { class: 'swatch ' + style }), text))), this.rows, this.detail);
    this.draw();
  }

  styleOf(cell, isPin) {
    const [, , used, blocks, state] = cell;
    if (isPin) return 'b-pin';
    if (blocks > 1) return used === 0 ? 'b-free' : 'b-mixed';
    return STYLES[this.map.states[state]] || 'b-pending';
  }

  // What the model's moment was like.
  draw() {
    const { moment, at_ns, places } = this.model.moment;
    const place = places.find((one) => `${one.kind} ${one.device}` === this.key);
    const at = make('data', { value: at_ns }, durationText(at_ns));
    this.moment.replaceChildren(`Memory ${moment}, `, at, ' after the first call. The block whose free would open the largest hole holds its segment.');
    this.detail.textContent = '';
    if (!place) {
      this.text.replaceChildren(make('p', {}, 'It held nothing then.'));
      this.rows.replaceChildren();
      return;
    }
    const left_out = place.left_out;
    const shown = place.shown.map((number) => this.map.segments[number]);
    const sentence = make('p', { id: 'map-sums' }, bytes(place.total_bytes), ' in segments: ', bytes(place.allocated_bytes), ' in ', count(place.live_count), ' live blocks, ', bytes(place.free_bytes), ' free, of that ', bytes(place.stranded_bytes), ' stranded beside live blocks; the largest hole is ', bytes(place.largest_free_bytes), '.');
    const pinners = place.pinned_by.map(([stranded, segments, blocks, givesBack, node]) => [bytes(stranded), count(segments), count(blocks), bytes(givesBack), name(node ? this.model.stackLine(node) : 'unknown')]);
    this.text.replaceChildren(sentence, pinners.length > 0 ? table('What holds segments', ['#Stranded', '#Segments', '#Blocks in them', '#Given back if freed', 'Where'], pinners) : '');
    const largest = Math.max(...shown.map((segment) => segment.bytes), 1);
    this.rows.replaceChildren(...shown.map((segment) => this.segment(segment, largest)), left_out > 0 ? make('p', { class: 'note' }, `${counted(left_out, 'further segment')} with fewer stranded bytes ${left_out === 1 ? 'is' : 'are'} not drawn.`) : '');
  }

  segment(segment, largest) {
    const text = `0x${segment.address.toString(16)}, ${segment.pool}, ${bytesText(segment.bytes)}, ${bytesText(segment.free_bytes)} free`;
    const blocks = make('div', { class: 'blocks', tabindex: 0, role: 'application', 'aria-label': 'Segment ' + text + '; left and right go from block to block', 'aria-roledescription': 'segment' });
    blocks.style.width = Math.max((100 * segment.bytes) / largest, 2) + '%';
    let at = -1;
    const tell = (i) => {
      if (at >= 0) blocks.children[at].classList.remove('here');
      at = i;
      blocks.children[at].classList.add('here');
      this.tell(segment, i);
    };
    segment.cells.forEach((cell, i) => {
      const part = make('span', { class: this.styleOf(cell, i === segment.pin), onmouseenter: () => tell(i) });
      part.style.left = (100 * cell[0]) / segment.bytes + '%';
      part.style.width = (100 * cell[1]) / segment.bytes + '%';
      blocks.append(part);
    });
    blocks.addEventListener('keydown', (event) => {
      const steps = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: segment.cells.length - 1 };
      if (!(event.key in steps)) return;
      event.preventDefault();
      tell(Math.min(Math.max(steps[event.key], 0), segment.cells.length - 1));
    });
    return make('div', { class: 'segment' }, make('span', { class: 'label' }, text), blocks);
  }

  tell(segment, index) {
    const [offset, all, used, blocks, state, requested, node, born] = segment.cells[index];
    const where = '0x' + (segment.address + offset).toString(16);
    if (blocks > 1) {
      this.detail.textContent = `${where}: ${countText(blocks)} small blocks, ${bytesText(all)}, of that ${bytesText(used)} in use`;
      return;
    }
    const lines = [`${where}: ${bytesText(all)}, ${this.map.states[state].replaceAll('_', ' ')}`];
    if (used > 0) lines.push(`, ${bytesText(requested)} requested`);
    if (born >= 0) lines.push(`, allocated ${durationText(born)} after the first call`);
    if (index === segment.pin) lines.push(`; holds the segment: freeing it would open a hole of ${bytesText(segment.hole_bytes)}` + (segment.gives_back_bytes > 0 ? ` and release ${bytesText(segment.gives_back_bytes)} to the driver` : ''));
    this.detail.replaceChildren(lines.join(''), node ? make('br') : '', node ? name(this.model.stackLine(node)) : '');
  }
}
