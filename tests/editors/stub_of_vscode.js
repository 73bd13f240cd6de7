// VS Code's API as far as the extension uses it, and a session: a file is opened, a line appended and saved; then whatever
// comes is printed until stdin ends. Each line printed is JSON.
'use strict';

const fs = require('fs');
const Module = require('module');

const [extension, file, command, bom] = process.argv.slice(2);
const handlers = {};
const on = (name) => (act) => { handlers[name] = act; return { dispose() {} }; };
const say = (told) => process.stdout.write(`${JSON.stringify(told)}\n`);

class Range { constructor(a, b, c, d) { Object.assign(this, typeof a === 'object' ? { start: a, end: b } : { start: { line: a, character: b }, end: { line: c, character: d } }); } }

const document = {
  uri: { scheme: 'file', fsPath: file },
  isDirty: false,
  text: fs.readFileSync(file, 'utf8'),
  getText() { return this.text; },
  lineAt(line) { const length = (this.text.split('\n')[line] ?? '').length; return { range: new Range(line, 0, line, length) }; },
};
const editor = {
  document,
  selection: { active: { line: 0 } },
  setDecorations(kind, marks) { say({ decorations: kind.name, marks }); },
};
const vscode = {
  Range,
  ThemeColor: class {},
  window: {
    visibleTextEditors: [editor],
    createTextEditorDecorationType: (look) => ({ name: look.after ? 'current' : 'leased', dispose() {} }),
    setStatusBarMessage: (message) => say({ message }),
    onDidChangeActiveTextEditor: on('active'),
    onDidChangeTextEditorSelection: on('selection'),
  },
  workspace: {
    textDocuments: [document],
    getConfiguration: () => ({ get: (name) => ({ command, gutter: true, notices: true })[name] }),
    asRelativePath: (path) => path.split('/').pop(),
    onDidSaveTextDocument: on('save'),
    onDidOpenTextDocument: on('open'),
    onDidCloseTextDocument: on('close'),
  },
};

const load = Module._load;
Module._load = (name, ...more) => (name === 'vscode' ? vscode : load(name, ...more));
const context = { subscriptions: [] };
const { activate } = require(extension);
activate(context);

document.text += 'three\n';
fs.writeFileSync(file, (bom ? '\uFEFF' : '') + document.text);
editor.selection.active.line = 2;
handlers.save(document).then(() => say({ saved: true }));
process.stdin.on('end', () => { for (const each of context.subscriptions) each.dispose(); process.exit(0); }).resume();
