import type { NamedChange, Names } from '../items/names.ts';
import type { Cursor } from './cursor.ts';
import type { ChangeFilter, History } from './read.ts';

/** The names of one batch have at most this many characters. */
const MOST_NAME_CHARACTERS = 8_000_000;

/** The changes as `GET /changes` and the webhook send them: in batches that a text can hold. */
export class Feed {
  readonly #history: Pick<History, 'after'>;
  readonly #names: Pick<Names, 'of'>;

  constructor(history: Pick<History, 'after'>, names: Pick<Names, 'of'>) {
    this.#history = history;
    this.#names = names;
  }

  /**
   * The first `limit` changes after this place, with their names. Fewer if their values or names are long,
   * but never none if there is one. A single change with too many names comes without `itemNames`.
   * @throws MirrorError as {@link History.after}
   */
  async after(place: Cursor, filter: ChangeFilter, limit: number): Promise<NamedChange[]> {
    const changes = await this.#names.of(await this.#history.after(place, filter, limit));
    let characters = 0;
    const end = changes.findIndex((change) => {
      characters += nameCharacters(change);
      return characters > MOST_NAME_CHARACTERS;
    });
    return end === 0
      ? changes.slice(0, 1).map((change) => ({ ...change, itemNames: null }))
      : changes.slice(0, end === -1 ? undefined : end);
  }
}

function nameCharacters({ inbox, item, oldName, newName, permalink, itemNames }: NamedChange): number {
  const { assignee_id: assignee = null, tags = [] } = itemNames ?? {};
  const names = [inbox, item, oldName, newName, permalink, assignee].concat(tags);
  return names.reduce((sum, name) => sum + (name?.length ?? 0), 0);
}
