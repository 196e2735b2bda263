import { changedFields } from '../../core/diff.ts';
import { MirrorError } from '../../core/errors.ts';
import type { ListName } from '../../core/lists.ts';
import { nearest } from '../nearest.ts';

/**
 * Refuses a field that no change can have: the answer would be empty, which looks like silence.
 * @param list only its fields; undefined: those of all lists
 * @throws MirrorError `USAGE`, which names the nearest field and all others
 */
export function checkField(field: string, list?: ListName): void {
  const fields = changedFields(list);
  if (fields.includes(field)) return;
  const [near] = nearest(field, fields).map((name) => ` Perhaps you meant "${name}".`);
  const of = list === undefined ? '' : ` of ${list}`;
  throw new MirrorError(
    'USAGE',
    `There is no field ${JSON.stringify(field)}${of}.${near ?? ''} The fields are: ${fields.join(', ')}.`,
  );
}
