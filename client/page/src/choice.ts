// What is asked for a story: its writer's own lines, and to take it back.
import type { Story, StoryFile, Writer } from './types';

const OF_ITS_WRITER = ['turn', 'run', 'saves', 'crowd', 'person'];

/** The writer whose lines a story is, as queries name it; '' of a story of git, an undo or a moment. */
export function whose({ form, writer: w }: Story): string {
  return OF_ITS_WRITER.includes(form) ? named(w) : '';
}

/** A writer as queries name it. */
export function named(w?: Writer): string {
  const session = w?.parent || w?.agent_session; // the work of a subagent is told in its parent's story
  return w?.agent ? `${w.agent}${session ? `/${session}` : ''}` : w?.uid != null ? 'user' : 'outside';
}

export type Wish = { tool: string } & Record<string, unknown>;

/** What taking back a story asks for, or what it did to one file; null where there is nothing to take back. */
export function choice(story: Story, file?: StoryFile): Wish | null {
  const all = ofAll(story);
  return all && file ? { ...all, paths: [file.moved_from, file.path].filter((path) => path) } : all;
}

function ofAll(story: Story): Wish | null {
  const between = { from: `seq:${story.first - 1}`, to: `seq:${story.seq}` };
  if (story.form === 'undo') return { tool: 'redo', ...between, writer: '*' };
  if (story.form === 'capture' || story.form === 'checkpoint' || !story.writes) return null;
  if (story.form === 'run') return { tool: 'undo', burst: story.burst };
  if (story.form === 'git') return { tool: 'undo', git: 'last', ...between }; // the log gives its writes to `outside`, as it does saves meanwhile
  const writer = whose(story), turn = story.writer?.turn;
  if (turn && story.form === 'turn') return { tool: 'undo', writer, turn };
  return { tool: 'undo', writer, ...between };
}
