import assert from 'node:assert/strict';
import test from 'node:test';
import { after, came, numbers, since } from '../src/places';
import { placed } from '../src/ranges';
import { choice, whose, within } from '../src/choice';
import { parse, point, read, withWord, write } from '../src/state';
import { callEnd, circumstances, gitTitle, meanwhile, pieces, plain, size, undoTitle, when } from '../src/text';
import { before, differing, numbered, sides } from '../src/words';
import { hash, look, storyName, writerName } from '../src/writers';

test('a filter has words, and a path', () => {
  assert.deepEqual(parse('writer:ada/s1 src/ agents'), { writer: 'ada/s1', path: 'src/', agents: true });
  assert.deepEqual(parse('store'), { path: '**/*store*' });
  assert.deepEqual(parse('"two words" by:bob'), { contains: 'two words', writer: 'bob' });
  assert.deepEqual(parse('a.py b.py'), { path: 'a.py', wrong: 'b.py' });
  assert.equal(parse('since:2h', Date.UTC(2026, 0, 2, 3)).since, '2026-01-02T01:00:00.000Z');
  assert.equal(point('812'), 'seq:812');
  assert.equal(point('before-it'), 'before-it');
});

test('a word of a filter is set and taken out', () => {
  assert.equal(withWord('src/ writer:ada', 'writer', 'bob'), 'src/ writer:bob');
  assert.equal(withWord('src/ writer:ada', 'writer', ''), 'src/');
  assert.equal(withWord('', 'agents', 'agents'), 'agents');
  assert.equal(withWord('agents src/', 'agents', ''), 'src/');
});

test('where one is goes into the address and comes back', () => {
  const place = { view: 'files' as const, path: '../<b>&x=1#\u202e', at: 'seq:9', lines: '3-7' };
  assert.deepEqual(read(write(place)), place);
  assert.equal(write({ view: 'activity' }), '/');
  assert.equal(read('?view=nothing').view, 'activity');
});

test('what cannot be seen is told by its number', () => {
  assert.deepEqual(pieces('a\u202eb\u0007'), ['a', 0x202e, 'b', 7]);
  assert.deepEqual(pieces('plain\ttext', true), ['plain\ttext']);
  assert.deepEqual(pieces('tab\there'), ['tab', 9, 'here']);
  for (const point of [0x1d173, 0x1bca0, 0x13430, 0x16fe4, 0x200b, 0xad]) assert.deepEqual(pieces(`a${String.fromCodePoint(point)}b`), ['a', point, 'b']);
  assert.equal(plain('x\u200by\ud800'), 'x⟨200B⟩y⟨D800⟩');
  assert.equal(size(999), '999 bytes');
  assert.equal(size(20_000_000), '20 MB');
  assert.equal(when('nonsense'), 'nonsense');
});

test('git is told in words of git', () => {
  assert.equal(circumstances('git: index.lock was taken at that moment'), 'while git ran');
  assert.equal(circumstances('git'), 'while git ran');
  assert.equal(circumstances('git: checkout: moving from a to b (HEAD a 1 -> b 2)'), 'git checkout b');
  assert.equal(meanwhile('make (user)'), 'while make (user) ran');
  assert.equal(meanwhile('while make ran'), 'while make ran');
  assert.equal(meanwhile(), '');
  assert.equal(gitTitle(['merge x', 'git pull', 'z']), 'git merge x after git pull');
  assert.equal(gitTitle(['reset: moving to HEAD~1']), 'git reset HEAD~1');
  assert.equal(gitTitle(['rebase (finish): returning to x', 'rebase (pick): two', 'pull --rebase', 'x']), 'git rebase after git pull --rebase');
  assert.equal(gitTitle(['merge f1: Fast-forward']), 'git merge f1');
  assert.equal(gitTitle(['commit: merge x: Fast-forward']), 'git commit: merge x: Fast-forward');
  assert.equal(gitTitle([], 'git merge --squash feat'), 'git merge --squash feat');
  assert.equal(gitTitle([], 'git: index.lock was held'), 'a git command');
});

test('what git wrote is taken back as of git, whoever ran it', () => {
  const story = { form: 'git', first: 18, seq: 20, writes: 3, whole: true };
  const asked = { tool: 'undo', git: 'last', from: 'seq:17', to: 'seq:20' };
  assert.deepEqual(choice(story as any), asked);
  assert.deepEqual(choice({ ...story, writer: { agent: 'ada', agent_session: 's1', turn: '', uid: 1000 } } as any), asked);
  assert.equal(choice({ ...story, writes: 0 } as any), null);
});

