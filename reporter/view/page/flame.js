// The flame graph: call stacks as a tree whose widths are bytes, allocations or time.
// SPDX-License-Identifier: Apache-2.0
import { hierarchy, partition } from 'd3-hierarchy';
import { checkbox, choice, make, searchField } from './dom.js';
import { bytesText, countText, counted, durationText, percentText } from './numbers.js';

const ROW = 21; // pixels
const LEAST_WIDTH = 1.5; // pixels; what is narrower is not drawn
const SORTS = ['f-native', 'f-python', 'f-cuda'];

// By name: which of a row's eight numbers, what it is called, how it reads.
export const COSTS = {
  peak: { index: 0, label: 'bytes at the peak', text: bytesText },
  leaked: { index: 2, label: 'bytes live at the end', text: bytesText },
  total: { index: 4, label: 'bytes ever allocated', text: bytesText },
  count: { index: 5, label: 'allocations', text: countText },
  temporary: { index: 7, label: 'temporary allocations', text: countText },
  time: { index: 6, label: 'time in allocations', text: durationText },
};

function child(of, key, frame) {
  let found = of.byKey.get(key);
  if (!found) {
    found = { frame, own: 0, byKey: new Map(), children: [] };
    of.byKey.set(key, found);
    of.children.push(found);
  }
  return found;
}

// Stacks as one tree, from where the program began inwards, or from the allocation outwards.
export function treeOf(model, rows, others, cost, isInverted) {
  const root = { frame: -1, own: 0, byKey: new Map(), children: [] };
  for (const row of rows) {
    const value = row.numbers[cost.index];
    if (value === 0) continue;
    const path = model.path(row.node); // outermost first
    if (isInverted) path.reverse();
    let at = root;
    for (const frame of path) at = child(at, frame, frame);
    at.own += value;
  }
  if (others[cost.index] > 0) child(root, -2, -2).own += others[cost.index];
  return hierarchy(root, (node) => node.children)
    .sum((node) => node.own)
    .sort((a, b) => b.value - a.value);
}

export class Flame {
  constructor(model, place, state) {
    this.model = model;
    this.state = state;
    this.words = '';
    const changed = (name) => (value) => {
      state[name] = value;
      this.draw();
    };
    const costs = Object.entries(COSTS).filter(([, cost]) => !model.report.untold.includes(cost.index)).map(([key, cost]) => [key, cost.label]);
    const at = (act) => (event) => {
      const node = this.nodes.get(event.target);
      if (node) act(node);
    };
    this.graph = make('div', { class: 'flame', role: 'tree', 'aria-label': 'Flame graph', onkeydown: (event) => this.key(event),
      onclick: at((node) => { this.zoom(node); this.choose(node, true); }), onmouseover: at((node) => this.tell(node)), onfocusin: at((node) => this.tell(node)) });
    this.detail = make('p', { class: 'detail', 'aria-live': 'polite' });
    this.found = make('p', { class: 'note', 'aria-live': 'polite' });
    this.whole = make('p', { id: 'flame-total' });
    const controls = make('div', { class: 'controls' },
      choice('Width:', costs, state.cost, changed('cost')),
      checkbox('Inverted: from the allocation outwards', state.isInverted, changed('isInverted')),
      searchField('Find', (words) => { this.words = words; this.draw(); }),
      make('button', { type: 'button', onclick: () => this.zoom(this.root) }, 'Whole graph'));
    const help = 'Click or press Enter to enlarge, Escape to go back; the arrow keys move from frame to frame.';
    const legend = make('ul', { class: 'legend' }, [['f-native', 'C++'], ['f-python', 'Python'], ['f-cuda', 'CUDA'], ...(model.report.folded > 0 ? [['f-other', 'other call sites']] : []), ['f-match', 'found']].map(([style, text]) => make('li', {}, make('span', { class: 'swatch ' + style }), text)));
    place.replaceChildren(controls, this.whole, legend, this.graph, this.detail, this.found, make('p', { class: 'note' }, help));
    new ResizeObserver(() => this.root && this.width !== this.graph.clientWidth && this.layOut()).observe(this.graph);
  }

  draw() {
    const { rows, others, total } = this.model.chosen(this.state);
    const cost = COSTS[this.state.cost];
    this.cost = cost;
    this.root = treeOf(this.model, rows, others, cost, this.state.isInverted);
    const depth = this.root.height + 1;
    partition().size([1, depth])(this.root);
    this.whole.replaceChildren('All: ', make('data', { value: total[cost.index] }, cost.text(total[cost.index])), ` (${cost.label})`);
    this.search();
    this.zoom(this.root);
  }

