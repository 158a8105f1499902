// Draws the page of vramscope html from the report that stands in it.
// SPDX-License-Identifier: Apache-2.0
import { advice, fit } from './answers.js';
import { histogram, ledgers } from './charts.js';
import { choice, make, replace } from './dom.js';
import { Flame } from './flame.js';
import { Holders } from './holders.js';
import { SegmentMap } from './map.js';
import { Model } from './model.js';
import { durationText } from './numbers.js';
import { Ranks } from './ranks.js';
import { Places } from './tables.js';
import { Timeline } from './timeline.js';
import { changes, figures, leaveOut, refusals } from './views.js';

const report = JSON.parse(document.getElementById('report').textContent);
const model = new Model(report);
leaveOut(model.innerNames());
const state = { memory: report.memory.length > 0 ? 0 : -1, cost: 'peak', isInverted: false };
const baseName = (path) => path.split('/').pop();
const program = baseName(report.program) || 'a program';

function show(id, ...children) {
  document.getElementById(id).hidden = false;
  replace(id + '-content', ...children);
}

function head() {
  const title = report.diff ? `${program}: what changed from ${baseName(report.diff.before)} to ${baseName(report.diff.after)}` : report.runs ? `${program}: ${report.runs.processes.length} processes` : report.pid === 0 ? program : `${program} ${report.pid}`; // of what others wrote nobody is known
  document.title = title + ' - Vramscope';
  replace('title', make('bdi', {}, title));
  replace('heading', make('bdi', {}, report.heading), report.filter === '' ? null : make('strong', {}, '\nOnly ', make('bdi', {}, report.filter)));
  replace('about', `Made by vramscope ${report.tool} of `, make('bdi', {}, report.file), '. Requested bytes are what the program requested; a call site is a distinct call stack that allocates.');
}

function navigation() {
  const sections = [...document.querySelectorAll('main > section')].filter((section) => !section.hidden);
  replace('nav', make('ul', {}, sections.map((section) => make('li', {}, make('a', { href: '#' + section.id }, section.querySelector('h2').textContent)))));
}

// By themselves, as the system says; then as chosen.
function themes(redraw) {
  const set = (theme) => {
    if (theme === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    redraw();
  };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  return choice('Colours:', [['system', 'as the system has them'], ['light', 'light'], ['dark', 'dark']], 'system', set);
}

function overview() {
  const warnings = report.warnings.map((text) => make('p', { class: 'warning' }, 'Warning: ', make('bdi', {}, text)));
  const estimates = report.estimates === '' ? null : make('p', { class: 'note' }, 'Numbers of call sites are ' + report.estimates + '.');
  show('overview', make('ul', { class: 'verdict' }, report.verdict.map((text) => make('li', {}, make('bdi', {}, text)))), warnings, estimates, ledgers(report.owners, report.is_of_several));
}

head();
overview();
if (report.diff) show('changes', changes(report.diff));
const ranks = report.runs ? new Ranks(report.runs, report.ranks) : null;
if (ranks) show('processes', ...ranks.parts, ...figures(report.runs));
if (report.advice) show('advice', ...advice(report.advice));
if (report.fit) show('fit', ...fit(report.fit));
const flame = new Flame(model, document.getElementById('flame-content'), state);
const places = new Places(model, document.getElementById('places-content'), state);
const hasMap = report.map.moments.some((moment) => moment.places.length > 0);
document.getElementById('map').hidden = !hasMap;
const map = hasMap ? new SegmentMap(model, document.getElementById('map-content')) : null;
const hasHolders = Boolean(report.windows) && report.memory.length > 0;
document.getElementById('holders').hidden = !hasHolders;
const holders = hasHolders ? new Holders(model, document.getElementById('holders-content'), state) : null;
const drawBelow = () => {
  if (holders) holders.draw();
  flame.draw();
  places.draw();
};
const drawRefusals = (window) => {
  if (report.oom.count > 0) show('oom', refusals(report, window));
};
const drawHistograms = () => {
  const [sizes, lives] = model.histograms();
  const drawn = [histogram('How large allocations are', 'Bytes', sizes), histogram('Lifetimes of freed allocations', 'Life', lives)].filter(Boolean);
  if (drawn.length > 0) show('histograms', make('div', { class: 'columns' }, drawn));
  else replace('histograms-content', 'Nothing was allocated or freed then.');
};
// Of a trace all below is then of the window; of a report only the drawing is enlarged.
const timeline = new Timeline(report, document.getElementById('timeline-content'), (window) => {
  if (!report.windows) return '';
  const chosen = model.choose(window);
  drawBelow();
  drawHistograms();
  drawRefusals(chosen);
  if (map) map.draw();
  return chosen === null ? '' : ` Everything below is for ${durationText(chosen[0])} to ${durationText(chosen[1])}; “live at the end” means live at ${durationText(chosen[1])}.`;
});
if (!report.windows || timeline.series.length === 0) {
  drawRefusals(null);
  drawHistograms();
  drawBelow();
}

const memories = report.memory.map((memory, i) => [String(i), memory.name]);
const chooseMemory = choice('Memory:', [...memories, ['-1', 'all, each at its own peak']], '0', (value) => {
  state.memory = Number(value);
  drawBelow();
});
replace('controls', chooseMemory, themes(() => { timeline.draw(); if (ranks) ranks.paint(); }));
navigation();
