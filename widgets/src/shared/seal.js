// What a first frame was drawn from: a page whose texts still have the frame's seal needn't draw it again.

/** A number that another text most likely doesn't have. @param {string} text */
export function sealOf(text) {
  const bytes = new TextEncoder().encode(`${text}   `); // so that the last of them fill four as well
  const fours = new Int32Array(bytes.slice(0, bytes.length & -4).buffer);
  let sum = 0;
  for (let i = 0; i < fours.length; i++) sum = (Math.imul(sum, 31) + fours[i]) | 0;
  return String(sum);
}
