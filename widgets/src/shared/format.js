// Numbers for people: three significant digits, a unit, a no-break space between them.

const SPACE = '\u00a0';

/** A number with commas between its thousands, and three decimals at most. @param {number} value */
export const whole = (value) => (value === Infinity ? '∞' : String(Number(value.toFixed(3)))).replace(/\B(?=(\d{3})+(?!\d))/g, ',');

/** Three significant digits without trailing zeros; whole digits are never dropped. @param {number} value */
export function digits(value) {
  const size = Math.abs(value);
  const decimals = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  const rounded = Number(value.toFixed(decimals));
  return decimals ? String(rounded) : whole(rounded);
}

/**
 * @param {number} value
 * @param {[number, string][]} scale units from large to small
 * @param {string} [gap]
 */
function scaled(value, scale, gap = SPACE) {
  const smallest = scale[scale.length - 1];
  // 999.96 would print as 1,000 of the smaller unit, hence the rounding before the choice.
  const rounded = Number(value.toPrecision(3));
  const [size, unit] = scale.find(([least]) => Math.abs(rounded) >= least) ?? smallest;
  return `${digits(value / size)}${gap}${unit}`;
}

/** Decimal units: 1 GB is 10⁹ bytes. @param {number} bytes */
export const formatBytes = (bytes) =>
  scaled(bytes, [[1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']]);

/** Counts where there is little room: 1.81B, 3.69K. @param {number} count */
export const compact = (count) => scaled(count, [[1e12, 'T'], [1e9, 'B'], [1e6, 'M'], [1e3, 'K'], [1, '']], '');

/** Counts as the field writes them: 7.5 B, 2 T. @param {number} count */
export const formatCount = (count) => scaled(count, [[1e12, 'T'], [1e9, 'B']]);

/** @param {number} count @param {string} one @param {string} [many] */
export const plural = (count, one, many = `${one}s`) => `${whole(count)}${SPACE}${count === 1 ? one : many}`;

/** @param {number} share */
export const percent = (share) => `${digits(100 * share)}${SPACE}%`;

/** @type {[number, string][]} */
const UNITS = [[3600, 'h'], [60, 'min'], [1, 's'], [1e-3, 'ms'], [1e-6, 'µs']];

/** The unit in which a time is said, in seconds, and its name. @param {number} time */
export const unitOf = (time) => UNITS.find(([least]) => time >= least) ?? UNITS[time ? 4 : 2];

/** @param {number} time in seconds */
export const duration = (time) => `${digits(time / unitOf(time)[0])}${SPACE}${unitOf(time)[1]}`;
