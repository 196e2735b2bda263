import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, test } from 'vitest';
import { readConfig } from '../../../src/session/config/config.ts';
import { readEnvironment } from '../../../src/session/config/environment.ts';
import { readNetwork } from '../../../src/session/config/network.ts';
import { AUTHORITY } from '../../support/certificates.ts';
import { temporaryFolder } from '../../support/mirror.ts';
import { newProgram, SECRET, testProgram } from '../../support/program.ts';
import { urlOf } from '../../support/provider.ts';
import { freshMirrorFile } from '../../support/template.ts';

const GOOD = { INBOX_API_URL: 'https://api.example.com/v1', INBOX_API_KEY: SECRET };

test('with only address and key set, every other variable has its default', () => {
  const config = readConfig(GOOD, '/data', { service: true });
  expect(config).toMatchObject({
    apiUrl: 'https://api.example.com/v1',
    databaseUrl: 'file:/data/mirror.db',
    budget: { perSecond: 1, perDay: 5000, reserved: 250, pageSize: 100 },
    timezone: 'UTC',
    goneAfterMs: 600_000,
    reportTimezone: 'UTC',
    http: { host: '127.0.0.1', port: 8787, allowedHosts: [] },
    logLevel: 'info',
    storePublicPermalink: false,
  });
  expect(Object.isFrozen(config)).toBe(true);
});

test.each([
  ['0', 0],
  ['90s', 90_000],
  ['10m', 600_000],
  ['1.5h', 5_400_000],
  ['7d', 604_800_000],
])('GONE_AFTER=%s is %i ms', (text, goneAfterMs) => {
  expect(readConfig({ ...GOOD, GONE_AFTER: text }, '/data', { service: true })).toMatchObject({
    goneAfterMs,
  });
});

test.each(['10', '-1m', '7.1d', '2 weeks'])('GONE_AFTER=%s is refused, with the form expected', (text) => {
  expect(() => readConfig({ ...GOOD, GONE_AFTER: text }, '/data', { service: true })).toThrow(
    `GONE_AFTER: expected 0, or a length of time of up to 7 d such as 30s, 10m, 2h or 1d, but got "${text}"`,
  );
});

test.each([
  ['+05:30', true],
  ['-0330', true],
  ['+14', true],
  ['+05:37', false],
])(
  'a time zone of %s is accepted (%s) only if it differs from UTC by whole quarters of an hour',
  (zone, ok) => {
    const read = () => readConfig({ ...GOOD, SCHEDULE_TIMEZONE: zone }, '/data', { service: true }).timezone;
    if (ok) expect(read()).toBe(zone);
    else expect(read).toThrow('SCHEDULE_TIMEZONE: expected a time zone');
  },
);

test('sync exits 2 on a bad .env and names every bad variable at once', async () => {
  const program = await newProgram();
  writeFileSync(
    join(program.folder, '.env'),
    [
      'INBOX_API_URL=api.example.com',
      'INBOX_API_KEY="two words"',
      'DATABASE_URL=mysql://me:pa55w0rd@localhost/mirror',
      'REQUESTS_PER_SECOND=fast',
      'REQUESTS_PER_DAY=0',
      'REQUESTS_RESERVED=-1',
      'PAGE_SIZE=101',
      'SCHEDULE_INBOXES="61 * * * *"',
      'SCHEDULE_USERS=@daily',
      'SCHEDULE_TAGS="* * *"',
      'SCHEDULE_CONVERSATIONS="*/15 * * * * * *"',
      'SCHEDULE_TIMEZONE=Mars/Olympus',
      'GONE_AFTER=8d',
      'HTTP_HOST="a b"',
      'HTTP_PORT=99999',
      'HTTP_ALLOWED_HOSTS=http://mirror.example',
      'LOG_LEVEL=loud',
      'STORE_PUBLIC_PERMALINK=yes',
    ].join('\n'),
  );
  for (const name of Object.keys(program.env)) delete program.env[name];
  const { exitCode, stderr } = await program.run('sync');
  expect(exitCode).toBe(2);
  expect(stderr).toContain('18 problems');
  expect(stderr).not.toContain('pa55w0rd');
  for (const name of [
    'INBOX_API_URL',
    'INBOX_API_KEY',
    'DATABASE_URL',
    'REQUESTS_PER_SECOND',
    'REQUESTS_PER_DAY',
    'REQUESTS_RESERVED',
    'PAGE_SIZE',
    'SCHEDULE_INBOXES',
    'SCHEDULE_USERS',
    'SCHEDULE_TAGS',
    'SCHEDULE_CONVERSATIONS',
    'SCHEDULE_TIMEZONE',
    'GONE_AFTER',
    'HTTP_HOST',
    'HTTP_PORT',
    'HTTP_ALLOWED_HOSTS',
    'LOG_LEVEL',
    'STORE_PUBLIC_PERMALINK',
  ]) {
    expect(stderr, name).toContain(`${name}: `);
  }
  expect(stderr, 'never the key').not.toContain('two words');
  expect(program.sandbox.arrivals, 'nothing was sent').toEqual([]);
});

