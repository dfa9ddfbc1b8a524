// What a layer keeps, sends and takes on each of N tensor-parallel devices, by the equations of
// `shardwise_widgets.tensor_parallel_cost.layer_cost`, which has their sources.

/** @typedef {{ flops: number, node: number, links: [latency: number, bandwidth: number][] }} Cluster FLOP/s of a device, devices in a node, and the link of a ring of each of `DEVICES` */
/** @typedef {{ devices: number, d_model: number, tokens: number, cluster: string, clusters: Record<string, Cluster> }} State */

export const DEVICES = [1, 2, 4, 8, 16, 32, 64];
export const CLUSTERS = ['A100', 'H100'];
export const [MIN_WIDTH, MAX_WIDTH, MAX_TOKENS] = [1024, 16384, 131072];
export const WIDTHS = [1024, 1536, 2048, 2560, 3072, 4096, 5120, 6144, 7168, 8192, 10240, 12288, 14336, MAX_WIDTH];
export const TOKENS = Array.from({ length: 10 }, (_, i) => MAX_TOKENS / 2 ** (9 - i));

/** `devices` may be Infinity, for what no number of devices goes beyond. @param {State} state */
export function cost({ devices: n, d_model: d, tokens, cluster, clusters }) {
  const { flops, links } = clusters[cluster];
  const [latency, bandwidth] = links[Math.min(DEVICES.length - 1, Math.log2(n))];
  const bytes = 16 * (1 - 1 / n) * tokens * d;
  const compute = (72 * d * d * tokens) / (n * flops);
  const allReduces = 8 * (n - 1) * latency + bytes / bandwidth;
  return { params: (12 * d * d + 7 * d) / n + 6 * d, bytes, compute, allReduces, share: 1 - compute / (allReduces + compute) };
}
