// Stories that came, put before those that are shown. Pure.
import type { Story } from './types';

export const keyOf = (story: Story) => `${story.first}.${story.form}`;
const same = (a: Story, b: Story) => JSON.stringify(a) === JSON.stringify(b);

/** The newest stories and those shown below them; null where it is not known that nothing lies between. A story that
 * something was added to is a newest one: below one that is as it was, all are. */
export function ahead(came: Story[], shown: Story[]): Story[] | null {
  const last = came.at(-1), at = last ? shown.findIndex((one) => keyOf(one) === keyOf(last)) : -1;
  if (at < 0 || !same(shown[at], last!)) return null;
  const keys = new Set(came.map(keyOf));
  return [...came, ...shown.slice(at + 1).filter((one) => !keys.has(keyOf(one)))];
}

/** Stories that are as they were keep their identity, and with it their rows. */
export function kept(found: Story[], shown: Story[]): Story[] {
  const known = new Map(shown.map((story) => [keyOf(story), story]));
  return found.map((story) => {
    const before = known.get(keyOf(story));
    return before && same(before, story) ? before : story;
  });
}
