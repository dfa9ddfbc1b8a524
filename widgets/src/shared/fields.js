// A trait that a control moves: which values it may have, and how they are written in the address and in Python.
import { cut } from './text.js';

/** @typedef {import('./types.d.ts').Field} Field */
/** @typedef {import('./types.d.ts').Widget<any>} Widget */

/** 7500000000 as 7.5e9, which Python and the address read too. @param {unknown} value */
const short = (value) => (typeof value === 'number' && value >= 1e6 ? value.toExponential().replace('+', '') : String(value));

/** Whether a value is right, and which values are. @param {Field} field @param {any} value @returns {[boolean, string]} */
function judge(field, value) {
  if (field.kind === 'yes') return [typeof value === 'boolean', 'true or false'];
  if (field.kind === 'one') return [field.of.includes(value), `one of ${field.of.join(', ')}`];
  const { kind, least, most } = field;
  const right = kind === 'whole' ? Number.isInteger(value) : Number.isFinite(value);
  return [right && value >= least && value <= most, `a ${kind === 'whole' ? 'whole number' : 'number'} from ${short(least)} to ${short(most)}`];
}

/**
 * Throws unless a trait's value is one that its field has.
 * @param {string} name
 * @param {Field} field
 * @param {unknown} value
 * @param {unknown} [said] what it was read from
 */
export function checkField(name, field, value, said = value) {
  const [right, range] = judge(field, value);
  if (!right) throw new Error(`${name} must be ${range}, not ${cut(said) || 'nothing'}`);
  return value;
}

/** A plus would be read as a space in an address. @param {unknown} value */
const write = (value) => (typeof value === 'boolean' ? String(Number(value)) : short(value).replaceAll('+', '-'));

/** @param {Field} field @param {string} text @returns {unknown} the value, or one that no field has */
function parse(field, text) {
  if (field.kind === 'yes') return { 1: true, 0: false }[text];
  if (field.kind === 'one') return field.of.find((value) => write(value) === text);
  return text.trim() === '' ? NaN : Number(text);
}

/** @param {Widget} widget @param {any} state */
export const toAddress = ({ fields }, state) => Object.keys(fields).map((name) => write(state[name])).join(',');

/**
 * The traits that an address names; throws an Error that says what is wrong with it.
 * @param {Widget} widget
 * @param {string} text
 * @returns {Record<string, unknown>}
 */
export function fromAddress({ fields }, text) {
  const [names, parts] = [Object.keys(fields), text.split(',')];
  if (parts.length !== names.length) throw new Error(`it must be ${names.length} values: ${names.join(', ')}`);
  return Object.fromEntries(
    names.map((name, i) => [name, checkField(name, fields[name], parse(fields[name], parts[i]), parts[i])]),
  );
}

/** @param {unknown} value */
function python(value) {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return typeof value === 'string' ? JSON.stringify(value) : short(value);
}

/** The Python that makes a state. @param {Widget} widget @param {any} state */
export const toCode = ({ name, fields }, state) =>
  `${name}(${Object.keys(fields).map((trait) => `${trait}=${python(state[trait])}`).join(', ')})`;
