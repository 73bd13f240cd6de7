// What taking back a story asks for.
import type { Story } from './types';

/** What `undo` is asked for, to take back a story. */
export function choice(story: Story): Record<string, unknown> | null {
  const between = { from: `seq:${story.first - 1}`, to: `seq:${story.seq}` };
  if (story.form === 'undo') return { tool: 'redo', ...between, writer: '*' };
  if (story.form === 'capture' || story.form === 'checkpoint' || !story.writes) return null;
  if (story.form === 'run') return { tool: 'undo', burst: story.burst };
  if (story.form === 'git') return { tool: 'undo', git: 'last', ...between }; // the log gives its writes to `outside`, as it does saves meanwhile
  const w = story.writer;
  const who = w?.agent ? `${w.agent}${w.agent_session ? `/${w.agent_session}` : ''}` : w?.uid != null ? 'user' : 'outside';
  if (w?.turn && story.form === 'turn') return { tool: 'undo', writer: who, turn: w.turn };
  return { tool: 'undo', writer: who, ...between };
}
