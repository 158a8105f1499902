// Numbers as a person reads them, in the forms that the command line tool has.
// SPDX-License-Identifier: Apache-2.0

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

// Rounded as printf does: what lies halfway, to the even digit (114.5 is 114).
function fixed(value, digits) {
  const halves = value * 2 ** (digits + 1); // an odd number, and exact, of what lies halfway
  if (halves % 2 !== 1) return value.toFixed(digits);
  const below = Math.floor(value * 10 ** digits);
  return ((below % 2 === 0 ? below : below + 1) / 10 ** digits).toFixed(digits);
}

// Three digits of a number from 0 to 1024.
function threeDigits(value) {
  return fixed(value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}

// "0 B", "512 B", "1.50 KiB", "80.0 GiB".
export function bytesText(bytes) {
  if (bytes < 0) return '-' + bytesText(-bytes);
  let unit = 0;
  let value = bytes;
  while (value >= 1023.5 && unit + 1 < UNITS.length) {
    value /= 1024;
    unit++;
  }
  return (unit === 0 ? String(value) : threeDigits(value)) + ' ' + UNITS[unit];
}

export function changeText(bytes) {
  return (bytes > 0 ? '+' : '') + bytesText(bytes);
}

// "1,234,567".
export function countText(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',');
}

export function counted(count, noun) {
  return countText(count) + ' ' + noun + (count === 1 ? '' : 's');
}

// "98.2 %"; "100 %" and "0 %" only where exact. Rounds as percent_text() does.
export function percentText(part, whole) {
  if (whole === 0) return '-';
  if (part === 0) return '0 %';
  if (part === whole) return '100 %';
  const share = (100 * part) / whole;
  if (share < 0.1) return '<0.1 %';
  return part < whole ? fixed(Math.min(share, 99.9), 1) + ' %' : fixed(share, 0) + ' %';
}

// "850 ns", "1.25 us", "3.40 ms", "12.0 s", "2 min 05 s". Rounds as duration_text() does.
export function durationText(exact) {
  const ns = Math.round(exact);
  if (ns < 1000) return ns + ' ns';
  const seconds = Math.floor(ns / 1e9) + (ns % 1e9 >= 5e8 ? 1 : 0);
  const two = (number) => String(number).padStart(2, '0');
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h ${two(Math.floor(seconds / 60) % 60)} min`;
  if (seconds >= 100) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  if (ns < 999.5e3) return threeDigits(ns / 1e3) + ' us';
  if (ns < 999.5e6) return threeDigits(ns / 1e6) + ' ms';
  return threeDigits(ns / 1e9) + ' s';
}
