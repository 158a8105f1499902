// Sections that are lists: what changed, processes, and moments at which memory ran out.
// SPDX-License-Identifier: Apache-2.0
import { bytes, count, make, name, table } from './dom.js';
import { memoryName } from './model.js';
import { changeText, counted, durationText, percentText } from './numbers.js';

const FRAMES = 6; // of a call stack in a row

let inner = new Set(); // frames that a row leaves out
export function leaveOut(frames) {
  inner = new Set(frames);
}

export function stack(frames) {
  const outer = frames.filter((frame) => !inner.has(frame));
  const shown = outer.length > 0 ? outer : frames;
  if (frames.length <= FRAMES && shown.length === frames.length) return name(frames.join(' < ') || 'unknown');
  return make('details', {}, make('summary', {}, name(shown.slice(0, FRAMES).join(' < ') + (shown.length > FRAMES ? ' < ..' : ''))), make('ol', {}, frames.map((frame) => make('li', {}, name(frame)))));
}

function change(value) {
  return make('data', { value, class: value > 0 ? 'more' : value < 0 ? 'less' : null }, changeText(value));
}

const held = (side) => (side === null ? '' : bytes(side.bytes));

// What makes the two sides hard to compare, as the text of diff says it.
function sides(diff) {
  const sums = [[diff.before, diff.before_processes], [diff.after, diff.after_processes]].filter(([, count]) => count > 1);
  const gpu = (uuids, hosts) => (uuids.length === 0 ? 'an unknown GPU' : uuids.length === 1 ? uuids[0].slice(0, 12) : counted(uuids.length, 'GPU')) + (hosts.length === 1 ? ` of ${hosts[0]}` : '');
  return [
    ...sums.map(([file, count]) => make('p', { class: 'note' }, name(file), ` adds ${count} processes, each at its own peak.`)),
    ...diff.other_gpus.map((one) => make('p', { class: 'note' }, `GPU ${one.device} was `, name(gpu(one.before_uuids, one.before_hosts)), ', and is ', name(gpu(one.after_uuids, one.after_hosts)), ': compared by number.')),
  ];
}

export function changes(diff) {
  const rows = (all, where) => all.map((one) => [change(one.change_bytes), held(one.before), held(one.after), one.what, one.memory, ...(where ? [where(one)] : [])]);
  const frames = (one) => stack((one.after || one.before).frames || []);
  const heads = ['#Change', '#Before', '#After', 'What', 'Memory'];
  return [
    make('p', {}, 'Requested bytes at the peak of each kind of memory, added: ', bytes(diff.before_bytes), ' in ', name(diff.before), ', ', bytes(diff.after_bytes), ' in ', name(diff.after), ': ', change(diff.after_bytes - diff.before_bytes), '.'),
    ...sides(diff),
    table('Each memory as a whole', heads, rows(diff.memory)),
    diff.rows.length > 0 ? table('Call sites', [...heads, 'Where'], rows(diff.rows, frames)) : make('p', {}, 'No call site changed.'),
    make('p', { class: 'note' }, counted(diff.equal, 'call site') + ' did not change.'),
  ];
}

export const who = (one) => (one.rank === null ? String(one.pid) : `rank ${one.rank} (${one.pid})`);

// How it ended; of a report amid the run "running (report: signal)".
export function ending(one) {
  if (one.ended_by) return one.ended_by;
  if (one.trigger === 'recovered') return 'died (recovered)';
  return one.trigger === 'exit' || one.trigger === 'exec' ? one.trigger : `running (report: ${one.trigger})`;
}

// By which call stacks the peak of a process is far from the median.
function differences(runs) {
  const rows = (runs.differences || []).flatMap((one) => {
    const process = runs.processes.find((process) => process.pid === one.pid);
    return one.sites.map((site) => [process ? who(process) : String(one.pid), change(site.bytes - site.median_bytes), bytes(site.bytes), bytes(site.median_bytes), stack(site.frames)]);
  });
  return rows.length > 0 ? table('What makes a peak differ from the median', ['Process', '#Difference', '#At its peak', '#In the median process', 'Where'], rows) : null;
}

// "at most 5.15 GiB" where only bounds are known.
function bound(value, isBound) {
  return isBound ? make('span', {}, 'at most ', bytes(value)) : bytes(value);
}

export function peakOf(one) {
  return bound(one.peak_bytes, one.peak_lower_bytes < one.peak_bytes);
}

export function figures(runs) {
  const show = (figure, value, isBound) => (figure.figure === 'allocations' ? count(value) : bound(value, isBound));
  const holder = (one, pid) => {
    const process = runs.processes.find((process) => process.pid === pid);
    return one.min === one.max ? '-' : process ? who(process) : String(pid);
  };
  const rows = runs.figures.map((one) => [one.figure.replaceAll('_', ' '), show(one, one.min, one.min_is_bound), show(one, one.median, one.median_is_bound), show(one, one.max, one.max_is_bound), holder(one, one.min_pid), holder(one, one.max_pid)]);
  const devices = runs.devices.map((one) => [one.gpu, name(one.name), count(one.pids.length), bytes(one.lower_bytes), bytes(one.upper_bytes)]);
  return [
    table('Among the processes', ['Figure', '#Least', '#Median', '#Most', 'Least in', 'Most in'], rows),
    differences(runs),
    devices.length > 0 ? table('Together on each device', ['Device', 'Name', '#Processes', '#Peak at least', '#Peak at most'], devices) : null,
  ];
}

function refusal(report, event) {
  const shares = event.shares.map((one) => [bytes(one.live_bytes), percentText(one.live_bytes, event.requested_bytes + event.direct_bytes), count(one.live_count), stack(one.frames)]);
  const pins = event.pins.map((one) => [bytes(one.free_bytes), count(one.segments), bytes(one.live_bytes), stack(one.frames)]);
  return make('article', {},
    make('h3', {}, `${durationText(event.time_ns)}: `, bytes(event.bytes), ` of ${memoryName(report, event)} refused`),
    make('p', {}, 'Asked for by ', stack(event.frames), event.function ? [' with ', name(event.function)] : '', event.thread ? [' on ', name(event.thread)] : '', event.range ? [' in ', name(event.range)] : '', '.'),
    event.hint ? make('p', { class: 'warning' }, name(event.hint)) : '',
    event.total_bytes > 0 ? make('p', {}, bytes(event.free_bytes), ' of ', bytes(event.total_bytes), ' were free; segments held ', bytes(event.reserved_bytes), ', of that ', bytes(event.allocated_bytes), ' in use and ', bytes(event.idle_bytes), ' idle; the largest hole was ', bytes(event.largest_free_bytes), '.') : '',
    shares.length > 0 ? table('Who held the memory', ['#Bytes', '#Share', '#Blocks', 'Where'], shares) : '',
    pins.length > 0 ? table('What held segments with free memory', ['#Free', '#Segments', '#In use', 'Where'], pins) : '');
}

// window: from and to, of a trace; null: all of the run.
export function refusals(report, window) {
  const { count: all, events } = report.oom;
  const shown = events.filter((event) => window === null || (event.time_ns >= window[0] && event.time_ns < window[1]));
  const described = all > events.length ? `; ${counted(events.length, 'call')} of them are described` : '';
  const here = window === null ? '.' : `, ${shown.length} of them in this part.`;
  return [make('p', {}, 'Memory ran out in ', count(all), all === 1 ? ' call' : ' calls', described + here), ...shown.map((event) => refusal(report, event))];
}
