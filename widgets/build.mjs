// Builds everything under shardwise_widgets/static/: one ES module per widget for notebooks, two inline
// scripts for the book's pages (widgets, and what serves the reader), the styles, and the program that draws
// first frames.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { minify } from 'terser';
import { parse } from 'yaml';
import { lookCss, paintCss, withFallbacks, themeCss } from './src/look-css.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const out = `${here}shardwise_widgets/static/`;
const widgets = {
  MemoryBudget: 'memory-budget',
  RingAllReduce: 'ring-all-reduce',
  CausalBalance: 'causal-balance',
  RingAttention: 'ring-attention',
  ZeroStages: 'zero-stages',
  ContextScaling: 'context-scaling',
  PipelineSchedule: 'pipeline-schedule',
  PipelineBubble: 'pipeline-bubble',
  MegatronMLP: 'megatron-mlp',
  TensorParallelCost: 'tensor-parallel-cost',
};

/** @param {string} path */
const read = (path) => readFile(`${here}${path}`, 'utf8');

/**
 * A file is written beside and renamed, so that a reader never sees half of it.
 * @param {string} name
 * @param {string} text
 */
async function write(name, text) {
  await writeFile(`${out}${name}.new`, text);
  await rename(`${out}${name}.new`, `${out}${name}`);
  console.log(`${name.padEnd(18)} ${String(gzipSync(text).length).padStart(6)} bytes gzip`);
}

const look = JSON.parse(await read('shardwise_widgets/look.json'));
const drawing = withFallbacks(
  [
    paintCss(look),
    await read('src/shared/drawing.css'),
    ...(await Promise.all(Object.values(widgets).map((folder) => read(`src/${folder}/style.css`)))),
  ].join('\n'),
  look,
);
const controls = withFallbacks(await read('src/shared/controls.css'), look);

/** @type {import('esbuild').Plugin} */
const drawingCss = {
  name: 'drawing-css',
  setup(builder) {
    builder.onResolve({ filter: /^drawing\.css$/ }, () => ({ path: 'drawing.css', namespace: 'css' }));
    builder.onLoad({ filter: /./, namespace: 'css' }, () => ({ contents: drawing, loader: 'text' }));
  },
};

/** What is constant of a widget is no part of a page's script: the frame brings it. @type {import('esbuild').Plugin} */
const given = {
  name: 'given',
  setup(builder) {
    builder.onLoad({ filter: /[\\/]given\.js$/ }, () => ({ contents: 'export const given = {};' }));
  },
};

/** Definitions by anchor, without their Markdown. @type {import('esbuild').Plugin} */
const glossary = {
  name: 'glossary',
  setup(builder) {
    builder.onResolve({ filter: /^glossary\.json$/ }, () => ({ path: 'glossary.json', namespace: 'glossary' }));
    builder.onLoad({ filter: /./, namespace: 'glossary' }, async () => {
      /** @type {{ id: string, definition: string }[]} */
      const terms = parse(await read('../chapter/glossary.yml'));
      const plain = terms.map(({ id, definition }) => [id, definition.replace(/[$*`]/g, '').trim()]);
      return { contents: JSON.stringify(Object.fromEntries(plain)), loader: 'json' };
    });
  },
};

/**
 * @param {import('esbuild').BuildOptions} options
 * @returns {Promise<string>}
 */
async function bundle(options) {
  const result = await build({
    bundle: true,
    minify: true,
    write: false,
    charset: 'utf8',
    target: 'es2022',
    legalComments: 'none',
    absWorkingDir: here,
    plugins: [drawingCss, glossary],
    ...options,
  });
  return /** @type {import('esbuild').OutputFile[]} */ (result.outputFiles)[0].text;
}

/** @param {string} css */
const minifyCss = (css) => bundle({ stdin: { contents: css, loader: 'css' } });

await mkdir(out, { recursive: true });
for (const [name, folder] of Object.entries(widgets)) {
  const contents = `import { notebook } from './shared/notebook.js';
import { widget } from './${folder}/index.js';
import * as words from './${folder}/words.js';
export default notebook(widget, words);`;
  await write(`${name}.js`, await bundle({ stdin: { contents, resolveDir: `${here}src` }, format: 'esm' }));
}
await write('look.css', await minifyCss(lookCss(look)));
await write('widgets.css', await minifyCss(`${themeCss(look)}\n${controls}\n${drawing}`));
// Every page carries this one: terser makes it 4 % smaller than esbuild does, and smaller yet with its syntax from esbuild.
const host = await bundle({
  entryPoints: ['src/host.js'], format: 'iife', globalName: 'shardwiseWidgets', minify: false, minifySyntax: true, plugins: [given],
});
const { code = '' } = await minify(host, { ecma: 2020, compress: { passes: 3 } });
// What stands between two tags of a template is of no account.
await write('page.html', `<script>${code.replace(/(?<=[>}])\n(?=[<$])/g, '')}</script>\n`);
const reader = await bundle({ entryPoints: ['src/reader/index.js'], format: 'iife' });
await write('reader.html', `<script>${reader.trim()}</script>\n`);
await write('prerender.mjs', await bundle({ entryPoints: ['src/prerender.js'], format: 'esm', platform: 'node' }));