test('a story that began earlier is taken back as a whole by its turn, else the part that is known, with its time', () => {
  const writer = { agent: 'ada', agent_session: 's1', turn: 't1', uid: 1000 };
  const story: any = { form: 'turn', first: 18, seq: 20, writes: 3, whole: true, at: '2026-01-02T03:04:05Z', writer, files: [], files_count: 0 };
  assert.deepEqual(choice(story), { tool: 'undo', writer: 'ada/s1', turn: 't1', from: 'seq:17', to: 'seq:20' });
  assert.deepEqual(choice({ ...story, whole: false }), { tool: 'undo', writer: 'ada/s1', turn: 't1', to: 'seq:20' });
  assert.deepEqual(choice(story, { path: 'a', probable: true } as any), { tool: 'undo', writer: 'ada/s1', turn: 't1', from: 'seq:17', to: 'seq:20', probable: true, paths: ['a'] });
  assert.deepEqual(choice({ ...story, probable: true, whole: false }), { tool: 'undo', writer: 'ada/s1', turn: 't1', to: 'seq:20', probable: true });
  const turnless = { ...story, writer: { ...writer, turn: '' } };
  assert.deepEqual(choice(turnless), { tool: 'undo', writer: 'ada/s1', from: 'seq:17', to: 'seq:20' });
  assert.deepEqual(choice({ ...turnless, whole: false }), { tool: 'undo', writer: 'ada/s1', from: 'seq:17', to: 'seq:20', part: story.at });
  assert.deepEqual(within(story), { writer: 'ada/s1', turn: 't1', until: 'seq:20' });
  assert.deepEqual(within({ ...story, form: 'saves' }), { until: 'seq:20' });
});

test('saves are taken back in their files only, if all of them are told', () => {
  const files: any = [{ path: 'a' }, { path: 'new', moved_from: 'old' }];
  const story: any = { form: 'saves', first: 18, seq: 20, writes: 3, whole: true, writer: { agent: '', uid: null }, files, files_count: 2 };
  const asked = { tool: 'undo', writer: 'outside', from: 'seq:17', to: 'seq:20' };
  assert.deepEqual(choice(story), { ...asked, paths: ['a', 'old', 'new'] });
  assert.deepEqual(choice({ ...story, form: 'crowd', files_count: 70 }), asked);
  assert.deepEqual(choice({ ...story, form: 'person', writer: { agent: '', uid: 1000 } }), { ...asked, writer: 'user', paths: ['a', 'old', 'new'] });
  assert.deepEqual(choice({ ...story, files: [{ path: 'x'.repeat(3001) }], files_count: 1 }), asked);
  assert.deepEqual(choice(story, files[1]), { ...asked, paths: ['old', 'new'] });
});

test('a story has the lines of its writer, those of git, of an undo and of the first capture of whoever wrote them', () => {
  const agent = { agent: 'ada', agent_session: 's1', uid: 1000 };
  assert.equal(whose({ form: 'turn', writer: agent } as any), 'ada/s1');
  assert.equal(whose({ form: 'turn', writer: { ...agent, agent_session: 's9', parent: 's1' } } as any), 'ada/s1');
  assert.equal(whose({ form: 'person', writer: { agent: '', agent_session: 'x', uid: 1000 } } as any), 'user');
  assert.equal(whose({ form: 'saves', writer: { agent: '', uid: null } } as any), 'outside');
  for (const form of ['git', 'undo', 'capture', 'checkpoint']) assert.equal(whose({ form, writer: agent } as any), '');
});

test('the lines that came with a hunk are named by runs, and those that went are not', () => {
  const hunk = (lines: string[], more = {}) => ({ old_start: 4, old_lines: 3, new_start: 5, new_lines: 3, lines, ...more });
  assert.deepEqual(came(hunk([' a', '+b', '+c', ' d', '-e', '+f', ' g'])), { runs: [{ first: 6, last: 7 }, { first: 9, last: 9 }], gone: false });
  assert.deepEqual(came(hunk([' a', '-b', ' c', '+d'])), { runs: [{ first: 7, last: 7 }], gone: true });
  assert.deepEqual(came(hunk(['-b'], { new_start: 2, new_lines: 0 })), { runs: [], gone: true });
  assert.equal(numbers({ first: 6, last: 7 }), '6–7');
  assert.equal(numbers({ first: 9, last: 9 }), '9');
});