test('a real environment variable wins over .env', () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, '.env'), 'PAGE_SIZE=50\nREQUESTS_PER_DAY=100\nREQUESTS_RESERVED=1\n');
  const config = readConfig(readEnvironment({ ...GOOD, PAGE_SIZE: '20' }, folder), folder, { service: true });
  expect(config).toMatchObject({ budget: { pageSize: 20, perDay: 100 } });
});

test('a file that the environment names for a value wins over the value in .env, and the reverse', () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'address'), 'file:/data/named.db\n');
  const read = (inFile: string, env: Record<string, string>) => {
    writeFileSync(join(folder, '.env'), inFile);
    return readConfig(readEnvironment(env, folder), folder, { service: false }).databaseUrl;
  };
  const [NAMED, OTHER] = ['file:/data/named.db', 'file:/data/other.db'];
  expect(read(`DATABASE_URL=${OTHER}\n`, { DATABASE_URL_FILE: 'address' })).toBe(NAMED);
  expect(read('DATABASE_URL_FILE=address\n', { DATABASE_URL: OTHER })).toBe(OTHER);
  expect(read(`DATABASE_URL=${OTHER}\n`, { DATABASE_URL_FILE: '' })).toBe(OTHER);
  expect(() => read(`DATABASE_URL=${OTHER}\nDATABASE_URL_FILE=address\n`, {})).toThrow(/both are set/);
});

test('a command that only reads the mirror ignores faults of variables that it does not use', async () => {
  const program = await testProgram({}, { DATABASE_URL: urlOf(await freshMirrorFile()) });
  const path = join(program.folder, '.env');
  writeFileSync(
    path,
    'REPORT_TIMEZONE=Mars\nWEBHOOK_SECRET=abc\nHTTP_PORT=http\nHTTP_TOKEN=a\nPAGE_SIZE=500\n',
  );
  const commands = [['query', 'SELECT 1'], ['tables'], ['export', 'inboxes'], ['changes']];
  for (const argv of commands) expect((await program.run(...argv)).exitCode, argv[0]).toBe(0);
  const { exitCode, stderr } = await program.run('status');
  expect({ exitCode, stderr }).toEqual({
    exitCode: 2,
    stderr: expect.stringContaining('5 problems') as string,
  });
  delete program.env['DATABASE_URL'];
  writeFileSync(path, 'DATABASE_URL=mysql://me@host/app\nREPORT_TIMEZONE=Mars\n');
  expect((await program.run('query', 'SELECT 1')).stderr).toContain(
    `a problem:\n  DATABASE_URL: expected file:PATH, such as file:./mirror.db, or ` +
      `postgresql://USER:PASSWORD@HOST/DATABASE; its value is not shown here (in ${path})\n`,
  );
});

