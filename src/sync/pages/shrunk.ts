import type { AppliedPage } from '../../mirror/bookmarks/apply.ts';
import type { PageSuspect } from '../../mirror/bookmarks/range.ts';
import type { SweepDeps, Tally } from '../deps.ts';
import { hearSuspects, type Settling } from '../witnesses/hearing.ts';
import { MOST_SINGLE } from '../witnesses/judging.ts';
import { MOST_ASKED_AFTER_SAMPLE, SAMPLE, spread } from '../witnesses/sample.ts';

/** The service's answers for a sample of the rows that a page lacks. */
interface Sampled {
  /** The service knows none of them, so that the page is right to lack its rows. */
  readonly areGone: boolean;
  /** The first row that the page lacks at its start, if the service still has it. */
  readonly slid: PageSuspect | null;
}

/**
 * Asks the service for a sample of the rows that a page which has `shrunk` lacks: a wrong answer lacks rows
 * that the service still has. The first one that it has ends the questions. Of up to 20 rows, one that is
 * gone is deleted, as after any page that lacks it.
 *
 * If the page lacks more rows than are each asked for later, or if a person must decide on them, no sample
 * shows that it is right.
 * @throws MirrorError
 */
export async function askSample(
  deps: SweepDeps,
  { round, suspects }: Pick<AppliedPage, 'round' | 'suspects'>,
  settling: Settling,
  tally: Tally,
): Promise<Sampled> {
  const { mirror, clock } = deps;
  const fresh = suspects.filter(({ missingSince }) => missingSince === null);
  const start = fresh.find(({ side }) => side === 'start');
  const others = fresh.filter((suspect) => suspect !== start);
  const mayBelieve =
    suspects.length <= SAMPLE + MOST_ASKED_AFTER_SAMPLE &&
    !(await mirror.suspects.exceedsBrake(round, suspects, clock.now()));
  const first = start === undefined ? [] : [start];
  const asked = mayBelieve ? [...first, ...spread(others, SAMPLE - first.length, round.id)] : first;
  if (asked.length === 0) return { areGone: false, slid: null };
  const lacking = suspects.map(({ id }) => id);
  const counts = (): boolean => mayBelieve;
  // More are a batch, which the page alone does not condemn (decision 0025).
  const mayCondemn = (): boolean => mayBelieve && suspects.length <= MOST_SINGLE;
  const questions = { asked, lacking, endsAtFirstFound: true, counts, mayCondemn };
  const { answers } = await hearSuspects(deps, round, questions, settling, tally);
  const isSlid = start !== undefined && answers.get(start.id) === 'there';
  return {
    areGone: mayBelieve && asked.every(({ id }) => answers.get(id) === 'gone'),
    slid: isSlid ? start : null,
  };
}
