// The recorded run of a split MLP: places along the lanes of the devices, and steps. All of it comes from the
// recording; here is only what the drawing asks of it.

/**
 * @typedef {object} Tensor
 * @property {string} name
 * @property {string} formula
 * @property {number} step the one that makes it
 * @property {string} role
 * @property {[row: number, column: number, rows: number, columns: number][]} parts what each device holds of the whole
 * @property {string[]} first its first element on each device
 */
/** @typedef {string | [tensor: Tensor, gradient: Tensor]} Place an operator has only its name */
/**
 * @typedef {object} Run
 * @property {number} itemsize bytes of an element
 * @property {boolean} [own] whether the tensors are the reader's
 * @property {Place[]} places from the input to the output
 * @property {{ title: string, says: string, sent: number[] }[]} steps `sent` by each device, in bytes
 */
/** @typedef {{ devices: number, step: number, steps: Record<string, Run>, run: Run }} State */

export const DEVICES = [2, 3, 4];
export const LAST = 11;
export const BACKWARD = 6; // the step in which the backward pass begins
const PLACES = 11;

/** Rows and columns of what the devices hold together. @param {Tensor} tensor */
export function wholeOf({ parts }) {
  const [row, column, rows, columns] = parts[parts.length - 1];
  return [row + rows, column + columns];
}

/** What a place shows: the gradient once there is one. @param {Place} place @param {number} step */
export const shownAt = (place, step) => (typeof place === 'string' ? undefined : place[+(step >= place[1].step)]);

/** Throws unless a recording has a run's form; what else may be wrong with one shows when it is drawn.
 * @param {any} run */
export function checkRun(run) {
  if (!(run?.itemsize > 0 && run.steps.length === LAST + 1 && run.places.length === PLACES)) throw new Error('steps must be recordings of a split MLP');
}