test('a fault of a value of .env names that file, and one of the environment does not', async () => {
  const program = await testProgram({}, { HTTP_PORT: 'http' });
  const path = join(program.folder, '.env');
  writeFileSync(path, 'REPORT_TIMEZONE=Mars\nHTTP_PORT=8787\n');
  const { stderr } = await program.run('sync');
  expect(stderr).toContain(`but got "Mars" (in ${path})\n`);
  expect(stderr).toMatch(/HTTP_PORT: .* but got "http"\n/);
});

test.each([
  ['UTF-8 with a byte order mark', Buffer.from('\uFEFFPAGE_SIZE=50\nREQUESTS_PER_DAY=900\n')],
  ['UTF-8', Buffer.from('PAGE_SIZE=50\nREQUESTS_PER_DAY=900\n')],
])('a .env in %s is read from its first variable on', (_what, bytes) => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, '.env'), bytes);
  const config = readConfig(readEnvironment(GOOD, folder), folder, { service: true });
  expect(config).toMatchObject({ budget: { pageSize: 50, perDay: 900 }, warnings: [] });
});

test('a value of .env that ends at its # is named, also beside a fault, and a comment is not', () => {
  const folder = temporaryFolder();
  const read = (text: string) => {
    writeFileSync(join(folder, '.env'), text, { mode: 0o600 });
    const { INBOX_API_KEY: _, ...env } = GOOD;
    return readConfig(readEnvironment(env, folder), folder, { service: true, own: env });
  };
  expect(read('INBOX_API_KEY=pa55#w0rd').warnings).toEqual([
    'INBOX_API_KEY: the value in .env ends at its #, where a comment begins; put it in quotes',
  ]);
  expect(() => read('export INBOX_API_KEY = pa55#w0rd\nPAGE_SIZE=x#1')).toThrow(
    /PAGE_SIZE: expected[^]*INBOX_API_KEY: the value in .env ends[^]*PAGE_SIZE: the value in .env ends/,
  );
  expect(() => read('INBOX_API_KEY=#pa55')).toThrow(/INBOX_API_KEY: the value in .env ends/);
  const fine = ['INBOX_API_KEY="pa55#w0rd"', "HTTP_TOKEN='0123456789abcdef0123456789#abcdef'"];
  expect(read([...fine, 'PAGE_SIZE=50 # rows', '# A=b#c', 'PROMPT=', ''].join('\n'))).toMatchObject({
    key: 'pa55#w0rd',
    warnings: [],
  });
});

const UTF_16 = Buffer.from('INBOX_API_URL=https://api.example.com/v1\r\n', 'utf16le');
test.each([
  ['little-endian', Buffer.concat([Buffer.from([0xff, 0xfe]), UTF_16])],
  ['big-endian', Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(UTF_16).swap16()])],
  ['without a mark', UTF_16],
])('a .env in UTF-16 (%s) is refused with the way to save it as UTF-8', async (_what, bytes) => {
  const program = await newProgram();
  const file = join(program.folder, '.env');
  writeFileSync(file, bytes);
  for (const command of ['sync', 'status', 'doctor']) {
    const { exitCode, stdout, stderr } = await program.run(command);
    const printed = (stdout + stderr).replaceAll(/\s+/g, ' ');
    expect({ exitCode, printed }, command).toEqual({
      exitCode: 2,
      printed: expect.stringContaining(
        `Cannot read ${file}: it is in UTF-16. Save it as UTF-8. ` +
          'In PowerShell: (Get-Content .env) | Set-Content -Encoding utf8 .env',
      ) as string,
    });
  }
});

test('a key with a quotation mark that is not closed is refused, and not shown', () => {
  const read = (text: string) => () => readConfig({ ...GOOD, ...parseEnv(text) }, '/', { service: true });
  for (const text of ['INBOX_API_KEY="pa55w0rd', "INBOX_API_KEY=pa55w0rd'"]) {
    expect(read(text)).toThrow(/INBOX_API_KEY: begins or ends with a quotation mark/);
    expect(read(text)).not.toThrow(/pa55/);
  }
  expect(read('INBOX_API_KEY="pa55w0rd"')().key).toBe('pa55w0rd');
});

