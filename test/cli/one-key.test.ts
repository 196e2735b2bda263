import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { keyFingerprint, SANDBOX_KEY } from '../../src/core/secrets.ts';
import { keyScope } from '../../src/session/key/records.ts';
import { placeOf } from '../../src/session/key/place.ts';
import { mirrorFile, SECRET, testProgram } from '../support/program.ts';

test('two mirrors with one key share its day; start, status and doctor name the other mirror', async () => {
  const limits = {
    REQUESTS_PER_DAY: '60',
    REQUESTS_RESERVED: '0',
    INBOX_STATE_DIR: 'state',
    PAGE_SIZE: '10',
  };
  const program = await testProgram({ conversations: [300] }, limits);
  const { env, folder, sandbox } = program;
  env['DATABASE_URL'] = 'file:./one.db';
  expect(await program.run('sync')).toMatchObject({ exitCode: 0 });
  const sent = sandbox.arrivals.length;
  env['DATABASE_URL'] = 'file:./two.db';
  const second = await program.run('sync');
  expect(second).toMatchObject({ exitCode: 4 });
  expect(sandbox.arrivals).toHaveLength(60);
  const words = `one.db, uses this key and sent ${sent} requests in the last day`;
  for (const args of [['status'], ['doctor', '--json']]) {
    const { stdout } = await program.run(...args);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(words);
  }
  expect(second.stderr).toContain(words);
  const [, record = ''] = /does not count at the service, delete ([^" ]+\.json)/.exec(second.stderr) ?? [];
  const kept = readFileSync(record, 'utf8');
  const { stdout } = await program.run('status', '--json');
  expect(JSON.parse(stdout)).toMatchObject({
    budget: { limit: 60 - sent, left: 0 },
    other_mirrors: [{ database: expect.stringContaining('one.db'), sent }],
  });
  rmSync(record);
  expect((await program.run('sync')).exitCode, 'without the record the day is whole again').toBe(0);
  writeFileSync(record, kept);
  const [key = ''] = readdirSync(join(folder, 'state', 'keys'));
  const files = readdirSync(join(folder, 'state', 'keys', key));
  expect(files).toHaveLength(2);
  for (const file of files)
    expect(readFileSync(join(folder, 'state', 'keys', key, file), 'utf8')).not.toContain(SECRET);
});

test('two trials with the key of the sandbox have a day each and leave no record', async () => {
  const limits = { INBOX_API_KEY: SANDBOX_KEY, INBOX_STATE_DIR: 'state' };
  const program = await testProgram({ key: SANDBOX_KEY }, limits);
  for (const name of ['one', 'two']) {
    program.env['DATABASE_URL'] = `file:./${name}.db`;
    const { exitCode, stderr } = await program.run('sync');
    expect(exitCode).toBe(0);
    expect(stderr).not.toContain('another mirror');
  }
  expect(existsSync(join(program.folder, 'state'))).toBe(false);
});

test.each([
  ['http://127.0.0.1:8788/v1', null],
  ['http://localhost:8788/v1', null],
  ['http://[::1]:8788/v1', null],
  ['http://127.0.0.1.example.com/v1', expect.any(String)],
  ['https://api.example.com/v1', expect.any(String)],
])('the key of the sandbox has a record only where it may open an account: %s', (address, scope) => {
  expect(keyScope(keyFingerprint(SANDBOX_KEY), address)).toEqual(scope);
  expect(keyScope(keyFingerprint(SECRET), address)).toEqual(expect.any(String));
});

test('a mirror that is deleted and made again, as often as it is, stays within the day', async () => {
  const limits = { REQUESTS_PER_DAY: '30', REQUESTS_RESERVED: '0', INBOX_STATE_DIR: 'state' };
  const program = await testProgram({ conversations: [300] }, { ...limits, PAGE_SIZE: '10' });
  const exitCodes: number[] = [];
  for (let nth = 1; nth <= 4; nth += 1) {
    const { exitCode, stderr } = await program.run('sync');
    exitCodes.push(exitCode);
    if (nth > 1) expect(stderr.replaceAll(/\s+/g, ' ')).toContain('used this key and sent 30 requests');
    for (const side of ['', '-wal', '-shm']) rmSync(`${mirrorFile(program)}${side}`, { force: true });
  }
  expect(program.sandbox.arrivals).toHaveLength(30);
  expect(exitCodes).toEqual([4, 4, 4, 4]);
});

test('a mirror that is opened by links counts its requests once', async () => {
  const limits = { REQUESTS_PER_DAY: '60', REQUESTS_RESERVED: '0', INBOX_STATE_DIR: 'state' };
  const program = await testProgram({ conversations: [300] }, { ...limits, PAGE_SIZE: '10' });
  const { env, folder, sandbox } = program;
  expect(await program.run('sync')).toMatchObject({ exitCode: 0 });
  symlinkSync(folder, join(folder, 'folder-link'));
  symlinkSync(mirrorFile(program), join(folder, 'link.db'));
  for (const name of ['folder-link/mirror.db', 'link.db', 'mirror.db']) {
    env['DATABASE_URL'] = `file:./${name}`;
    const { exitCode, stdout } = await program.run('doctor');
    expect(exitCode, name).toBe(0);
    expect(stdout, name).not.toContain('another mirror');
    expect(stdout, name).toContain(`${sandbox.arrivals.length - 1} of 60 requests used`);
  }
  const [key = ''] = readdirSync(join(folder, 'state', 'keys'));
  expect(readdirSync(join(folder, 'state', 'keys', key))).toHaveLength(1);
});

test.each([
  ['postgresql://root@127.0.0.1:5432/mail?schema=public', 'postgresql://localhost/mail?schema=public'],
  ['postgresql://a@b@[::1]/mail?schema=public', 'postgresql://localhost/mail?schema=public'],
  ['postgresql:///var/run/postgresql/mail?schema=public', 'postgresql://localhost/mail?schema=public'],
  ['postgresql://localhost:5433/mail?schema=public', 'postgresql://localhost:5433/mail?schema=public'],
  ['postgresql://me@db.example.com/mail?schema=m', 'postgresql://db.example.com/mail?schema=m'],
])('neither the role nor the spelling of this machine makes another mirror: %s', (name, place) => {
  expect(placeOf(name)).toBe(place);
});

test('a state folder that cannot be used stops no sync, and the log says so once', async () => {
  const program = await testProgram({}, { INBOX_STATE_DIR: 'state' });
  writeFileSync(join(program.folder, 'state'), 'a file');
  const { exitCode, stderr } = await program.run('sync');
  expect(exitCode).toBe(0);
  expect(stderr.match(/cannot use the records of the key/g)).toHaveLength(1);
});
