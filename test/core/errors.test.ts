import { expect, test } from 'vitest';
import { messageWithoutAdvice, MirrorError } from '../../src/core/errors.ts';
import { gatePaused, gaveUp } from '../../src/service/gate/errors.ts';
import { ENTRY } from '../service/gate/bench.ts';

const NOW = Date.parse('2026-03-02T12:00:00Z');

test('the log has the cause of an outage without the advice of a command', () => {
  const failure = { requests: 3, is429: false, isOutage: true, resumeAt: undefined, now: NOW };
  const error = gaveUp(ENTRY, { ...failure, cause: 'ECONNRESET' });
  expect(error.message).toContain('run the command again');
  expect(messageWithoutAdvice(error)).toBe('GET /inboxes: ECONNRESET');
});

test('the log has the cause of a pause once: other lines say until when nothing is sent', () => {
  const pause = { cause: 'the service answered 429', strikes: 3, status: 429 };
  const error = gatePaused({ ...pause, resumeAt: new Date('2026-03-02T12:03:30Z') }, NOW);
  expect(messageWithoutAdvice(error)).toBe('no request is sent until 2026-03-02T12:03:30.000Z');
  expect(messageWithoutAdvice(new MirrorError('DATABASE', 'It is locked.'))).toBe('It is locked.');
});