test('sync, status and doctor warn about a misspelt variable name without printing its value', async () => {
  const read = () =>
    readConfig({ INBOX_API_URL: GOOD.INBOX_API_URL, INBOX_API_KEYS: SECRET }, '/', { service: true });
  expect(read).toThrow(/INBOX_API_KEY: is missing[^]*INBOX_API_KEYS is set/);
  expect(read).toThrow(
    'INBOX_API_KEYS is set, but the program reads no such variable; did you mean INBOX_API_KEY?',
  );
  const slips = {
    REQUEST_PER_DAY: '100',
    databse_url: 'file:other.db',
    INBOX_API_TOKEN: SECRET,
    SCHEDULE_TAG: '',
  };
  const others = {
    HTTP_PROXY: 'http://proxy',
    INBOX_MIRROR_SERVICE_HOST: '10.0.0.7',
    PAGER: 'less',
    REQUESTS_CA_BUNDLE: '/etc/ca.pem',
    DATABASE_URL_FILE: '',
  };
  const { warnings } = readConfig({ ...GOOD, ...slips, ...others }, '/', { service: true });
  expect(warnings).toEqual([
    expect.stringMatching(/^REQUEST_PER_DAY .*did you mean REQUESTS_PER_DAY\?$/),
    expect.stringMatching(/^databse_url .*did you mean DATABASE_URL\?$/),
    expect.stringMatching(/^INBOX_API_TOKEN .*\.env\.example/),
  ]);
  expect(warnings.join('\n')).not.toContain(SECRET);
  const program = await newProgram({ inboxes: 1 }, { LOG_LEVELS: 'silent' });
  expect((await program.run('sync', 'inboxes')).stderr).toContain('LOG_LEVELS is set');
  expect((await program.run('status')).stderr).toMatch(/^warning: LOG_LEVELS is set/);
  const { exitCode, stdout } = await program.run('doctor');
  expect({ exitCode, stdout }).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/warning +configuration +LOG_LEVELS/) as string,
  });
});

test('address and key are required only by commands that talk to the service', () => {
  expect(() => readConfig({}, '/', { service: true })).toThrow(
    /2 problems[\s\S]*INBOX_API_URL[\s\S]*INBOX_API_KEY/,
  );
  expect(readConfig({}, '/', { service: false })).toMatchObject({ apiUrl: null, key: null });
});

test('HTTP_ALLOWED_HOSTS is read in lower case, and a host name with a port is refused', () => {
  const read = (names: string) =>
    readConfig({ ...GOOD, HTTP_ALLOWED_HOSTS: names }, '/', { service: true }).http.allowedHosts;
  expect(read(' Mirror.Example , inbox_mirror')).toEqual(['mirror.example', 'inbox_mirror']);
  expect(() => read('mirror.example:8787')).toThrow(/HTTP_ALLOWED_HOSTS/);
  expect(() => read('mirror.example,')).toThrow(/HTTP_ALLOWED_HOSTS/);
});

test('the key can be read from a file, and the error names the variable of a file that cannot be read', () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'key'), `${SECRET}\n`);
  const read = (env: Record<string, string>) =>
    readConfig({ INBOX_API_URL: GOOD.INBOX_API_URL, ...env }, folder, { service: true });
  expect(read({ INBOX_API_KEY_FILE: 'key' }).key).toBe(SECRET);
  expect(() => read({ INBOX_API_KEY_FILE: 'nowhere' })).toThrow(
    /INBOX_API_KEY_FILE: expected the path of a file.*\(ENOENT\)/,
  );
  expect(() => read({ INBOX_API_KEY_FILE: 'key', INBOX_API_KEY: 'other' })).toThrow(/both are set/);
});