test('lines are followed to where they are now, unless they were changed', () => {
  const hunks = [
    { old_start: 2, old_lines: 0, new_start: 3, new_lines: 2, lines: ['+x', '+y'] },
    { old_start: 8, old_lines: 2, new_start: 11, new_lines: 1, lines: ['-a', '-b', '+c'] },
  ];
  assert.deepEqual(after(hunks, { first: 1, last: 2 }), { first: 1, last: 2 });
  assert.deepEqual(after(hunks, { first: 3, last: 7 }), { first: 5, last: 9 });
  assert.deepEqual(after(hunks, { first: 10, last: 10 }), { first: 11, last: 11 });
  assert.equal(after(hunks, { first: 2, last: 3 }), null);
  assert.equal(after(hunks, { first: 7, last: 8 }), null);
  assert.equal(after(hunks, { first: 9, last: 12 }), null);
  assert.deepEqual(since('a', []), []);
  assert.deepEqual(since('a', [{ path: 'a', status: 'mode', from: 'v1', to: 'v2' }]), []);
  assert.equal(since('a', [{ path: 'b', moved_from: 'a', status: 'changed', from: 'v1', to: 'v2', hunks: [] }]), null);
  assert.equal(since('a', [{ path: 'a', status: 'changed', from: 'v1', to: 'v2', truncated: true }]), null);
});

test('an undo is told with its calls, if it has any', () => {
  assert.equal(undoTitle('restore'), 'restore');
  assert.equal(undoTitle(undefined, []), 'undo');
  assert.equal(undoTitle('redo', [7]), 'redo of 1 call');
});

test('a call without a reported end is told so', () => {
  assert.equal(callEnd({ writes: 1 }), '');
  assert.equal(callEnd({ writes: 0, end: 'open' }), 'asked or running');
  assert.equal(callEnd({ writes: 2, end: 'open' }), 'running');
  assert.equal(callEnd({ writes: 0, end: 'unreported' }), 'denied, or its end was not reported');
  assert.equal(callEnd({ writes: 2, end: 'unreported' }), 'its end was not reported');
});

test('a name has one colour and one shape', () => {
  assert.equal(hash('claude-code/7f3a91'), hash('claude-code/7f3a91'));
  assert.deepEqual(look('outside'), { hue: -1, shape: 0 });
  assert.ok(look('codex/9a02').hue >= 1);
  assert.equal(look('codex').hue, look('codex/9a02').hue);
  const names = ['r1a/k', 'r2a/k', 'r2b/k', 'ada/s1', 'ada/s9', 'claude-code/11111111', 'claude-code/22222222', 'bob/c', 'cid/q8', 'ann/q8'];
  assert.equal(new Set(names.map((name) => JSON.stringify(look(name)))).size, names.length);
  assert.deepEqual(look('r1a/k'), look('r1a/k'));
  const writer = { id: 'w1', type: '', agent: 'ada', agent_session: 's1', turn: '', tool_call: '', model: '', uid: 0 };
  assert.equal(writerName(writer), 'ada/s1');
  assert.equal(writerName({ ...writer, agent: '', agent_session: '' }), 'user');
  assert.equal(writerName({ ...writer, agent: '' }), 'user/s1');
  assert.equal(storyName({ form: 'git', writer: { ...writer, agent: '', uid: null } } as any), 'git');
});

test('the words that differ are what is between beginning and end', () => {
  assert.deepEqual(differing('return a + b', 'return a - b'), [[9, 10], [9, 10]]);
  assert.deepEqual(differing('def all(self):', 'def all(self, limit=100):'), [[12, 12], [12, 23]]);
  assert.equal(differing('one thing', 'quite another'), null);
});

const hunk = { old_start: 3, old_lines: 3, new_start: 3, new_lines: 4, lines: [' a', '-b', '+B', '+B2', ' c'] };

test('the lines of a hunk have their numbers on both sides', () => {
  assert.deepEqual(numbered(hunk).map(({ kind, old, new: now }) => [kind, old, now]), [[' ', 3, 3], ['-', 4, undefined], ['+', undefined, 4], ['+', undefined, 5], [' ', 5, 6]]);
  assert.deepEqual(sides(numbered(hunk)).map(([a, b]) => [a?.text, b?.text]), [['a', 'a'], ['b', 'B'], [undefined, 'B2'], ['c', 'c']]);
});

