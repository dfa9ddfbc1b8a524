// Numbers for people: three significant digits, a unit, a no-break space between them.

const SPACE = '\u00a0';

/** Three significant digits without trailing zeros; whole digits are never dropped. @param {number} value */
export function digits(value) {
  const size = Math.abs(value);
  const decimals = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return Number(value.toFixed(decimals)).toLocaleString('en-US', { maximumFractionDigits: decimals });
}

/**
 * @param {number} value
 * @param {[number, string][]} scale units from large to small
 */
function scaled(value, scale) {
  const smallest = scale[scale.length - 1];
  // 999.96 would print as 1,000 of the smaller unit, hence the rounding before the choice.
  const rounded = Number(value.toPrecision(3));
  const [size, unit] = scale.find(([least]) => Math.abs(rounded) >= least) ?? smallest;
  return `${digits(value / size)}${SPACE}${unit}`;
}

/** Decimal units: 1 GB is 10⁹ bytes. @param {number} bytes */
export const formatBytes = (bytes) =>
  scaled(bytes, [[1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']]);

/** Counts as the field writes them: 7.5 B, 2 T. @param {number} count */
export const formatCount = (count) =>
  count >= 999.5e9 ? `${digits(count / 1e12)}${SPACE}T` : `${digits(count / 1e9)}${SPACE}B`;

/** @param {number} count @param {string} one @param {string} [many] */
export const plural = (count, one, many = `${one}s`) => `${count.toLocaleString('en-US')}${SPACE}${count === 1 ? one : many}`;