test('database address and webhook secret can be read from files; errors name the variable', () => {
  const folder = temporaryFolder();
  const address = 'postgresql://me:pa55w0rd@db.example/mirror';
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  writeFileSync(join(folder, 'address'), `${address}\n`);
  writeFileSync(join(folder, 'secret'), `${secret}\n`);
  writeFileSync(join(folder, 'empty'), '\n');
  const read = (env: Record<string, string>) => readConfig({ ...GOOD, ...env }, folder, { service: true });
  expect(read({ DATABASE_URL_FILE: 'address' }).databaseUrl).toBe(address);
  expect(read({ WEBHOOK_URL: 'https://me.example/', WEBHOOK_SECRET_FILE: 'secret' }).webhook?.secret).toBe(
    secret,
  );
  expect(() => read({ DATABASE_URL_FILE: 'address', DATABASE_URL: 'file:a' })).toThrow(
    /DATABASE_URL and DATABASE_URL_FILE: both/,
  );
  expect(() => read({ DATABASE_URL_FILE: 'nowhere' })).toThrow(/DATABASE_URL_FILE: .*no file/);
  expect(() => read({ DATABASE_URL_FILE: 'empty' })).toThrow(/DATABASE_URL_FILE: empty is empty/);
  expect(() => read({ WEBHOOK_URL: 'https://me.example/', WEBHOOK_SECRET_FILE: 'address' })).toThrow(
    /WEBHOOK_SECRET_FILE: exp/,
  );
});

test.each(['AAAA', `${'A'.repeat(43)}===`, `${'A'.repeat(32)}====`, 'A'.repeat(100)])(
  'the webhook secret whsec_%s is refused: it is not 24 to 64 bytes in base64',
  (encoded) => {
    const env = { ...GOOD, WEBHOOK_URL: 'https://me.example/', WEBHOOK_SECRET: `whsec_${encoded}` };
    expect(() => readConfig(env, '/', { service: true })).toThrow(/WEBHOOK_SECRET: expected whsec_ and 24/);
  },
);

test('a webhook without a secret is refused, in words that speak of no wrong value', () => {
  expect(() => readConfig({ ...GOOD, WEBHOOK_URL: 'https://me.example/' }, '/', { service: true })).toThrow(
    /WEBHOOK_SECRET: is missing; WEBHOOK_URL needs it \(`echo .*` makes one\)\n/,
  );
});

test('a reserve as large as the day budget is refused', () => {
  expect(() =>
    readConfig({ ...GOOD, REQUESTS_PER_DAY: '200', REQUESTS_RESERVED: '200' }, '/', { service: true }),
  ).toThrow(/REQUESTS_RESERVED: expected less/);
});

test.each([
  ['http://user:pass@host/v1', 'has a user name or a password; only the key may log in'],
  ['ftp://host/v1', 'does not begin with https:// (or http://)'],
  ['localhost:8788/v1', 'does not begin with https:// (or http://)'],
  ['https://', 'is not a valid address'],
  ['https://host/v2', 'does not end in /v1'],
  ['https://host/v1?x=1', 'has a ? or a #; leave out that part'],
  ['https://host/v1?', 'has a ? or a #; leave out that part'],
  ['https://host/v1#', 'has a ? or a #; leave out that part'],
])('INBOX_API_URL=%s is refused, and the fault says why: it %s', (url, why) => {
  expect(() => readConfig({ ...GOOD, INBOX_API_URL: url }, '/', { service: true })).toThrow(
    `INBOX_API_URL: ${why}; its value is not shown here`,
  );
});

