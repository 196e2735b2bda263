import { expect, test } from 'vitest';
import { served } from './served.ts';

/** Sets the title and a colour of a terminal, and turns the text round. */
const HOSTILE = '\u001B]0;title\u0007\u009B31m\u007FEve\u202Elive\u2066\r';
const MARKED = '�]0;title��31m�Eve�live��';

test('no text of the service reaches curl on a terminal as an instruction', async () => {
  const { ask, sync, mirror } = await served();
  await sync();
  const [inbox] = mirror.sandbox.world.inboxes.values();
  const [conversation] = inbox!.conversations.values();
  inbox!.display_name = HOSTILE;
  conversation!.status = HOSTILE;
  for (const tag of inbox!.tags.values()) tag.name = HOSTILE;
  for (const user of inbox!.users.values()) user.first_name = HOSTILE;
  await sync();
  const answers = new Map<string, string>();
  const read = async (path: string, accept = '*/*'): Promise<void> => {
    const { status, body } = await ask(path, { headers: { accept } });
    expect([200, 400, 503], path).toContain(status);
    answers.set(path, body);
  };
  const question = `ask?${String(new URLSearchParams({ sql: 'SELECT status FROM conversations' }))}`;
  for (const path of ['metrics', 'status.json', 'changes', 'healthz', 'readyz', 'changes?inbox_id=none'])
    await read(`/${path}`);
  const download = `/${question.replace('ask', 'ask.json')}`;
  await read(download);
  const page = `inboxes/${inbox!.id}`;
  for (const path of [
    '',
    'feed',
    'people',
    'engine',
    question,
    page,
    `${page}/conversations/${conversation!.id}`,
  ])
    await read(`/${path}`, 'text/html');
  // oxlint-disable-next-line no-control-regex
  for (const [path, body] of answers) expect(/[^\P{Cc}\n\t]|\p{Bidi_Control}/u.exec(body), path).toBeNull();
  for (const path of ['/metrics', '/', '/people', '/engine', `/${question}`])
    expect(answers.get(path), path).toContain(MARKED);
  // A program reads the same text as before.
  const asList = (lines: string): string => `[${lines.trim().replaceAll('\n', ',')}]`;
  const json = [answers.get('/status.json')!, answers.get(download)!, asList(answers.get('/changes')!)];
  for (const text of json) expect(JSON.stringify(JSON.parse(text))).toContain(JSON.stringify(HOSTILE));
});