  // Frames whose function, file or module has the words; what they come to together.
  search() {
    const words = this.words.toLowerCase();
    this.matches = new Set();
    if (words === '') {
      this.found.textContent = '';
      return;
    }
    let sum = 0;
    const visit = (node, isInside) => {
      const isMatch = this.model.frameText(node.data.frame).includes(words);
      if (isMatch) this.matches.add(node);
      if (isMatch && !isInside) sum += node.value;
      for (const next of node.children || []) visit(next, isInside || isMatch);
    };
    visit(this.root, false);
    this.found.textContent = `${counted(this.matches.size, 'frame')} found: ${this.cost.text(sum)}, ${percentText(sum, this.root.value)}`;
  }

  zoom(node) {
    this.top = node;
    this.current = node;
    this.layOut();
  }

  layOut() {
    this.width = this.graph.clientWidth;
    this.graph.replaceChildren();
    this.boxes = new Map();
    this.nodes = new Map();
    if (this.root.value === 0) {
      this.graph.append(make('div', { role: 'treeitem', tabindex: 0, class: 'f-all' }, 'nothing'));
      this.detail.textContent = 'Nothing of that.';
      return;
    }
    const from = this.top.x0;
    const scale = 1 / (this.top.x1 - this.top.x0);
    const ancestors = new Set(this.top.ancestors());
    let deepest = 0;
    const visit = (node) => {
      const isAbove = ancestors.has(node) && node !== this.top;
      const left = isAbove ? 0 : (node.x0 - from) * scale;
      const right = isAbove ? 1 : (node.x1 - from) * scale;
      if (right <= 0 || left >= 1 || (right - left) * this.width < LEAST_WIDTH) return;
      deepest = Math.max(deepest, node.depth);
      this.graph.append(this.box(node, left, right, isAbove));
      for (const next of node.children || []) if (!isAbove || ancestors.has(next)) visit(next);
    };
    visit(this.root);
    this.graph.style.height = (deepest + 1) * ROW + 'px';
    this.choose(this.current, false);
  }

  box(node, left, right, isAbove) {
    const frame = node.data.frame;
    const style = frame === -1 ? 'f-all' : frame === -2 ? 'f-other' : SORTS[this.model.sort(frame)];
    const classes = [style, this.matches.has(node) && 'f-match', isAbove && 'above'].filter(Boolean).join(' ');
    const label = this.model.frameName(frame);
    const box = make('div', { class: classes, role: 'treeitem', tabindex: -1, 'aria-level': node.depth + 1, 'aria-label': this.describe(node) }, label);
    box.style.left = 100 * left + '%';
    box.style.width = 100 * (right - left) + '%';
    box.style.top = node.depth * ROW + 'px';
    this.boxes.set(node, box);
    this.nodes.set(box, node);
    return box;
  }

  describe(node) {
    return `${this.model.frameName(node.data.frame)}: ${this.cost.text(node.value)}, ${percentText(node.value, this.root.value)}`;
  }

  tell(node) {
    this.detail.replaceChildren(make('bdi', {}, this.describe(node)), ...this.model.frameDetails(node.data.frame));
  }

  choose(node, hasFocus) {
    if (!this.boxes.has(node)) return;
    const former = this.boxes.get(this.current);
    if (former) former.tabIndex = -1;
    this.current = node;
    const box = this.boxes.get(node);
    box.tabIndex = 0;
    if (hasFocus) box.focus();
    this.tell(node);
  }

  beside(node, step) {
    const drawn = (node.parent ? node.parent.children : [node]).filter((one) => this.boxes.has(one));
    return drawn[drawn.indexOf(node) + step];
  }

  key(event) {
    const node = this.current;
    const moves = {
      ArrowUp: () => node.parent,
      ArrowDown: () => (node.children || []).find((one) => this.boxes.has(one)),
      ArrowLeft: () => this.beside(node, -1),
      ArrowRight: () => this.beside(node, 1),
      Home: () => this.root,
    };
    if (event.key in moves) {
      const next = moves[event.key]();
      if (next) this.choose(next, true);
    } else if (event.key === 'Enter' || event.key === ' ') {
      this.zoom(node);
      this.choose(node, true);
    } else if (event.key === 'Escape') {
      const node = this.top.parent || this.root;
      this.zoom(node);
      this.choose(node, true);
    } else {
      return;
    }
    event.preventDefault();
  }
}
