// Elements are made here, and text gets into them as text: names in a report may be anything.
// SPDX-License-Identifier: Apache-2.0
import { bytesText, countText } from './numbers.js';

// make('p', {class: 'note', onclick: f}, 'text', element): properties that are functions are
// listeners, the others attributes; null and false leave one out.
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === false || value === undefined) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// A number with its exact value: <data value="191889408">183 MiB</data>.
export function bytes(value) {
  return make('data', { value, title: countText(value) + ' bytes' }, bytesText(value));
}
export function count(value) {
  return make('data', { value }, countText(value));
}

// A name that was made by somebody else: its direction stays its own.
export function name(text) {
  return make('bdi', {}, text);
}

// A table with a caption. heads: texts, with a leading '#' for columns of numbers; rows: of cells.
export function table(caption, heads, rows) {
  const isNumber = heads.map((head) => head.startsWith('#'));
  const style = (i) => (isNumber[i] ? 'number' : heads[i] === 'Where' ? 'where' : null);
  const head = heads.map((text, i) => make('th', { scope: 'col', class: style(i) }, text.replace('#', '')));
  const body = rows.map((cells) => make('tr', {}, cells.map((cell, i) => make('td', { class: style(i) }, cell))));
  const made = make('table', {}, make('caption', {}, caption), make('thead', {}, make('tr', {}, head)), make('tbody', {}, body));
  return make('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': caption }, made);
}

// A choice with its label; `choices` are [value, text].
export function choice(label, choices, chosen, onChange) {
  const select = make('select', { onchange: () => onChange(select.value) }, choices.map(([value, text]) => make('option', { value, selected: value === chosen }, text)));
  return make('label', {}, label + ' ', select);
}

export function checkbox(label, isOn, onChange) {
  const box = make('input', { type: 'checkbox', checked: isOn, onchange: () => onChange(box.checked) });
  return make('label', {}, box, ' ' + label);
}

export function searchField(label, onInput) {
  const field = make('input', { type: 'search', oninput: () => onInput(field.value), autocomplete: 'off', spellcheck: 'false' });
  return make('label', {}, label + ' ', field);
}

export function replace(id, ...children) {
  const place = document.getElementById(id);
  place.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
  return place;
}