test('lines are followed back through a change', () => {
  assert.deepEqual(before([hunk], 1, 2), { first: 1, last: 2, touched: false });
  assert.deepEqual(before([hunk], 7, 9), { first: 6, last: 8, touched: false });
  assert.equal(before([hunk], 4, 4).touched, true);
  assert.deepEqual(before([hunk], 6, 6), { first: 5, last: 5, touched: false });
  const added = { old_start: 2, old_lines: 0, new_start: 3, new_lines: 2, lines: ['+x', '+y'] };
  assert.deepEqual(before([added], 5, 6), { first: 3, last: 4, touched: false });
  assert.equal(before([added], 3, 3).touched, true);
});

import { fit, pan, partOf, span, told, zoom } from '../src/ranges';

test('the lanes are zoomed at the pointer, and stay within the log', () => {
  assert.deepEqual(span(undefined, 1000), [0, 1000]);
  assert.deepEqual(span('100-200', 1000), [100, 200]);
  assert.deepEqual(span('nonsense', 1000), [0, 1000]);
  assert.deepEqual(zoom([0, 1000], 0.5, 0.5, 1000), [250, 750]);
  assert.deepEqual(zoom([250, 750], 0, 4, 1000), [0, 1000]);
  assert.deepEqual(pan([250, 750], 1, 1000), [500, 1000]);
  assert.deepEqual(fit([10, 11], 1000), [10, 18]);
  assert.equal(told([0, 1000], 1000), undefined);
  assert.equal(told([5, 50], 1000), '5-50');
});

test('a record has its place among the stretches', () => {
  const bounds = [0, 10, 10, 30, 40];
  assert.equal(partOf(10, bounds), 0.25);
  assert.equal(partOf(20, bounds), 0.625);
  assert.equal(partOf(99, bounds), 1);
  assert.equal(partOf(0, bounds), 0);
});

test('what other hosts did stands where it was at that time', () => {
  const times = [100, 200, 200, 300, 400];
  assert.deepEqual(placed([[50, 1], [150, 2], [200, 1], [250, 1], [399, 1], [999, 2]], times), [[0, 3], [2, 2], [3, 3]]);
  assert.deepEqual(placed([[7, 1]], [5]), [[0, 1]]);
  assert.deepEqual(placed([], times), []);
});

import { ahead, kept } from '../src/merge';

test('stories that came go before those that are shown', () => {
  const story = (first: number, seq: number, form = 'turn') => ({ first, seq, form }) as any;
  const shown = [story(7, 9), story(4, 6), story(1, 3)];
  assert.deepEqual(ahead([story(10, 12), story(7, 9)], shown), [story(10, 12), ...shown]);
  assert.deepEqual(ahead([story(4, 13), story(7, 9)], shown), [story(4, 13), story(7, 9), story(1, 3)]); // one went on
  assert.equal(ahead([story(20, 22), story(17, 19)], shown), null); // more came than was asked for
  assert.equal(ahead([story(10, 12), story(7, 10)], shown), null); // the last one went on, too
  assert.equal(ahead([], shown), null);
  const rows = kept([story(10, 12), story(7, 9)], shown);
  assert.equal(rows[1], shown[0]);
  assert.notEqual(rows[0], shown[0]);
});

import { beside } from '../src/ranges';

test('the call before and the next one are found in a stretch that is known', () => {
  const rec = (seq: number, batch: number) => ({ seq, batch }) as any;
  const stretch = { after: 10, upto: 17, records: [rec(11, 11), rec(12, 11), rec(14, 14), rec(15, 14), rec(17, 17)] };
  assert.equal(beside(stretch, 14, -1)?.seq, 12);
  assert.equal(beside(stretch, 18, -1)?.seq, 17);
  assert.equal(beside(stretch, 19, -1), undefined); // 18 is not told
  assert.equal(beside(stretch, 11, -1), undefined);
  assert.equal(beside(stretch, 10, 1)?.seq, 12);
  assert.equal(beside(stretch, 12, 1)?.seq, 15);
  assert.equal(beside(stretch, 15, 1), undefined); // its call may go on
  assert.equal(beside(stretch, 9, 1), undefined);
});
