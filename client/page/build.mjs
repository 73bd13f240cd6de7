// Builds the page into a folder: `node build.mjs FOLDER`. The names of script and style carry their hash, and nothing of
// this machine or of the time goes into them, so that a second build is the same byte for byte.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as esbuild from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const into = process.argv[2];
if (!into) throw new Error('usage: node build.mjs FOLDER');

const built = await esbuild.build({
  absWorkingDir: here,
  entryPoints: ['src/main.tsx', 'src/page.css'],
  outdir: 'out',
  bundle: true,
  minify: true,
  write: false,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  charset: 'utf8',
  logLevel: 'warning',
});

mkdirSync(into, { recursive: true });
for (const old of readdirSync(into)) if (/^(app\..*\.(js|css)|index\.html|LICENSES\.txt)$/.test(old)) rmSync(join(into, old));

const names = {};
for (const file of built.outputFiles) {
  const kind = file.path.endsWith('.css') ? 'css' : 'js';
  const hash = createHash('sha256').update(file.contents).digest('hex').slice(0, 10);
  names[kind] = `app.${hash}.${kind}`;
  writeFileSync(join(into, names[kind]), file.contents);
}
const html = readFileSync(join(here, 'src/index.html'), 'utf8');
writeFileSync(join(into, 'index.html'), html.replace('APP_JS', names.js).replace('APP_CSS', names.css));

const licences = ['preact', '@preact/signals', '@preact/signals-core'].map((name) => {
  const folder = join(here, 'node_modules', name);
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const text = readFileSync(join(folder, readdirSync(folder).find((one) => /^licen[cs]e/i.test(one))), 'utf8');
  return `${name} ${version}\n\n${text.trim()}\n`;
});
writeFileSync(join(into, 'LICENSES.txt'), `The page contains these packages.\n\n${licences.join(`\n${'-'.repeat(80)}\n\n`)}`);