test.each([
  ['postgresql://me:pa55w0rd@db.example:5433/mirror?schema=Support_1&sslmode=require', null],
  ['postgres:///mirror?host=/var/run/postgresql', null],
  ['postgresql://db.example/mirror?connect_timeout=5&channel_binding=require&application_name=a', null],
  [
    'postgresql://me:pa55w0rd@db.example/mirror?shema=mirror',
    'has an unknown parameter; did you mean schema?',
  ],
  ['postgresql://me@db.example/mirror?SSLMODE=require', 'did you mean sslmode?'],
  ['postgresql://me:pa55w0rd@db.example/mirror?sslmode=verifyfull', 'expected one of disable, no-verify,'],
  ['postgresql://me@db.example/mirror?sslmode=disable&sslmode=pa55w0rd', 'has an unknown sslmode'],
  ['postgresql://me@db.example/mirror?password=a&pa55w0rd=', 'has an unknown parameter'],
  ['postgresql://me@db.example/mirror?password=a&9pa55w0rd9', 'known are schema, host'],
  ['postgresql:me:pa55w0rd@db.example/mirror', 'expected file:PATH'],
  ['postgresql://me:pa55w0rd#1@db.example/mirror', 'write special characters in user and password as %XX'],
  ['postgresql://me:pa55w0rd%E9@db.example/mirror', 'contains an invalid %-escape'],
  ['postgresql://me%:pa55w0rd@db.example/mirror', 'write a literal % as %25'],
  ['postgresql://me:pa55w0rd@db.example', 'names no database'],
  [
    'postgresql://me:pa55w0rd@/mirror?host=/var/run/postgresql',
    'names no host after the @; with host=/FOLDER write @localhost there; write special characters',
  ],
  ['postgresql://me:pa55w0rd@localhost/mirror?host=/var/run/postgresql', null],
  [
    'postgresql://me:pa55w0rd@a.example:5432,b.example:5432/mirror',
    'has a comma in its host, and only one host',
  ],
  ['postgresql://me:pa55w0rd@a.example,b.example/mirror', 'has a comma in its host, and only one host'],
  ['postgresql://me:pa,55w0rd@a.example/mirror?application_name=a,b', null],
  ['postgresql://me:pa55w0rd@db.example/mirror#here', 'contains a #'],
  ['postgresql://me:pa55w0rd@db.example/mirror?schema=a"b', 'expected a schema of at most 63 letters'],
  ['postgresql://me:pa55w0rd@db.example/mirror?schema=pg_mine', 'expected a schema of at most 63 letters'],
  ['me:pa55w0rd@db.example', 'expected file:PATH'],
  ['file:./mirror.db?shema=pa55w0rd', 'has a ?; the address of a file takes no parameters'],
  ['file:mirror.db?connection_limit=1', 'has a ?; the address of a file takes no parameters'],
])('DATABASE_URL=%s is accepted, or refused without printing its password', (url, fault) => {
  const read = (): string =>
    readConfig({ ...GOOD, DATABASE_URL: url }, '/data', { service: true }).databaseUrl;
  if (fault === null) {
    expect(read()).toBe(url);
    return;
  }
  expect(read).toThrow(fault);
  expect(read).not.toThrow('pa55w0rd');
});

test('a proxy without a scheme is one of http, and an invalid one is refused without its password', () => {
  const read = (env: Record<string, string>) =>
    readConfig({ ...GOOD, ...env }, '/', { service: true }).network;
  expect(read({ HTTPS_PROXY: 'proxy.example:3128', no_proxy: 'a,b', http_proxy: '' })).toEqual({
    proxyEnv: {
      HTTPS_PROXY: 'http://proxy.example:3128',
      no_proxy: expect.stringMatching(/^a,b,localhost,/) as string,
    },
    authority: null,
  });
  expect(read({}).proxyEnv).toEqual({});
  for (const proxy of [
    'socks5://me:pa55w0rd@proxy',
    'http://me:pa55w0rd@',
    'http://me:pa55w0rd@a b',
    'http://me:pa55w0rd%@a',
  ]) {
    expect(() => read({ HTTPS_PROXY: proxy })).toThrow(/HTTPS_PROXY: expected http:\/\//);
    expect(() => read({ HTTPS_PROXY: proxy })).not.toThrow('pa55w0rd');
  }
  expect(readConfig({ HTTPS_PROXY: 'socks5://proxy' }, '/', { service: false }).warnings).toEqual([]);
});

test('a proxy is refused on a Node.js that cannot use it, if the address needs it', () => {
  const read = (env: Record<string, string>, version: string) => {
    const faults: string[] = [];
    readNetwork({ ...GOOD, ...env }, '/', { protocol: 'https:', version, faults });
    return faults;
  };
  const proxy = { HTTPS_PROXY: 'http://proxy.example' };
  for (const version of ['22.21.0', '24.5.0', '26.0.0']) expect(read(proxy, version)).toEqual([]);
  for (const version of ['22.18.0', '23.11.0', '24.4.1'])
    expect(read(proxy, version)).toEqual([expect.stringMatching(/^HTTPS_PROXY: .*22\.21.*24\.5.*this is/)]);
  expect(read({ HTTP_PROXY: 'http://proxy.example' }, '22.18.0')).toEqual([]);
});

test('INBOX_API_CA_FILE must name a readable file with certificates', () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'ca.pem'), AUTHORITY);
  writeFileSync(join(folder, 'other'), '-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n');
  writeFileSync(join(folder, 'text'), 'none');
  const read = (file: string) =>
    readConfig({ ...GOOD, INBOX_API_CA_FILE: file }, folder, { service: true }).network.authority;
  expect(read('ca.pem')).toBe(AUTHORITY);
  expect(() => read('nowhere')).toThrow(/INBOX_API_CA_FILE: .*no file.*\(ENOENT\)/);
  for (const file of ['other', 'text'])
    expect(() => read(file)).toThrow(/INBOX_API_CA_FILE: .*no certificate/);
});

