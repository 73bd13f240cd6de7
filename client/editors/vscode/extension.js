// Quire in VS Code: tells the journal whose save it was, shows who wrote the cursor's line and who holds a lease, and says
// when an agent changes a file that is open. Where no Quire runs, it does nothing and says nothing.
'use strict';

const { createHash } = require('crypto');
const { execFile, spawn } = require('child_process');
const path = require('path');
const vscode = require('vscode');

const QUIET_MS = 30_000; // between two notices of one writer in one file
const MOST_BYTES = 64 * 1024 * 1024; // of one answer
const BOM = '\uFEFF';

const setting = (name) => vscode.workspace.getConfiguration('quire').get(name);

/** The reply of one command, or null: no such program, no daemon, a refusal. */
function ask(words, folder) {
  return new Promise((resolve) => {
    const options = { cwd: folder, maxBuffer: MOST_BYTES };
    try {
      execFile(setting('command'), [...words, '--json'], options, (error, out) => resolve(error ? null : parsed(out)));
    } catch {
      resolve(null); // the folder is gone
    }
  });
}

function parsed(text) {
  try {
    const reply = JSON.parse(text);
    return reply && typeof reply === 'object' ? reply : null;
  } catch {
    return null;
  }
}

function nameOf(writer) {
  const agent = writer?.agent || (writer?.uid == null ? '' : 'user');
  if (!agent) return 'outside';
  return writer.agent_session ? `${agent}/${writer.agent_session.slice(0, 12)}` : agent;
}

const isFile = (document) => document?.uri?.scheme === 'file';
const folderOf = (document) => path.dirname(document.uri.fsPath);

/** The hashes of what VS Code may have written: it does not tell whether with a byte order mark. */
function hashes(document) {
  const text = document.getText();
  return [text, BOM + text].map((each) => createHash('sha256').update(each, 'utf8').digest('hex'));
}

class Quire {
  constructor() {
    this.runs = new Map(); // path → stretches of lines with one writer
    this.feeds = new Map(); // workspace → the process that follows its journal
    this.told = new Map(); // writer and path → when a notice was given
    this.leased = vscode.window.createTextEditorDecorationType({ isWholeLine: true, overviewRulerColor: 'orange', before: { contentText: '!', color: 'orange', margin: '0 4px 0 0' } });
    this.current = vscode.window.createTextEditorDecorationType({ after: { color: new vscode.ThemeColor('editorCodeLens.foreground'), margin: '0 0 0 3em' } });
  }

  /** The workspace that holds a folder, if a daemon runs for it: nothing here starts one. */
  async workspaceOf(folder) {
    const status = await ask(['status'], folder);
    return typeof status?.workspace === 'string' ? status.workspace : null;
  }

  async saved(document) {
    if (!isFile(document)) return;
    await ask(['saved', document.uri.fsPath, '--sha256', hashes(document).join(',')], folderOf(document));
    await this.show(document);
  }

  async opened(document) {
    if (!isFile(document)) return;
    const workspace = await this.workspaceOf(folderOf(document));
    if (!workspace) return;
    if (setting('notices')) this.follow(workspace);
    await this.show(document, workspace);
  }

  async show(document, workspace = undefined) {
    if (!isFile(document) || !setting('gutter')) return;
    if (!(workspace ?? (await this.workspaceOf(folderOf(document))))) return;
    const [blame, claims] = await Promise.all(['blame', 'claims'].map((word) => ask([word, document.uri.fsPath], folderOf(document))));
    this.runs.set(document.uri.fsPath, blame?.runs ?? []);
    const leases = (claims?.leases ?? []).filter((lease) => !lease.yours);
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document.uri.fsPath !== document.uri.fsPath) continue;
      editor.setDecorations(this.leased, leases.flatMap((lease) => this.marks(lease)));
      this.moved(editor);
    }
    for (const lease of leases) this.tell(document.uri.fsPath, nameOf(lease.holder), 'works on');
  }

  marks(lease) {
    const stretches = Array.isArray(lease.lines) ? lease.lines : [{ start: 1, end: 1 }];
    return stretches.map((each) => ({
      range: new vscode.Range((each.start ?? each[0]) - 1, 0, (each.end ?? each[1]) - 1, 0),
      hoverMessage: `${nameOf(lease.holder)} holds a lease (${lease.kind})${lease.reason ? `: ${lease.reason}` : ''}`,
    }));
  }

  /** Show who wrote the line that the cursor is in. */
  moved(editor) {
    const document = editor?.document;
    if (!isFile(document) || !setting('gutter')) return;
    const line = editor.selection.active.line;
    const run = document.isDirty ? undefined : this.runs.get(document.uri.fsPath)?.find((each) => each.start <= line + 1 && line + 1 <= each.end);
    const said = run && `${nameOf(run.writer)}, ${String(run.at ?? '').slice(0, 16).replace('T', ' ')}, ${run.version ?? ''}`;
    const end = document.lineAt(line).range.end;
    editor.setDecorations(this.current, said ? [{ range: new vscode.Range(end, end), renderOptions: { after: { contentText: said } } }] : []);
  }

  tell(file, name, what) {
    const key = `${name}\n${file}`;
    if (!setting('notices') || Date.now() - (this.told.get(key) ?? 0) < QUIET_MS) return;
    this.told.set(key, Date.now());
    vscode.window.setStatusBarMessage(`Quire: ${name} ${what} ${vscode.workspace.asRelativePath(file)}`, 10_000);
  }

  heard(workspace, line) {
    const record = parsed(line);
    if (typeof record?.path !== 'string') return;
    const file = path.join(workspace, record.path);
    const document = vscode.workspace.textDocuments.find((each) => isFile(each) && each.uri.fsPath === file);
    if (!document) return;
    if (record.writer?.agent) this.tell(file, nameOf(record.writer), 'changed');
    this.show(document, workspace);
  }

  /** Follow the journal of a workspace. */
  follow(workspace) {
    if (this.feeds.has(workspace)) return;
    const feed = spawn(setting('command'), ['watch', '--json'], { cwd: workspace, stdio: ['ignore', 'pipe', 'ignore'] });
    this.feeds.set(workspace, feed);
    let rest = '';
    feed.stdout.setEncoding('utf8').on('data', (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      for (const line of lines) this.heard(workspace, line);
    });
    feed.on('error', () => this.feeds.delete(workspace)).on('exit', () => this.feeds.delete(workspace));
  }

  dispose() {
    for (const feed of this.feeds.values()) feed.kill();
    this.leased.dispose();
    this.current.dispose();
  }
}

function activate(context) {
  const quire = new Quire();
  context.subscriptions.push(
    quire,
    vscode.workspace.onDidSaveTextDocument((document) => quire.saved(document)),
    vscode.workspace.onDidOpenTextDocument((document) => quire.opened(document)),
    vscode.workspace.onDidCloseTextDocument((document) => quire.runs.delete(document.uri.fsPath)),
    vscode.window.onDidChangeActiveTextEditor((editor) => editor && quire.show(editor.document)),
    vscode.window.onDidChangeTextEditorSelection((event) => quire.moved(event.textEditor)),
  );
  for (const document of vscode.workspace.textDocuments) quire.opened(document);
}

module.exports = { activate, deactivate() {} };
