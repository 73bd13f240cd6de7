// What is asked for a story: its writer's own lines, and to take it back.
import type { Story, StoryFile, Writer } from './types';

const MOST_PATHS = 3000; // characters: they stand in the address
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

/** What the story with this one's newest record is asked for by: an agent's records alone tell where its turn began. */
export function within(story: Story): Record<string, string | undefined> {
  return { ...(story.form === 'turn' ? { writer: whose(story), turn: story.writer.turn || undefined } : {}), until: `seq:${story.seq}` };
}

/** What a plan is asked for. `part`: the time since which a story is meant of which no more is known; it is told, not asked. */
export type Wish = { tool: string; part?: string } & Record<string, unknown>;

/** What taking back a story asks for, or what it did to one file; null where there is nothing to take back. */
export function choice(story: Story, file?: StoryFile): Wish | null {
  const all = ofAll(story);
  const doubt = file?.probable && all?.tool === 'undo' && all.burst == null ? { probable: true } : {};
  return all && file ? { ...all, ...doubt, paths: namesOf(file) } : all;
}

function ofAll(story: Story): Wish | null {
  const from = `seq:${story.first - 1}`, to = `seq:${story.seq}`;
  const between = { from, to, ...(story.whole ? {} : { part: story.at }) };
  if (story.form === 'undo') return { tool: 'redo', ...between, writer: '*' };
  if (story.form === 'capture' || story.form === 'checkpoint' || !story.writes) return null;
  if (story.form === 'run') return { tool: 'undo', burst: story.burst };
  if (story.form === 'git') return { tool: 'undo', git: 'last', ...between }; // the log gives its writes to `outside`, as it does saves meanwhile
  const { agent, turn } = story.writer, doubt = story.probable ? { probable: true } : {};
  if (agent && turn) return { tool: 'undo', writer: whose(story), turn, ...(story.whole ? { from } : {}), to, ...doubt };
  return { tool: 'undo', writer: whose(story), ...between, ...(agent ? doubt : inItsFiles(story)) };
}

/** The files of a story whose writer may have saved others meanwhile; nothing where not all of them are told. */
function inItsFiles(story: Story): { paths?: string[] } {
  const paths = story.files.flatMap(namesOf);
  return story.files.length === story.files_count && paths.length && paths.join().length <= MOST_PATHS ? { paths } : {};
}

const namesOf = (file: StoryFile) => (file.moved_from ? [file.moved_from, file.path] : [file.path]);