test.each([
  ['http://localhost:8788/v1', true],
  ['http://api.localhost/v1', true],
  ['http://127.8.9.1/v1', true],
  ['http://[::1]:80/v1', true],
  ['http://0.0.0.0:8788/v1', true],
  ['https://api.example.com/v1', true],
  ['http://api.example.com/v1', false],
  ['http://10.0.0.7/v1', false],
  ['http://localhost.example.com/v1', false],
  ['http://evil-localhost/v1', false],
  ['http://127.0.0.1.example.com/v1', false],
])('the address %s may carry the key without ALLOW_HTTP: %s', (url, mayCarry) => {
  const read = (env: Record<string, string> = {}) =>
    readConfig({ ...GOOD, INBOX_API_URL: url, ...env }, '/', { service: true }).apiUrl;
  if (mayCarry) expect(read()).toBe(new URL(url).href);
  else expect(read).toThrow(/INBOX_API_URL: .*in clear.*https:.*ALLOW_HTTP=true/);
  expect(read({ ALLOW_HTTP: 'true' })).toBe(new URL(url).href);
  expect(() => read({ ALLOW_HTTP: 'yes' })).toThrow(/ALLOW_HTTP: expected true or false/);
});

test('a command that sends a key of the environment to an address of .env warns and names both', async () => {
  const program = await newProgram({ inboxes: 1 });
  const url = program.env['INBOX_API_URL'] ?? '';
  writeFileSync(join(program.folder, '.env'), `INBOX_API_URL=${url}\nINBOX_API_KEY=unused\nNO_PROXY=\n`);
  const warning = new RegExp(
    `INBOX_API_KEY comes from the environment, but INBOX_API_URL from ${join(program.folder, '.env')}` +
      `.*key.*${url}`,
  );
  expect((await program.run('sync', 'inboxes')).stderr).not.toMatch(warning);

  delete program.env['INBOX_API_URL'];
  expect((await program.run('sync', 'inboxes')).stderr).toMatch(warning);
  expect((await program.run('doctor')).stdout.replaceAll(/\s+/g, ' ')).toMatch(warning);
  const inbox = [...program.sandbox.world.inboxes.keys()][0] ?? '';
  const lookup = await program.run('lookup', 'tag', '--inbox', inbox, '--name', 'x');
  expect(lookup.stderr).toMatch(warning);
  expect((await program.run('status')).stderr).not.toMatch(warning);

  writeFileSync(join(program.folder, '.env'), `HTTPS_PROXY=http://127.0.0.1:9\n`);
  program.env['INBOX_API_URL'] = url;
  expect((await program.run('sync', 'inboxes')).stderr).toMatch(/but HTTPS_PROXY from/);
});

