// Memory over time. A part of it is chosen by drawing over it, or with the fields below.
// SPDX-License-Identifier: Apache-2.0
import uPlot from 'uplot';
import { joined } from './curves.js';
import { bytes, make } from './dom.js';
import { memoryName } from './model.js';
import { bytesText, durationText } from './numbers.js';

const MOST_CURVES = 6;
const MILLION = 1e6;
const BINARY_STEPS = Array.from({ length: 50 }, (_, i) => 2 ** i);

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export class Timeline {
  constructor(report, place, onWindow) {
    this.report = report;
    this.onWindow = onWindow;
    this.timeline = report.timeline;
    this.series = this.timeline.series.filter((one) => one.highest_bytes.some((value) => value > 0)).slice(0, MOST_CURVES);
    this.chart = make('div', { class: 'chart' });
    this.said = make('p', { id: 'window-text', 'aria-live': 'polite' });
    if (this.series.length === 0) {
      place.replaceChildren(make('p', {}, 'Nothing was allocated.'));
      return;
    }
    this.data = joined(this.series, this.end());
    this.fields = ['From', 'To'].map((label) => make('input', { type: 'number', min: 0, step: 'any', 'aria-label': `${label}, milliseconds after the first call` }));
    const controls = make('form', { class: 'controls', onsubmit: (event) => { event.preventDefault(); this.typed(); } },
      make('span', {}, 'From '), this.fields[0], make('span', {}, ' to '), this.fields[1], make('span', {}, ' ms '),
      make('button', { type: 'submit' }, 'Choose'), make('button', { type: 'button', id: 'window-all', onclick: () => this.choose(0, this.end()) }, 'All of it'));
    this.legend = make('ul', { class: 'legend' });
    const effect = this.timeline.from_trace ? 'Drag over a part to select it: everything below then shows that part.' : 'Drag over a part to enlarge it.';
    place.replaceChildren(make('p', { class: 'note' }, 'Requested bytes, the most in each interval. ' + effect), this.legend, this.chart, controls, this.said, this.marks());
    this.draw();
    this.choose(...(report.window || [0, this.end()]));
    new ResizeObserver(() => this.plot && this.plot.setSize(this.size())).observe(this.chart);
  }

  end() {
    return Math.max(this.timeline.duration_ns, 1);
  }

  size() {
    return { width: Math.max(this.chart.clientWidth, 200), height: 260 };
  }

  draw() {
    if (!this.series || this.series.length === 0) return;
    const ink = colour('--quiet');
    const axis = { stroke: ink, grid: { stroke: colour('--grid'), width: 1 }, ticks: { stroke: ink, width: 1 } };
    const series = this.series.map((one, i) => ({ label: memoryName(this.report, one), stroke: colour('--c' + i), width: 1.5, fill: i === 0 ? colour('--c0') + '33' : undefined, paths: uPlot.paths.stepped({ align: 1 }), points: { show: false }, value: (_, value) => (value === null ? '' : bytesText(value)) }));
    this.legend.replaceChildren(...series.map((one, i) => make('li', {}, make('span', { class: 'swatch k' + i }), one.label)));
    const options = {
      ...this.size(),
      legend: { show: false },
      cursor: { drag: { x: true, y: false, setScale: false } },
      scales: { x: { time: false }, y: { range: (_, low, high) => [0, high * 1.05 || 1] } },
      axes: [{ ...axis, values: (_, splits) => splits.map((second) => durationText(second * 1e9)) }, { ...axis, size: 80, incrs: BINARY_STEPS, values: (_, splits) => splits.map((value) => (value === 0 ? '0' : bytesText(value))) }],
      series: [{}, ...series],
      hooks: { setSelect: [(plot) => this.drawn(plot)], draw: [(plot) => this.drawMarks(plot)], setCursor: [(plot) => this.hover(plot)] },
    };
    if (this.plot) this.plot.destroy();
    this.plot = new uPlot(options, this.data, this.chart);
    this.plot.root.setAttribute('role', 'img');
    this.plot.root.setAttribute('aria-label', 'Memory over time: ' + this.series.map((one) => `${memoryName(this.report, one)}, at most ${bytesText(one.peak_bytes)}`).join('; '));
    if (this.window) this.plot.setScale('x', { min: this.window[0] / 1e9, max: this.window[1] / 1e9 });
  }

  drawn(plot) {
    if (plot.select.width < 3) return;
    const from = plot.posToVal(plot.select.left, 'x') * 1e9;
    const to = plot.posToVal(plot.select.left + plot.select.width, 'x') * 1e9;
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.choose(from, to);
  }

  typed() {
    const [from, to] = this.fields.map((field) => Number(field.value) * MILLION);
    if (to > from) this.choose(from, to);
    else this.said.textContent = 'The end must be after the start.';
  }

  choose(from, to) {
    from = Math.max(0, from);
    to = Math.min(Math.max(to, from + 1), this.end());
    if (to <= from) from = 0;
    this.window = [from, to];
    this.fields[0].value = +(from / MILLION).toPrecision(9);
    this.fields[1].value = +(to / MILLION).toPrecision(9);
    const isAll = from === 0 && to === this.end();
    this.plot.setScale('x', { min: from / 1e9, max: to / 1e9 });
    const peaks = this.series.map((one) => `${memoryName(this.report, one)} ${bytesText(isAll ? one.peak_bytes : this.most(one, from, to))}`);
    const below = this.onWindow(isAll ? null : [from, to]);
    this.said.textContent = (isAll ? 'The whole run, ' + durationText(this.end()) : `From ${durationText(from)} to ${durationText(to)}`) + '; at most ' + peaks.join(', ') + '.' + below;
  }

  // The highest of the buckets that the window touches.
  most(one, from, to) {
    const first = Math.max(0, Math.floor((from - one.first_ns) / one.bucket_ns));
    const last = Math.floor((to - one.first_ns) / one.bucket_ns);
    const inside = one.highest_bytes.slice(first, last + 1);
    return inside.length > 0 ? Math.max(...inside) : one.last_bytes[one.last_bytes.length - 1] || 0;
  }

  hover(plot) {
    const { idx } = plot.cursor;
    if (idx === null || idx === undefined) return;
    this.said.textContent = `${durationText(this.data[0][idx] * 1e9)}: ` + this.series.map((one, i) => `${memoryName(this.report, one)} ${bytesText(this.data[i + 1][idx])}`).join(', ');
  }

  drawMarks(plot) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.lineWidth = 1;
    for (const mark of this.timeline.marks) {
      const x = plot.valToPos(mark.at_ns / 1e9, 'x', true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.strokeStyle = mark.what === 'peak' ? colour('--quiet') : colour('--more');
      ctx.setLineDash(mark.what === 'peak' ? [4, 4] : []);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.strokeStyle = colour('--quiet');
    ctx.fillStyle = colour('--quiet');
    ctx.setLineDash([1, 3]);
    for (const mark of this.timeline.named || []) {
      const x = plot.valToPos(mark.at_ns / 1e9, 'x', true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  marks() {
    const words = { peak: 'peak of', refused: 'refused:', reset: 'a context ended', ended: '' };
    const has_memory = (mark) => mark.what === 'peak' || mark.what === 'refused';
    const when = (mark) => durationText(mark.at_ns)
      + (mark.until_ns === null ? '' : ` to ${durationText(mark.until_ns)}`)
      + (mark.process_ns === null || mark.process_ns === mark.at_ns ? '' : ` (${durationText(mark.process_ns)} after its process began)`);
    const items = this.timeline.marks.slice(0, 30).map((mark) => make('li', {}, `${when(mark)}: ${words[mark.what]} `, has_memory(mark) ? memoryName(this.report, mark) + (mark.is_bound ? ', at most ' : ', ') : '', has_memory(mark) ? bytes(mark.bytes) : '', mark.what === 'ended' ? mark.text : ''));
    const named = (this.timeline.named || []).slice(0, 30).map((mark) => make('li', {}, `${durationText(mark.at_ns)}: mark ${mark.name}`));
    return make('ul', { id: 'marks' }, items.concat(named));
  }
}