test('no command warns if key and address both come from .env', async () => {
  const program = await newProgram({ inboxes: 1 });
  const { INBOX_API_URL: url = '', INBOX_API_KEY: key = '' } = program.env;
  writeFileSync(join(program.folder, '.env'), `INBOX_API_URL=${url}\nINBOX_API_KEY=${key}\n`);
  delete program.env['INBOX_API_URL'];
  delete program.env['INBOX_API_KEY'];
  const { exitCode, stderr } = await program.run('sync', 'inboxes');
  expect(exitCode).toBe(0);
  expect(stderr).not.toContain('comes from');
});

test('FINAL_STATUSES and WAITING_STATUSES ignore letter case, and both words for closed go together', () => {
  const of = (env: Record<string, string>): unknown =>
    readConfig({ ...GOOD, ...env }, '/data', { service: true }).statuses;
  expect(of({})).toEqual({ final: ['close', 'closed'], waiting: ['pending'] });
  expect(of({ FINAL_STATUSES: 'Resolved, CLOSED', WAITING_STATUSES: 'On Hold' })).toEqual({
    final: ['close', 'closed', 'resolved'],
    waiting: ['on hold'],
  });
});

test.each([
  [{ FINAL_STATUSES: 'closed,,done' }, 'FINAL_STATUSES: expected statuses with commas between them'],
  [{ FINAL_STATUSES: 'closed,Pending' }, 'WAITING_STATUSES: expected other statuses than FINAL_STATUSES'],
  [
    { OFFICE_HOURS: '9-5' },
    'OFFICE_HOURS: expected weekdays with times from 00:00 to 24:00, such as "Mon-Fri',
  ],
  [{ OFFICE_HOURS: 'Mon-Fri 17:00-09:00' }, 'OFFICE_HOURS: expected'],
  [{ OFFICE_HOURS: 'Mon 09:00-25:00' }, 'OFFICE_HOURS: expected'],
  [{ OFFICE_HOURS: 'Mon 09:00-24:30' }, 'OFFICE_HOURS: expected'],
  [{ OFFICE_HOURS: 'Fri-Mon 09:00-17:00' }, 'OFFICE_HOURS: expected'],
  [{ OFFICE_HOURS: 'Mon-Fri 09:00-17:00, Fri 09:00-14:00' }, 'each weekday once, but got "Mon-Fri 09'],
  [{ OFFICE_HOURS: 'Mon 09:00-13:00 12:00-17:00' }, 'OFFICE_HOURS: expected'],
  [{ OFFICE_HOURS: 'Mon' }, 'OFFICE_HOURS: expected'],
  [{ OFFICE_TIMEZONE: 'Berlin' }, 'OFFICE_TIMEZONE: expected a time zone, such as UTC or Europe/Berlin'],
])('%o is refused, with the form expected', (env, message) => {
  expect(() => readConfig({ ...GOOD, ...env }, '/data', { service: true })).toThrow(message);
});

test('OFFICE_HOURS gives each weekday its minutes, in REPORT_TIMEZONE unless OFFICE_TIMEZONE is set', () => {
  const of = (env: Record<string, string>): unknown =>
    readConfig({ ...GOOD, ...env }, '/data', { service: true }).officeHours;
  const REPORT_TIMEZONE = 'Europe/Berlin';
  expect(of({ REPORT_TIMEZONE })).toBeNull();
  const day = [[540, 1020]];
  expect(of({ REPORT_TIMEZONE, OFFICE_HOURS: 'mon-fri 9:00-17:00' })).toEqual({
    timezone: 'Europe/Berlin',
    week: [day, day, day, day, day, [], []],
  });
  expect(
    of({ OFFICE_TIMEZONE: 'Asia/Tokyo', OFFICE_HOURS: 'Mon 00:00-08:00 20:00-24:00, Sun 10:00-11:00' }),
  ).toEqual({
    timezone: 'Asia/Tokyo',
    week: [
      [
        [0, 480],
        [1200, 1440],
      ],
      [],
      [],
      [],
      [],
      [],
      [[600, 660]],
    ],
  });
});
